//! Figures of a store.

use std::sync::atomic::Ordering;

use timestrata_format::SeqNo;

use crate::MissingRange;
use crate::maintenance::CompactionTarget;
use crate::run::CacheStats;
use crate::state::{Engine, ScrubStats, StreamState};
use crate::wal::SyncCounts;

/// Figures of one stream.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(schema)))?;
/// # let mut appender = store.appender(kitchen)?;
/// # for (time, celsius) in [(1_000, 20.5), (2_000, 21.0), (3_000, 21.5)] {
/// #     appender.append(&[Cell::Int(time), Cell::Float(celsius)], Durability::Written)?;
/// # }
/// store.flush()?;
/// let stats = &store.stats().streams[0];
/// assert_eq!((stats.runs, stats.run_rows, stats.memtable_rows), (1, 3, 0));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamStats {
    /// Its name.
    pub name: String,
    /// Runs on disk.
    pub runs: u64,
    /// Of these, such as flushes wrote and no compaction has touched.
    pub level0_runs: u64,
    /// Runs of each level, from 0 on.
    pub level_runs: Vec<u64>,
    /// Rows in runs (before tombstones; delete markers included).
    pub run_rows: u64,
    /// Bytes of run files.
    pub run_bytes: u64,
    /// Rows in memtables.
    pub memtable_rows: u64,
    /// Of these, such as came late into the memtable that takes writes: below the greatest key it had.
    pub late_rows: u64,
    /// Memtables that take no more writes and wait for their flush,
    pub sealed_memtables: u64,
    /// and the rows in them.
    pub sealed_rows: u64,
    /// Bytes in memtables.
    pub memtable_bytes: u64,
    /// Range deletes that rows in memory or in runs must still heed. Of those that hide the same keys
    /// only the newest counts; those that lie over each other may count as the pieces that they make.
    pub tombstones: u64,
    /// Bytes that compaction would rewrite now.
    pub compaction_debt_bytes: u64,
}

/// Figures of a store.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(schema)))?;
/// # let mut appender = store.appender(kitchen)?;
/// # for (time, celsius) in [(1_000, 20.5), (2_000, 21.0), (3_000, 21.5)] {
/// #     appender.append(&[Cell::Int(time), Cell::Float(celsius)], Durability::Written)?;
/// # }
/// let stats = store.stats();
/// assert_eq!(stats.last_seq, SeqNo(3));
/// assert!(stats.background_error.is_none() && stats.troubles.is_empty());
/// # Ok(())
/// # }
/// ```
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
    /// Syncs of the WAL since it was opened, each of which serves all that waited for it.
    pub wal_syncs: u64,
    /// Calls that found that what they wanted durable was not yet, and so waited for a sync.
    pub wal_sync_waits: u64,
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
    /// Commits that found no room in memory, because flushes had fallen behind: they waited, or were refused.
    pub stalls: u64,
    /// The failure since which the store takes no writes, if there was one.
    pub background_error: Option<String>,
    /// What has failed in the background and will be tried again, the most urgent first: the disk is
    /// full, or a file is damaged. Writes go on as long as there is room for them.
    pub troubles: Vec<String>,
    /// What is known to be damaged since the store was opened, by whoever met it: rows that can't be read.
    /// Compaction leaves such a run as it is, and goes on with the others.
    pub damaged: Vec<MissingRange>,
    /// The cache of decoded blocks.
    pub cache: CacheStats,
    /// What the scrubber has read.
    pub scrub: ScrubStats,
    /// One entry a stream, by name.
    pub streams: Vec<StreamStats>,
}

impl Engine {
    /// Figures now.
    pub(crate) fn stats(&self) -> StoreStats {
        let damaged = self.folder.damage.ids();
        let core = self.core.lock();
        // Planning takes longer than a commit may wait for the lock.
        let states: Vec<(StreamStats, CompactionTarget)> = core
            .live()
            .map(|(slot, state)| {
                (stream_stats(state), CompactionTarget::of(&core, slot, state, &damaged))
            })
            .collect();
        let (last_seq, memtable_bytes) = (core.last_seq, core.memory_bytes);
        drop(core);
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let mut streams: Vec<StreamStats> = states
            .into_iter()
            .map(|(stats, target)| StreamStats {
                compaction_debt_bytes: target.debt_bytes(&self.settings),
                ..stats
            })
            .collect();
        streams.sort_by(|a, b| a.name.cmp(&b.name));
        let wal = self.wal.as_ref();
        let SyncCounts { syncs, waits } = wal.map(|wal| wal.sync_counts()).unwrap_or_default();
        StoreStats {
            last_seq,
            synced_seq: wal.map_or(last_seq, |wal| wal.synced_seq()),
            wal_bytes: wal.map_or(0, |wal| wal.bytes()),
            wal_segments: wal.map_or(0, |wal| wal.segments()),
            wal_syncs: syncs,
            wal_sync_waits: waits,
            memtable_bytes,
            flushes: count(&self.counters.flushes),
            compactions: count(&self.counters.compactions),
            flush_bytes: count(&self.counters.flush_bytes),
            compaction_bytes: count(&self.counters.compaction_bytes),
            stalls: count(&self.counters.stalls),
            background_error: self.poison.cause(),
            troubles: self.troubles.texts(),
            damaged: self.folder.damage.list(),
            cache: self.folder.cache.stats(),
            scrub: self.scrub_stats(),
            streams,
        }
    }
}

/// What is cheap to tell of a stream.
fn stream_stats(state: &StreamState) -> StreamStats {
    let runs = &state.version.runs;
    let mut level_runs = Vec::new();
    for run in runs {
        let level = usize::from(run.meta.level);
        level_runs.resize(level_runs.len().max(level + 1), 0);
        level_runs[level] += 1;
    }
    let sealed_rows: usize = state.sealed.iter().map(|sealed| sealed.rows).sum();
    StreamStats {
        name: state.stream.name().to_owned(),
        runs: runs.len() as u64,
        level0_runs: runs.iter().filter(|run| run.meta.level == 0).count() as u64,
        level_runs,
        run_rows: runs.iter().map(|run| run.meta.rows).sum(),
        run_bytes: runs.iter().map(|run| run.meta.file_bytes).sum(),
        memtable_rows: (state.active.rows() + sealed_rows) as u64,
        late_rows: state.active.late() as u64,
        sealed_memtables: state.sealed.len() as u64,
        sealed_rows: sealed_rows as u64,
        memtable_bytes: state.memory_bytes(),
        tombstones: state.tombstones(),
        ..StreamStats::default()
    }
}
