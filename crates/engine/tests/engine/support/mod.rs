//! What the tests of the public face share: a small stream, and ways to fill and read it.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMillisecondType;
use arrow_array::{Array, BinaryArray, RecordBatch, TimestampMillisecondArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use timestrata_engine::{
    Access, Cell, Changes, Durability, Io, KeyRange, LeadKey, Maintenance, Merge, Result, ScanSpec,
    Settings, Share, Snapshot, Store, StreamId, StreamSpec,
};
use timestrata_io::{ManualClock, MemoryDisk, SeededRng};

/// A row of the small stream.
pub(crate) type Pair = (i64, Vec<u8>);

pub(crate) fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("time", DataType::Timestamp(TimeUnit::Millisecond, None), false),
        Field::new("value", DataType::Binary, true),
    ]))
}

pub(crate) fn keep(name: &str) -> StreamSpec {
    StreamSpec::new(name, schema())
}

pub(crate) fn latest(name: &str) -> StreamSpec {
    StreamSpec { merge: Merge::Latest, ..keep(name) }
}

pub(crate) fn batch(rows: &[Pair]) -> RecordBatch {
    let times = TimestampMillisecondArray::from_iter_values(rows.iter().map(|(time, _)| *time));
    let values = BinaryArray::from_iter_values(rows.iter().map(|(_, value)| value));
    RecordBatch::try_new(schema(), vec![Arc::new(times), Arc::new(values)]).unwrap()
}

pub(crate) fn keys(times: &[i64]) -> RecordBatch {
    let column = TimestampMillisecondArray::from(times.to_vec());
    let schema = Arc::new(Schema::new(vec![schema().field(0).clone()]));
    RecordBatch::try_new(schema, vec![Arc::new(column)]).unwrap()
}

pub(crate) fn pairs(batch: &RecordBatch) -> Vec<Pair> {
    let times = batch.column(0).as_primitive::<TimestampMillisecondType>();
    let values = batch.column(1).as_binary::<i32>();
    (0..batch.num_rows())
        .map(|i| {
            (
                times.value(i),
                if values.is_null(i) { b"null".to_vec() } else { values.value(i).to_vec() },
            )
        })
        .collect()
}

pub(crate) fn read_spec(
    snapshot: &Snapshot,
    stream: StreamId,
    spec: &ScanSpec,
) -> Result<Vec<Pair>> {
    let mut rows = Vec::new();
    for batch in snapshot.scan(stream, spec)? {
        rows.extend(pairs(&batch?));
    }
    Ok(rows)
}

pub(crate) fn read(store: &Store, name: &str) -> Vec<Pair> {
    let stream = store.expect_stream(name).unwrap();
    read_spec(&store.snapshot().unwrap(), stream.id(), &ScanSpec::default()).unwrap()
}

pub(crate) fn insert(store: &Store, stream: StreamId, rows: &[Pair], durability: Durability) {
    store.commit(Changes::new().insert(stream, batch(rows)), durability).unwrap();
}

pub(crate) fn append(store: &Store, stream: StreamId, rows: &[Pair]) {
    let mut appender = store.appender(stream).unwrap();
    for (time, value) in rows {
        appender.append(&[Cell::Int(*time), Cell::Bytes(value)], Durability::Written).unwrap();
    }
}

pub(crate) fn delete(store: &Store, stream: StreamId, lo: i64, hi: i64) {
    let changes = Changes::new().delete_range(stream, KeyRange::times(lo, hi));
    store.commit(changes, Durability::Written).unwrap();
}

pub(crate) fn pair(time: i64, value: &str) -> Pair {
    (time, value.as_bytes().to_vec())
}

/// Small enough that a handful of rows exercises every path; nothing in the background.
pub(crate) fn tiny() -> Settings {
    Settings {
        memtable_bytes_max: 64 << 10,
        memory_bytes_max: 256 << 10,
        wal_segment_bytes: 16 << 10,
        wal_bytes_max: 64 << 10,
        run_batch_rows: 16,
        run_bytes_max: 64 << 10,
        level0_runs_max: 2,
        history_min: Duration::ZERO,
        maintenance: Maintenance::Manual,
        ..Settings::default()
    }
}

/// As the defaults, but nothing in the background.
pub(crate) fn manual() -> Settings {
    Settings {
        wal_segment_bytes: 1 << 20,
        wal_bytes_max: 64 << 20,
        history_min: Duration::ZERO,
        maintenance: Maintenance::Manual,
        ..Settings::default()
    }
}

/// A disk in memory that outlives stores.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) io: Io,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) dir: PathBuf,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::new(1_700_000_000_000_000_000));
        let io = Io {
            disk: Arc::new(MemoryDisk::new()),
            clock: Arc::clone(&clock) as _,
            rng: Arc::new(SeededRng::new(7)),
        };
        Self { io, clock, dir: PathBuf::from("/store") }
    }

    pub(crate) fn open(&self, settings: Settings) -> Store {
        self.try_open(Access::Write, settings).unwrap()
    }

    pub(crate) fn try_open(&self, access: Access, settings: Settings) -> Result<Store> {
        Store::open_with(self.io.clone(), &self.dir, access, settings)
    }

    pub(crate) fn read_file(&self, path: &Path) -> Vec<u8> {
        let file = self.io.disk.open(path, timestrata_io::OpenMode::Read).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_at(0, &mut bytes).unwrap();
        bytes
    }

    pub(crate) fn write_file(&self, path: &Path, bytes: &[u8]) {
        if self.io.disk.exists(path).unwrap() {
            self.io.disk.remove(path).unwrap();
        }
        let file = self.io.disk.open(path, timestrata_io::OpenMode::CreateNew).unwrap();
        file.write_at(0, bytes).unwrap();
    }

    /// Every file of the store, with its path.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut dirs = vec![self.dir.clone()];
        while let Some(dir) = dirs.pop() {
            for entry in self.io.disk.list(&dir).unwrap() {
                let path = dir.join(&entry.name);
                if entry.is_dir { dirs.push(path) } else { files.push(path) }
            }
        }
        files.sort();
        files
    }

    pub(crate) fn run_files(&self) -> Vec<PathBuf> {
        let runs = self.dir.join("runs");
        self.files().into_iter().filter(|path| path.starts_with(&runs)).collect()
    }

    pub(crate) fn bytes_of_runs(&self) -> u64 {
        let runs = self.io.disk.list(&self.dir.join("runs")).unwrap();
        runs.iter().map(|file| file.len).sum()
    }

    /// A copy of the whole directory, as a machine of its own.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self::new();
        for dir in ["/store", "/store/runs", "/store/wal"] {
            copy.io.disk.create_dir(Path::new(dir)).unwrap();
        }
        for path in self.files() {
            if let Some(dir) = path.parent() {
                copy.io.disk.create_dir(dir).unwrap();
            }
            copy.write_file(&path, &self.read_file(&path));
        }
        copy
    }
}

/// A tiny store with one stream, `events`, that keeps every row.
pub(crate) fn with_events() -> (Machine, Store, StreamId) {
    let machine = Machine::new();
    let store = machine.open(tiny());
    let stream = store.create_stream(keep("events")).unwrap();
    (machine, store, stream)
}

pub(crate) fn range(lo: i64, hi: i64) -> KeyRange {
    KeyRange::times(lo, hi)
}

pub(crate) fn time(time: i64) -> LeadKey {
    LeadKey::Time(time)
}

/// How many rows two readers in any order give between them, without a column.
pub(crate) fn rows_of_shares(store: &Store, id: StreamId, range: KeyRange) -> usize {
    let share = |part| ScanSpec {
        range,
        columns: Some(Vec::new()),
        any_order: Some(Share { part, parts: 2 }),
        ..ScanSpec::default()
    };
    let snapshot = store.snapshot().unwrap();
    let scans = (0..2).map(|part| snapshot.scan(id, &share(part)).unwrap());
    scans.flatten().map(|batch| batch.unwrap().num_rows()).sum()
}

/// Where each edit of a manifest ends; first where its header does. Behind the last there may be room.
pub(crate) fn edit_ends(manifest: &[u8]) -> Vec<usize> {
    let mut ends = vec![64];
    let edit_at = |end: usize| manifest.get(end..).and_then(<[u8]>::first_chunk::<4>);
    while let Some(length) =
        ends.last().and_then(|end| edit_at(*end)).filter(|length| **length != [0; 4])
    {
        ends.push(ends[ends.len() - 1] + 8 + u32::from_le_bytes(*length) as usize);
    }
    ends
}
