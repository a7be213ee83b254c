//! The unit of a stream's times is made finer: rows that are there are read with their times multiplied, wherever they are.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use proptest::prelude::*;
use timestrata_engine::{
    Access, COLD_BLOCK_ROWS_PROPERTY, Cell, ChangeKind, Changes, Durability, ErrorKind, KeyRange,
    LeadKey, Merge, Moment, PruneFilter, RepairOptions, RunFormat, SERIES_PROPERTY, ScanSpec,
    SeqNo, Share, Snapshot, Store, StreamId, StreamSpec, repair,
};

use crate::feed::all_of;
use crate::kills::{Kills, watched};
use crate::moments::{kept, last};
use crate::support::{Machine, manual, range, time, tiny};

const UNITS: [TimeUnit; 4] =
    [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];

fn times(unit: TimeUnit) -> DataType {
    DataType::Timestamp(unit, Some("UTC".into()))
}

fn columns(unit: TimeUnit) -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("time", times(unit), false),
        Field::new("host", DataType::Utf8, true),
        Field::new("load", DataType::Float64, true),
    ]))
}

fn spec(unit: TimeUnit, format: RunFormat) -> StreamSpec {
    let properties = [(SERIES_PROPERTY, "host"), (COLD_BLOCK_ROWS_PROPERTY, "64")];
    StreamSpec {
        run_format: format,
        properties: properties.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec(),
        ..StreamSpec::new("s", columns(unit))
    }
}

fn batch(unit: TimeUnit, at: &[i64]) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from(at.to_vec()));
    let hosts = at.iter().map(|time| Some(format!("host {}", time.rem_euclid(3))));
    let loads = at.iter().map(|time| time.rem_euclid(100) as f64 / 4.0);
    let columns_of: Vec<ArrayRef> = vec![
        cast(&numbers, &times(unit)).unwrap(),
        Arc::new(StringArray::from_iter(hosts)),
        Arc::new(Float64Array::from_iter_values(loads)),
    ];
    RecordBatch::try_new(columns(unit), columns_of).unwrap()
}

fn insert(store: &Store, id: StreamId, unit: TimeUnit, at: &[i64]) {
    store.commit(Changes::new().insert(id, batch(unit, at)), Durability::Written).unwrap();
}

fn delete(store: &Store, id: StreamId, keys: KeyRange) {
    store.commit(Changes::new().delete_range(id, keys), Durability::Written).unwrap();
}

/// The times that a scan gives, as numbers of their unit.
fn found(snapshot: &Snapshot, id: StreamId, keys: KeyRange) -> Vec<i64> {
    let scan = snapshot.scan(id, &ScanSpec { range: keys, ..ScanSpec::default() }).unwrap();
    let numbers = scan.map(|batch| {
        let numbers = cast(batch.unwrap().column(0), &DataType::Int64).unwrap();
        numbers.as_primitive::<Int64Type>().values().to_vec()
    });
    numbers.flatten().collect()
}

fn all(store: &Store, id: StreamId) -> Vec<i64> {
    found(&store.snapshot().unwrap(), id, KeyRange::ALL)
}

fn sorted(mut times: Vec<i64>) -> Vec<i64> {
    times.sort_unstable();
    times
}

fn by(factor: i64, times: &[i64]) -> Vec<i64> {
    times.iter().map(|time| time * factor).collect()
}

/// A store of 300 rows of each kind: in a compacted run, in flushed ones, in memory.
fn filled(unit: TimeUnit, format: RunFormat) -> (Machine, Store, StreamId, Vec<i64>) {
    let machine = Machine::new();
    let store = machine.open(kept(tiny()));
    let id = store.create_stream(spec(unit, format)).unwrap();
    let first: Vec<i64> = (-50..250).collect();
    insert(&store, id, unit, &first);
    store.compact(Some(id)).unwrap();
    let late: Vec<i64> = (100..120).collect();
    insert(&store, id, unit, &late);
    store.flush().unwrap();
    let recent: Vec<i64> = (250..300).collect();
    insert(&store, id, unit, &recent);
    (machine, store, id, sorted([first, late, recent].concat()))
}

/// Everything that a snapshot tells of keys, against the times that it must have.
fn check(snapshot: &Snapshot, id: StreamId, expected: &[i64], factor: i64) {
    assert_eq!(found(snapshot, id, KeyRange::ALL), expected);
    let (least, greatest) = (expected[0], expected[expected.len() - 1]);
    assert_eq!(snapshot.min_key(id, &KeyRange::ALL).unwrap(), Some(time(least)));
    assert_eq!(snapshot.max_key(id, &KeyRange::ALL).unwrap(), Some(time(greatest)));
    let ends = [least, 10 * factor - 1, 10 * factor, 10 * factor + 1, 105 * factor, greatest + 1];
    for (place, lo) in ends.iter().enumerate() {
        for hi in &ends[place..] {
            let keys = range(*lo, *hi);
            let within: Vec<i64> = expected
                .iter()
                .copied()
                .filter(|time| keys.contains(LeadKey::Time(*time)))
                .collect();
            assert_eq!(found(snapshot, id, keys), within, "{keys}");
            assert_eq!(snapshot.count(id, &keys).unwrap(), within.len() as u64, "{keys}");
            let reverse = ScanSpec { range: keys, reverse: true, ..ScanSpec::default() };
            let backwards: usize =
                snapshot.scan(id, &reverse).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
            assert_eq!(backwards, within.len(), "{keys}");
        }
    }
    // What blocks may have of the time, where they tell, is told in the unit of today.
    let asked = PruneFilter::default().with_range(0, least..=greatest);
    let pruned = snapshot.prune(id, &KeyRange::ALL, &asked).unwrap();
    let rows: u64 = pruned.iter().map(|keys| snapshot.count(id, keys).unwrap()).sum();
    assert_eq!(rows, expected.len() as u64);
    let sums = snapshot.aggregates(id, &[KeyRange::ALL], &[1], &[2]).unwrap();
    let added = sums.pieces.iter().flat_map(|piece| piece.rows.values()).sum::<i64>() as usize;
    let others =
        ScanSpec { any_order: Some(Share::WHOLE), without: sums.blocks, ..ScanSpec::default() };
    assert_eq!(added + snapshot.collect(id, &others).unwrap().num_rows(), expected.len());
}

#[test]
fn rows_of_memory_hot_and_cold_runs_are_read_with_their_times_multiplied() {
    for (place, from) in UNITS.iter().enumerate() {
        for (steps, to) in UNITS.iter().enumerate().skip(place + 1) {
            let factor = 1_000_i64.pow((steps - place) as u32);
            for format in [RunFormat::Hot, RunFormat::Cold] {
                let (machine, store, id, before) = filled(*from, format);
                let stream = store.alter_stream(id, columns(*to)).unwrap();
                assert_eq!(stream.schema().field(0).data_type(), &times(*to));
                let mut expected = by(factor, &before);
                check(&store.snapshot().unwrap(), id, &expected, factor);
                let between = [10 * factor + 1, 10 * factor + 7, 400 * factor - 1];
                insert(&store, id, *to, &between);
                expected = sorted([expected, between.to_vec()].concat());
                check(&store.snapshot().unwrap(), id, &expected, factor);
                // Without a close: the log holds rows of the finer unit.
                drop(store);
                let store = machine.open(kept(tiny()));
                check(&store.snapshot().unwrap(), id, &expected, factor);
                assert_eq!(store.check().unwrap().findings, []);
                let reader = machine.try_open(Access::Read, tiny()).unwrap();
                check(&reader.snapshot().unwrap(), id, &expected, factor);
                store.flush().unwrap();
                store.compact(Some(id)).unwrap();
                check(&store.snapshot().unwrap(), id, &expected, factor);
                reader.refresh().unwrap();
                check(&reader.snapshot().unwrap(), id, &expected, factor);
                assert_eq!(store.check().unwrap().findings, []);
            }
        }
    }
}

#[test]
fn times_are_made_finer_step_by_step() {
    let (machine, store, id, before) = filled(TimeUnit::Second, RunFormat::Cold);
    for unit in [TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
        store.alter_stream(id, columns(unit)).unwrap();
    }
    let expected = by(1_000_000_000, &before);
    check(&store.snapshot().unwrap(), id, &expected, 1_000_000_000);
    let coarser = store.alter_stream(id, columns(TimeUnit::Second)).unwrap_err();
    assert_eq!(coarser.kind(), ErrorKind::InvalidArgument, "{coarser}");
    drop(store);
    check(&machine.open(tiny()).snapshot().unwrap(), id, &expected, 1_000_000_000);
}

#[test]
fn a_snapshot_goes_on_with_the_unit_that_it_had() {
    let (_, store, id, before) = filled(TimeUnit::Second, RunFormat::Cold);
    let old = store.snapshot().unwrap();
    store.alter_stream(id, columns(TimeUnit::Microsecond)).unwrap();
    insert(&store, id, TimeUnit::Microsecond, &[7]);
    check(&old, id, &before, 1);
    store.compact(Some(id)).unwrap();
    check(&old, id, &before, 1);
    assert_eq!(old.count(id, &range(0, 10)).unwrap(), 10);
}

#[test]
fn range_deletes_hide_the_same_times_in_a_finer_unit() {
    let (machine, store, id, before) = filled(TimeUnit::Millisecond, RunFormat::Hot);
    delete(&store, id, range(20, 30));
    store.flush().unwrap();
    delete(&store, id, range(110, 112));
    delete(&store, id, KeyRange::new(LeadKey::Time(290), None));
    store.pin("with deletes").unwrap();
    store.alter_stream(id, columns(TimeUnit::Nanosecond)).unwrap();
    let kept_rows = |times: &[i64]| -> Vec<i64> {
        let gone = |time: &i64| matches!(*time, 20..30 | 110..112 | 290..);
        times.iter().copied().filter(|time| !gone(time)).collect()
    };
    let mut expected = by(1_000_000, &kept_rows(&before));
    assert_eq!(all(&store, id), expected);
    // Within what was one millisecond.
    let fresh = [40_000_001, 40_000_002, 40_000_003];
    insert(&store, id, TimeUnit::Nanosecond, &fresh);
    delete(&store, id, range(40_000_000, 40_000_002));
    expected.retain(|time| *time != 40_000_000);
    expected = sorted([expected, vec![40_000_002, 40_000_003]].concat());
    assert_eq!(all(&store, id), expected);
    let pinned = by(1_000_000, &kept_rows(&before));
    assert_eq!(found(&store.snapshot_at("with deletes").unwrap(), id, KeyRange::ALL), pinned);
    drop(store);
    let store = machine.open(tiny());
    assert_eq!(all(&store, id), expected);
    store.compact(Some(id)).unwrap();
    assert_eq!(all(&store, id), expected);
    assert_eq!(found(&store.snapshot_at("with deletes").unwrap(), id, KeyRange::ALL), pinned);
    store.unpin("with deletes").unwrap();
    assert_eq!(store.check().unwrap().findings, []);
}

#[test]
fn a_time_too_far_for_the_unit_is_refused_and_nothing_changes() {
    let far = i64::MAX / 1_000;
    for (at, fits) in [(far, true), (far + 1, false), (i64::MIN / 1_000 - 1, false)] {
        let store = Store::memory(manual()).unwrap();
        let id = store.create_stream(spec(TimeUnit::Millisecond, RunFormat::Hot)).unwrap();
        insert(&store, id, TimeUnit::Millisecond, &[1, at]);
        store.pin("p").unwrap();
        delete(&store, id, KeyRange::point(LeadKey::Time(at)));
        store.compact(Some(id)).unwrap();
        // Even where a pin alone has it.
        let outcome = store.alter_stream(id, columns(TimeUnit::Microsecond));
        assert_eq!(outcome.is_ok(), fits, "{at}");
        let Err(error) = outcome else { continue };
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(&at.to_string()), "{error}");
        assert_eq!(all(&store, id), [1]);
        store.unpin("p").unwrap();
        store.alter_stream(id, columns(TimeUnit::Microsecond)).unwrap();
        assert_eq!(all(&store, id), [1_000]);
    }
}

#[test]
fn several_streams_get_their_units_together_or_not_at_all() {
    let machine = Machine::new();
    let store = machine.open(tiny());
    let near = store.create_stream(spec(TimeUnit::Second, RunFormat::Hot)).unwrap();
    let other = StreamSpec { name: "other".into(), ..spec(TimeUnit::Second, RunFormat::Hot) };
    let far = store.create_stream(other).unwrap();
    insert(&store, near, TimeUnit::Second, &[1, 2]);
    insert(&store, far, TimeUnit::Second, &[i64::MAX / 1_000]);
    let finer = |unit| [(near, columns(unit)), (far, columns(unit))];
    store.alter_streams(&finer(TimeUnit::Microsecond)).unwrap_err();
    assert_eq!(all(&store, near), [1, 2]);
    store.alter_streams(&finer(TimeUnit::Millisecond)).unwrap();
    assert_eq!((all(&store, near), all(&store, far).len()), (vec![1_000, 2_000], 1));
    drop(store);
    assert_eq!(all(&machine.open(tiny()), near), [1_000, 2_000]);
}

#[test]
fn rows_that_are_replaced_by_their_keys_are_those_of_the_coarser_unit() {
    let machine = Machine::new();
    let store = machine.open(tiny());
    let latest = StreamSpec { merge: Merge::Latest, ..spec(TimeUnit::Second, RunFormat::Cold) };
    let id = store.create_stream(latest).unwrap();
    insert(&store, id, TimeUnit::Second, &(0..100).collect::<Vec<_>>());
    store.compact(Some(id)).unwrap();
    insert(&store, id, TimeUnit::Second, &[3, 4, 5]);
    store.alter_stream(id, columns(TimeUnit::Millisecond)).unwrap();
    insert(&store, id, TimeUnit::Millisecond, &[5_000, 5_001, 6_000]);
    let keys = batch(TimeUnit::Millisecond, &[4_000]).project(&[0]).unwrap();
    store.commit(Changes::new().delete_keys(id, keys), Durability::Written).unwrap();
    let mut expected = by(1_000, &(0..100).filter(|time| *time != 4).collect::<Vec<_>>());
    expected = sorted([expected, vec![5_001]].concat());
    for _ in 0..2 {
        assert_eq!(all(&store, id), expected);
        let snapshot = store.snapshot().unwrap();
        let at = |time| snapshot.get(id, &[Cell::Int(time)]).unwrap();
        assert!(at(5_000).is_some() && at(5_001).is_some());
        assert!(at(4_000).is_none() && at(5).is_none() && at(5_002).is_none());
        store.flush().unwrap();
        store.compact(Some(id)).unwrap();
    }
    drop(store);
    assert_eq!(all(&machine.open(tiny()), id), expected);
}

#[test]
fn rows_and_ranges_that_were_made_for_the_coarser_unit_are_refused() {
    let store = Store::memory(manual()).unwrap();
    let latest = StreamSpec { merge: Merge::Latest, ..spec(TimeUnit::Second, RunFormat::Hot) };
    let id = store.create_stream(latest).unwrap();
    insert(&store, id, TimeUnit::Second, &[1]);
    let old = store.stream_of(id).unwrap();
    let encoder = store.row_encoder(id).unwrap();
    let mut row = Changes::new();
    encoder.put(&mut row, &[Cell::Int(2), Cell::Null, Cell::Null]).unwrap();
    let mut condition = Changes::new();
    condition.if_unchanged_since(&old, &[Cell::Int(1)], last(&store)).unwrap();
    let mut bulk = store.bulk().unwrap();
    bulk.insert(id, batch(TimeUnit::Second, &[9])).unwrap();
    bulk.delete_range(id, range(0, 5)).unwrap();
    store.alter_stream(id, columns(TimeUnit::Nanosecond)).unwrap();
    let rows = Changes::new().insert(id, batch(TimeUnit::Second, &[3]));
    for changes in [row, rows, condition] {
        let error = store.commit(changes, Durability::Written).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
    }
    assert_eq!(bulk.commit().unwrap_err().kind(), ErrorKind::InvalidData);
    assert_eq!(all(&store, id), [1_000_000_000]);
}

#[test]
fn the_store_as_it_was_and_its_changes_are_told_in_the_unit_of_then() {
    let machine = Machine::new();
    let store = machine.open(kept(manual()));
    let mut feed = store.changes_since(SeqNo(0)).unwrap();
    let id = store.create_stream(spec(TimeUnit::Second, RunFormat::Cold)).unwrap();
    insert(&store, id, TimeUnit::Second, &[1, 2, 3]);
    delete(&store, id, range(3, 4));
    let mut bulk = store.bulk().unwrap();
    bulk.insert(id, batch(TimeUnit::Second, &(10..400).collect::<Vec<_>>())).unwrap();
    bulk.delete_range(id, range(2, 3)).unwrap();
    bulk.commit().unwrap();
    let before = last(&store);
    let then = all(&store, id);
    store.alter_stream(id, columns(TimeUnit::Millisecond)).unwrap();
    insert(&store, id, TimeUnit::Millisecond, &[1_001]);
    delete(&store, id, range(10_000, 11_000));
    store.compact(Some(id)).unwrap();
    let now = all(&store, id);
    let ranges = |feed: &mut timestrata_engine::ChangeFeed| -> Vec<(KeyRange, Option<i64>)> {
        let changes = all_of(feed, usize::MAX);
        let changes = changes.iter().flat_map(|commit| &commit.changes);
        let deleted = changes.filter(|change| change.kind() == ChangeKind::DeletedRange);
        deleted.map(|change| (change.range().unwrap(), change.stream().time_unit_ns())).collect()
    };
    let (second, ms) = (Some(1_000_000_000), Some(1_000_000));
    let expected = [(range(3, 4), second), (range(2, 3), second), (range(10_000, 11_000), ms)];
    for reopened in [false, true] {
        let store = if reopened { machine.copy().open(kept(manual())) } else { store.clone() };
        let mut from_the_first = store.changes_since(SeqNo(0)).unwrap();
        let feed = if reopened { &mut from_the_first } else { &mut feed };
        assert_eq!(ranges(feed), expected);
        let was = store.at(&Moment::Commit(before)).unwrap();
        assert_eq!(all(&was, id), then);
        assert_eq!(was.stream_of(id).unwrap().time_unit_ns(), second);
        assert_eq!(all(&store, id), now);
    }
}

#[test]
fn backups_and_repaired_stores_have_the_finer_unit() {
    for loses_manifest in [false, true] {
        let (machine, store, id, before) = filled(TimeUnit::Second, RunFormat::Cold);
        delete(&store, id, range(0, 3));
        store.flush().unwrap();
        store.alter_stream(id, columns(TimeUnit::Microsecond)).unwrap();
        insert(&store, id, TimeUnit::Microsecond, &[5]);
        store.flush().unwrap();
        let kept_times: Vec<i64> =
            before.iter().copied().filter(|time| !(0..3).contains(time)).collect();
        let expected = sorted([by(1_000_000, &kept_times), vec![5]].concat());
        store.backup(Path::new("/copy")).unwrap();
        let at = |dir: &str| {
            let (io, dir) = (machine.io.clone(), Path::new(dir));
            Store::open_with(io, dir, Access::Write, tiny()).unwrap()
        };
        assert_eq!(all(&at("/copy"), id), expected);
        let left = machine.copy();
        if loses_manifest {
            for name in ["MANIFEST", "MANIFEST.copy"] {
                left.io.disk.remove(&left.dir.join(name)).unwrap();
            }
        }
        let report = repair(&left.io, &left.dir, &RepairOptions::default()).unwrap();
        assert_eq!(report.missing, []);
        let dir = Path::new("/store-repaired");
        let repaired = Store::open_with(left.io.clone(), dir, Access::Write, tiny()).unwrap();
        assert_eq!(all(&repaired, id), expected);
        assert_eq!(repaired.check().unwrap().findings, []);
    }
}

#[test]
fn a_kill_at_any_call_of_the_disk_leaves_all_rows_in_one_unit_or_the_other() {
    let (inner, store, id, before) = filled(TimeUnit::Second, RunFormat::Cold);
    delete(&store, id, range(0, 3));
    store.pin("p").unwrap();
    delete(&store, id, range(5, 6));
    drop(store);
    let kills = Arc::new(Kills::<()>::default());
    let (io, dir) = (watched(&inner, &kills), inner.dir.clone());
    let store = Store::open_with(io, &dir, Access::Write, kept(tiny())).unwrap();
    *kills.machine.lock() = Some(inner);
    store.alter_stream(id, columns(TimeUnit::Millisecond)).unwrap();
    insert(&store, id, TimeUnit::Millisecond, &[1]);
    store.compact(Some(id)).unwrap();
    *kills.machine.lock() = None;
    let rows: Vec<i64> = before.iter().copied().filter(|time| !matches!(*time, 0..3 | 5)).collect();
    let pinned: Vec<i64> = before.iter().copied().filter(|time| !(0..3).contains(time)).collect();
    let mut seen = [0; 2];
    for (machine, (), what) in std::mem::take(&mut *kills.left.lock()) {
        for access in [Access::Read, Access::Write] {
            let store = machine.try_open(access, kept(tiny())).unwrap();
            let unit = store.stream_of(id).unwrap().time_unit_ns().unwrap();
            let factor = 1_000_000_000 / unit;
            let mut found_rows = all(&store, id);
            found_rows.retain(|time| factor == 1 || *time != 1);
            assert_eq!(found_rows, by(factor, &rows), "{what}");
            let pin = store.snapshot_at("p").unwrap();
            assert_eq!(found(&pin, id, KeyRange::ALL), by(factor, &pinned), "{what}");
            seen[usize::from(factor > 1)] += 1;
        }
    }
    // Kills fall before the edit and behind it.
    assert!(seen.iter().all(|kills| *kills > 0), "{seen:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn writes_deletes_and_finer_units_in_any_order_give_what_a_list_gives(
        steps in prop::collection::vec((0..6_u8, -40..40_i64), 1..24),
    ) {
        let machine = Machine::new();
        let mut store = machine.open(tiny());
        let id = store.create_stream(spec(TimeUnit::Second, RunFormat::Cold)).unwrap();
        // In nanoseconds.
        let (mut expected, mut unit) = (Vec::<i64>::new(), 0_usize);
        for (what, at) in steps {
            let ns = 1_000_i64.pow(3 - unit as u32);
            match what {
                0 | 1 => {
                    insert(&store, id, UNITS[unit], &[at, at + 1]);
                    expected.extend([at * ns, (at + 1) * ns]);
                }
                2 => {
                    delete(&store, id, range(at, at + 5));
                    expected.retain(|time| !(at * ns..(at + 5) * ns).contains(time));
                }
                3 => {
                    store.flush().unwrap();
                    store.compact(Some(id)).unwrap();
                }
                4 => {
                    drop(store);
                    store = machine.open(tiny());
                }
                _ if unit < 3 => {
                    unit += 1;
                    store.alter_stream(id, columns(UNITS[unit])).unwrap();
                }
                _ => {}
            }
            let ns = 1_000_i64.pow(3 - unit as u32);
            prop_assert_eq!(by(ns, &all(&store, id)), sorted(expected.clone()));
        }
    }
}
