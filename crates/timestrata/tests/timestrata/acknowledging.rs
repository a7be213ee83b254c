//! What is there already is acknowledged as what is new: it is as durable, and a store that takes no
//! writes says it of nothing.
//!
//! The story: a producer sent a record, the log's sync failed, and the repeat got its receipt from the
//! poisoned store; after a power cut the record was gone. So it was with deletes that found nothing to
//! delete any more.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::watched_disk::{Step, WatchedDisk, Watcher};
use arrow_array::{Int64Array, RecordBatch, TimestampSecondArray};
use timestrata_engine::{
    Access, Durability, ErrorKind, Io, KeyRange, LeadKey, Maintenance, Result, Settings, Store,
};
use timestrata_graph::{BlockId, Edge, Graph, GraphChanges, GraphOptions, Unlinked};
use timestrata_logs::{Logs, LogsOptions, NewEntry};
use timestrata_table::{Commits, IngestOptions, Table, TableOptions, WriteOptions, ingest};
use timestrata_timelog::{Timelog, TimelogOptions};
use timestrata_topic::{
    Consumer, ConsumerOptions, PollLimits, Record, SendOptions, Topic, TopicOptions,
};

/// Lets the next sync fail when it is told to; later ones do what they should.
#[derive(Debug, Default)]
struct OneFailure(AtomicBool);

impl Watcher for OneFailure {
    fn before(&self, step: Step, _: &Path) -> io::Result<()> {
        match step == Step::Sync && self.0.swap(false, Ordering::SeqCst) {
            true => Err(io::Error::other("planted failure of a sync")),
            false => Ok(()),
        }
    }
}

impl OneFailure {
    fn fail_the_next(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn store() -> (Store, Arc<OneFailure>) {
    let failure = Arc::new(OneFailure::default());
    let Io { disk, clock, rng } = Io::memory();
    let disk = Arc::new(WatchedDisk::new(disk, Arc::clone(&failure) as _));
    let settings = Settings { maintenance: Maintenance::Manual, ..Settings::default() };
    let io = Io { disk, clock, rng };
    let store = Store::open_with(io, Path::new("store"), Access::Write, settings).unwrap();
    (store, failure)
}

/// A write that finds all done when it is made again.
type Write = Box<dyn Fn(Durability) -> Result<()>>;

/// A write of each kind that has nothing to do the second time.
fn writes(store: &Store) -> Vec<(&'static str, Write)> {
    let mut all: Vec<(&'static str, Write)> = Vec::new();
    let topic = Topic::create(store, "events", &TopicOptions::default()).unwrap();
    all.push(("a repeated send", {
        let topic = topic.clone();
        Box::new(move |durability| {
            let record = Record { value: Some(b"one"), ..Record::default() };
            let sequence = Some(("till", Some(0)));
            let options = SendOptions { durability, sequence, ..SendOptions::default() };
            topic.send(&record, &options).map(drop)
        })
    }));
    all.extend(of_graph(store));
    all.extend(of_rows(store));
    let logs = Logs::create(store, "lines", &LogsOptions::default()).unwrap();
    all.push((
        "entries once",
        once(move |count, durability| {
            let entries = vec![NewEntry::new("begun"); count];
            logs.write_many(&entries, durability).map(drop)
        }),
    ));
    all
}

/// A write of one thing the first time, and of none later.
fn once(write: impl Fn(usize, Durability) -> Result<()> + 'static) -> Write {
    let is_first = AtomicBool::new(true);
    Box::new(move |durability| write(is_first.swap(false, Ordering::SeqCst).into(), durability))
}

fn of_graph(store: &Store) -> Vec<(&'static str, Write)> {
    let graph = Graph::create(store, "code", &GraphOptions::default()).unwrap();
    let [one, two, gone] = [1, 2, 3].map(|number| BlockId::new([number; 16]));
    let links = GraphChanges::new().link(Edge::new(one, "calls", two));
    let block = timestrata_graph::NewBlock { id: Some(gone), ..Default::default() };
    graph.change(&links.put(block), Durability::Synced).unwrap();
    let other = graph.clone();
    vec![
        ("a block deleted", {
            Box::new(move |durability| {
                graph.change(&GraphChanges::new().delete(gone), durability).map(drop)
            })
        }),
        ("edges taken away", {
            Box::new(move |durability| {
                let unlinked = Unlinked::Source(BlockId::new([1; 16]));
                other.change(&GraphChanges::new().unlink_all(unlinked), durability).map(drop)
            })
        }),
    ]
}

fn rows(count: usize) -> RecordBatch {
    let count = i64::try_from(count).unwrap();
    let times = TimestampSecondArray::from_iter_values(0..count);
    let values = Int64Array::from_iter_values(0..count);
    RecordBatch::try_from_iter([
        ("time", Arc::new(times) as arrow_array::ArrayRef),
        ("value", Arc::new(values) as arrow_array::ArrayRef),
    ])
    .unwrap()
}

fn of_rows(store: &Store) -> Vec<(&'static str, Write)> {
    let table = Table::create(store, "rooms", &rows(0).schema(), &TableOptions::default()).unwrap();
    table.append(&rows(3), WriteOptions::default()).unwrap();
    let log = Timelog::create(store, "values", TimelogOptions::default()).unwrap();
    let (ranged, appended, ingested) = (table.clone(), table, store.clone());
    let (cleared, extended) = (log.clone(), log);
    vec![
        ("rows deleted", {
            Box::new(move |durability| {
                let range = KeyRange::new(LeadKey::Time(1), Some(LeadKey::Time(2)));
                ranged.delete_ranges(&[range], durability).map(drop)
            })
        }),
        (
            "rows appended once",
            once(move |count, durability| {
                let options = WriteOptions { durability, ..WriteOptions::default() };
                appended.append(&rows(count), options).map(drop)
            }),
        ),
        (
            "rows ingested once",
            once(move |count, durability| {
                let write = WriteOptions { durability, ..WriteOptions::default() };
                let commits = Commits::Every(10);
                let options = IngestOptions { write, commits, ..IngestOptions::default() };
                let mut batches = std::iter::once(Ok(rows(count)));
                ingest(&ingested, "rooms", &mut batches, &options).map(drop)
            }),
        ),
        (
            "values of a range deleted once",
            once(move |count, durability| {
                cleared.delete_range_with(0..count as i64, durability).map(drop)
            }),
        ),
        (
            "values appended once",
            once(move |count, durability| {
                let mut batch = timestrata_timelog::EntryBatch::default();
                (0..count).try_for_each(|time| batch.push(time as i64, b"value"))?;
                extended.extend_batch(batch, durability).map(drop)
            }),
        ),
    ]
}

fn kind_of<T: Debug>(result: Result<T>, what: &str) -> ErrorKind {
    match result {
        Err(error) => error.kind(),
        Ok(answer) => panic!("{what}: it was acknowledged: {answer:?}"),
    }
}

#[test]
fn a_write_whose_sync_failed_is_refused_when_it_is_made_again() {
    let count = writes(&store().0).len();
    for number in 0..count {
        let (store, failure) = store();
        let (what, write) = writes(&store).swap_remove(number);
        failure.fail_the_next();
        assert_eq!(kind_of(write(Durability::Synced), what), ErrorKind::Io, "{what}");
        for durability in [Durability::Synced, Durability::Written] {
            assert_eq!(kind_of(write(durability), what), ErrorKind::Poisoned, "{what}");
        }
    }
}

#[test]
fn what_was_only_written_is_synced_before_its_repeat_is_acknowledged_as_synced() {
    let (store, _) = store();
    for (what, write) in writes(&store) {
        write(Durability::Written).unwrap();
        let written = store.stats();
        assert!(written.synced_seq < written.last_seq, "{what}");
        write(Durability::Synced).unwrap();
        let repeated = store.stats();
        assert_eq!(repeated.last_seq, written.last_seq, "{what}: it was made once");
        assert_eq!(repeated.synced_seq, written.last_seq, "{what}");
    }
}

#[test]
fn a_closed_store_acknowledges_nothing() {
    let (store, _) = store();
    let writes = writes(&store);
    for (_, write) in &writes {
        write(Durability::Written).unwrap();
    }
    store.close().unwrap();
    for (what, write) in &writes {
        assert_eq!(kind_of(write(Durability::Written), what), ErrorKind::Closed, "{what}");
    }
}

#[test]
fn a_group_that_is_there_already_is_told_so_once_its_offset_is_synced_or_not_at_all() {
    let (store, failure) = store();
    let topic = Topic::create(&store, "events", &TopicOptions::default()).unwrap();
    let record = Record { value: Some(b"one"), ..Record::default() };
    topic.send(&record, &SendOptions::default()).unwrap();
    let options = ConsumerOptions { group: Some("ledger".to_owned()), ..Default::default() };
    let mut consumer = Consumer::new(&store, options).unwrap();
    consumer.subscribe(["events"]).unwrap();
    assert_eq!(consumer.poll(std::time::Duration::ZERO, PollLimits::default()).unwrap().len(), 1);
    consumer.commit().unwrap();
    // Something that is only written, whoever wrote it, comes before what is said now.
    let weak = SendOptions { durability: Durability::Written, ..SendOptions::default() };
    topic.send(&record, &weak).unwrap();
    consumer.commit().unwrap();
    assert_eq!(store.stats().synced_seq, store.stats().last_seq);
    assert_eq!(topic.retain().unwrap(), timestrata_topic::Thrown::default());
    topic.send(&record, &weak).unwrap();
    failure.fail_the_next();
    assert_eq!(kind_of(consumer.commit(), "a sync fails"), ErrorKind::Io);
    assert_eq!(kind_of(consumer.commit(), "the store is poisoned"), ErrorKind::Poisoned);
    assert_eq!(kind_of(topic.retain(), "nothing to throw away"), ErrorKind::Poisoned);
}

#[test]
fn what_exists_is_made_again_by_nobody_whose_store_takes_no_writes() {
    let (store, failure) = store();
    let makes: Vec<Box<dyn Fn() -> Result<()>>> = {
        let stores: [Store; 5] = std::array::from_fn(|_| store.clone());
        let [topics, graphs, logs, tables, timelogs] = stores;
        vec![
            Box::new(move || Topic::create(&topics, "a", &TopicOptions::default()).map(drop)),
            Box::new(move || Graph::create(&graphs, "b", &GraphOptions::default()).map(drop)),
            Box::new(move || Logs::create(&logs, "c", &LogsOptions::default()).map(drop)),
            Box::new(move || {
                let options = TableOptions::default();
                Table::create(&tables, "d", &rows(0).schema(), &options).map(drop)
            }),
            Box::new(move || Timelog::create(&timelogs, "e", TimelogOptions::default()).map(drop)),
        ]
    };
    for _ in 0..2 {
        makes.iter().for_each(|make| make().unwrap());
    }
    let table = Table::open(&store, "d").unwrap();
    let options = WriteOptions { durability: Durability::Synced, ..WriteOptions::default() };
    failure.fail_the_next();
    assert_eq!(kind_of(table.append(&rows(1), options), "planted"), ErrorKind::Io);
    for make in &makes {
        assert_eq!(kind_of(make(), "it exists"), ErrorKind::Poisoned);
    }
    // Reading goes on.
    assert!(Topic::open(&store, "a").is_ok() && Table::open(&store, "d").is_ok());
}
