//! Blocks of many series, which have more rows than others and are shared between readers.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use timestrata_engine::{
    Changes, Durability, ErrorKind, Io, KeyRange, Maintenance, Result, RowFilter, RunFormat,
    SERIES_PROPERTY, ScanFilter, ScanSpec, Settings, Share, Store, StreamId, StreamSpec,
};

use crate::quota_disk::{Quota, QuotaDisk};
use crate::support::{Machine, rows_of_shares};

const PLENTY: u64 = 1 << 30;
const HOSTS: i64 = 1_200;
const STEPS: i64 = 240;
/// Deleted as a range.
const DELETED: std::ops::Range<i64> = 100..103;

fn rows() -> RecordBatch {
    let rows = 0..HOSTS * STEPS;
    let hosts = rows.clone().map(|row| Some(format!("host {:04}", row * 7 % HOSTS)));
    RecordBatch::try_from_iter([
        ("time", Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| row / HOSTS))) as _),
        ("host", Arc::new(StringArray::from_iter(hosts)) as _),
        ("row", Arc::new(Int64Array::from_iter_values(rows)) as _),
    ])
    .unwrap()
}

/// The rows in one compacted run of one block, and a range delete that came later.
fn store(cache_bytes_max: u64) -> (Store, StreamId) {
    let store = Store::memory(by_hand(cache_bytes_max)).unwrap();
    let id = filled(&store);
    store.compact(Some(id)).unwrap();
    let deleted = KeyRange::times(DELETED.start, DELETED.end);
    store.commit(Changes::new().delete_range(id, deleted), Durability::Written).unwrap();
    (store, id)
}

fn by_hand(cache_bytes_max: u64) -> Settings {
    Settings { maintenance: Maintenance::Manual, cache_bytes_max, ..Settings::default() }
}

/// A stream with the rows, which are not compacted yet.
fn filled(store: &Store) -> StreamId {
    let fields = vec![
        Field::new("time", DataType::Int64, false),
        Field::new("host", DataType::Utf8, true),
        Field::new("row", DataType::Int64, true),
    ];
    let spec = StreamSpec {
        run_format: RunFormat::Cold,
        properties: vec![(SERIES_PROPERTY.to_owned(), "host".to_owned())],
        ..StreamSpec::new("loads", Arc::new(Schema::new(fields)))
    };
    let id = store.create_stream(spec).unwrap();
    store.commit(Changes::new().insert(id, rows()), Durability::Written).unwrap();
    id
}

/// Every third row.
#[derive(Debug)]
struct Thirds;

impl RowFilter for Thirds {
    fn columns(&self) -> &[usize] {
        &[2]
    }

    fn passes(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        let numbers = rows.column(0).as_primitive::<Int64Type>();
        Ok(numbers.values().iter().map(|number| Some(number % 3 == 0)).collect())
    }
}

/// The rows between two times, of each share as many as it gives.
fn shared(store: &Store, id: StreamId, spec: &ScanSpec, parts: usize) -> (Vec<i64>, Vec<usize>) {
    let snapshot = store.snapshot().unwrap();
    let (mut numbers, mut counts) = (Vec::new(), Vec::new());
    for part in 0..parts {
        let share = ScanSpec { any_order: Some(Share { part, parts }), ..spec.clone() };
        let before = numbers.len();
        for batch in snapshot.scan(id, &share).unwrap() {
            let batch = batch.unwrap();
            let column = batch.column(0).as_primitive::<Int64Type>();
            numbers.extend_from_slice(column.values());
        }
        counts.push(numbers.len() - before);
    }
    numbers.sort_unstable();
    (numbers, counts)
}

#[test]
fn readers_that_share_a_long_block_give_each_row_once() {
    for cache_bytes_max in [0, Settings::default().cache_bytes_max] {
        let (store, id) = store(cache_bytes_max);
        for (lo, hi) in [(0, STEPS), (3, 200), (99, 104), (STEPS - 1, STEPS)] {
            for thirds in [false, true] {
                let spec = ScanSpec {
                    range: KeyRange::times(lo, hi),
                    columns: Some(vec![2]),
                    filter: thirds.then(|| ScanFilter::new(Thirds)),
                    ..ScanSpec::default()
                };
                let is_there =
                    |row: &i64| !DELETED.contains(&(row / HOSTS)) && (!thirds || row % 3 == 0);
                let expected: Vec<i64> = (lo * HOSTS..hi * HOSTS).filter(is_there).collect();
                let in_order = store.snapshot().unwrap().collect(id, &spec).unwrap();
                let in_order = in_order.column(0).as_primitive::<Int64Type>();
                assert_eq!(in_order.values(), &expected[..], "{lo}..{hi}");
                for parts in [1, 2, 3] {
                    let (found, counts) = shared(&store, id, &spec, parts);
                    assert!(found == expected, "{lo}..{hi} of {parts} shares");
                    // Nobody has it all to do.
                    let most = counts.iter().max().unwrap();
                    assert!(*most <= expected.len() / parts + expected.len() / 8, "{counts:?}");
                }
            }
        }
    }
}

#[test]
fn rows_of_a_long_block_are_counted_without_a_column() {
    let (store, id) = store(0);
    for (range, expected) in [(KeyRange::ALL, STEPS - 3), (KeyRange::times(90, 110), 17)] {
        let found = rows_of_shares(&store, id, range);
        assert_eq!(found as i64, expected * HOSTS, "{range}");
    }
}

#[test]
fn what_leaves_damage_out_reads_long_blocks_alone() {
    let (store, id) = store(0);
    let spec = ScanSpec { columns: Some(vec![2]), skip_damaged: true, ..ScanSpec::default() };
    let (found, counts) = shared(&store, id, &spec, 2);
    let all = HOSTS * (STEPS - 3);
    assert_eq!((found.len() as i64, counts), (all, vec![all as usize, 0]));
}

#[test]
fn few_rows_of_a_long_block_are_counted_and_read_from_both_ends() {
    for cache_bytes_max in [0, Settings::default().cache_bytes_max] {
        let (store, id) = store(cache_bytes_max);
        let snapshot = store.snapshot().unwrap();
        for (lo, hi) in [(0, STEPS), (17, 18), (98, 105), (101, 102), (STEPS - 2, STEPS)] {
            let range = KeyRange::times(lo, hi);
            let expected: Vec<i64> =
                (lo * HOSTS..hi * HOSTS).filter(|row| !DELETED.contains(&(row / HOSTS))).collect();
            assert_eq!(snapshot.count(id, &range).unwrap(), expected.len() as u64, "{range}");
            for limit in [1, 10, 5_000] {
                let spec = ScanSpec {
                    range,
                    columns: Some(vec![2]),
                    limit: Some(limit),
                    ..ScanSpec::default()
                };
                let found = |spec: &ScanSpec| {
                    let found = snapshot.collect(id, spec).unwrap();
                    found.column(0).as_primitive::<Int64Type>().values().to_vec()
                };
                let first: Vec<i64> = expected.iter().copied().take(limit).collect();
                assert_eq!(found(&spec), first, "the first {limit} of {range}");
                let last: Vec<i64> = expected.iter().rev().copied().take(limit).collect();
                let spec = ScanSpec { reverse: true, ..spec };
                assert_eq!(found(&spec), last, "the last {limit} of {range}");
            }
        }
    }
}

#[test]
fn a_scan_of_a_long_block_goes_on_where_its_run_has_been_replaced() {
    for cache_bytes_max in [0, Settings::default().cache_bytes_max] {
        let (store, id) = store(cache_bytes_max);
        let spec = ScanSpec {
            columns: Some(vec![2]),
            any_order: Some(Share::WHOLE),
            ..ScanSpec::default()
        };
        let mut scan = store.snapshot().unwrap().scan(id, &spec).unwrap();
        let mut found = scan.next().unwrap().unwrap().num_rows();
        assert!((found as i64) < HOSTS * STEPS / 2, "there is more to come");
        store.commit(Changes::new().insert(id, rows()), Durability::Written).unwrap();
        store.compact(Some(id)).unwrap();
        found += scan.map(|batch| batch.unwrap().num_rows()).sum::<usize>();
        assert_eq!(found as i64, HOSTS * (STEPS - 3), "{cache_bytes_max} bytes of cache");
    }
}

#[test]
fn a_long_block_that_the_disk_has_no_room_for_costs_no_row() {
    let quota = Arc::new(Quota::default());
    quota.set(PLENTY);
    let mut machine = Machine::new();
    machine.io = Io { disk: Arc::new(QuotaDisk::new(&quota)), ..machine.io };
    let store = machine.open(by_hand(0));
    let id = filled(&store);
    store.flush().unwrap();
    let spec = ScanSpec { columns: Some(vec![2]), ..ScanSpec::default() };
    let all = || shared(&store, id, &spec, 2).0;
    let expected: Vec<i64> = (0..HOSTS * STEPS).collect();
    // A second run, so that there is something to merge.
    store.commit(Changes::new().insert(id, rows()), Durability::Written).unwrap();
    store.flush().unwrap();
    let twice: Vec<i64> = expected.iter().flat_map(|row| [*row, *row]).collect();
    // At once, and where the file has begun.
    for left in [0, 4 << 10, 16 << 10] {
        quota.set(quota.used() + left);
        let error = store.compact(Some(id)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace, "{left} bytes are left: {error}");
        assert!(all() == twice);
    }
    quota.set(PLENTY);
    store.compact(Some(id)).unwrap();
    assert!(all() == twice);
}

#[test]
fn few_blocks_are_shared_so_that_readers_get_as_many_rows_each() {
    let settings = Settings { run_batch_rows: 100_000, ..by_hand(PLENTY) };
    let store = Store::memory(settings).unwrap();
    let schema = Arc::new(Schema::new(vec![
        Field::new("time", DataType::Int64, false),
        Field::new("host", DataType::Utf8, true),
        Field::new("row", DataType::Int64, true),
    ]));
    let spec = StreamSpec { run_format: RunFormat::Cold, ..StreamSpec::new("loads", schema) };
    let id = store.create_stream(spec).unwrap();
    store.commit(Changes::new().insert(id, rows()), Durability::Written).unwrap();
    store.compact(Some(id)).unwrap();
    let spec = ScanSpec { columns: Some(vec![2]), ..ScanSpec::default() };
    // Of three blocks, which two readers can't deal out evenly; at first and then from the cache.
    for _ in 0..2 {
        let (numbers, counts) = shared(&store, id, &spec, 2);
        assert_eq!(numbers, (0..HOSTS * STEPS).collect::<Vec<_>>());
        assert!(counts[0].abs_diff(counts[1]) <= 3 * 8_192, "{counts:?}");
    }
    // What is damaged is told of a block by one reader: there each has its own.
    let (numbers, counts) = shared(&store, id, &ScanSpec { skip_damaged: true, ..spec }, 2);
    assert_eq!(numbers.len(), (HOSTS * STEPS) as usize);
    assert!(counts[0].abs_diff(counts[1]) > 3 * 8_192, "{counts:?}");
}
