//! The store: open, commit, read, maintain, close.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use timestrata_format::manifest::Retention;
use timestrata_format::{SeqNo, StoreId, StreamId};
use timestrata_io::Io;

use crate::{
    BackupReport, Cell, Changes, CheckReport, Durability, RecoveryReport, Result, Settings,
    Snapshot, Stream, StreamSpec,
};

/// How a store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// For reading and writing; created if missing.
    #[default]
    Write,
    /// For reading and writing; it must exist.
    WriteExisting,
    /// For reading: no lock, no write permission needed; sees the writer's commits as of
    /// the open and of each [`Store::refresh`].
    Read,
}

/// A pin as listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinInfo {
    /// Its name.
    pub name: String,
    /// The commit it sees.
    pub seq: SeqNo,
    /// Wall clock when it was made, nanoseconds since the epoch.
    pub created_wall_ns: i64,
}

/// Figures of one stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamStats {
    /// Its name.
    pub name: String,
    /// Runs on disk.
    pub runs: u64,
    /// Rows in runs (before tombstones; delete markers included).
    pub run_rows: u64,
    /// Bytes of run files.
    pub run_bytes: u64,
    /// Rows in memtables.
    pub memtable_rows: u64,
    /// Bytes in memtables.
    pub memtable_bytes: u64,
    /// Range deletes that runs must still heed.
    pub tombstones: u64,
    /// Bytes that compaction would rewrite now.
    pub compaction_debt_bytes: u64,
}

/// Figures of a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreStats {
    /// Last commit.
    pub last_seq: SeqNo,
    /// Last commit that a power cut can't take.
    pub synced_seq: SeqNo,
    /// Bytes of WAL that recovery would replay.
    pub wal_bytes: u64,
    /// Files in the WAL directory, spares included.
    pub wal_segments: u64,
    /// Bytes in memtables of all streams.
    pub memtable_bytes: u64,
    /// Flushes done since open.
    pub flushes: u64,
    /// Compactions done since open.
    pub compactions: u64,
    /// Bytes that flushes wrote since open.
    pub flush_bytes: u64,
    /// Bytes that compactions wrote since open.
    pub compaction_bytes: u64,
    /// The first error of background work, if any; the next write reports it too.
    pub background_error: Option<String>,
    /// One entry a stream, by name.
    pub streams: Vec<StreamStats>,
}

/// An open store. Cheap to clone; all clones are the same store.
#[derive(Debug, Clone)]
pub struct Store {}

/// Appends single rows to one stream: the fast path, without a batch a row.
#[derive(Debug)]
pub struct RowAppender {}

impl RowAppender {
    /// Commits one row; `cells` has one cell a column of the schema.
    pub fn append(&mut self, cells: &[Cell<'_>], durability: Durability) -> Result<SeqNo> {
        let _ = (cells, durability);
        todo!()
    }
}

impl Store {
    /// Opens the store in `dir` on the real disk with [`Access::Write`].
    pub fn open(dir: impl AsRef<Path>, settings: Settings) -> Result<Self> {
        Self::open_with(Io::os(), dir.as_ref(), Access::Write, settings)
    }

    /// A store in memory, through the same code; nothing outlives it.
    pub fn memory(settings: Settings) -> Result<Self> {
        let _ = settings;
        todo!()
    }

    /// Opens the store in `dir` of `io`'s disk.
    pub fn open_with(io: Io, dir: &Path, access: Access, settings: Settings) -> Result<Self> {
        let _ = (io, dir, access, settings);
        todo!()
    }

    /// What opening found.
    pub fn recovery_report(&self) -> &RecoveryReport {
        todo!()
    }

    /// The store's identity.
    pub fn id(&self) -> StoreId {
        todo!()
    }

    /// Where it is; `None` in memory.
    pub fn path(&self) -> Option<PathBuf> {
        todo!()
    }

    /// Creates a stream, durably. Creating one that exists with the same spec gives that one.
    pub fn create_stream(&self, spec: StreamSpec) -> Result<StreamId> {
        let _ = spec;
        todo!()
    }

    /// A stream by name.
    pub fn stream(&self, name: &str) -> Option<Arc<Stream>> {
        let _ = name;
        todo!()
    }

    /// All streams, by name.
    pub fn streams(&self) -> Vec<Arc<Stream>> {
        todo!()
    }

    /// Removes a stream and its rows, durably.
    pub fn drop_stream(&self, name: &str) -> Result<()> {
        let _ = name;
        todo!()
    }

    /// Changes a stream's retention, durably.
    pub fn set_retention(&self, stream: StreamId, retention: Retention) -> Result<()> {
        let _ = (stream, retention);
        todo!()
    }

    /// Commits a group of changes: all of them or none. Gives the commit's place in the order.
    pub fn commit(&self, changes: Changes, durability: Durability) -> Result<SeqNo> {
        let _ = (changes, durability);
        todo!()
    }

    /// A row appender for one stream.
    pub fn appender(&self, stream: StreamId) -> Result<RowAppender> {
        let _ = stream;
        todo!()
    }

    /// A frozen view of all streams now.
    pub fn snapshot(&self) -> Result<Snapshot> {
        todo!()
    }

    /// Makes a named, durable snapshot of now.
    pub fn pin(&self, name: &str) -> Result<SeqNo> {
        let _ = name;
        todo!()
    }

    /// Removes a pin; files that only it kept are removed.
    pub fn unpin(&self, name: &str) -> Result<()> {
        let _ = name;
        todo!()
    }

    /// All pins, by name.
    pub fn pins(&self) -> Vec<PinInfo> {
        todo!()
    }

    /// The view that a pin keeps.
    pub fn snapshot_at(&self, pin: &str) -> Result<Snapshot> {
        let _ = pin;
        todo!()
    }

    /// Makes every commit so far survive a power cut.
    pub fn sync(&self) -> Result<SeqNo> {
        todo!()
    }

    /// Writes all memtables to runs.
    pub fn flush(&self) -> Result<()> {
        todo!()
    }

    /// Compacts one stream, or all, until nothing is left to do; applies retention.
    pub fn compact(&self, stream: Option<StreamId>) -> Result<()> {
        let _ = stream;
        todo!()
    }

    /// Does one piece of due maintenance in this thread; false if there was none.
    pub fn maintain_step(&self) -> Result<bool> {
        todo!()
    }

    /// Reads every byte of the store's files.
    pub fn check(&self) -> Result<CheckReport> {
        todo!()
    }

    /// Copies the store to the new directory `destination`, consistently, while writing goes on.
    pub fn backup(&self, destination: &Path) -> Result<BackupReport> {
        let _ = destination;
        todo!()
    }

    /// Read-only stores: catches up with the writer. Gives the last commit seen.
    pub fn refresh(&self) -> Result<SeqNo> {
        todo!()
    }

    /// Figures.
    pub fn stats(&self) -> StoreStats {
        todo!()
    }

    /// Flushes, syncs and closes. Fine to call twice. Dropping the last clone closes as well,
    /// but can't report an error.
    pub fn close(&self) -> Result<()> {
        todo!()
    }
}
