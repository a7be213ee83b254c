//! Rows of a block that pass because their numbers are in ranges, told of these as they are stored.

use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_select::filter::filter_record_batch;
use timestrata_format::RunFormat;

use super::super::{BlockCache, Lineage, RunReader};
use super::selected::planned;
use super::{PROVENANCE, Place, batch_of};
use crate::Result;
use crate::scan::{NumberRange, RowFilter, RowOrder, Share, Source};

/// A price, a count and a place that all lie in a range; and how many rows it was asked about.
#[derive(Debug, Clone)]
struct Between {
    columns: Vec<usize>,
    ranges: Vec<NumberRange>,
    asked: Arc<AtomicUsize>,
}

fn floats(lo: Bound<f64>, hi: Bound<f64>) -> NumberRange {
    NumberRange::Floats { lo, hi }
}

impl Between {
    fn new(asked: impl IntoIterator<Item = (usize, NumberRange)>) -> Self {
        let (columns, ranges) = asked.into_iter().unzip();
        Self { columns, ranges, asked: Arc::default() }
    }
}

impl RowFilter for Between {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn passes(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        self.asked.fetch_add(rows.num_rows(), Ordering::Relaxed);
        let passes = |row: usize| {
            self.ranges.iter().zip(rows.columns()).all(|(range, column)| match range {
                NumberRange::Whole { first, last } => {
                    let column = column.as_primitive::<Int64Type>();
                    column.is_valid(row) && (*first..=*last).contains(&column.value(row))
                }
                NumberRange::Floats { lo, hi } => {
                    let column = column.as_primitive::<Float64Type>();
                    column.is_valid(row) && (*lo, *hi).contains(&column.value(row))
                }
            })
        };
        Ok((0..rows.num_rows()).map(|row| Some(passes(row))).collect())
    }

    fn number_ranges(&self) -> &[NumberRange] {
        &self.ranges
    }
}

/// A time, a host, a price that is a decimal number, a count that may be missing, and a float that is none.
fn rows(count: usize) -> RecordBatch {
    let noise = |row: usize| row.wrapping_mul(2_654_435_761) >> 9;
    let price = |row: usize| ((noise(row) % 20_000) as f64 - 5_000.0) / 100.0;
    let volume = |row: usize| (row % 11 != 5).then_some((noise(row) % 300) as i64);
    let rows = 0..count;
    batch_of([
        ("t", Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| row as i64))), false),
        (
            "s",
            Arc::new(StringArray::from_iter_values(
                rows.clone().map(|row| format!("h{:02}", row % 40)),
            )),
            false,
        ),
        ("p", Arc::new(Float64Array::from_iter_values(rows.clone().map(price))), false),
        ("v", Arc::new(Int64Array::from_iter(rows.clone().map(volume))), true),
        (
            "f",
            Arc::new(Float64Array::from_iter_values(rows.map(|row| noise(row) as f64 / 7.0))),
            false,
        ),
    ])
}

fn reader(place: &Place, rows: &RecordBatch, cache_bytes: u64) -> RunReader {
    let mut writer =
        place.writer(cache_bytes + 1, RunFormat::Cold).unwrap().with_decimals(&[(2, 2)]);
    writer.write(rows).unwrap();
    let meta = writer.finish(PROVENANCE, Lineage::default()).unwrap();
    place.reader_with(&meta, &Arc::new(BlockCache::new(cache_bytes)))
}

fn places() -> [Place; 2] {
    let schema = rows(1).schema();
    let mut places = [Place::new(schema.clone()), Place::by_series(schema, &["s"])];
    places.iter_mut().for_each(|place| place.settings.run_batch_rows = 6_000);
    places
}

fn ranges() -> Vec<Between> {
    use Bound::{Excluded, Included, Unbounded};
    vec![
        Between::new([(2, floats(Excluded(120.0), Unbounded))]),
        Between::new([(2, floats(Included(-0.0), Excluded(0.01)))]),
        Between::new([(2, floats(Included(7.77), Included(7.77)))]),
        Between::new([(2, floats(Excluded(3.0), Excluded(3.0)))]),
        Between::new([(3, NumberRange::Whole { first: 7, last: 250 })]),
        Between::new([(3, NumberRange::Whole { first: 1, last: 0 })]),
        Between::new([
            (3, NumberRange::Whole { first: 100, last: i64::MAX }),
            (2, floats(Unbounded, Included(88.8))),
        ]),
    ]
}

#[test]
fn rows_in_ranges_are_those_that_pass_one_by_one() {
    let all = rows(30_000);
    for place in places() {
        let (once, kept) = (reader(&place, &all, 0), reader(&place, &all, 1 << 24));
        let is_by_series = !place.stream.series_columns().is_empty();
        assert_eq!(once.decimal_digits(2).unwrap(), Some(2));
        for filter in ranges() {
            for columns in [vec![0, 1], vec![4], vec![]] {
                let what = format!("{filter:?}, {columns:?}, by series: {is_by_series}");
                for block in 0..once.blocks().unwrap().len() {
                    let whole = kept.read(block, &[0, 1, 2, 3, 4]).unwrap();
                    let looked_at = whole.project(&filter.columns).unwrap();
                    let expected = filter.clone().passes(&looked_at).unwrap();
                    let expected =
                        filter_record_batch(&whole.project(&columns).unwrap(), &expected).unwrap();
                    filter.asked.store(0, Ordering::Relaxed);
                    let planned = planned(&place, filter.clone(), &columns, false);
                    let read = |reader: &RunReader, order| {
                        reader.read_passing(block, &planned, None, order).unwrap()
                    };
                    let found = read(&once, RowOrder::ByKey);
                    assert_eq!(found.columns(), expected.columns(), "{what}");
                    let shares =
                        [0, 1].map(|part| read(&once, RowOrder::Any(Share { part, parts: 2 })));
                    let rows: usize = shares.iter().map(RecordBatch::num_rows).sum();
                    assert_eq!(rows, expected.num_rows(), "{what}");
                    assert_eq!(
                        filter.asked.load(Ordering::Relaxed),
                        0,
                        "no column is made: {what}"
                    );
                    assert_eq!(
                        read(&kept, RowOrder::ByKey).columns(),
                        expected.columns(),
                        "{what}"
                    );
                    assert!(
                        filter.asked.load(Ordering::Relaxed) > 0,
                        "columns that are kept: {what}"
                    );
                }
            }
        }
    }
}

#[test]
fn numbers_that_need_few_bits_are_kept_in_as_few() {
    let all = rows(30_000);
    for place in places() {
        let meta = reader(&place, &all, 0).meta().clone();
        // Floats and counts would take 480 KB, and half of it as whole numbers.
        let cache = Arc::new(BlockCache::new(420_000));
        let small = place.reader_with(&meta, &cache);
        let whole = reader(&place, &all, 1 << 24);
        let filter = ranges().remove(6);
        let planned = planned(&place, filter.clone(), &[], false);
        let count = |reader: &RunReader| -> Vec<usize> {
            let blocks = 0..reader.blocks().unwrap().len();
            let read = |block| reader.read_passing(block, &planned, None, RowOrder::ByKey);
            blocks.map(|block| read(block).unwrap().num_rows()).collect()
        };
        let expected = count(&whole);
        // Four at once, of which each keeps what the others may be reading.
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..4).map(|_| scope.spawn(|| count(&small))).collect();
            readers.into_iter().for_each(|found| assert_eq!(found.join().unwrap(), expected));
        });
        filter.asked.store(0, Ordering::Relaxed);
        assert_eq!([count(&small), count(&small)], [expected.clone(), expected]);
        assert_eq!(filter.asked.load(Ordering::Relaxed), 0, "no column is made");
        // A price of four bytes for each row; counts of which some are missing are not kept.
        assert!(cache.bytes() > 80_000, "{}", cache.bytes());
    }
}

#[test]
fn ranges_of_what_is_stored_otherwise_or_given_are_told_of_columns() {
    let all = rows(3_000);
    let [place, _] = places();
    let reader = reader(&place, &all, 0);
    let of_floats = Between::new([(4, floats(Bound::Excluded(1e6), Bound::Unbounded))]);
    let of_other_type = Between::new([(2, NumberRange::Whole { first: 0, last: 9 })]);
    assert!(reader.decimal_digits(4).unwrap().is_none());
    for (filter, columns) in [(of_floats, vec![0]), (ranges().remove(0), vec![2, 0])] {
        let planned = planned(&place, filter.clone(), &columns, false);
        let found = reader.read_passing(0, &planned, None, RowOrder::ByKey).unwrap();
        assert!(found.num_rows() > 0);
        let asked = filter.asked.load(Ordering::Relaxed);
        assert_eq!(asked, reader.blocks().unwrap()[0].rows as usize, "{filter:?}");
    }
    // What is asked of another type than the column has isn't told by the ranges.
    assert!(planned(&place, of_other_type, &[0], false).number_ranges().is_some());
}

#[test]
fn damage_among_numbers_is_told_and_hides_no_row() {
    let all = rows(20_000);
    let [place, _] = places();
    let written = reader(&place, &all, 0);
    let path = place.path(written.meta());
    let plain = place.bytes(&path);
    let end: Range<usize> = 0..written.meta().tail_offset as usize;
    let filter = planned(&place, ranges().remove(6), &[], false);
    let count = |reader: &RunReader| -> Result<usize> {
        let blocks = 0..reader.blocks()?.len();
        blocks
            .map(|block| Ok(reader.read_passing(block, &filter, None, RowOrder::ByKey)?.num_rows()))
            .sum()
    };
    let expected = count(&written).unwrap();
    let file = place.io.disk.open(&path, timestrata_io::OpenMode::ReadWrite).unwrap();
    let mut told = 0;
    for at in end.step_by(1_777) {
        file.write_at(at as u64, &[plain[at] ^ 0x10]).unwrap();
        let damaged = place.reader_with(written.meta(), &Arc::new(BlockCache::new(0)));
        match count(&damaged) {
            Ok(found) => assert_eq!(found, expected, "byte {at}"),
            Err(error) => {
                assert_eq!(error.kind(), crate::ErrorKind::Corruption, "byte {at}");
                told += 1;
            }
        }
        file.write_at(at as u64, &[plain[at]]).unwrap();
    }
    assert!(told > 0);
}
