//! A commit over several models is there whole, or not at all.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::watched_disk::{Step, WatchedDisk, Watcher};
use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampSecondArray,
};
use timestrata::graph::{BlockId, Edge, Graph, GraphChanges, GraphOptions, GraphWrite, NewBlock};
use timestrata::logs::{Logs, LogsOptions, LogsWrite, NewEntry};
use timestrata::table::{Table, TableOptions, TableWrite};
use timestrata::timelog::{EntryBatch, Timelog, TimelogOptions, TimelogWrite};
use timestrata::topic::{
    Consumer, ConsumerOptions, OffsetsWrite, PollLimits, Record, SendOptions, Topic, TopicOptions,
    TopicWrite,
};
use timestrata::{
    Access, CommitPart, Durability, ErrorKind, Io, KeyRange, Maintenance, Result, SeqNo, Settings,
    Store, commit_together,
};

/// One of each model.
struct Models {
    store: Store,
    table: Table,
    logs: Logs,
    topic: Topic,
    graph: Graph,
    timelog: Timelog,
}

fn settings() -> Settings {
    Settings { maintenance: Maintenance::Manual, ..Settings::default() }
}

fn rows(times: &[i64], values: &[f64]) -> RecordBatch {
    RecordBatch::try_from_iter([
        ("time", Arc::new(TimestampSecondArray::from(times.to_vec())) as ArrayRef),
        ("value", Arc::new(Float64Array::from(values.to_vec())) as ArrayRef),
    ])
    .unwrap()
}

fn record(value: &'static str) -> Record<'static> {
    Record { value: Some(value.as_bytes()), ..Record::default() }
}

impl Models {
    fn in_memory() -> Self {
        Self::of(Store::memory(settings()).unwrap())
    }

    fn of(store: Store) -> Self {
        let like = rows(&[1], &[1.0]);
        let options = TableOptions::default();
        Self {
            table: Table::create_for(&store, "metrics", &like, &options).unwrap(),
            logs: Logs::create(&store, "app", &LogsOptions::default()).unwrap(),
            topic: Topic::create(&store, "events", &TopicOptions::default()).unwrap(),
            graph: Graph::create(&store, "code", &GraphOptions::default()).unwrap(),
            timelog: Timelog::create(&store, "door", TimelogOptions::default()).unwrap(),
            store,
        }
    }

    /// Commits one thing to each model; `order` says in which order the parts are given.
    fn commit(&self, number: i64, order: usize, durability: Durability) -> Result<SeqNo> {
        let mut table = TableWrite::new(&self.table);
        table.append(rows(&[number], &[0.5]));
        let mut entries = self.logs.batch()?;
        entries.push(&NewEntry::new(format!("number {number}")))?;
        let mut logs = LogsWrite::new(&self.logs, entries);
        let mut topic = TopicWrite::new(&self.topic);
        topic.send(record("told"));
        let id = BlockId::new(number.to_be_bytes().repeat(2).try_into().unwrap());
        let block = NewBlock { id: Some(id), content: b"block", ..NewBlock::default() };
        let changes = GraphChanges::new().put(block).link(Edge::new(id, "calls", id));
        let mut graph = GraphWrite::new(&self.graph, changes);
        let mut timelog = TimelogWrite::new(&self.timelog);
        let mut values = EntryBatch::new();
        values.push(number, b"value")?;
        timelog.append(values)?;
        let mut parts: [&mut dyn CommitPart; 5] =
            [&mut table, &mut logs, &mut topic, &mut graph, &mut timelog];
        parts.rotate_left(order % 5);
        commit_together(&self.store, &mut parts, durability)
    }

    /// How much there is in each.
    fn counts(&self) -> [u64; 6] {
        let view = self.graph.view().unwrap();
        [
            self.table.view().unwrap().count(&KeyRange::ALL).unwrap(),
            self.logs.snapshot().unwrap().len().unwrap(),
            self.topic.offsets(0).unwrap().end,
            view.block_count().unwrap(),
            view.edge_count().unwrap(),
            self.timelog.len().unwrap(),
        ]
    }
}

#[test]
fn five_models_change_in_one_commit() {
    let models = Models::in_memory();
    let before = models.store.stats().last_seq;
    for number in 1..=5 {
        let seq = models.commit(number, number as usize, Durability::Synced).unwrap();
        assert_eq!(seq, SeqNo(before.0 + number as u64), "one commit, whatever it spans");
        assert_eq!(models.counts(), [number as u64; 6]);
    }
    assert_eq!(models.store.stats().synced_seq, models.store.stats().last_seq);
}

#[test]
fn what_several_models_have_committed_is_there_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let models = Models::of(Store::open(&path, settings()).unwrap());
    for number in 1..=3 {
        models.commit(number, 0, Durability::Written).unwrap();
    }
    models.store.flush().unwrap();
    for number in 4..=6 {
        models.commit(number, 0, Durability::Written).unwrap();
    }
    models.store.close().unwrap();
    let models = Models::of(Store::open(&path, settings()).unwrap());
    assert_eq!(models.counts(), [6; 6]);
    assert_eq!(models.topic.send(&record("next"), &SendOptions::default()).unwrap().offset, 6);
}

#[test]
fn a_part_that_fails_leaves_all_models_as_they_were() {
    let models = Models::in_memory();
    models.commit(1, 0, Durability::Written).unwrap();
    let (store, counts) = (&models.store, models.counts());
    let last_seq = store.stats().last_seq;
    // The other models have been asked by then, whichever fails.
    let others = |fails: &mut dyn CommitPart| {
        let mut table = TableWrite::new(&models.table);
        table.append(rows(&[7], &[7.0]));
        let mut topic = TopicWrite::new(&models.topic);
        topic.send(record("lost"));
        let id = BlockId::new([9; 16]);
        let changes = GraphChanges::new().link(Edge::new(id, "calls", id));
        let mut graph = GraphWrite::new(&models.graph, changes);
        let mut entries = models.logs.batch().unwrap();
        entries.push(&NewEntry::new("lost")).unwrap();
        let mut logs = LogsWrite::new(&models.logs, entries);
        let mut parts: Vec<&mut dyn CommitPart> = vec![fails];
        let rank = parts[0].rank();
        let all: [&mut dyn CommitPart; 4] = [&mut table, &mut topic, &mut graph, &mut logs];
        parts.extend(all.into_iter().filter(|part| part.rank() != rank));
        let error = commit_together(store, &mut parts, Durability::Synced).unwrap_err();
        assert_eq!(models.counts(), counts, "{error}");
        assert_eq!(store.stats().last_seq, last_seq);
        error
    };
    let mut misfit = TableWrite::new(&models.table);
    misfit.append(
        RecordBatch::try_from_iter([
            ("time", Arc::new(TimestampSecondArray::from(vec![8])) as ArrayRef),
            ("value", Arc::new(StringArray::from(vec!["no number"])) as ArrayRef),
        ])
        .unwrap(),
    );
    assert_eq!(others(&mut misfit).kind(), ErrorKind::InvalidData);
    let mut late = TopicWrite::new(&models.topic);
    late.send(record("late"));
    late.expect_offset(0);
    assert_eq!(others(&mut late).kind(), ErrorKind::Conflict);
    let id = BlockId::new(1_i64.to_be_bytes().repeat(2).try_into().unwrap());
    let old = NewBlock { id: Some(id), version: Some(1), content: b"old", ..NewBlock::default() };
    models
        .graph
        .change(&GraphChanges::new().put(NewBlock { version: Some(5), ..old }), Durability::Written)
        .unwrap();
    let last_seq = store.stats().last_seq;
    let mut older = GraphWrite::new(&models.graph, GraphChanges::new().put(old));
    let mut topic = TopicWrite::new(&models.topic);
    topic.send(record("lost"));
    let error =
        commit_together(store, &mut [&mut topic, &mut older], Durability::Written).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!((store.stats().last_seq, topic.receipts()), (last_seq, &[][..]));
    // And all of them go on.
    models.commit(2, 3, Durability::Synced).unwrap();
    assert_eq!(models.counts(), [2; 6]);
}

/// Lets the next write fail when it is told to.
#[derive(Debug, Default)]
struct OneFailure(AtomicBool);

impl Watcher for OneFailure {
    fn before(&self, step: Step, _: &Path) -> io::Result<()> {
        match step == Step::Write && self.0.swap(false, Ordering::SeqCst) {
            true => Err(io::Error::other("planted failure of a write")),
            false => Ok(()),
        }
    }
}

#[test]
fn a_log_that_fails_under_a_commit_shows_none_of_it() {
    let failure = Arc::new(OneFailure::default());
    let Io { disk, clock, rng } = Io::memory();
    let watched = Arc::new(WatchedDisk::new(Arc::clone(&disk), Arc::clone(&failure) as _));
    let open = |disk| {
        let io = Io { disk, clock: Arc::clone(&clock), rng: Arc::clone(&rng) };
        Models::of(Store::open_with(io, Path::new("store"), Access::Write, settings()).unwrap())
    };
    let models = open(watched);
    models.commit(1, 0, Durability::Synced).unwrap();
    failure.0.store(true, Ordering::SeqCst);
    models.commit(2, 0, Durability::Synced).unwrap_err();
    assert_eq!(models.counts(), [1; 6]);
    assert_eq!(models.commit(3, 0, Durability::Written).unwrap_err().kind(), ErrorKind::Poisoned);
    drop(models.store.close());
    drop(models);
    let counts = open(disk).counts();
    assert!(counts == [1; 6] || counts == [2; 6], "{counts:?}");
}

#[test]
fn two_parts_of_one_model_and_parts_of_another_store_are_refused() {
    let (models, others) = (Models::in_memory(), Models::in_memory());
    let refused = |parts: &mut [&mut dyn CommitPart], says: &str| {
        let error = commit_together(&models.store, parts, Durability::Written).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(says), "{error}");
    };
    let [mut one, mut other] = [0, 1].map(|_| TopicWrite::new(&models.topic));
    [&mut one, &mut other].into_iter().for_each(|part| part.send(record("twice")));
    refused(&mut [&mut one, &mut other], "two parts for one topic");
    let mut theirs = TimelogWrite::new(&others.timelog);
    refused(&mut [&mut one, &mut theirs], "for a time log of another store");
    assert_eq!(models.counts(), [0; 6]);
    assert_eq!(others.counts(), [0; 6]);
}

#[test]
fn a_part_of_a_backup_is_not_committed_to_the_store_that_it_is_of() {
    let folder = tempfile::tempdir().unwrap();
    let [path, copy] = ["store", "copy"].map(|name| folder.path().join(name));
    let models = Models::of(Store::open(&path, settings()).unwrap());
    models.commit(1, 0, Durability::Synced).unwrap();
    models.store.backup(&copy).unwrap();
    let others = Models::of(Store::open(&copy, settings()).unwrap());
    assert_eq!(others.store.id(), models.store.id(), "it can't be told by that");
    others.commit(2, 0, Durability::Synced).unwrap();
    let mut theirs = TopicWrite::new(&others.topic);
    theirs.send(record("to the copy"));
    let error = commit_together(&models.store, &mut [&mut theirs], Durability::Synced).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!((models.counts(), others.counts()), ([1; 6], [2; 6]));
}

#[test]
fn threads_that_commit_over_the_same_models_never_wait_for_each_other_for_ever() {
    let models = Models::in_memory();
    thread::scope(|scope| {
        for thread in 0..4 {
            let models = &models;
            scope.spawn(move || {
                for number in 0..50 {
                    let (number, order) = (thread * 50 + number, (thread * 3 + number) as usize);
                    models.commit(number, order, Durability::Synced).unwrap();
                }
            });
        }
        // Beside them the ways that models have of their own.
        let models = &models;
        scope.spawn(move || {
            for number in 200..250 {
                models.topic.send(&record("alone"), &SendOptions::default()).unwrap();
                models
                    .table
                    .append(&rows(&[number], &[1.0]), timestrata::table::WriteOptions::default())
                    .unwrap();
                models.timelog.append(number, b"alone").unwrap();
            }
        });
    });
    assert_eq!(models.counts(), [250, 200, 250, 200, 200, 250]);
}

/// A commit holds the epochs of its producers until it is made, and one of another topic is about to begin meanwhile.
#[test]
fn producers_of_several_topics_in_one_commit_do_not_wait_behind_those_that_begin() {
    let store = Store::memory(settings()).unwrap();
    let topics = ["orders", "bills"]
        .map(|name| Topic::create(&store, name, &TopicOptions::default()).unwrap());
    let (done, ends) = mpsc::channel();
    for thread in 0..2 {
        let (store, topics, done) = (store.clone(), topics.clone(), done.clone());
        thread::spawn(move || {
            let name = format!("sender {thread}");
            let epochs = topics.each_ref().map(|topic| topic.begin_producer(&name).unwrap());
            for _ in 0..500 {
                let mut writes = topics.each_ref().map(TopicWrite::new);
                for (write, epoch) in writes.iter_mut().zip(epochs) {
                    write.send(record("sent"));
                    write.by_producer(&name, epoch);
                }
                let [first, second] = &mut writes;
                commit_together(&store, &mut [first, second], Durability::Written).unwrap();
            }
            done.send(()).unwrap();
        });
    }
    for topic in topics.clone() {
        let done = done.clone();
        thread::spawn(move || {
            for _ in 0..500 {
                topic.begin_producer("comes and goes").unwrap();
            }
            done.send(()).unwrap();
        });
    }
    for _ in 0..4 {
        ends.recv_timeout(Duration::from_secs(60)).unwrap();
    }
    assert_eq!(topics.map(|topic| topic.offsets(0).unwrap().end), [1_000, 1_000]);
}

#[test]
fn rows_of_one_key_in_one_commit_are_replaced_by_the_last() {
    let store = Store::memory(settings()).unwrap();
    let with_key = |times: &[i64], keys: &[i64], values: &[f64]| {
        let rows = rows(times, values);
        let keys: ArrayRef = Arc::new(Int64Array::from(keys.to_vec()));
        let [time, value] = [0, 1].map(|column| Arc::clone(rows.column(column)));
        RecordBatch::try_from_iter([("time", time), ("host", keys), ("value", value)]).unwrap()
    };
    let first = with_key(&[1, 2], &[10, 20], &[1.0, 2.0]);
    let options = TableOptions { key: vec!["host".into()], ..TableOptions::default() };
    let table = Table::create_for(&store, "hosts", &first, &options).unwrap();
    let mut write = TableWrite::new(&table);
    write.append(first);
    write.append(with_key(&[5], &[10], &[1.5]));
    write.append(with_key(&[6, 3], &[30, 20], &[3.0, 2.5]));
    commit_together(&store, &mut [&mut write], Durability::Written).unwrap();
    let mut again = TableWrite::new(&table);
    again.append(with_key(&[9], &[30], &[9.0]));
    commit_together(&store, &mut [&mut again], Durability::Written).unwrap();
    assert_eq!(table.view().unwrap().count(&KeyRange::ALL).unwrap(), 3, "a row a key");
    let mut gone = TableWrite::new(&table);
    gone.delete(..6).unwrap();
    gone.append(with_key(&[1], &[40], &[4.0]));
    commit_together(&store, &mut [&mut gone], Durability::Written).unwrap();
    assert_eq!(
        table.view().unwrap().count(&KeyRange::ALL).unwrap(),
        2,
        "what comes with a delete stays"
    );
}

#[test]
fn columns_that_come_with_a_commit_are_added_and_values_that_do_not_fit_refuse_all_of_it() {
    let models = Models::in_memory();
    let wider = |value: ArrayRef| {
        RecordBatch::try_from_iter([
            ("time", Arc::new(TimestampSecondArray::from(vec![1])) as ArrayRef),
            ("value", value),
            ("room", Arc::new(StringArray::from(vec!["cellar"])) as ArrayRef),
        ])
        .unwrap()
    };
    let mut table = TableWrite::new(&models.table);
    table.append(rows(&[0], &[0.5]));
    table.append(wider(Arc::new(Float64Array::from(vec![1.5]))));
    let mut topic = TopicWrite::new(&models.topic);
    topic.send(record("told"));
    commit_together(&models.store, &mut [&mut topic, &mut table], Durability::Written).unwrap();
    let view = models.table.view().unwrap();
    assert_eq!(view.schema().fields().len(), 3);
    assert_eq!(models.counts()[..3], [2, 0, 1]);
    let mut table = TableWrite::new(&models.table);
    table.append(rows(&[2], &[0.5]));
    table.append(wider(Arc::new(StringArray::from(vec!["none"]))));
    let parts: &mut [&mut dyn CommitPart] = &mut [&mut topic, &mut table];
    let error = commit_together(&models.store, parts, Durability::Written).unwrap_err();
    assert_eq!(
        (error.kind(), models.counts()[..3].to_vec()),
        (ErrorKind::InvalidData, vec![2, 0, 1])
    );
}

#[test]
fn what_is_made_of_records_and_that_they_were_read_are_one_commit() {
    let models = Models::in_memory();
    for _ in 0..3 {
        models.topic.send(&record("raw"), &SendOptions::default()).unwrap();
    }
    let made = Topic::create(&models.store, "made", &TopicOptions::default()).unwrap();
    let options = ConsumerOptions { group: Some("maker".into()), ..ConsumerOptions::default() };
    let mut consumer = Consumer::new(&models.store, options).unwrap();
    consumer.subscribe(["events"]).unwrap();
    let polled = consumer.poll(Duration::ZERO, PollLimits::default()).unwrap();
    let read: usize = polled.iter().map(|polled| polled.records.len()).sum();
    let commit = |consumer: &mut Consumer, expected: u64| {
        let mut out = TopicWrite::new(&made);
        (0..read).for_each(|_| out.send(record("made")));
        out.expect_offset(expected);
        let mut table = TableWrite::new(&models.table);
        table.append(rows(&[1, 2, 3], &[1.0, 2.0, 3.0]));
        let mut offsets = OffsetsWrite::new(consumer);
        let mut parts: [&mut dyn CommitPart; 3] = [&mut offsets, &mut out, &mut table];
        commit_together(&models.store, &mut parts, Durability::Synced)
    };
    assert_eq!(commit(&mut consumer, 8).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(models.topic.committed("maker", 0).unwrap(), None);
    commit(&mut consumer, 0).unwrap();
    assert_eq!(models.topic.committed("maker", 0).unwrap(), Some(3));
    assert_eq!((made.offsets(0).unwrap().end, models.counts()[0]), (3, 3));
    assert!(consumer.uncommitted().is_empty());
}
