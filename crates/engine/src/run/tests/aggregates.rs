//! What is kept of the rows of a run, held against the rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Float32Array, Float64Array, Int16Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, UInt64Array,
};
use arrow_cast::cast;
use arrow_schema::DataType;
use proptest::prelude::*;
use timestrata_format::{KeyRange, RunFormat, RunMeta};
use timestrata_io::OpenMode;

use super::super::{Lineage, RunReader, decimal_columns};
use super::{PROVENANCE, Place, batch_of, read_all};
use crate::ErrorKind;
use crate::scan::{BlockAggregates, Source};

/// Columns of numbers: floats, decimal numbers as floats, whole numbers of three kinds.
const NUMBERS: [usize; 5] = [3, 4, 5, 6, 7];

/// Rows by a time, of a few series that two columns tell apart.
fn rows(each: &[Drawn]) -> RecordBatch {
    let times = (0..each.len() as i64).map(|row| row * 10 / 3);
    let hosts = each.iter().map(|row| row.host.map(|host| format!("host-{host}")));
    let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from_iter_values(times));
    let of = |value: fn(&Drawn) -> Option<f64>| -> ArrayRef {
        Arc::new(each.iter().map(value).collect::<Float64Array>())
    };
    let small = each.iter().map(|row| row.float.map(|float| (float * 3.0) as f32));
    let whole = each.iter().map(|row| row.whole);
    let counts = each.iter().map(|row| row.whole.map(i64::cast_unsigned));
    batch_of([
        ("t", times, false),
        ("host", Arc::new(hosts.collect::<StringArray>()) as ArrayRef, true),
        ("rack", Arc::new(each.iter().map(|row| Some(row.rack)).collect::<Int16Array>()), true),
        ("float", of(|row| row.float.map(|float| float / 3.0)), true),
        ("price", of(|row| row.cents.map(|cents| f64::from(cents) / 100.0)), true),
        ("small", Arc::new(small.collect::<Float32Array>()), true),
        ("whole", Arc::new(whole.collect::<Int64Array>()), true),
        ("counts", Arc::new(counts.collect::<UInt64Array>()), true),
        ("text", Arc::new(StringArray::from_iter_values(each.iter().map(|_| "x"))), false),
    ])
}

#[derive(Debug, Clone)]
struct Drawn {
    host: Option<u8>,
    rack: i16,
    float: Option<f64>,
    cents: Option<i32>,
    whole: Option<i64>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let floats = prop_oneof![
        400 => (-1e6..1e6).prop_map(Some),
        40 => Just(None),
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::MAX, -0.0]).prop_map(Some),
    ];
    let whole = prop_oneof![
        400 => (-1000_i64..1000).prop_map(Some),
        40 => Just(None),
        1 => any::<i64>().prop_map(Some),
    ];
    let cents = prop::option::weighted(0.9, -100_000..100_000);
    (prop::option::weighted(0.95, 0..3_u8), 0..2_i16, floats, cents, whole)
        .prop_map(|(host, rack, float, cents, whole)| Drawn { host, rack, float, cents, whole })
}

/// Rows of a batch, of which a block has more.
const BATCH_ROWS: usize = 37;

/// The rows as a cold run, whose prices may be stored as decimal numbers.
fn run_of(rows: &RecordBatch) -> (Place, RunMeta) {
    let mut place = Place::by_series(rows.schema(), &["host", "rack"]);
    place.settings.run_batch_rows = 64;
    let hot = place.write(1, RunFormat::Hot, std::slice::from_ref(rows));
    let hot: Arc<dyn Source> = Arc::new(place.reader(&hot));
    let decimals = decimal_columns(&place.stream, &[hot], || true).unwrap();
    let mut writer = place.writer(2, RunFormat::Cold).unwrap().with_decimals(&decimals);
    // Blocks are of several batches.
    for first in (0..rows.num_rows()).step_by(BATCH_ROWS) {
        let part = rows.slice(first, BATCH_ROWS.min(rows.num_rows() - first));
        writer.write(&part).unwrap();
    }
    let meta = writer.finish(PROVENANCE, Lineage::default()).unwrap();
    (place, meta)
}

type Series = (Option<String>, i64);

/// What the rows of one series come to, of each column: count, sum, least and greatest.
#[derive(Debug, Default, PartialEq)]
struct Told {
    rows: i64,
    ends: Option<(i64, i64)>,
    numbers: Vec<Option<(i64, f64, f64, f64)>>,
}

fn float_at(column: &ArrayRef, row: usize) -> Option<f64> {
    let floats = cast(column, &DataType::Float64).unwrap();
    let floats = floats.as_primitive::<Float64Type>();
    floats.is_valid(row).then(|| floats.value(row))
}

fn key_at(column: &ArrayRef, row: usize) -> i64 {
    cast(column, &DataType::Int64).unwrap().as_primitive::<Int64Type>().value(row)
}

fn series_at(columns: &[ArrayRef], row: usize) -> Series {
    let hosts = columns[0].as_string::<i32>();
    (hosts.is_valid(row).then(|| hosts.value(row).to_owned()), key_at(&columns[1], row))
}

/// What the file says of a span.
fn kept(aggregates: &BlockAggregates, span: usize) -> BTreeMap<Series, Told> {
    let places = aggregates.spans[span].series.clone();
    let of_place = |place: usize| {
        let numbers = aggregates.numbers_told.iter().map(|numbers| {
            let count = numbers.count.value(place);
            let value = |column| float_at(column, place);
            let of = value(&numbers.sum).zip(value(&numbers.min)).zip(value(&numbers.max));
            (count == 0).then_some((0, 0.0, 0.0, 0.0)).or(of.map(|((s, a), b)| (count, s, a, b)))
        });
        let ends = (key_at(&aggregates.first, place), key_at(&aggregates.last, place));
        let rows = aggregates.rows.value(place);
        let told = Told { rows, ends: Some(ends), numbers: numbers.collect() };
        (series_at(&aggregates.series_told, place), told)
    };
    let all: BTreeMap<_, _> = places.clone().map(of_place).collect();
    assert_eq!(all.len(), places.len(), "a series is there once a span");
    all
}

/// The same of rows, one by one.
fn added(rows: &RecordBatch) -> BTreeMap<Series, Told> {
    let mut all: BTreeMap<Series, Told> = BTreeMap::new();
    for row in 0..rows.num_rows() {
        let told = all.entry(series_at(&rows.columns()[1..], row)).or_default();
        told.rows += 1;
        let key = key_at(rows.column(0), row);
        let (first, last) = told.ends.unwrap_or((key, key));
        told.ends = Some((first.min(key), last.max(key)));
        told.numbers.resize(NUMBERS.len(), Some((0, 0.0, 0.0, 0.0)));
        for (numbers, column) in told.numbers.iter_mut().zip(NUMBERS) {
            let Some(value) = float_at(rows.column(column), row) else { continue };
            let (count, sum, min, max) = numbers.unwrap();
            let (min, max) =
                if count == 0 { (value, value) } else { (min.min(value), max.max(value)) };
            *numbers = Some((count + 1, sum + value, min, max));
        }
    }
    all
}

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-6 * one.abs().max(other.abs()).max(1.0)
}

/// Holds what is kept against the rows; how many sums are known, and how many not.
fn compare(reader: &RunReader, rows: &RecordBatch) -> (usize, usize) {
    let aggregates = reader.aggregates().unwrap().expect("a run with many rows a series has some");
    assert_eq!(
        (aggregates.series.as_slice(), aggregates.numbers.as_slice()),
        (&[1, 2][..], &NUMBERS[..])
    );
    let blocks = reader.blocks().unwrap();
    let (mut begin, mut known, mut unknown) = (0, 0, 0);
    for (place, span) in aggregates.spans.iter().enumerate() {
        let length = blocks[span.blocks.clone()].iter().map(|zone| zone.rows as usize).sum();
        let (kept, added) = (kept(&aggregates, place), added(&rows.slice(begin, length)));
        begin += length;
        assert!(kept.keys().eq(added.keys()), "{kept:?}");
        for (kept, added) in kept.values().zip(added.values()) {
            assert_eq!((kept.rows, kept.ends), (added.rows, added.ends));
            for (kept, added) in kept.numbers.iter().zip(&added.numbers) {
                let (Some(kept), Some(added)) = (kept, added) else {
                    unknown += 1;
                    continue;
                };
                known += 1;
                assert_eq!((kept.0, kept.2, kept.3), (added.0, added.2, added.3));
                assert!(is_near(kept.1, added.1), "{kept:?} and {added:?}");
            }
        }
    }
    assert_eq!(begin, rows.num_rows());
    (known, unknown)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn what_is_kept_is_what_rows_come_to(each in prop::collection::vec(drawn(), 900..2_000)) {
        let rows = rows(&each);
        let (place, meta) = run_of(&rows);
        let reader = place.reader(&meta);
        let (known, unknown) = compare(&reader, &rows);
        // Prices are always known, and of the others some.
        prop_assert!(known * 5 > known + unknown, "{known} known, {unknown} unknown");
        reader.verify_all().unwrap();
    }
}

fn steady(count: usize) -> RecordBatch {
    let each = (0..count).map(|row| Drawn {
        host: Some((row % 3) as u8),
        rack: 0,
        float: Some(row as f64),
        cents: Some(row as i32),
        whole: Some(row as i64),
    });
    rows(&each.collect::<Vec<_>>())
}

#[test]
fn sums_that_are_not_finite_or_too_large_are_not_known() {
    let mut each: Vec<Drawn> = Vec::new();
    for row in 0..600 {
        let odd = row == 300;
        each.push(Drawn {
            host: Some(1),
            rack: 0,
            float: Some(if odd { f64::NAN } else { 1.0 }),
            cents: Some(row),
            whole: Some(if odd { -1 } else { i64::MAX }),
        });
    }
    let rows = rows(&each);
    let (place, meta) = run_of(&rows);
    let aggregates = place.reader(&meta).aggregates().unwrap().unwrap();
    let unknown = |number: usize| {
        let numbers = &aggregates.numbers_told[number];
        assert_eq!(numbers.count.null_count(), 0);
        numbers.sum.null_count()
    };
    assert_eq!((unknown(0), unknown(1), unknown(2)), (1, 0, 1));
    // Sums of the greatest numbers, and the number that is none of 63 bits.
    assert_eq!((unknown(3), unknown(4)), (aggregates.rows.len(), aggregates.rows.len()));
    place.reader(&meta).verify_all().unwrap();
}

#[test]
fn decimal_numbers_are_added_up_to_the_unit() {
    let (place, meta) = run_of(&steady(1_000));
    let reader = place.reader(&meta);
    assert_eq!(reader.decimal_digits(4).unwrap(), Some(2));
    let aggregates = reader.aggregates().unwrap().unwrap();
    let sums = aggregates.numbers_told[1].sum.as_primitive::<Float64Type>();
    let cents: f64 = sums.iter().flatten().map(|sum| sum * 100.0).sum();
    assert_eq!(cents.round(), f64::from(999 * 500));
}

#[test]
fn few_rows_a_series_are_not_added_up() {
    let each = (0..600).map(|row| Drawn {
        host: Some((row % 200) as u8),
        rack: (row / 300) as i16,
        float: None,
        cents: None,
        whole: None,
    });
    let (place, meta) = run_of(&rows(&each.collect::<Vec<_>>()));
    assert!(place.reader(&meta).aggregates().unwrap().is_none());
    place.reader(&meta).verify_all().unwrap();
}

#[test]
fn nothing_is_added_up_where_no_column_tells_series_apart_nor_in_flushed_runs() {
    let rows = steady(1_000);
    let place = Place::new(rows.schema());
    let meta = place.write(1, RunFormat::Cold, std::slice::from_ref(&rows));
    assert!(place.reader(&meta).aggregates().unwrap().is_none());
    let place = Place::by_series(rows.schema(), &["host"]);
    let meta = place.write(1, RunFormat::Hot, &[rows]);
    assert!(place.reader(&meta).aggregates().unwrap().is_none());
}

#[test]
fn columns_may_be_called_as_what_is_kept_of_them() {
    let times: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1_000));
    let tag = |n: i64| -> ArrayRef {
        Arc::new(StringArray::from_iter_values((0..1_000).map(|row| format!("t{}", row % n))))
    };
    let numbers: ArrayRef = Arc::new(Float64Array::from_iter_values((0..1_000).map(f64::from)));
    let rows = batch_of([
        ("first", times, false),
        ("rows", tag(2), true),
        ("x.sum", tag(3), true),
        ("last", tag(1), true),
        ("x", numbers, true),
    ]);
    let mut place = Place::by_series(rows.schema(), &["rows", "x.sum", "last"]);
    place.settings.run_batch_rows = 64;
    let meta = place.write(2, RunFormat::Cold, std::slice::from_ref(&rows));
    let reader = place.reader(&meta);
    let told = reader.aggregates().unwrap().unwrap();
    assert_eq!(told.rows.values().iter().sum::<i64>(), 1_000);
    let sums = told.numbers_told[0].sum.as_primitive::<Float64Type>();
    assert_eq!(sums.values().iter().sum::<f64>(), 499_500.0);
    reader.verify_all().unwrap();
}

/// The same run with some bytes of what is kept changed.
fn damaged(place: &Place, meta: &RunMeta, offset: u64) {
    let file = place.io.disk.open(&place.path(meta), OpenMode::ReadWrite).unwrap();
    let mut byte = [0];
    file.read_at(offset, &mut byte).unwrap();
    file.write_at(offset, &[byte[0] ^ 0x40]).unwrap();
}

#[test]
fn what_is_damaged_is_not_told_and_rows_are_read_all_the_same() {
    let rows = steady(1_000);
    let (place, meta) = run_of(&rows);
    let aggregates = place.reader(&meta).aggregates().unwrap().unwrap();
    let last = aggregates.spans.last().unwrap().blocks.end;
    // They are the end of the data.
    damaged(&place, &meta, meta.tail_offset - 100);
    let reader = place.reader(&meta);
    assert!(reader.aggregates().unwrap().is_none());
    assert_eq!(last, reader.blocks().unwrap().len());
    assert_eq!(reader.aggregated_blocks().unwrap().last().map(|blocks| blocks.end), Some(last));
    assert_eq!(read_all(&reader).unwrap(), rows);
    assert_eq!(reader.verify_all().unwrap_err().kind(), ErrorKind::Corruption);
}

#[test]
fn check_finds_sums_that_are_others_than_what_rows_come_to() {
    let (place, meta) = run_of(&steady(1_000));
    let reader = place.reader(&meta);
    assert!(reader.verify_all().is_ok());
    let opened = reader.opened().unwrap();
    let mut again = super::super::verify::AddedAgain::of(opened).unwrap().unwrap();
    let other = steady(1_001).slice(1, 1_000);
    let mut begin = 0;
    for (block, zone) in reader.blocks().unwrap().iter().enumerate() {
        again.add(block, &other.slice(begin, zone.rows as usize)).unwrap();
        begin += zone.rows as usize;
    }
    assert!(again.compare().unwrap_err().contains("is not what they come to"));
}

#[test]
fn only_whole_spans_are_told_of_a_range() {
    let rows = steady(1_000);
    let (place, meta) = run_of(&rows);
    let reader: Arc<dyn Source> = Arc::new(place.reader(&meta));
    let told = reader.aggregates().unwrap().unwrap();
    let spans: Vec<_> = told.spans.iter().map(|span| span.blocks.clone()).collect();
    assert!(spans.len() > 2, "{spans:?}");
    assert_eq!(reader.aggregated_blocks().unwrap(), spans);
    let view = crate::scan::StreamView {
        stream: Arc::clone(&place.stream),
        sources: vec![reader],
        tombstones: Default::default(),
        threads: Default::default(),
    };
    let all = view.aggregates(&[KeyRange::ALL], &[1], &NUMBERS).unwrap();
    assert_eq!(all.blocks.rows(), 1_000);
    let (start, end) = (100, 2_000);
    let some = view.aggregates(&[KeyRange::times(start, end)], &[1], &NUMBERS).unwrap();
    assert!(0 < some.blocks.rows() && some.blocks.rows() < (end - start) as u64 * 3 / 10 + 1);
    for piece in &some.pieces {
        let first = (0..piece.first.len()).map(|row| key_at(&piece.first, row)).min();
        let last = (0..piece.last.len()).map(|row| key_at(&piece.last, row)).max();
        assert!(first >= Some(start) && last < Some(end), "{first:?} to {last:?}");
    }
    // A column that is not added up, or does not tell series apart.
    assert!(view.aggregates(&[KeyRange::ALL], &[1], &[8]).unwrap().blocks.is_empty());
    assert!(view.aggregates(&[KeyRange::ALL], &[8], &[]).unwrap().blocks.is_empty());
}
