//! Rows that lie by series: what a store gives of them, and what it reads for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema};
use proptest::prelude::*;
use timestrata_engine::{
    COLD_BLOCK_ROWS_PROPERTY, Changes, ColumnBounds, Durability, ErrorKind, KeyRange, Maintenance,
    Result, RowFilter, RunFormat, SERIES_PROPERTY, ScanFilter, ScanSpec, Settings, Share, Store,
    StreamId, StreamSpec,
};

use crate::support::rows_of_shares;

const HOSTS: i64 = 100;
const ROWS: i64 = 80_000;
const BLOCK_ROWS: &str = "8192";

/// Numbers without a pattern: Knuth's linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, below: i64) -> i64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as i64 % below
    }
}

fn rows() -> RecordBatch {
    let hosts = (0..ROWS).map(|row| Some(format!("host {:02}", row % HOSTS)));
    let mut random = Random(1);
    let loads = (0..ROWS).map(|_| random.below(1_000) as f64 / 100.0);
    RecordBatch::try_from_iter([
        ("time", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| row / HOSTS))) as _),
        ("host", Arc::new(StringArray::from_iter(hosts)) as _),
        ("load", Arc::new(Float64Array::from_iter_values(loads)) as _),
        ("row", Arc::new(Int64Array::from_iter_values(0..ROWS)) as _),
    ])
    .unwrap()
}

/// A stream without rows.
fn empty() -> (Store, StreamId) {
    empty_with(Settings::default().cache_bytes_max)
}

fn empty_with(cache_bytes_max: u64) -> (Store, StreamId) {
    let settings =
        Settings { maintenance: Maintenance::Manual, cache_bytes_max, ..Settings::default() };
    let store = Store::memory(settings).unwrap();
    let fields = vec![
        Field::new("time", DataType::Int64, false),
        Field::new("host", DataType::Utf8, true),
        Field::new("load", DataType::Float64, true),
        Field::new("row", DataType::Int64, true),
    ];
    let properties = [(SERIES_PROPERTY, "host"), (COLD_BLOCK_ROWS_PROPERTY, BLOCK_ROWS)];
    let spec = StreamSpec {
        run_format: RunFormat::Cold,
        properties: properties.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec(),
        ..StreamSpec::new("loads", Arc::new(Schema::new(fields)))
    };
    let id = store.create_stream(spec).unwrap();
    (store, id)
}

/// The rows in a compacted run, as far as a range delete leaves them.
fn store() -> (Store, StreamId) {
    filled(empty())
}

fn filled((store, id): (Store, StreamId)) -> (Store, StreamId) {
    store.commit(Changes::new().insert(id, rows()), Durability::Written).unwrap();
    store.compact(Some(id)).unwrap();
    let deleted = KeyRange::times(300, 310);
    store.commit(Changes::new().delete_range(id, deleted), Durability::Written).unwrap();
    (store, id)
}

/// The rows of one host; counts the rows that it was shown.
#[derive(Debug)]
struct Host(String, Arc<AtomicUsize>);

impl RowFilter for Host {
    fn columns(&self) -> &[usize] {
        &[1]
    }

    fn passes(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        self.1.fetch_add(rows.num_rows(), Ordering::Relaxed);
        let hosts = rows.column(0).as_string_view();
        Ok(hosts.iter().map(|host| Some(host == Some(self.0.as_str()))).collect())
    }

    fn may_pass(&self, pages: &[ColumnBounds]) -> Result<Option<BooleanArray>> {
        let [hosts] = pages else { return Ok(None) };
        let (min, max) = (hosts.min.as_string_view(), hosts.max.as_string_view());
        let wanted = self.0.as_str();
        let may_pass =
            (0..min.len()).map(|page| Some(min.value(page) <= wanted && wanted <= max.value(page)));
        Ok(Some(may_pass.collect()))
    }
}

/// Numbers of the rows that a scan gives.
fn numbers(store: &Store, id: StreamId, spec: &ScanSpec) -> Vec<i64> {
    let spec = ScanSpec { columns: Some(vec![3]), text_views: true, ..spec.clone() };
    let found = store.snapshot().unwrap().collect(id, &spec).unwrap();
    found.column(0).as_primitive::<Int64Type>().values().to_vec()
}

fn expected(range: std::ops::Range<i64>, host: Option<i64>) -> Vec<i64> {
    let is_there = |row: &i64| {
        let time = row / HOSTS;
        range.contains(&time)
            && !(300..310).contains(&time)
            && host.is_none_or(|host| row % HOSTS == host)
    };
    (0..ROWS).filter(is_there).collect()
}

#[test]
fn rows_by_series_are_given_in_the_order_of_the_key_or_each_once_between_shares() {
    let (store, id) = store();
    for (lo, hi) in [(0, 800), (3, 299), (295, 305), (799, 800), (650, 652)] {
        let spec = ScanSpec { range: KeyRange::times(lo, hi), ..ScanSpec::default() };
        assert_eq!(numbers(&store, id, &spec), expected(lo..hi, None), "{lo}..{hi}");
        let reverse = ScanSpec { reverse: true, ..spec.clone() };
        let mut found = numbers(&store, id, &reverse);
        found.reverse();
        assert_eq!(found, expected(lo..hi, None), "{lo}..{hi} in reverse");
        for parts in [1, 2, 7] {
            let share = |part| Some(Share { part, parts });
            let share = |part| ScanSpec { any_order: share(part), ..spec.clone() };
            let mut found: Vec<i64> =
                (0..parts).flat_map(|part| numbers(&store, id, &share(part))).collect();
            found.sort_unstable();
            assert_eq!(found, expected(lo..hi, None), "{lo}..{hi} of {parts} shares");
        }
    }
}

#[test]
fn shares_of_rows_that_the_cache_has_no_room_for_are_all_rows_too() {
    let (store, id) = filled(empty_with(0));
    for (lo, hi) in [(0, 800), (0, 300), (3, 799)] {
        let range = KeyRange::times(lo, hi);
        let share = |part| ScanSpec {
            range,
            any_order: Some(Share { part, parts: 2 }),
            ..ScanSpec::default()
        };
        let mut found: Vec<i64> =
            (0..2).flat_map(|part| numbers(&store, id, &share(part))).collect();
        found.sort_unstable();
        assert_eq!(found, expected(lo..hi, None), "{lo}..{hi}");
    }
}

#[test]
fn rows_without_a_column_are_counted_wherever_they_lie() {
    for cache_bytes_max in [0, 1 << 27] {
        let (store, id) = filled(empty_with(cache_bytes_max));
        // Besides those of a compacted run as many in a flushed one, and in memory.
        store.commit(Changes::new().insert(id, rows()), Durability::Written).unwrap();
        store.flush().unwrap();
        store.commit(Changes::new().insert(id, rows()), Durability::Written).unwrap();
        for (range, all) in
            [(KeyRange::ALL, 3 * ROWS - 10 * HOSTS), (KeyRange::times(10, 20), 3 * 10 * HOSTS)]
        {
            let found = rows_of_shares(&store, id, range);
            assert_eq!(found as i64, all, "{range}, {cache_bytes_max}");
        }
    }
}

#[test]
fn codes_of_text_stand_for_what_views_show() {
    let (store, id) = filled(empty_with(0));
    store.commit(Changes::new().insert(id, rows()), Durability::Written).unwrap();
    store.flush().unwrap();
    store.commit(Changes::new().insert(id, rows()), Durability::Written).unwrap();
    let views = ScanSpec {
        columns: Some(vec![3, 1]),
        text_views: true,
        any_order: Some(Share::WHOLE),
        ..ScanSpec::default()
    };
    let found = |spec: &ScanSpec| {
        let (mut hosts, mut coded) = (Vec::new(), 0);
        for batch in store.snapshot().unwrap().scan(id, spec).unwrap() {
            let batch = batch.unwrap();
            coded += if batch.column(1).as_dictionary_opt::<Int32Type>().is_some() { 1 } else { 0 };
            let texts = cast(batch.column(1), &DataType::Utf8).unwrap();
            let rows = batch.column(0).as_primitive::<Int64Type>().values().to_vec();
            hosts.extend(
                rows.into_iter()
                    .zip(texts.as_string::<i32>().iter().map(|text| text.map(str::to_owned))),
            );
        }
        hosts.sort();
        (hosts, coded)
    };
    let (expected, coded) = found(&views);
    assert_eq!((expected.len() as i64, coded), (3 * ROWS - 10 * HOSTS, 0));
    let codes = ScanSpec { text_dictionaries: vec![1], ..views };
    let (hosts, coded) = found(&codes);
    assert!(coded > 0 && hosts == expected);
    let in_order = ScanSpec { any_order: None, ..codes };
    let error = store.snapshot().unwrap().scan(id, &in_order).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn rows_that_pass_are_counted_without_a_column() {
    for cache_bytes_max in [0, 1 << 27] {
        let (store, id) = filled(empty_with(cache_bytes_max));
        store.commit(Changes::new().insert(id, rows()), Durability::Written).unwrap();
        store.flush().unwrap();
        store.commit(Changes::new().insert(id, rows()), Durability::Written).unwrap();
        for (range, times) in
            [(KeyRange::ALL, 3 * 800 - 10), (KeyRange::times(10, 320), 3 * 310 - 10)]
        {
            let spec = ScanSpec {
                range,
                columns: Some(Vec::new()),
                filter: Some(ScanFilter::new(Host(host(42), Arc::default()))),
                text_views: true,
                any_order: Some(Share::WHOLE),
                ..ScanSpec::default()
            };
            let scan = store.snapshot().unwrap().scan(id, &spec).unwrap();
            let found: usize = scan.map(|batch| batch.unwrap().num_rows()).sum();
            assert_eq!(found, times, "{range}, {cache_bytes_max}");
        }
    }
}

#[test]
fn a_scan_in_parts_goes_on_where_its_run_has_been_replaced() {
    for (column, text_dictionaries) in [(3, vec![]), (1, vec![]), (1, vec![1])] {
        let (store, id) = filled(empty_with(0));
        let spec = ScanSpec {
            columns: Some(vec![column]),
            text_views: true,
            any_order: Some(Share { part: 0, parts: 1 }),
            text_dictionaries,
            ..ScanSpec::default()
        };
        let mut scan = store.snapshot().unwrap().scan(id, &spec).unwrap();
        let mut found = scan.next().unwrap().unwrap().num_rows();
        store.commit(Changes::new().insert(id, rows()), Durability::Written).unwrap();
        store.compact(Some(id)).unwrap();
        found += scan.map(|batch| batch.unwrap().num_rows()).sum::<usize>();
        assert_eq!(found as i64, ROWS - 10 * HOSTS, "column {column}");
    }
}

#[test]
fn of_one_series_a_few_pages_are_decoded() {
    let (store, id) = store();
    let shown = Arc::new(AtomicUsize::new(0));
    let filter = Some(ScanFilter::new(Host(host(42), Arc::clone(&shown))));
    let spec = ScanSpec { filter, ..ScanSpec::default() };
    assert_eq!(numbers(&store, id, &spec), expected(0..800, Some(42)));
    let pages_at_most = 2 * 4_096 * (ROWS / (4 * 8_192) + 1);
    let shown = shown.load(Ordering::Relaxed) as i64;
    assert!(shown <= pages_at_most && shown < ROWS / 2, "{shown} of {ROWS} rows were decoded");
}

/// Numbers of columns in a run's file count by the columns that it has, whatever its stream has got since.
#[test]
fn rows_by_series_are_read_after_their_stream_got_more_columns() {
    let (store, id) = store();
    let mut fields = store.stream("loads").unwrap().schema().fields().to_vec();
    fields.push(Arc::new(Field::new("note", DataType::Utf8, true)));
    store.alter_stream(id, Arc::new(Schema::new(fields))).unwrap();
    let spec = ScanSpec::default();
    assert_eq!(numbers(&store, id, &spec), expected(0..800, None));
    let filter = Some(ScanFilter::new(Host(host(42), Arc::default())));
    let filtered = ScanSpec { filter, ..spec };
    assert_eq!(numbers(&store, id, &filtered), expected(0..800, Some(42)));
    let notes = ScanSpec { columns: Some(vec![4, 2]), text_views: true, ..filtered };
    let notes = store.snapshot().unwrap().collect(id, &notes).unwrap();
    assert_eq!(notes.column(0).null_count(), notes.num_rows());
    assert_eq!(notes.column(1).null_count(), 0);
    store.compact(Some(id)).unwrap();
    assert_eq!(numbers(&store, id, &ScanSpec::default()), expected(0..800, None));
}

/// A round of work: rows from some time on, which may lie before those of earlier rounds, then a range delete.
#[derive(Debug, Clone)]
struct Round {
    first: i64,
    seed: u64,
    deleted: Option<(i64, i64)>,
    compacts: bool,
}

fn round() -> impl Strategy<Value = Round> {
    let deleted = prop::option::of((0..900_i64, 1..60_i64));
    (0..600_i64, any::<u64>(), deleted, any::<bool>()).prop_map(
        |(first, seed, deleted, compacts)| {
            let deleted = deleted.map(|(lo, rows)| (lo, lo + rows));
            Round { first, seed, deleted, compacts }
        },
    )
}

const ROUND_ROWS: i64 = 8_000;

/// Rows as a plain list has them: time, host, number.
type Known = Vec<(i64, i64, i64)>;

/// Does a round to the store and to the list.
fn play(store: &Store, id: StreamId, known: &mut Known, round: &Round, number: i64) {
    // Each host has a row a time, but for some.
    let mut random = Random(round.seed);
    let first = number * ROUND_ROWS;
    let rows = (first..first + ROUND_ROWS).map(|row| {
        let place = row - first;
        (round.first + place / 20, place % 20, row)
    });
    let rows: Known = rows.filter(|_| random.below(10) > 0).collect();
    let loads =
        Float64Array::from_iter_values(rows.iter().map(|_| random.below(1_000) as f64 / 8.0));
    let batch = RecordBatch::try_from_iter([
        ("time", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0))) as _),
        ("host", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| host(row.1)))) as _),
        ("load", Arc::new(loads) as _),
        ("row", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.2))) as _),
    ]);
    let changes = Changes::new().insert(id, batch.unwrap());
    store.commit(changes, Durability::Written).unwrap();
    known.extend(rows);
    if let Some((lo, hi)) = round.deleted {
        let changes = Changes::new().delete_range(id, KeyRange::times(lo, hi));
        store.commit(changes, Durability::Written).unwrap();
        known.retain(|(time, _, _)| !(lo..hi).contains(time));
    }
    match round.compacts {
        true => store.compact(Some(id)).unwrap(),
        false => store.flush().unwrap(),
    }
}

fn host(number: i64) -> String {
    format!("host {number:02}")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// However runs came to lie over each other: late rows, range deletes, compactions of all of it.
    #[test]
    fn scans_of_rows_by_series_are_what_a_plain_list_tells(
        rounds in prop::collection::vec(round(), 1..5),
        (lo, rows) in (0..900_i64, 1..900_i64),
        wanted in 0..20_i64,
    ) {
        let (store, id) = empty();
        let mut known = Known::new();
        for (number, round) in (0..).zip(&rounds) {
            play(&store, id, &mut known, round, number);
        }
        // Rows of one time come in the order in which they were committed.
        known.sort_by_key(|(time, _, row)| (*time, row / ROUND_ROWS));
        let range = KeyRange::times(lo, lo + rows);
        let seen: Known =
            known.into_iter().filter(|(time, _, _)| (lo..lo + rows).contains(time)).collect();
        let all: Vec<i64> = seen.iter().map(|row| row.2).collect();
        let of_host = seen.iter().filter(|row| row.1 == wanted).map(|row| row.2);
        let mut of_host: Vec<i64> = of_host.collect();
        let spec = ScanSpec { range, ..ScanSpec::default() };
        prop_assert_eq!(numbers(&store, id, &spec), all);
        let shown = Arc::new(AtomicUsize::new(0));
        let filter = Some(ScanFilter::new(Host(host(wanted), shown)));
        let filtered = ScanSpec { filter, ..spec };
        prop_assert_eq!(&numbers(&store, id, &filtered), &of_host);
        let share = |part| ScanSpec { any_order: Some(Share { part, parts: 2 }), ..filtered.clone() };
        let mut found: Vec<i64> = (0..2).flat_map(|part| numbers(&store, id, &share(part))).collect();
        found.sort_unstable();
        of_host.sort_unstable();
        prop_assert_eq!(found, of_host);
    }
}
