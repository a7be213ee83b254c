//! One commit of more rows than fit in memory: whole or not at all, in the order they were given.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::*;
use crate::watched_disk::{Step, WatchedDisk, Watcher};
use arrow_array::cast::AsArray;
use arrow_array::{Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use timestrata_engine::{
    BulkCommit, Cell, Changes, Durability, ErrorKind, Io, KeyRange, Merge, ScanSpec, Settings,
    Store, StreamId, StreamSpec,
};
use timestrata_io::{Rng, SeededRng};

/// Rows of 200 bytes and more: a few hundred of them are more than a tiny store keeps in memory.
fn long(time: i64, name: &str) -> Pair {
    pair(time, &format!("{name} {}", "x".repeat(200)))
}

fn batches(times: impl Iterator<Item = i64>, name: &str) -> Vec<Vec<Pair>> {
    let rows: Vec<Pair> =
        times.enumerate().map(|(n, time)| long(time, &format!("{name} {n}"))).collect();
    rows.chunks(37).map(<[Pair]>::to_vec).collect()
}

fn fill(bulk: &mut BulkCommit, stream: StreamId, batches: &[Vec<Pair>]) {
    batches.iter().for_each(|rows| bulk.insert(stream, batch(rows)).unwrap());
}

/// As a scan gives them: in key order, equal keys as they were committed.
fn in_key_order(mut rows: Vec<Pair>) -> Vec<Pair> {
    rows.sort_by_key(|(time, _)| *time);
    rows
}

fn read_backward(store: &Store, stream: StreamId) -> Vec<Pair> {
    let spec = ScanSpec { reverse: true, ..ScanSpec::default() };
    let mut rows = read_spec(&store.snapshot().unwrap(), stream, &spec).unwrap();
    rows.reverse();
    rows
}

/// The stream `events` holds these rows, however it is read, now and after compaction.
fn expect_rows(store: &Store, stream: StreamId, rows: &[Pair]) {
    for _ in 0..2 {
        assert!(read(store, "events") == rows);
        assert!(read_backward(store, stream) == rows);
        let snapshot = store.snapshot().unwrap();
        assert_eq!(snapshot.count(stream, &KeyRange::ALL).unwrap(), rows.len() as u64);
        store.compact(Some(stream)).unwrap();
    }
    assert!(store.check().unwrap().findings.is_empty());
}

/// Times in no order, each several times.
fn shuffled(count: usize, of: u64) -> impl Iterator<Item = i64> {
    let rng = SeededRng::new(11);
    (0..count).map(move |_| (rng.next_u64() % of) as i64)
}

#[test]
fn nothing_is_seen_before_the_end_and_all_of_it_after() {
    let (machine, store, stream) = with_events();
    let other = store.create_stream(keep("other")).unwrap();
    append(&store, stream, &[pair(5, "before")]);
    let mut bulk = store.bulk().unwrap();
    let given = batches(10..1_000, "bulk");
    fill(&mut bulk, stream, &given);
    bulk.insert(other, batch(&[pair(1, "beside")])).unwrap();
    assert_eq!(bulk.rows(), 991);
    assert!(!machine.run_files().is_empty(), "rows go to files as they come");
    assert_eq!(read(&store, "events"), [pair(5, "before")]);
    // What the next open finds if the process ends here.
    let killed = machine.copy();
    let reopened = killed.open(tiny());
    assert_eq!(reopened.recovery_report().orphans_quarantined.len(), machine.run_files().len());
    assert_eq!(read(&reopened, "events"), [pair(5, "before")]);
    let seq = bulk.commit().unwrap();
    assert_eq!(store.snapshot().unwrap().seq(), seq);
    let mut all = vec![pair(5, "before")];
    all.extend(given.concat());
    let reopened = machine.copy().open(tiny());
    assert_eq!(reopened.snapshot().unwrap().seq(), seq);
    for store in [&store, &reopened] {
        expect_rows(store, stream, &all);
        assert_eq!(read(store, "other"), [pair(1, "beside")]);
    }
}

#[test]
fn dropped_before_its_end_it_leaves_no_file() {
    let (machine, store, stream) = with_events();
    let mut bulk = store.bulk().unwrap();
    fill(&mut bulk, stream, &batches(shuffled(1_000, 500), "bulk"));
    assert!(machine.run_files().len() > 1);
    drop(bulk);
    assert!(machine.run_files().is_empty());
    insert(&store, stream, &[pair(1, "after")], Durability::Synced);
    assert_eq!(read(&store, "events"), [pair(1, "after")]);
}

#[test]
fn rows_in_order_become_few_runs_that_overlap_nothing() {
    let (machine, store, stream) = with_events();
    let mut bulk = store.bulk().unwrap();
    // Ten rows a time, so that batches and pieces end between rows of one time.
    let given = batches((0..4_000).map(|n| n / 10), "bulk");
    fill(&mut bulk, stream, &given);
    bulk.commit().unwrap();
    let bytes: usize = machine.run_files().iter().map(|run| machine.read_file(run).len()).sum();
    let runs = machine.run_files().len();
    assert!(runs as u64 <= bytes as u64 / tiny().run_bytes_max, "{runs} runs of {bytes} bytes");
    // Nothing is left to do for who merges runs that overlap.
    let debt: u64 = store.stats().streams.iter().map(|stream| stream.compaction_debt_bytes).sum();
    assert_eq!(debt, 0);
    expect_rows(&store, stream, &given.concat());
}

#[test]
fn rows_with_equal_keys_stay_in_the_order_they_were_given() {
    let (machine, store, stream) = with_events();
    let before = batches(shuffled(60, 40), "before");
    before.iter().for_each(|rows| insert(&store, stream, rows, Durability::Written));
    store.flush().unwrap();
    let mut bulk = store.bulk().unwrap();
    // Late rows over rows in order over late rows, at keys that they share.
    let parts = [
        batches(shuffled(900, 40), "first"),
        batches((20..900).map(|n| n / 3), "second"),
        batches(shuffled(1_200, 300), "third"),
        batches(std::iter::repeat_n(299, 700), "fourth"),
        batches((0..300).rev(), "fifth"),
    ];
    parts.iter().for_each(|part| fill(&mut bulk, stream, part));
    // Committed before the bulk commit, which ends later.
    let meanwhile = batches(shuffled(20, 300), "meanwhile");
    meanwhile.iter().for_each(|rows| insert(&store, stream, rows, Durability::Written));
    bulk.commit().unwrap();
    let after = [pair(7, "after"), pair(250, "after")];
    insert(&store, stream, &after, Durability::Written);
    let mut all = [before, meanwhile, parts.concat()].concat().concat();
    all.extend(after);
    let all = in_key_order(all);
    assert!(read(&store, "events") == all);
    let reopened = machine.copy().open(tiny());
    expect_rows(&reopened, stream, &all);
    expect_rows(&store, stream, &all);
}

#[test]
fn batches_of_one_large_commit_keep_their_order_too() {
    let (_, store, stream) = with_events();
    let given = batches(shuffled(1_500, 90), "row");
    let changes = given.iter().fold(Changes::new(), |all, rows| all.insert(stream, batch(rows)));
    store.commit(changes, Durability::Written).unwrap();
    expect_rows(&store, stream, &in_key_order(given.concat()));
}

#[test]
fn of_a_stream_that_keeps_the_latest_row_the_last_one_given_wins() {
    let machine = Machine::new();
    let store = machine.open(tiny());
    let stream = store.create_stream(latest("events")).unwrap();
    let mut expected: BTreeMap<i64, Vec<u8>> = BTreeMap::new();
    for (name, flushed) in [("in a run", true), ("in memory", false)] {
        let rows = batches(0..150, name).concat();
        insert(&store, stream, &rows, Durability::Written);
        expected.extend(rows);
        if flushed {
            store.flush().unwrap();
        }
    }
    let mut bulk = store.bulk().unwrap();
    let parts = [
        batches(shuffled(1_000, 200), "first"),
        batches(50..900, "second"),
        batches(shuffled(1_000, 800), "third"),
    ];
    for part in &parts {
        fill(&mut bulk, stream, part);
        expected.extend(part.concat());
        let deleted = [3, 60, 149, 700, 2_000];
        bulk.delete_keys(stream, keys(&deleted)).unwrap();
        deleted.iter().for_each(|key| drop(expected.remove(key)));
        bulk.insert(stream, batch(&[pair(60, "given again")])).unwrap();
        expected.extend([pair(60, "given again")]);
    }
    assert!(machine.run_files().len() > 3);
    bulk.commit().unwrap();
    let all: Vec<Pair> = expected.clone().into_iter().collect();
    let get = |store: &Store, key: i64| {
        let row = store.snapshot().unwrap().get(stream, &[Cell::Int(key)]).unwrap();
        row.map(|row| pairs(&row.batch.slice(row.index, 1))[0].1.clone())
    };
    let reopened = machine.copy().open(tiny());
    for store in [&store, &reopened] {
        (0..950).for_each(|key| assert_eq!(get(store, key), expected.get(&key).cloned(), "{key}"));
        expect_rows(store, stream, &all);
        (0..950).for_each(|key| assert_eq!(get(store, key), expected.get(&key).cloned(), "{key}"));
    }
}

#[test]
fn keys_of_several_columns_are_told_apart_across_pieces() {
    let schema = Arc::new(Schema::new(vec![
        Field::new("time", DataType::Int64, false),
        Field::new("symbol", DataType::Utf8, false),
        Field::new("value", DataType::Utf8, false),
    ]));
    for merge in [Merge::Keep, Merge::Latest] {
        let machine = Machine::new();
        let store = machine.open(tiny());
        let key = vec!["time".to_owned(), "symbol".to_owned()];
        let spec = StreamSpec { key, merge, ..StreamSpec::new("trades", schema.clone()) };
        let stream = store.create_stream(spec).unwrap();
        let mut bulk = store.bulk().unwrap();
        let rng = SeededRng::new(3);
        let mut expected: Vec<(i64, String, String)> = Vec::new();
        for n in 0..60_i64 {
            let rows: Vec<(i64, String, String)> = (0..40)
                .map(|row| {
                    let symbol = format!("symbol {}", rng.next_u64() % 5);
                    (n / 4 - i64::from(row == 0), symbol, format!("{n} {row} {}", "x".repeat(80)))
                })
                .collect();
            let columns: Vec<Arc<dyn arrow_array::Array>> = vec![
                Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0))),
                Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.1))),
                Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.2))),
            ];
            bulk.insert(stream, RecordBatch::try_new(schema.clone(), columns).unwrap()).unwrap();
            expected.extend(rows);
        }
        bulk.commit().unwrap();
        expected.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        if merge == Merge::Latest {
            expected.reverse();
            expected.dedup_by(|a, b| (a.0, &a.1) == (b.0, &b.1));
            expected.reverse();
        }
        for _ in 0..2 {
            let snapshot = store.snapshot().unwrap();
            let all = snapshot.collect(stream, &ScanSpec::default()).unwrap();
            let values = all.column(2).as_string::<i32>();
            assert!(values.iter().flatten().eq(expected.iter().map(|row| row.2.as_str())));
            store.compact(None).unwrap();
        }
    }
}

#[test]
fn range_deletes_hide_rows_of_earlier_commits_only() {
    for (count, goes_to_runs) in [(1_000, true), (10, false)] {
        let (machine, store, stream) = with_events();
        append(&store, stream, &[pair(1, "in a run"), pair(2_000, "stays")]);
        store.flush().unwrap();
        append(&store, stream, &[pair(2, "in memory")]);
        let files = machine.run_files().len();
        let mut bulk = store.bulk().unwrap();
        let given = batches(0..count, "bulk");
        fill(&mut bulk, stream, &given[..1]);
        bulk.delete_range(stream, range(0, 1_500)).unwrap();
        fill(&mut bulk, stream, &given[1..]);
        append(&store, stream, &[pair(3, "committed before the end")]);
        assert_eq!(read(&store, "events").len(), 4);
        bulk.commit().unwrap();
        assert_eq!(machine.run_files().len() > files, goes_to_runs);
        let mut all = given.concat();
        all.push(pair(2_000, "stays"));
        let reopened = machine.copy().open(tiny());
        expect_rows(&reopened, stream, &all);
        expect_rows(&store, stream, &all);
    }
}

#[test]
fn rows_in_memory_stay_bounded() {
    let (_, store, stream) = with_events();
    let others: Vec<StreamId> =
        (0..9).map(|n| store.create_stream(latest(&format!("other {n}"))).unwrap()).collect();
    let mut bulk = store.bulk().unwrap();
    let bound = tiny().memtable_bytes_max;
    for (n, rows) in batches(shuffled(6_000, 400), "row").iter().enumerate() {
        bulk.insert(stream, batch(rows)).unwrap();
        assert!(bulk.bytes() < bound);
        bulk.insert(others[n % 9], batch(&rows[rows.len() / 2..])).unwrap();
        assert!(bulk.bytes() < bound);
    }
    // Batches of a single row take more than their bytes.
    for time in 0..300 {
        bulk.insert(stream, batch(&[pair(time, "short")])).unwrap();
        assert!(bulk.bytes() < bound);
    }
    bulk.commit().unwrap();
    assert_eq!(read(&store, "events").len(), 6_300);
}

#[test]
fn a_bad_batch_is_refused_and_the_others_are_committed() {
    let (_, store, stream) = with_events();
    let mut bulk = store.bulk().unwrap();
    let given = batches(0..1_000, "bulk");
    fill(&mut bulk, stream, &given[..20]);
    let refused = [
        (bulk.insert(stream, keys(&[1])), ErrorKind::InvalidData),
        (bulk.insert(StreamId(99), batch(&given[0])), ErrorKind::NotFound),
        (bulk.delete_keys(stream, keys(&[1])), ErrorKind::InvalidArgument),
        (bulk.delete_range(StreamId(99), KeyRange::ALL), ErrorKind::NotFound),
    ];
    for (outcome, kind) in refused {
        assert_eq!(outcome.unwrap_err().kind(), kind);
    }
    assert_eq!(bulk.rows(), 740);
    fill(&mut bulk, stream, &given[20..]);
    bulk.commit().unwrap();
    expect_rows(&store, stream, &given.concat());
}

#[test]
fn a_small_one_goes_through_the_log() {
    let (machine, store, stream) = with_events();
    let empty = store.bulk().unwrap();
    assert_eq!(empty.commit().unwrap(), store.snapshot().unwrap().seq());
    let mut bulk = store.bulk().unwrap();
    let given = [pair(3, "a"), pair(1, "b"), pair(3, "c")];
    given.iter().for_each(|row| bulk.insert(stream, batch(std::slice::from_ref(row))).unwrap());
    let seq = bulk.commit().unwrap();
    assert!(machine.run_files().is_empty());
    let reopened = machine.copy().open(tiny());
    assert_eq!(reopened.snapshot().unwrap().seq(), seq);
    assert_eq!(read(&reopened, "events"), in_key_order(given.to_vec()));
}

#[test]
fn a_stream_that_gets_other_columns_or_goes_ends_it() {
    let (machine, store, stream) = with_events();
    let more = |name: &str| {
        let mut fields = store.stream("events").unwrap().schema().fields().to_vec();
        fields.push(Arc::new(Field::new(name, DataType::Int64, true)));
        Arc::new(Schema::new(fields))
    };
    let given = batches(0..1_000, "bulk");
    let mut bulk = store.bulk().unwrap();
    let mut at_once = store.bulk().unwrap();
    fill(&mut bulk, stream, &given);
    fill(&mut at_once, stream, &given);
    store.alter_stream(stream, more("more")).unwrap();
    // A batch of the old columns doesn't fit, and is refused as any that doesn't.
    assert_eq!(bulk.insert(stream, batch(&given[0])).unwrap_err().kind(), ErrorKind::InvalidData);
    bulk.delete_range(stream, range(0, 1)).unwrap();
    for outcome in [bulk.commit(), at_once.commit()] {
        let error = outcome.unwrap_err();
        assert!(error.to_string().contains("other columns"), "{error}");
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }
    assert!(machine.run_files().is_empty());
    let other = store.create_stream(keep("other")).unwrap();
    let mut bulk = store.bulk().unwrap();
    fill(&mut bulk, other, &given);
    store.drop_stream("other").unwrap();
    assert_eq!(bulk.insert(other, batch(&given[0])).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(bulk.commit().unwrap_err().kind(), ErrorKind::NotFound);
    assert!(machine.run_files().is_empty());
    // The store itself is well.
    store.create_stream(keep("third")).unwrap();
    store.sync().unwrap();
}

#[test]
fn closing_the_store_ends_it_and_it_leaves_the_next_one_alone() {
    let (machine, store, stream) = with_events();
    let mut bulk = store.bulk().unwrap();
    fill(&mut bulk, stream, &batches(0..1_000, "bulk"));
    store.close().unwrap();
    assert!(machine.run_files().is_empty());
    let next = machine.open(tiny());
    let given = batches(0..500, "next");
    given.iter().for_each(|rows| insert(&next, stream, rows, Durability::Written));
    next.flush().unwrap();
    let rows = batch(&given[0]);
    assert_eq!(bulk.insert(stream, rows).unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(bulk.commit().unwrap_err().kind(), ErrorKind::Closed);
    expect_rows(&next, stream, &given.concat());
}

#[derive(Debug, Default)]
struct Full(AtomicBool);

impl Watcher for Full {
    fn before(&self, step: Step, path: &Path) -> io::Result<()> {
        let of_run = path.extension().is_some_and(|ending| ending == "arrow");
        match self.0.load(Ordering::SeqCst) && of_run && step == Step::Write {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }
}

#[test]
fn a_disk_that_is_full_while_rows_are_given_ends_it_and_not_the_store() {
    let mut machine = Machine::new();
    let full = Arc::new(Full::default());
    let disk = WatchedDisk::new(Arc::clone(&machine.io.disk), Arc::clone(&full) as _);
    machine.io = Io { disk: Arc::new(disk), ..machine.io };
    let store = machine.open(Settings { memtable_bytes_max: 1 << 20, ..manual() });
    let stream = store.create_stream(keep("events")).unwrap();
    let given = batches(0..20_000, "bulk");
    let mut bulk = store.bulk().unwrap();
    fill(&mut bulk, stream, &given[..250]);
    assert_eq!(machine.run_files().len(), 1);
    full.0.store(true, Ordering::SeqCst);
    let error = given[250..].iter().find_map(|rows| bulk.insert(stream, batch(rows)).err());
    assert_eq!(error.unwrap().kind(), ErrorKind::NoSpace);
    assert!(machine.run_files().is_empty());
    assert_eq!(bulk.insert(stream, batch(&given[0])).unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!(bulk.commit().unwrap_err().kind(), ErrorKind::NoSpace);
    insert(&store, stream, &[pair(1, "after")], Durability::Synced);
    full.0.store(false, Ordering::SeqCst);
    let mut again = store.bulk().unwrap();
    fill(&mut again, stream, &given);
    again.commit().unwrap();
    assert_eq!(read(&store, "events").len(), 20_001);
    // So it is at the end: no file of it is named by anything.
    let files = machine.run_files();
    let mut last = store.bulk().unwrap();
    fill(&mut last, stream, &given);
    full.0.store(true, Ordering::SeqCst);
    assert_eq!(last.commit().unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!(machine.run_files(), files);
    full.0.store(false, Ordering::SeqCst);
    insert(&store, stream, &[pair(2, "after")], Durability::Synced);
    assert_eq!(read(&store, "events").len(), 20_002);
}
