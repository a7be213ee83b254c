//! Commits that are made only if a key is what it was: none is made beside a change of it, whatever way that took.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::collections::BTreeMap;
use std::thread;

use proptest::prelude::*;
use timestrata_engine::{
    Cell, Changes, Durability, ErrorKind, KeyRange, Result, RowChange, SeqNo, Settings, Store,
    StreamId,
};

use crate::support::*;

/// A commit that puts a value if the key is what it was.
fn put_if(store: &Store, stream: StreamId, time: i64, value: &str, since: SeqNo) -> Result<SeqNo> {
    let encoder = store.row_encoder(stream)?;
    let mut changes = Changes::new();
    changes.if_unchanged_since(encoder.stream(), &[Cell::Int(time)], since)?;
    encoder.put(&mut changes, &[Cell::Int(time), Cell::Bytes(value.as_bytes())])?;
    store.commit(changes, Durability::Written)
}

fn is_conflict(committed: &Result<SeqNo>) -> bool {
    committed.as_ref().is_err_and(|error| error.kind() == ErrorKind::Conflict)
}

type Way = fn(&Store, StreamId);

/// Ways to change the key 1, by name.
fn ways() -> Vec<(&'static str, Way)> {
    vec![
        ("a row", |store, stream| {
            let mut appender = store.appender(stream).unwrap();
            appender.append(&[Cell::Int(1), Cell::Bytes(b"row")], Durability::Written).unwrap();
        }),
        ("a hurried row", |store, stream| {
            let mut appender = store.appender(stream).unwrap();
            let row = [Cell::Int(1), Cell::Bytes(b"row")];
            if appender.try_append(&row).unwrap().is_none() {
                appender.append(&row, Durability::Written).unwrap();
            }
        }),
        ("rows of a group", |store, stream| {
            let mut appender = store.group_appender(&[stream]).unwrap();
            let row = [Cell::Int(1), Cell::Bytes(b"group")];
            appender.commit(&[RowChange::Put(0, &row)], Durability::Written).unwrap();
        }),
        ("a key of a group", |store, stream| {
            let mut appender = store.group_appender(&[stream]).unwrap();
            appender
                .commit(&[RowChange::DeleteKey(0, &[Cell::Int(1)])], Durability::Written)
                .unwrap();
        }),
        ("a small batch", |store, stream| {
            let rows = batch(&[pair(0, "a"), pair(1, "b")]);
            store.commit(Changes::new().insert(stream, rows), Durability::Written).unwrap();
        }),
        ("a batch", |store, stream| {
            let rows: Vec<Pair> = (0..1_000).map(|time| pair(time, "b")).collect();
            store.commit(Changes::new().insert(stream, batch(&rows)), Durability::Written).unwrap();
        }),
        ("a batch that goes to a run", |store, stream| {
            let rows: Vec<Pair> = (0..40_000).map(|time| pair(time, "b")).collect();
            store.commit(Changes::new().insert(stream, batch(&rows)), Durability::Written).unwrap();
        }),
        ("keys", |store, stream| {
            let changes = Changes::new().delete_keys(stream, keys(&[1, 5]));
            store.commit(changes, Durability::Written).unwrap();
        }),
        ("a range", |store, stream| {
            let changes = Changes::new().delete_range(stream, KeyRange::times(0, 2));
            store.commit(changes, Durability::Written).unwrap();
        }),
        ("a bulk commit", |store, stream| {
            let mut bulk = store.bulk().unwrap();
            bulk.insert(stream, batch(&[pair(1, "bulk")])).unwrap();
            bulk.commit().unwrap();
        }),
        ("the same commit of somebody else", |store, stream| {
            put_if(store, stream, 1, "else", store.stats().last_seq).unwrap();
        }),
    ]
}

#[test]
fn whatever_way_a_key_was_changed_a_commit_that_needs_it_unchanged_is_refused() {
    for (name, change) in ways() {
        let settings = Settings { wal_segment_bytes: 1 << 20, ..manual() };
        let machine = Machine::new();
        let store = machine.open(settings);
        let stream = store.create_stream(latest("newest")).unwrap();
        put_if(&store, stream, 1, "first", store.stats().last_seq).unwrap();
        let since = store.stats().last_seq;
        // Another key's changes are none of it.
        put_if(&store, stream, 7, "other", since).unwrap();
        put_if(&store, stream, 1, "second", since).unwrap();
        let since = store.stats().last_seq;
        change(&store, stream);
        let before = read(&store, "newest");
        let refused = put_if(&store, stream, 1, "third", since);
        assert!(is_conflict(&refused), "{name}: {refused:?}");
        assert_eq!(read(&store, "newest"), before, "{name}");
        let now = store.stats().last_seq;
        put_if(&store, stream, 1, "fourth", now).unwrap();
        assert!(read(&store, "newest").contains(&pair(1, "fourth")), "{name}");
    }
}

#[test]
fn what_was_before_the_store_was_opened_is_not_known() {
    let machine = Machine::new();
    let store = machine.open(manual());
    let stream = store.create_stream(latest("newest")).unwrap();
    let early = put_if(&store, stream, 1, "first", store.stats().last_seq).unwrap();
    put_if(&store, stream, 2, "second", store.stats().last_seq).unwrap();
    drop(store);
    let store = machine.copy().open(manual());
    let refused = put_if(&store, stream, 1, "third", early);
    assert!(is_conflict(&refused), "{refused:?}");
    assert!(refused.unwrap_err().to_string().contains("is not known"));
    put_if(&store, stream, 1, "third", store.stats().last_seq).unwrap();
}

#[test]
fn a_condition_on_a_commit_that_was_not_made_is_refused() {
    let store = Store::memory(Settings { memtable_bytes_max: 1 << 20, ..manual() }).unwrap();
    let stream = store.create_stream(latest("newest")).unwrap();
    let last = put_if(&store, stream, 1, "first", store.stats().last_seq).unwrap();
    // A large one takes another way into the store.
    for value in ["small", &"large".repeat(1 << 20)] {
        let error = put_if(&store, stream, 1, value, last.next()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("since commit"), "{error}");
    }
    assert_eq!(store.stats().last_seq, last);
    put_if(&store, stream, 1, "second", last).unwrap();
}

#[test]
fn conditions_alone_are_looked_at_and_streams_that_keep_every_row_have_none() {
    let store = Store::memory(manual()).unwrap();
    let newest = store.create_stream(latest("newest")).unwrap();
    let kept = store.create_stream(keep("kept")).unwrap();
    let encoder = store.row_encoder(newest).unwrap();
    let since = store.stats().last_seq;
    for is_unchanged in [true, false] {
        let mut changes = Changes::new();
        changes.if_unchanged_since(encoder.stream(), &[Cell::Int(1)], since).unwrap();
        let committed = store.commit(changes, Durability::Written);
        assert_eq!(is_conflict(&committed), !is_unchanged, "{committed:?}");
        put_if(&store, newest, 1, "now", store.stats().last_seq).unwrap();
    }
    let (kept, mut none) = (store.stream_of(kept).unwrap(), Changes::new());
    let error = none.if_unchanged_since(&kept, &[Cell::Int(1)], since).unwrap_err();
    assert!(error.to_string().contains("keeps every row"), "{error}");
    let error = none.if_unchanged_since(encoder.stream(), &[Cell::Text("1")], since).unwrap_err();
    assert_eq!((error.kind(), none.is_empty()), (ErrorKind::InvalidData, true));
}

#[test]
fn counters_of_several_threads_lose_no_step() {
    const STEPS: u64 = 200;
    let machine = Machine::new();
    let store = machine.open(Settings { memtable_bytes_max: 16 << 10, ..Settings::default() });
    let stream = store.create_stream(latest("newest")).unwrap();
    put_if(&store, stream, 1, "0", store.stats().last_seq).unwrap();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..STEPS {
                    loop {
                        // Before the key is read.
                        let since = store.stats().last_seq;
                        let row = store.snapshot().unwrap().get(stream, &[Cell::Int(1)]).unwrap();
                        let row = row.unwrap();
                        let Some(Cell::Bytes(value)) = Cell::of(row.batch.column(1), row.index)
                        else {
                            panic!("a value is bytes")
                        };
                        let next = str::from_utf8(value).unwrap().parse::<u64>().unwrap() + 1;
                        let committed = put_if(&store, stream, 1, &next.to_string(), since);
                        if !is_conflict(&committed) {
                            committed.unwrap();
                            break;
                        }
                    }
                }
            });
        }
    });
    assert_eq!(read(&store, "newest"), [pair(1, &(3 * STEPS).to_string())]);
}

#[derive(Debug, Clone)]
enum Step {
    Put(i64),
    Delete(i64),
    DeleteRange(i64, i64),
    /// Puts a key if it was not changed by the commits so many before the last one.
    PutIf(i64, u64),
    Flush,
    Compact,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..6i64).prop_map(Step::Put),
        2 => (0..6i64).prop_map(Step::Delete),
        1 => (0..6i64, 0..3i64).prop_map(|(lo, more)| Step::DeleteRange(lo, lo + more)),
        8 => (0..6i64, 0..8u64).prop_map(|(time, ago)| Step::PutIf(time, ago)),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_conditional_commit_is_made_if_and_only_if_its_key_is_unchanged(
        steps in prop::collection::vec(step(), 1..60)
    ) {
        let machine = Machine::new();
        let store = machine.open(tiny());
        let stream = store.create_stream(latest("newest")).unwrap();
        // The stream is new, so that all of it is known from here on.
        let mut changed: BTreeMap<i64, SeqNo> = (0..9).map(|time| (time, SeqNo(0))).collect();
        changed.insert(0, put_if(&store, stream, 0, "first", SeqNo(0)).unwrap());
        let mut appender = store.appender(stream).unwrap();
        for step in &steps {
            match step {
                Step::Put(time) => {
                    let row = [Cell::Int(*time), Cell::Bytes(b"put")];
                    changed.insert(*time, appender.append(&row, Durability::Written).unwrap());
                }
                Step::Delete(time) => {
                    let changes = Changes::new().delete_keys(stream, keys(&[*time]));
                    changed.insert(*time, store.commit(changes, Durability::Written).unwrap());
                }
                Step::DeleteRange(lo, hi) => {
                    let changes = Changes::new().delete_range(stream, KeyRange::times(*lo, *hi));
                    let seq = store.commit(changes, Durability::Written).unwrap();
                    for time in *lo..*hi {
                        changed.insert(time, seq);
                    }
                }
                Step::PutIf(time, ago) => {
                    let since = SeqNo(store.stats().last_seq.0.saturating_sub(*ago));
                    let committed = put_if(&store, stream, *time, "if", since);
                    prop_assert_eq!(!is_conflict(&committed), changed[time] <= since, "{:?}", committed);
                    if let Ok(seq) = committed {
                        changed.insert(*time, seq);
                    }
                }
                Step::Flush => store.flush().unwrap(),
                Step::Compact => store.compact(None).unwrap(),
            }
        }
    }
}
