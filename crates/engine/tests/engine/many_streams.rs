//! Many streams: they are made, flushed and dropped together, and share what each would cost alone.
//!
//! Each new stream once copied what the manifest holds of all others, each flush of a row was a file, a
//! sync of the file, of the directory and of the manifest, and slots of dropped streams were never
//! used again.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::support::*;
use crate::watched_disk::{Step as Call, WatchedDisk, Watcher};
use proptest::prelude::*;
use timestrata_engine::{
    Cell, Durability, ErrorKind, Io, RowAppender, Settings, Store, StreamId, StreamSpec,
};
use timestrata_io::sync::Mutex;

/// Counts syncs by the name of what is synced, and has writes of runs fail where it is told to.
#[derive(Debug)]
struct Counts {
    syncs: Mutex<BTreeMap<String, usize>>,
    /// Runs that can still be written; negative: any number.
    runs_left: AtomicI64,
}

impl Default for Counts {
    fn default() -> Self {
        Self { syncs: Mutex::default(), runs_left: AtomicI64::new(-1) }
    }
}

impl Watcher for Counts {
    fn before(&self, call: Call, path: &Path) -> io::Result<()> {
        let is_run = path.extension().is_some_and(|ending| ending == "arrow");
        let ending = path.file_name().and_then(|name| name.to_str()).unwrap_or("/");
        let name = if is_run { "run" } else { ending };
        match call {
            Call::Sync | Call::SyncDir => {
                *self.syncs.lock().entry(name.to_owned()).or_default() += 1;
            }
            Call::Write if is_run => match self.runs_left.load(Ordering::SeqCst) {
                0 => return Err(io::ErrorKind::StorageFull.into()),
                left if left > 0 => self.runs_left.store(left - 1, Ordering::SeqCst),
                _ => {}
            },
            Call::Write | Call::OpenLog | Call::Rename => {}
        }
        Ok(())
    }
}

impl Counts {
    fn take(&self, name: &str) -> usize {
        self.syncs.lock().remove(name).unwrap_or(0)
    }
}

fn counted() -> (Machine, Arc<Counts>) {
    let mut machine = Machine::new();
    let counts = Arc::new(Counts::default());
    let disk = WatchedDisk::new(Arc::clone(&machine.io.disk), Arc::clone(&counts) as _);
    machine.io = Io { disk: Arc::new(disk), ..machine.io };
    (machine, counts)
}

fn name(number: usize) -> String {
    format!("stream {number}")
}

fn specs(count: usize) -> Vec<StreamSpec> {
    (0..count).map(|number| keep(&name(number))).collect()
}

fn row_each(store: &Store, streams: &[StreamId]) {
    for stream in streams {
        append(store, *stream, &[pair(1, "x")]);
    }
}

#[test]
fn many_streams_are_made_and_dropped_with_one_edit() {
    let (machine, counts) = counted();
    let store = machine.open(manual());
    counts.take("MANIFEST");
    let ids = store.create_streams(&specs(500)).unwrap();
    assert_eq!(counts.take("MANIFEST"), 1);
    for (number, id) in ids.iter().enumerate() {
        assert_eq!(store.stream(&name(number)).unwrap().id(), *id);
    }
    // What is there already is given, and costs nothing.
    assert_eq!(store.create_streams(&specs(500)).unwrap(), ids);
    assert_eq!(counts.take("MANIFEST"), 0);
    store.close().unwrap();
    let store = machine.open(manual());
    assert_eq!(store.streams().len(), 500);
    counts.take("MANIFEST");
    let names: Vec<String> = (0..400).map(name).collect();
    store.drop_streams(&names.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    assert_eq!(counts.take("MANIFEST"), 1);
    assert_eq!(store.streams().len(), 100);
}

#[test]
fn of_streams_made_or_dropped_together_all_are_or_none() {
    let machine = Machine::new();
    let store = machine.open(manual());
    store.create_stream(latest("other")).unwrap();
    let error = store.create_streams(&[keep("a"), keep("other"), keep("b")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    let error = store.create_streams(&[keep("a"), latest("a")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(store.streams().len(), 1);
    let ids = store.create_streams(&[keep("a"), keep("b"), keep("a")]).unwrap();
    assert_eq!(ids[0], ids[2]);
    let error = store.drop_streams(&["a", "none", "b"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    store.pin("pin").unwrap();
    let error = store.drop_streams(&["a", "b"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(store.streams().len(), 3);
    store.unpin("pin").unwrap();
    store.drop_streams(&["a", "b", "a"]).unwrap();
    store.close().unwrap();
    assert_eq!(machine.open(manual()).streams().len(), 1);
}

#[test]
fn a_flush_of_many_streams_shares_the_syncs_of_names_and_of_the_manifest() {
    let (machine, counts) = counted();
    let store = machine.open(manual());
    let ids = store.create_streams(&specs(300)).unwrap();
    row_each(&store, &ids);
    for name in ["MANIFEST", "runs", "run"] {
        counts.take(name);
    }
    store.flush().unwrap();
    assert_eq!(counts.take("run"), 300);
    assert_eq!((counts.take("runs"), counts.take("MANIFEST")), (3, 3));
    assert_eq!(store.stats().flushes, 300);
    store.close().unwrap();
    let store = machine.open(manual());
    assert_eq!(store.recovery_report().commits_replayed, 0);
    assert!((0..300).all(|number| read(&store, &name(number)) == [pair(1, "x")]));
}

#[test]
fn what_there_is_room_for_is_flushed_and_the_rest_when_there_is_more() {
    let (machine, counts) = counted();
    let store = machine.open(manual());
    let ids = store.create_streams(&specs(50)).unwrap();
    row_each(&store, &ids);
    counts.runs_left.store(20, Ordering::SeqCst);
    assert_eq!(store.flush().unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!(store.stats().flushes, 20);
    let killed = machine.copy().open(manual());
    assert!((0..50).all(|number| read(&killed, &name(number)) == [pair(1, "x")]));
    assert!(killed.recovery_report().orphans_quarantined.is_empty());
    counts.runs_left.store(-1, Ordering::SeqCst);
    store.flush().unwrap();
    assert_eq!(store.stats().flushes, 50);
    assert!((0..50).all(|number| read(&store, &name(number)) == [pair(1, "x")]));
    assert!(store.check().unwrap().findings.is_empty());
}

#[test]
fn who_still_appends_to_a_dropped_stream_doesn_t_reach_the_next_one() {
    let store = Store::memory(manual()).unwrap();
    let old = store.create_stream(keep("old")).unwrap();
    let mut appender = store.appender(old).unwrap();
    store.drop_stream("old").unwrap();
    store.create_streams(&[keep("new"), keep("newer")]).unwrap();
    let cells = [Cell::Int(1), Cell::Bytes(b"x")];
    let refused = |outcome: timestrata_engine::Result<()>| {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::NotFound);
    };
    refused(appender.append(&cells, Durability::Written).map(|_| ()));
    refused(appender.try_append(&cells).map(|_| ()));
    assert!(read(&store, "new").is_empty() && read(&store, "newer").is_empty());
}

#[derive(Debug, Clone)]
enum Step {
    Create(usize, usize),
    Drop(usize),
    Append(usize),
    /// By an appender that may be older than the stream.
    AppendByOld(usize),
    Delete(usize),
    Flush,
    Maintain,
    Compact,
    Reopen,
    Kill,
}

fn step() -> impl Strategy<Value = Step> {
    const NAMES: std::ops::Range<usize> = 0..6;
    prop_oneof![
        4 => (NAMES, 1_usize..4).prop_map(|(from, count)| Step::Create(from, count)),
        3 => NAMES.prop_map(Step::Drop),
        8 => NAMES.prop_map(Step::Append),
        4 => NAMES.prop_map(Step::AppendByOld),
        2 => NAMES.prop_map(Step::Delete),
        3 => Just(Step::Flush),
        3 => Just(Step::Maintain),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
        1 => Just(Step::Kill),
    ]
}

#[derive(Default)]
struct Model {
    rows: BTreeMap<String, Vec<Pair>>,
    appenders: BTreeMap<String, (StreamId, RowAppender)>,
    written: i64,
}

impl Model {
    fn append(&mut self, store: &Store, name: &str, by_old: bool) {
        let stream = store.stream(name).map(|stream| stream.id());
        if !by_old && let Some(id) = stream {
            self.appenders.insert(name.to_owned(), (id, store.appender(id).unwrap()));
        }
        let Some((id, appender)) = self.appenders.get_mut(name) else { return };
        self.written += 1;
        let row = (self.written, self.written.to_string().into_bytes());
        let cells = [Cell::Int(row.0), Cell::Bytes(&row.1)];
        let outcome = appender.append(&cells, Durability::Written);
        assert_eq!(outcome.is_ok(), stream == Some(*id), "{outcome:?}");
        if outcome.is_ok() {
            self.rows.get_mut(name).unwrap().push(row);
        }
    }

    fn apply(&mut self, store: &mut Store, machine: &mut Machine, settings: &Settings, step: Step) {
        match step {
            Step::Create(from, count) => {
                let specs: Vec<_> =
                    (from..from + count).map(|number| keep(&name(number))).collect();
                store.create_streams(&specs).unwrap();
                for spec in specs {
                    self.rows.entry(spec.name).or_default();
                }
            }
            Step::Drop(number) => {
                let dropped = store.drop_stream(&name(number));
                assert_eq!(dropped.is_ok(), self.rows.remove(&name(number)).is_some());
            }
            Step::Append(number) => self.append(store, &name(number), false),
            Step::AppendByOld(number) => self.append(store, &name(number), true),
            Step::Delete(number) => {
                if let Some(rows) = self.rows.get_mut(&name(number)) {
                    let stream = store.expect_stream(&name(number)).unwrap().id();
                    delete(store, stream, 0, self.written - 2);
                    rows.retain(|(time, _)| *time >= self.written - 2);
                }
            }
            Step::Flush => store.flush().unwrap(),
            Step::Maintain => drop(store.maintain_step().unwrap()),
            Step::Compact => store.compact(None).unwrap(),
            Step::Reopen => {
                self.appenders.clear();
                store.close().unwrap();
                *store = machine.open(settings.clone());
            }
            Step::Kill => {
                self.appenders.clear();
                let copy = machine.copy();
                *store = copy.open(settings.clone());
                *machine = copy;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn streams_that_come_and_go_keep_what_is_theirs(steps in prop::collection::vec(step(), 1..80)) {
        let mut machine = Machine::new();
        let settings = Settings { memtable_bytes_max: 4 << 10, ..tiny() };
        let mut store = machine.open(settings.clone());
        let mut model = Model::default();
        for step in steps {
            model.apply(&mut store, &mut machine, &settings, step);
            let names: Vec<String> =
                store.streams().iter().map(|stream| stream.name().to_owned()).collect();
            prop_assert!(names.iter().eq(model.rows.keys()));
            for (name, rows) in &model.rows {
                prop_assert_eq!(&read(&store, name), rows);
            }
        }
        prop_assert_eq!(store.check().unwrap().findings, []);
    }
}
