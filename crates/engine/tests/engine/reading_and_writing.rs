//! What is committed is read, in key order, whatever its way through memtable and runs.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use crate::support::*;
use timestrata_engine::{Cell, Changes, Durability, KeyRange, LeadKey, ScanSpec, Store, StreamId};

fn memory() -> (Store, StreamId) {
    let store = Store::memory(tiny()).unwrap();
    let stream = store.create_stream(keep("events")).unwrap();
    (store, stream)
}

#[test]
fn rows_come_back_in_time_order_and_equal_times_in_commit_order() {
    let (store, stream) = memory();
    append(&store, stream, &[pair(5, "a"), pair(9, "b"), pair(5, "late"), pair(9, "c")]);
    insert(&store, stream, &[pair(7, "x"), pair(5, "y"), pair(9, "z")], Durability::Written);
    let expected = vec![
        pair(5, "a"),
        pair(5, "late"),
        pair(5, "y"),
        pair(7, "x"),
        pair(9, "b"),
        pair(9, "c"),
        pair(9, "z"),
    ];
    assert_eq!(read(&store, "events"), expected);
    store.flush().unwrap();
    assert_eq!(read(&store, "events"), expected);
    append(&store, stream, &[pair(5, "later"), pair(10, "d")]);
    store.compact(None).unwrap();
    let mut expected = expected;
    expected.insert(3, pair(5, "later"));
    expected.push(pair(10, "d"));
    assert_eq!(read(&store, "events"), expected);
}

#[test]
fn both_ends_of_the_64_bit_range_are_data() {
    let (store, stream) = memory();
    append(&store, stream, &[pair(i64::MAX, "last"), pair(i64::MIN, "first"), pair(0, "zero")]);
    for _ in 0..2 {
        assert_eq!(
            read(&store, "events"),
            vec![pair(i64::MIN, "first"), pair(0, "zero"), pair(i64::MAX, "last")]
        );
        let snapshot = store.snapshot().unwrap();
        assert_eq!(snapshot.max_key(stream, &KeyRange::ALL).unwrap(), Some(time(i64::MAX)));
        assert_eq!(snapshot.min_key(stream, &KeyRange::ALL).unwrap(), Some(time(i64::MIN)));
        assert_eq!(snapshot.count(stream, &range(i64::MIN, i64::MAX)).unwrap(), 2);
        assert_eq!(snapshot.count(stream, &KeyRange::point(time(i64::MAX))).unwrap(), 1);
        store.flush().unwrap();
        store.compact(None).unwrap();
    }
}

#[test]
fn a_snapshot_never_changes() {
    let (store, stream) = memory();
    append(&store, stream, &[pair(1, "a"), pair(2, "b"), pair(3, "c")]);
    let before = store.snapshot().unwrap();
    delete(&store, stream, 2, 3);
    append(&store, stream, &[pair(2, "again"), pair(0, "late")]);
    store.flush().unwrap();
    let middle = store.snapshot().unwrap();
    delete(&store, stream, 0, 100);
    store.compact(None).unwrap();
    let all = ScanSpec::default();
    assert_eq!(
        read_spec(&before, stream, &all).unwrap(),
        vec![pair(1, "a"), pair(2, "b"), pair(3, "c")]
    );
    assert_eq!(
        read_spec(&middle, stream, &all).unwrap(),
        vec![pair(0, "late"), pair(1, "a"), pair(2, "again"), pair(3, "c")]
    );
    assert_eq!(read(&store, "events"), vec![]);
}

#[test]
fn one_snapshot_sees_all_streams_at_the_same_instant() {
    let (store, first) = memory();
    let second = store.create_stream(latest("state")).unwrap();
    for i in 0..50 {
        let rows = [pair(i, &i.to_string())];
        let both = Changes::new().insert(first, batch(&rows)).insert(second, batch(&rows));
        store.commit(both, Durability::Written).unwrap();
        let snapshot = store.snapshot().unwrap();
        let all = KeyRange::ALL;
        assert_eq!(snapshot.count(first, &all).unwrap(), snapshot.count(second, &all).unwrap());
    }
}

#[test]
fn ranges_limits_columns_and_reverse_agree_before_and_after_flush_and_compaction() {
    let (store, stream) = memory();
    let rows: Vec<Pair> = (0..500).map(|i| pair((i * 37) % 251, &format!("v{i}"))).collect();
    append(&store, stream, &rows);
    let mut sorted = rows.clone();
    sorted.sort_by_key(|(time, _)| *time);
    for _ in 0..3 {
        let snapshot = store.snapshot().unwrap();
        for (lo, hi) in [(0, 251), (10, 20), (100, 101), (250, 1000), (-5, 0), (7, 7)] {
            let expected: Vec<Pair> =
                sorted.iter().filter(|(time, _)| (lo..hi).contains(time)).cloned().collect();
            let spec = ScanSpec { range: range(lo, hi), ..ScanSpec::default() };
            assert_eq!(read_spec(&snapshot, stream, &spec).unwrap(), expected, "[{lo}, {hi})");
            assert_eq!(snapshot.count(stream, &spec.range).unwrap(), expected.len() as u64);
            let mut reversed = expected.clone();
            reversed.reverse();
            let back = ScanSpec { reverse: true, limit: Some(5), ..spec.clone() };
            reversed.truncate(5);
            assert_eq!(read_spec(&snapshot, stream, &back).unwrap(), reversed);
            let first = snapshot.first(stream, &spec.range).unwrap();
            assert_eq!(
                first.map(|row| pairs(&row.batch)[row.index].clone()),
                expected.first().cloned()
            );
            let last = snapshot.last(stream, &spec.range).unwrap();
            assert_eq!(
                last.map(|row| pairs(&row.batch)[row.index].clone()),
                expected.last().cloned()
            );
        }
        let only_values =
            ScanSpec { columns: Some(vec![1]), limit: Some(3), ..ScanSpec::default() };
        let batch = snapshot.collect(stream, &only_values).unwrap();
        assert_eq!((batch.num_columns(), batch.num_rows()), (1, 3));
        store.flush().unwrap();
        store.compact(None).unwrap();
    }
}

#[test]
fn a_range_delete_hides_only_rows_committed_before_it() {
    let (store, stream) = memory();
    append(&store, stream, &[pair(1, "old"), pair(2, "old"), pair(3, "old")]);
    let both = Changes::new()
        .insert(stream, batch(&[pair(2, "same commit")]))
        .delete_range(stream, range(1, 3));
    store.commit(both, Durability::Written).unwrap();
    append(&store, stream, &[pair(1, "new")]);
    let expected = vec![pair(1, "new"), pair(2, "same commit"), pair(3, "old")];
    assert_eq!(read(&store, "events"), expected);
    store.flush().unwrap();
    assert_eq!(read(&store, "events"), expected);
    store.compact(None).unwrap();
    assert_eq!(read(&store, "events"), expected);
    assert_eq!(store.stats().streams[0].tombstones, 0);
}

#[test]
fn the_latest_commit_of_a_key_wins_and_a_deleted_key_stays_deleted() {
    let store = Store::memory(tiny()).unwrap();
    let stream = store.create_stream(latest("state")).unwrap();
    insert(&store, stream, &[pair(1, "a"), pair(2, "a"), pair(1, "b")], Durability::Written);
    store.flush().unwrap();
    append(&store, stream, &[pair(2, "c"), pair(3, "d")]);
    store.commit(Changes::new().delete_keys(stream, keys(&[1, 9])), Durability::Written).unwrap();
    for _ in 0..3 {
        assert_eq!(read(&store, "state"), vec![pair(2, "c"), pair(3, "d")]);
        let snapshot = store.snapshot().unwrap();
        assert!(snapshot.get(stream, &[Cell::Int(1)]).unwrap().is_none());
        let row = snapshot.get(stream, &[Cell::Int(2)]).unwrap().unwrap();
        assert_eq!(pairs(&row.batch)[row.index], pair(2, "c"));
        assert_eq!(snapshot.count(stream, &KeyRange::ALL).unwrap(), 2);
        store.flush().unwrap();
        store.compact(None).unwrap();
    }
    append(&store, stream, &[pair(1, "back")]);
    assert_eq!(read(&store, "state"), vec![pair(1, "back"), pair(2, "c"), pair(3, "d")]);
}

#[test]
fn a_large_commit_goes_straight_to_a_run_and_keeps_its_place_in_the_order() {
    let (machine, store, stream) = with_events();
    append(&store, stream, &[pair(5, "before")]);
    let large: Vec<Pair> = (0..200).map(|i| (i % 10, vec![b'x'; 100])).collect();
    insert(&store, stream, &large, Durability::Written);
    assert!(store.stats().streams[0].runs >= 1, "{:?}", store.stats());
    append(&store, stream, &[pair(5, "after")]);
    let fives = |store: &Store| {
        let snapshot = store.snapshot().unwrap();
        let spec = ScanSpec { range: KeyRange::point(LeadKey::Time(5)), ..ScanSpec::default() };
        read_spec(&snapshot, stream, &spec).unwrap()
    };
    let mut expected = vec![pair(5, "before")];
    expected.extend(vec![(5, vec![b'x'; 100]); 20]);
    expected.push(pair(5, "after"));
    assert_eq!(fives(&store), expected);
    // A killed process leaves what it has written.
    let crashed = machine.copy();
    let reopened = crashed.open(tiny());
    assert_eq!(fives(&reopened), expected);
    reopened.compact(None).unwrap();
    assert_eq!(fives(&reopened), expected);
    store.flush().unwrap();
    assert_eq!(fives(&store), expected);
}
