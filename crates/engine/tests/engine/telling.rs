//! The engine tells what it does, as events of `tracing`, and never while it holds a lock that who listens
//! may need.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::support::*;
use crate::watched_disk::{Step, WatchedDisk, Watcher};
use timestrata_engine::{
    BusyPolicy, Changes, Durability, ErrorKind, Io, Retention, Settings, Store,
};
use timestrata_io::sync::Mutex;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Metadata, Subscriber};

/// What was told: `target level message field=value ...`.
#[derive(Debug, Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn of(&self, target: &str) -> Vec<String> {
        let told = self.0.lock();
        told.iter().filter(|line| line.starts_with(&format!("{target} "))).cloned().collect()
    }
}

/// Listens to all, and does something at each event.
struct Listener<F> {
    told: Told,
    also: F,
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.0 += &format!(" {value:?}"),
            name => self.0 += &format!(" {name}={value:?}"),
        }
    }
}

impl<F: Fn() + 'static + Send + Sync> Subscriber for Listener<F> {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let mut line = Line(format!("{} {}", metadata.target(), metadata.level()));
        event.record(&mut line);
        self.told.0.lock().push(line.0);
        (self.also)();
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// What is told while `work` is done.
fn told_of(work: impl FnOnce()) -> Told {
    let told = Told::default();
    with_default(Listener { told: told.clone(), also: || {} }, work);
    told
}

fn rows(from: i64) -> Vec<Pair> {
    (from..from + 100).map(|n| (n, vec![7; 100])).collect()
}

#[test]
fn a_flush_is_told_with_its_stream_its_rows_and_its_bytes() {
    let machine = Machine::new();
    let told = told_of(|| {
        let store = machine.open(manual());
        let stream = store.create_stream(keep("events")).unwrap();
        append(&store, stream, &rows(0));
        store.flush().unwrap();
        store.close().unwrap();
    });
    let [flushed] = &told.of("timestrata::flush")[..] else { panic!("{told:?}") };
    let begin = "timestrata::flush DEBUG flushed a memtable stream=\"events\" rows=100 bytes=";
    assert!(flushed.starts_with(begin), "{flushed}");
    assert!(told.of("timestrata::open")[0].contains("created=true"), "{told:?}");
    assert_eq!(told.of("timestrata::close").len(), 1, "{told:?}");
}

#[test]
fn a_compaction_is_told_with_what_went_in_and_what_came_out() {
    let machine = Machine::new();
    let told = told_of(|| {
        let store = machine.open(tiny());
        let stream = store.create_stream(keep("events")).unwrap();
        for _ in 0..4 {
            insert(&store, stream, &rows(0), Durability::Written);
            store.flush().unwrap();
        }
        store.compact(None).unwrap();
    });
    let compacted = told.of("timestrata::compaction");
    let last = compacted.last().unwrap();
    assert!(last.contains("stream=\"events\" inputs="), "{last}");
    assert!(last.contains("outputs=") && last.contains("bytes_out="), "{last}");
}

#[test]
fn what_retention_lets_go_is_told() {
    let machine = Machine::new();
    let told = told_of(|| {
        let store = machine.open(manual());
        let stream = store.create_stream(keep("events")).unwrap();
        for from in [0, 1_000, 2_000] {
            append(&store, stream, &rows(from));
            store.flush().unwrap();
        }
        let rule = Retention { bytes: Some(1), ..Retention::default() };
        store.set_retention(stream, rule).unwrap();
        while store.maintain_step().unwrap() {}
    });
    assert!(told.of("timestrata::retention")[0].contains("stream=\"events\" runs="), "{told:?}");
}

#[test]
fn recovery_tells_what_it_replayed() {
    let machine = Machine::new();
    let store = machine.open(manual());
    let stream = store.create_stream(keep("events")).unwrap();
    append(&store, stream, &rows(0));
    let killed = machine.copy();
    let told = told_of(|| drop(killed.open(manual())));
    let [recovered] = &told.of("timestrata::recovery")[..] else { panic!("{told:?}") };
    assert!(recovered.contains(" INFO ") && recovered.contains("commits=100"), "{recovered}");
}

#[test]
fn a_commit_that_has_to_wait_for_memory_is_told_and_no_other_commit_is() {
    // A memtable is smaller than what there is room for, two of them are larger.
    let bounds =
        Settings { memory_bytes_max: 100 << 10, memtable_bytes_max: 96 << 10, ..settings_of() };
    let store = Machine::new().open(bounds);
    let streams = ["one", "other"].map(|name| store.create_stream(keep(name)).unwrap());
    let unheard = told_of(|| append(&store, streams[0], &rows(0)));
    assert_eq!(unheard.0.lock().len(), 0, "{unheard:?}");
    let told = told_of(|| {
        for from in 0..10 {
            streams.iter().for_each(|stream| append(&store, *stream, &rows(from * 100)));
        }
    });
    let stalls = told.of("timestrata::stall");
    assert!(stalls[0].contains(" WARN ") && stalls[0].contains("ms="), "{told:?}");
}

/// Flushes when there is no room in memory.
fn settings_of() -> Settings {
    Settings { busy_policy: BusyPolicy::Flush, ..manual() }
}

/// Syncs fail where it is told to.
#[derive(Debug, Default)]
struct Failing(AtomicBool);

impl Watcher for Failing {
    fn before(&self, step: Step, _: &Path) -> io::Result<()> {
        match step == Step::Sync && self.0.load(Ordering::SeqCst) {
            true => Err(io::Error::other("planted failure of a sync")),
            false => Ok(()),
        }
    }
}

#[test]
fn the_failure_that_ends_all_writing_is_told_once() {
    let mut machine = Machine::new();
    let failing = Arc::new(Failing::default());
    let disk = WatchedDisk::new(Arc::clone(&machine.io.disk), Arc::clone(&failing) as _);
    machine.io = Io { disk: Arc::new(disk), ..machine.io };
    let store = machine.open(manual());
    let stream = store.create_stream(keep("events")).unwrap();
    let told = told_of(|| {
        append(&store, stream, &rows(0));
        failing.0.store(true, Ordering::SeqCst);
        store.sync().unwrap_err();
        failing.0.store(false, Ordering::SeqCst);
        let again = Changes::new().insert(stream, batch(&rows(0)));
        let refused = store.commit(again, Durability::Written).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Poisoned);
        store.close().unwrap_err();
    });
    let [poisoned] = &told.of("timestrata::poison")[..] else { panic!("{told:?}") };
    assert!(poisoned.contains(" ERROR ") && poisoned.contains("planted failure"), "{poisoned}");
}

/// A run whose sync fails is written anew: until then work that is tried again is told as a trouble.
#[test]
fn work_that_fails_and_then_succeeds_is_told_both_times() {
    let mut machine = Machine::new();
    let failing = Arc::new(FailingRuns::default());
    let disk = WatchedDisk::new(Arc::clone(&machine.io.disk), Arc::clone(&failing) as _);
    machine.io = Io { disk: Arc::new(disk), ..machine.io };
    let store = machine.open(manual());
    let stream = store.create_stream(keep("events")).unwrap();
    append(&store, stream, &rows(0));
    let told = told_of(|| {
        failing.0.store(true, Ordering::SeqCst);
        store.flush().unwrap_err();
        failing.0.store(false, Ordering::SeqCst);
        store.flush().unwrap();
    });
    let troubles = told.of("timestrata::trouble");
    assert!(troubles[0].contains(" WARN ") && troubles[0].contains("work=flush"), "{told:?}");
    assert!(troubles[1].contains(" INFO "), "{told:?}");
}

#[derive(Debug, Default)]
struct FailingRuns(AtomicBool);

impl Watcher for FailingRuns {
    fn before(&self, step: Step, path: &Path) -> io::Result<()> {
        let is_run = path.extension().is_some_and(|ending| ending == "arrow");
        match step == Step::Sync && is_run && self.0.load(Ordering::SeqCst) {
            true => Err(io::Error::other("planted failure of a sync")),
            false => Ok(()),
        }
    }
}

/// Events that the listener does something at.
const HEARD_MAX: u64 = 20;

#[test]
fn who_listens_may_read_and_write_the_same_store() {
    let machine = Machine::new();
    let store = machine.open(settings_of());
    let stream = store.create_stream(keep("events")).unwrap();
    let own = store.create_stream(keep("heard")).unwrap();
    let heard = Arc::new(AtomicU64::new(0));
    let is_within = AtomicBool::new(false);
    let (counted, inner) = (Arc::clone(&heard), store.clone());
    let also = move || {
        // What it does itself is told too, and makes work that would be told for ever.
        let is_enough = counted.load(Ordering::SeqCst) == HEARD_MAX;
        if is_enough || is_within.swap(true, Ordering::SeqCst) {
            return;
        }
        let number = counted.fetch_add(1, Ordering::SeqCst);
        append(&inner, own, &[(i64::try_from(number).unwrap(), vec![1])]);
        inner.snapshot().unwrap();
        inner.sync().unwrap();
        inner.flush().unwrap();
        is_within.store(false, Ordering::SeqCst);
    };
    let work = || everything(&store, stream);
    with_default(Listener { told: Told::default(), also }, work);
    let heard = heard.load(Ordering::SeqCst);
    assert!(heard > 4, "{heard}");
    assert_eq!(read(&store, "heard").len() as u64, heard);
}

/// Flushes, compactions, stalls, retention.
fn everything(store: &Store, stream: timestrata_engine::StreamId) {
    for _ in 0..4 {
        insert(store, stream, &rows(0), Durability::Written);
        store.flush().unwrap();
    }
    store.compact(None).unwrap();
    let rule = Retention { bytes: Some(1), ..Retention::default() };
    store.set_retention(stream, rule).unwrap();
    while store.maintain_step().unwrap() {}
    while !store.scrub_step(64 << 20).unwrap() {}
}
