//! Range deletes, many of them: what they hide, how many are left of them, and what they cost.
//!
//! Each view once copied all range deletes and each read looked through all of them, so that a rolling
//! window (append, delete what is older, read) became slower with each step; and nothing counted those
//! in memory.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::support::*;
use crate::watched_disk::{Step as Call, WatchedDisk, Watcher};
use proptest::prelude::*;
use timestrata_engine::{
    Cell, Changes, Durability, Io, KeyRange, LeadKey, ScanSpec, Settings, Snapshot, Store, StreamId,
};
use timestrata_io::sync::Mutex;

const KEYS: std::ops::Range<i64> = 0..24;

#[derive(Debug, Clone)]
enum Step {
    Append(i64),
    /// Rows, and range deletes of the same commit.
    Commit(Vec<i64>, Vec<(i64, i64)>),
    Delete(i64, i64),
    DeleteBefore(i64),
    /// Straight to runs.
    Bulk(Vec<i64>, Vec<(i64, i64)>),
    Flush,
    Maintain,
    Compact,
    Pin,
    Keep,
    Reopen,
    Kill,
}

fn step() -> impl Strategy<Value = Step> {
    let range = || (KEYS, 1_i64..9).prop_map(|(lo, width)| (lo, lo + width));
    let rows = || prop::collection::vec(KEYS, 0..5);
    let ranges = || prop::collection::vec(range(), 0..3);
    prop_oneof![
        10 => KEYS.prop_map(Step::Append),
        4 => (rows(), ranges()).prop_map(|(rows, ranges)| Step::Commit(rows, ranges)),
        8 => range().prop_map(|(lo, hi)| Step::Delete(lo, hi)),
        2 => KEYS.prop_map(Step::DeleteBefore),
        3 => (rows(), ranges()).prop_map(|(rows, ranges)| Step::Bulk(rows, ranges)),
        4 => Just(Step::Flush),
        3 => Just(Step::Maintain),
        1 => Just(Step::Compact),
        1 => Just(Step::Pin),
        2 => Just(Step::Keep),
        1 => Just(Step::Reopen),
        1 => Just(Step::Kill),
    ]
}

/// A store, and the same as a plain list.
struct Beside {
    machine: Machine,
    store: Store,
    stream: StreamId,
    is_latest: bool,
    rows: Vec<Pair>,
    written: i64,
    pins: Vec<(String, Vec<Pair>)>,
    kept: Vec<(Snapshot, Vec<Pair>)>,
}

impl Beside {
    fn new(is_latest: bool) -> Self {
        let machine = Machine::new();
        let store = machine.open(tiny());
        let spec = if is_latest { latest("rows") } else { keep("rows") };
        let stream = store.create_stream(spec).unwrap();
        let (rows, pins, kept) = (Vec::new(), Vec::new(), Vec::new());
        Self { machine, store, stream, is_latest, rows, written: 0, pins, kept }
    }

    fn new_rows(&mut self, keys: &[i64]) -> Vec<Pair> {
        let numbered = keys.iter().zip(self.written..);
        let rows: Vec<Pair> =
            numbered.map(|(key, number)| pair(*key, &number.to_string())).collect();
        self.written += keys.len() as i64;
        rows
    }

    fn hide(&mut self, lo: i64, hi: i64) {
        self.rows.retain(|(key, _)| *key < lo || hi <= *key);
    }

    fn show(&mut self, rows: &[Pair]) {
        for row in rows {
            if self.is_latest {
                self.rows.retain(|other| other.0 != row.0);
            }
            self.rows.push(row.clone());
        }
    }

    fn expected(&self) -> Vec<Pair> {
        let mut rows = self.rows.clone();
        rows.sort_by_key(|(key, _)| *key);
        rows
    }

    fn changes(&mut self, keys: &[i64], ranges: &[(i64, i64)]) -> (Changes, Vec<Pair>) {
        let rows = self.new_rows(keys);
        let mut sorted = rows.clone();
        sorted.sort_by_key(|(key, _)| *key);
        let mut changes = Changes::new();
        for (lo, hi) in ranges {
            changes = changes.delete_range(self.stream, KeyRange::times(*lo, *hi));
            self.hide(*lo, *hi);
        }
        (changes.insert(self.stream, batch(&sorted)), sorted)
    }

    fn reopen(&mut self) {
        self.kept.clear();
        self.store.close().unwrap();
        self.store = self.machine.open(tiny());
    }

    fn kill(&mut self) {
        self.kept.clear();
        let copy = self.machine.copy();
        let old = std::mem::replace(&mut self.store, copy.open(tiny()));
        drop(old);
        self.machine = copy;
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Append(key) => {
                let rows = self.new_rows(&[*key]);
                append(&self.store, self.stream, &rows);
                self.show(&rows);
            }
            Step::Commit(keys, ranges) => {
                let (changes, rows) = self.changes(keys, ranges);
                self.store.commit(changes, Durability::Written).unwrap();
                self.show(&rows);
            }
            Step::Delete(lo, hi) => {
                delete(&self.store, self.stream, *lo, *hi);
                self.hide(*lo, *hi);
            }
            Step::DeleteBefore(hi) => {
                let range = KeyRange::new(None, LeadKey::Time(*hi));
                let changes = Changes::new().delete_range(self.stream, range);
                self.store.commit(changes, Durability::Written).unwrap();
                self.hide(i64::MIN, *hi);
            }
            Step::Bulk(keys, ranges) => self.bulk(keys, ranges),
            Step::Flush => self.store.flush().unwrap(),
            Step::Maintain => drop(self.store.maintain_step().unwrap()),
            Step::Compact => self.store.compact(None).unwrap(),
            Step::Pin => {
                let name = format!("pin {}", self.pins.len());
                self.store.pin(&name).unwrap();
                self.pins.push((name, self.expected()));
            }
            Step::Keep => self.kept.push((self.store.snapshot().unwrap(), self.expected())),
            Step::Reopen => self.reopen(),
            Step::Kill => self.kill(),
        }
    }

    /// Larger than what goes through the log.
    fn bulk(&mut self, keys: &[i64], ranges: &[(i64, i64)]) {
        let mut bulk = self.store.bulk().unwrap();
        for (lo, hi) in ranges {
            bulk.delete_range(self.stream, KeyRange::times(*lo, *hi)).unwrap();
            self.hide(*lo, *hi);
        }
        let mut rows = self.new_rows(keys);
        for row in &mut rows {
            row.1.resize(20 << 10, b'.');
        }
        rows.sort_by_key(|(key, _)| *key);
        bulk.insert(self.stream, batch(&rows)).unwrap();
        bulk.commit().unwrap();
        self.show(&rows);
    }

    fn check(&self) {
        let now = self.store.snapshot_of(self.stream).unwrap();
        check(&now, self.stream, &self.expected());
        for (snapshot, rows) in &self.kept {
            check(snapshot, self.stream, rows);
        }
        for (name, rows) in &self.pins {
            check(&self.store.snapshot_at(name).unwrap(), self.stream, rows);
        }
    }
}

/// Holds all ways to read against the rows.
fn check(snapshot: &Snapshot, stream: StreamId, rows: &[Pair]) {
    let all = ScanSpec::default();
    assert_eq!(read_spec(snapshot, stream, &all).unwrap(), rows);
    let back = ScanSpec { reverse: true, ..ScanSpec::default() };
    let mut turned = read_spec(snapshot, stream, &back).unwrap();
    turned.reverse();
    assert_eq!(turned, rows);
    let last = ScanSpec { reverse: true, limit: Some(1), ..ScanSpec::default() };
    assert_eq!(read_spec(snapshot, stream, &last).unwrap().first(), rows.last());
    assert_eq!(snapshot.count(stream, &KeyRange::ALL).unwrap(), rows.len() as u64);
    let ends = [rows.first(), rows.last()].map(|row| row.map(|(key, _)| LeadKey::Time(*key)));
    assert_eq!(snapshot.min_key(stream, &KeyRange::ALL).unwrap(), ends[0]);
    assert_eq!(snapshot.max_key(stream, &KeyRange::ALL).unwrap(), ends[1]);
    for key in KEYS.chain(KEYS.end..KEYS.end + 9) {
        let found = snapshot.get(stream, &[Cell::Int(key)]).unwrap();
        let found = found.map(|row| pairs(&row.batch.slice(row.index, 1)).remove(0));
        assert_eq!(found.as_ref(), rows.iter().find(|(other, _)| *other == key));
        let range = KeyRange::times(key, key + 3);
        let within = |row: &&Pair| (key..key + 3).contains(&row.0);
        let spec = ScanSpec { range, ..ScanSpec::default() };
        let expected: Vec<Pair> = rows.iter().filter(within).cloned().collect();
        assert_eq!(read_spec(snapshot, stream, &spec).unwrap(), expected);
        assert_eq!(snapshot.count(stream, &range).unwrap(), expected.len() as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn rows_and_range_deletes_in_any_order_are_what_a_plain_list_tells(
        is_latest in any::<bool>(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut beside = Beside::new(is_latest);
        for step in &steps {
            beside.apply(step);
            beside.check();
        }
        beside.reopen();
        beside.check();
        assert!(beside.store.check().unwrap().findings.is_empty());
    }
}

fn tombstones(store: &Store) -> u64 {
    store.stats().streams[0].tombstones
}

#[test]
fn range_deletes_in_memory_are_counted() {
    let store = Machine::new().open(manual());
    let stream = store.create_stream(keep("rows")).unwrap();
    insert(&store, stream, &[pair(1, "a"), pair(5, "b"), pair(9, "c")], Durability::Written);
    store.flush().unwrap();
    delete(&store, stream, 1, 2);
    delete(&store, stream, 5, 6);
    assert_eq!(tombstones(&store), 2);
    delete(&store, stream, 0, 7);
    assert_eq!(tombstones(&store), 1);
    store.flush().unwrap();
    assert_eq!(tombstones(&store), 1);
    store.compact(None).unwrap();
    assert_eq!(tombstones(&store), 0);
    assert_eq!(read(&store, "rows"), [pair(9, "c")]);
}

#[test]
fn a_rolling_window_keeps_a_few_rows_one_delete_and_few_runs() {
    let store = Machine::new().open(manual());
    let stream = store.create_stream(keep("rows")).unwrap();
    for step in 0..2_000 {
        append(&store, stream, &[pair(step, "x")]);
        let range = KeyRange::new(None, LeadKey::Time(step - 10));
        let changes = Changes::new().delete_range(stream, range);
        store.commit(changes, Durability::Written).unwrap();
        if step % 97 == 0 {
            store.flush().unwrap();
            while store.maintain_step().unwrap() {}
        }
        // One in memory, and one that the runs of before have to heed.
        assert!(tombstones(&store) <= 2, "{step}");
        let stats = store.stats();
        assert!(stats.streams[0].runs <= 4, "{step}");
        // What the store takes for the memory in use: at its bound commits wait for flushes.
        assert_eq!(stats.memtable_bytes, stats.streams[0].memtable_bytes, "{step}");
    }
    let left = read(&store, "rows");
    assert_eq!((left.len(), left[0].0), (11, 1_989));
}

#[test]
fn neighbours_that_were_deleted_one_after_the_other_are_flushed_as_one() {
    let machine = Machine::new();
    let store = machine.open(manual());
    let stream = store.create_stream(keep("rows")).unwrap();
    let rows: Vec<Pair> = (0..1_000).map(|time| pair(time, "x")).collect();
    insert(&store, stream, &rows, Durability::Written);
    store.flush().unwrap();
    for time in 100..900 {
        append(&store, stream, &[pair(1_000 + time, "y")]);
        delete(&store, stream, time, time + 1);
    }
    assert!(tombstones(&store) >= 800);
    store.flush().unwrap();
    assert_eq!(tombstones(&store), 1);
    store.close().unwrap();
    let store = machine.open(manual());
    assert_eq!(tombstones(&store), 1);
    assert_eq!(read(&store, "rows").len(), 200 + 800);
}

#[test]
fn a_memtable_of_many_range_deletes_is_flushed() {
    let store = Machine::new().open(manual());
    let stream = store.create_stream(keep("rows")).unwrap();
    let rows: Vec<Pair> = (0..1_000).map(|time| pair(40 * time, "x")).collect();
    insert(&store, stream, &rows, Durability::Written);
    store.flush().unwrap();
    let flushes = store.stats().flushes;
    for time in 0..20_000 {
        delete(&store, stream, 2 * time + 1, 2 * time + 2);
    }
    assert_eq!(store.stats().flushes, flushes + 1);
    assert_eq!(read(&store, "rows"), rows);
    // Too many for runs to heed for long.
    while store.maintain_step().unwrap() {}
    store.compact(None).unwrap();
    assert_eq!(tombstones(&store), 0);
    assert_eq!(read(&store, "rows"), rows);
}

/// Commits in bulk before the first sync of a run.
#[derive(Debug, Default)]
struct BulkBeside(Mutex<Option<(Store, StreamId)>>);

impl Watcher for BulkBeside {
    fn before(&self, call: Call, path: &Path) -> io::Result<()> {
        if call != Call::Sync || path.extension().is_none_or(|ending| ending != "arrow") {
            return Ok(());
        }
        let due = self.0.lock().take();
        if let Some((store, stream)) = due {
            let mut bulk = store.bulk().unwrap();
            bulk.delete_range(stream, KeyRange::times(0, 100)).unwrap();
            let rows: Vec<Pair> = (100..105).map(|time| (time, vec![b'x'; 1 << 20])).collect();
            bulk.insert(stream, batch(&rows)).unwrap();
            bulk.commit().unwrap();
        }
        Ok(())
    }
}

/// A delete that a large commit brings while a pin is made takes the place of the older ones, but not
/// for the pin.
#[test]
fn a_pin_heeds_the_deletes_before_it_whatever_is_deleted_beside_it() {
    let mut machine = Machine::new();
    let beside = Arc::new(BulkBeside::default());
    let disk = WatchedDisk::new(Arc::clone(&machine.io.disk), Arc::clone(&beside) as _);
    machine.io = Io { disk: Arc::new(disk), ..machine.io };
    let settings = Settings { memtable_bytes_max: 1 << 20, ..manual() };
    let store = machine.open(settings.clone());
    let stream = store.create_stream(keep("rows")).unwrap();
    insert(&store, stream, &[pair(1, "a"), pair(2, "b"), pair(3, "c")], Durability::Written);
    store.flush().unwrap();
    delete(&store, stream, 2, 3);
    store.flush().unwrap();
    insert(&store, stream, &[pair(4, "d")], Durability::Written);
    *beside.0.lock() = Some((store.clone(), stream));
    store.pin("before").unwrap();
    assert!(beside.0.lock().is_none());
    let expected = [pair(1, "a"), pair(3, "c"), pair(4, "d")];
    let pinned = |store: &Store| {
        read_spec(&store.snapshot_at("before").unwrap(), stream, &ScanSpec::default()).unwrap()
    };
    assert_eq!(pinned(&store), expected);
    let times: Vec<i64> = read(&store, "rows").iter().map(|(time, _)| *time).collect();
    assert_eq!(times, [100, 101, 102, 103, 104]);
    store.compact(None).unwrap();
    store.close().unwrap();
    assert_eq!(pinned(&machine.open(settings)), expected);
}
