//! All models on a real file system that is full: what needs room fails as what it is and isn't made, reads
//! go on, data can be let go of, the store can be closed and opened, and writes go on by themselves.
#![expect(clippy::unwrap_used, reason = "a test fails that way")]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, TimestampMillisecondArray};
use timestrata::commit_together;
use timestrata_engine::{
    CommitPart, Durability, ErrorKind, KeyRange, Result, SeqNo, Settings, Store,
};
use timestrata_graph::{
    BlockId, Changed, Direction, Edge, EdgeKey, Graph, GraphChanges, GraphOptions, GraphWrite,
    NewBlock,
};
use timestrata_logs::{Logs, LogsOptions, LogsWrite, NewEntry, Query};
use timestrata_table::{Table, TableOptions, TableWrite, WriteOptions};
use timestrata_timelog::{EntryBatch, Timelog, TimelogOptions, TimelogWrite};
use timestrata_topic::{Record, SendOptions, Topic, TopicOptions, TopicWrite};

const MODELS: [&str; 5] = ["time log", "table", "log", "topic", "graph"];
const TEXTS: usize = 40;
const ROUNDS_MAX: usize = 4_000;
const WAIT_NS: u64 = 60_000_000_000;

/// A file system in memory with an end, gone with its value.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// `None`, with the reason printed, where nothing can be mounted.
    fn mount(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(folder.path());
        match mount.output() {
            Ok(output) if output.status.success() => Some(Self { folder }),
            Ok(output) => {
                println!("left out: {}", String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(error) => {
                println!("left out: 'mount' can't be run: {error}");
                None
            }
        }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.folder.path()).status();
    }
}

fn settings() -> Settings {
    Settings {
        memtable_bytes_max: 1 << 20,
        memory_bytes_max: 4 << 20,
        wal_segment_bytes: 1 << 20,
        wal_bytes_max: 8 << 20,
        ..Settings::default()
    }
}

/// Texts that don't compress.
fn texts(round: usize) -> Vec<String> {
    let mut state = (round as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..TEXTS).map(|_| (0..60).map(|_| format!("{:016x}", next())).collect()).collect()
}

/// One commit to a model; each holds as many things.
fn write(store: &Store, model: usize, round: usize) -> Result<()> {
    let texts = texts(round);
    let first = (round * TEXTS) as i64;
    match model {
        0 => {
            let log = Timelog::open(store, "door")?;
            let times: Vec<i64> = (first..first + TEXTS as i64).collect();
            log.extend(&times, &texts).map(drop)
        }
        1 => {
            let rows = rows(first, &texts);
            Table::open(store, "rows")?.append(&rows, WriteOptions::default()).map(drop)
        }
        2 => {
            let entries: Vec<NewEntry> = texts.into_iter().map(NewEntry::new).collect();
            Logs::open(store, "app")?.write_many(&entries, Durability::Written).map(drop)
        }
        3 => {
            let record = |text| Record { value: Some(text), ..Record::default() };
            let records: Vec<Record<'_>> =
                texts.iter().map(|text| record(text.as_bytes())).collect();
            Topic::open(store, "events")?.send_batch(&records, &SendOptions::default()).map(drop)
        }
        _ => {
            let mut changes = GraphChanges::new();
            for (number, text) in texts.iter().enumerate() {
                let id = ((round * TEXTS + number) as u128).to_be_bytes();
                changes = changes.put(NewBlock {
                    id: Some(BlockId::from(id)),
                    content: text.as_bytes(),
                    ..NewBlock::default()
                });
            }
            Graph::open(store, "code")?.change(&changes, Durability::Written).map(drop)
        }
    }
}

fn rows(first: i64, texts: &[String]) -> RecordBatch {
    let times = TimestampMillisecondArray::from_iter_values(first..first + texts.len() as i64);
    let columns: [(&str, ArrayRef); 2] = [
        ("time", Arc::new(times.with_timezone("UTC"))),
        ("text", Arc::new(StringArray::from_iter_values(texts))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// How many things a model holds, by reading.
fn count(store: &Store, model: usize) -> u64 {
    match model {
        0 => Timelog::open(store, "door").unwrap().len().unwrap(),
        1 => Table::open(store, "rows").unwrap().view().unwrap().count(&KeyRange::ALL).unwrap(),
        2 => Logs::open(store, "app").unwrap().count(&Query::of("*").unwrap()).unwrap(),
        3 => Topic::open(store, "events").unwrap().offsets(0).unwrap().end,
        _ => Graph::open(store, "code").unwrap().view().unwrap().block_count().unwrap(),
    }
}

fn create(store: &Store) {
    Timelog::create(store, "door", TimelogOptions::default()).unwrap();
    Table::create_for(store, "rows", &rows(0, &texts(0)), &TableOptions::default()).unwrap();
    Logs::create(store, "app", &LogsOptions::default()).unwrap();
    Topic::create(store, "events", &TopicOptions::default()).unwrap();
    Graph::create(store, "code", &GraphOptions { keep_versions: 1 }).unwrap();
}

/// Writes to all models in turn until each has been refused; gives what was acknowledged of each.
fn fill(store: &Store) -> [u64; 5] {
    let mut acknowledged = [0; 5];
    let mut refused = [false; 5];
    for round in 0..ROUNDS_MAX {
        for model in 0..MODELS.len() {
            match write(store, model, round) {
                Ok(()) => acknowledged[model] += TEXTS as u64,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::NoSpace, "{}: {error}", MODELS[model]);
                    refused[model] = true;
                }
            }
        }
        if refused == [true; 5] {
            return acknowledged;
        }
    }
    panic!("the disk didn't get full: {acknowledged:?}");
}

fn assert_counts(store: &Store, expected: &[u64; 5], what: &str) {
    for (model, expected) in expected.iter().enumerate() {
        assert_eq!(count(store, model), *expected, "{what}: {}", MODELS[model]);
    }
}

#[test]
fn all_models_outlive_a_full_disk() {
    let Some(disk) = SmallDisk::mount("40m") else { return };
    let store = Store::open(disk.store(), settings()).unwrap();
    create(&store);
    let mut kept = fill(&store);
    println!("acknowledged: {kept:?}");
    assert!(!store.is_poisoned());
    assert_counts(&store, &kept, "while it is full");
    store.close().unwrap();
    let store = Store::open(disk.store(), settings()).unwrap();
    assert_counts(&store, &kept, "opened again");
    // Room is made: by a range delete, and by dropping.
    Timelog::open(&store, "door").unwrap().delete_range(..).unwrap();
    kept[0] = 0;
    Table::drop(&store, "rows").unwrap();
    let begun_ns = store.monotonic_ns();
    for model in [0, 2, 3, 4] {
        // In the background files go, and memory; a refused write says so at once and is made again.
        while let Err(error) = write(&store, model, ROUNDS_MAX + model) {
            assert_eq!(error.kind(), ErrorKind::NoSpace, "{}: {error}", MODELS[model]);
            assert!(store.monotonic_ns() - begun_ns < WAIT_NS, "{}: {error}", MODELS[model]);
            std::thread::yield_now();
        }
        kept[model] += TEXTS as u64;
        assert_eq!(count(&store, model), kept[model], "after room was made: {}", MODELS[model]);
    }
    assert!(!store.is_poisoned());
    store.close().unwrap();
    assert!(
        timestrata_engine::check(&timestrata_engine::Io::os(), &disk.store()).unwrap().is_sound()
    );
}

/// One commit to all models.
fn write_together(store: &Store, round: usize) -> Result<SeqNo> {
    let texts = texts(round);
    let first = (round * TEXTS) as i64;
    let mut timelog = TimelogWrite::new(&Timelog::open(store, "door")?);
    let mut values = EntryBatch::new();
    for (time, text) in (first..).zip(&texts) {
        values.push(time, text.as_bytes())?;
    }
    timelog.append(values)?;
    let mut table = TableWrite::new(&Table::open(store, "rows")?);
    table.append(rows(first, &texts));
    let log = Logs::open(store, "app")?;
    let mut entries = log.batch()?;
    texts.iter().try_for_each(|text| entries.push(&NewEntry::new(text.as_str())))?;
    let mut logs = LogsWrite::new(&log, entries);
    let mut topic = TopicWrite::new(&Topic::open(store, "events")?);
    let mut changes = GraphChanges::new();
    for (number, text) in texts.iter().enumerate() {
        topic.send(Record { value: Some(text.as_bytes()), ..Record::default() });
        let id = Some(BlockId::from(((round * TEXTS + number) as u128).to_be_bytes()));
        changes = changes.put(NewBlock { id, content: text.as_bytes(), ..NewBlock::default() });
    }
    let mut graph = GraphWrite::new(&Graph::open(store, "code")?, changes);
    let mut parts: [&mut dyn CommitPart; 5] =
        [&mut timelog, &mut table, &mut logs, &mut topic, &mut graph];
    commit_together(store, &mut parts, Durability::Written)
}

#[test]
fn commits_over_all_models_on_a_full_disk_are_made_whole_or_refused_whole() {
    let Some(disk) = SmallDisk::mount("40m") else { return };
    let store = Store::open(disk.store(), settings()).unwrap();
    create(&store);
    let (mut made, mut refused) = (0, 0);
    for round in 0..ROUNDS_MAX {
        match write_together(&store, round) {
            Ok(_) => made += TEXTS as u64,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
                refused += 1;
            }
        }
        assert_eq!(count(&store, round % MODELS.len()), made, "{}", MODELS[round % MODELS.len()]);
        if refused == 10 {
            break;
        }
    }
    println!("{made} made");
    assert!(refused == 10 && made > 0, "the disk didn't get full: {made}");
    assert_counts(&store, &[made; 5], "while it is full");
    assert!(!store.is_poisoned());
    store.close().unwrap();
    let store = Store::open(disk.store(), settings()).unwrap();
    assert_counts(&store, &[made; 5], "opened again");
    Table::drop(&store, "rows").unwrap();
    Table::create_for(&store, "rows", &rows(0, &texts(0)), &TableOptions::default()).unwrap();
    let begun_ns = store.monotonic_ns();
    while let Err(error) = write_together(&store, ROUNDS_MAX) {
        assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
        assert!(store.monotonic_ns() - begun_ns < WAIT_NS, "{error}");
        std::thread::yield_now();
    }
    let after = made + TEXTS as u64;
    assert_counts(&store, &[after, TEXTS as u64, after, after, after], "after room was made");
}

/// Blocks of a graph whose changes are made one by one.
const ENDS: u8 = 30;

fn id(number: u8) -> BlockId {
    BlockId::from([number; 16])
}

/// Its edges, as the stream of a direction has them, and its blocks.
fn seen(graph: &Graph, direction: Direction) -> (BTreeSet<(u8, u8)>, BTreeSet<u8>) {
    let view = graph.view().unwrap();
    let of = |number| view.edges(id(number), direction, &[]).unwrap();
    let ends = |edge: Edge| (edge.key.source.bytes()[0], edge.key.target.bytes()[0]);
    let edges = (0..ENDS).flat_map(of).map(ends).collect();
    (edges, (0..ENDS).filter(|number| view.get(id(*number)).unwrap().is_some()).collect())
}

/// One by one, which is another way than many changes together take.
#[test]
fn single_changes_to_a_graph_on_a_full_disk_are_made_whole_or_refused_whole() {
    let Some(disk) = SmallDisk::mount("40m") else { return };
    let store = Store::open(disk.store(), settings()).unwrap();
    create(&store);
    let graph = Graph::create(&store, "calls", &GraphOptions::default()).unwrap();
    let change = |changes| graph.change(&changes, Durability::Written);
    for number in 0..ENDS {
        let block = NewBlock { id: Some(id(number)), content: b"a block", ..NewBlock::default() };
        change(GraphChanges::new().put(block)).unwrap();
    }
    let pairs = || (0..ENDS).flat_map(|source| (0..ENDS).map(move |target| (source, target)));
    for (source, target) in pairs() {
        change(GraphChanges::new().link(Edge::new(id(source), "calls", id(target)))).unwrap();
    }
    // From here on versions of blocks and edges are known, so that a delete need not look for them.
    graph.view().unwrap().adjacency().unwrap().unwrap();
    fill(&store);
    let mut edges: BTreeSet<(u8, u8)> = pairs().collect();
    let mut blocks: BTreeSet<u8> = (0..ENDS).collect();
    let mut refused = 0;
    let mut is_made = |changed: Result<Changed>| match changed {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
            refused += 1;
            false
        }
    };
    // What is left of the log is too short for the commits above; these go on until not even one of them fits.
    for (source, target) in pairs().filter(|(source, _)| source % 2 == 0).cycle().take(600) {
        if edges.contains(&(source, target)) {
            let key = EdgeKey { source: id(source), kind: "calls".into(), target: id(target) };
            if is_made(change(GraphChanges::new().unlink(key))) {
                edges.remove(&(source, target));
            }
        } else {
            let edge = Edge::new(id(source), "calls", id(target));
            if is_made(change(GraphChanges::new().link(edge))) {
                edges.insert((source, target));
            }
        }
    }
    for number in (0..ENDS).filter(|number| number % 3 == 0) {
        if is_made(change(GraphChanges::new().delete(id(number)))) {
            blocks.remove(&number);
            edges.retain(|(source, target)| *source != number && *target != number);
        }
    }
    println!("{refused} refused");
    assert!(refused > 0, "the log was never full");
    for direction in [Direction::Out, Direction::In] {
        assert_eq!(seen(&graph, direction), (edges.clone(), blocks.clone()), "{direction:?}");
    }
    assert!(!store.is_poisoned());
    store.close().unwrap();
    let store = Store::open(disk.store(), settings()).unwrap();
    let graph = Graph::open(&store, "calls").unwrap();
    for direction in [Direction::Out, Direction::In] {
        assert_eq!(seen(&graph, direction), (edges.clone(), blocks.clone()), "{direction:?}");
    }
}
