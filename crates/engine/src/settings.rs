//! The store's settings: few, each with a reason to change it.

mod named;
mod units;

use std::time::Duration;

pub use self::named::{Setting, SettingForm};
pub use self::units::{duration_of_text, size_of_text};
use crate::{Error, ErrorKind, Result};

const MIB: u64 = 1 << 20;

/// Who flushes and compacts.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// let settings = Settings { maintenance: Maintenance::Manual, ..Settings::default() };
/// let store = Store::memory(settings)?;
/// while store.maintain_step()? {} // does what threads would do else
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Maintenance {
    /// Four threads of the store's own: one flushes, one compacts, one syncs, one prepares the log.
    #[default]
    Background,
    /// Nobody, until [`crate::Store::flush`], [`crate::Store::maintain_step`] or
    /// [`crate::Store::compact`] is called (a full memtable is still flushed, by the writer).
    Manual,
}

/// What a commit does when flushes have fallen behind and memory is at its bound.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// let settings = Settings { busy_policy: BusyPolicy::Raise, ..Settings::default() };
/// let store = Store::memory(settings)?; // commits fail with `ErrorKind::Busy` rather than wait
/// # assert!(store.streams().is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BusyPolicy {
    /// Refuse with `Busy`; nothing of the commit is kept.
    Raise,
    /// Wait for the flush.
    #[default]
    Block,
    /// Flush in the calling thread.
    Flush,
}

/// Settings of a store, each of which has a [`Setting`] by its name too. `Settings::default()` fits a machine with a few GB to spare.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// let settings = Settings { memtable_bytes_max: 16 << 20, ..Settings::default() };
/// let store = Store::memory(settings)?;
/// # assert!(store.streams().is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Rows of one stream in memory before they are flushed to a run, in bytes. Default
    /// 64 MiB. Larger: fewer, better runs; longer recovery.
    pub memtable_bytes_max: u64,
    /// Rows of one stream in memory before they are flushed, by their number; `None`: by their bytes alone.
    /// Default none. For who wants to know how many rows recovery replays at most, or what a file holds; flushes
    /// of few rows make many files, which compaction then has to join.
    pub memtable_rows_max: Option<usize>,
    /// All streams' rows in memory together, flushes under way included, in bytes. Default
    /// 256 MiB. The bound behind back-pressure.
    pub memory_bytes_max: u64,
    /// Length of one WAL segment in bytes. Default 16 MiB. A commit of more than half of it
    /// goes straight to a run; a single row must fit in it. Longer: fewer switches under
    /// heavy writing; a new store takes longer to make.
    pub wal_segment_bytes: u64,
    /// WAL that recovery may have to replay, in bytes. Default 1 GiB. Reached, the stream
    /// with the oldest unflushed row is flushed.
    pub wal_bytes_max: u64,
    /// A commit of `Written` or `Buffered` durability is on disk after this at the latest.
    /// Default 1 s. Without threads ([`Maintenance::Manual`]) nobody syncs by the clock.
    pub sync_interval: Duration,
    /// Whoever is first to ask for a sync waits so long for others to share it. Default 0 s: who comes while a sync is
    /// under way shares the next one all the same. At most 1 s. More where a sync wears the medium, or where all that
    /// is on it queue for it: each `Synced` commit takes longer by it.
    pub group_commit_delay: Duration,
    /// Rows a record batch of a run holds at most. Default 32,768.
    pub run_batch_rows: usize,
    /// A compacted run is cut when it reaches this. Default 256 MiB.
    pub run_bytes_max: u64,
    /// Decoded blocks of cold runs kept in memory, in bytes. Default 128 MiB.
    pub cache_bytes_max: u64,
    /// Flushed runs of a stream before compaction begins. Default 4. Fewer: faster reads of
    /// late data, more writing.
    pub level0_runs_max: usize,
    /// Bytes a second that compaction may write; `None`: no limit. Default none.
    pub compaction_bytes_per_second: Option<u64>,
    /// Bytes a second that the background reads of runs to compare them with their checksums, a round a
    /// day at most; `None`: never. Default 8 MiB. More where a round over the whole store takes too long
    /// (a TB takes a day and a half), less where the disk is busy.
    pub scrub_bytes_per_second: Option<u64>,
    /// Run files that no version names are set aside when the store is opened for writing; those
    /// set aside are kept up to so many bytes, the newest. Default 1 GiB. More where a manifest may
    /// have to be rebuilt from them, less where disk is dear.
    pub quarantine_bytes_max: u64,
    /// And for so long. Default 7 days.
    pub quarantine_age_max: Duration,
    /// For so long it can be read how the store was: runs that have been replaced and log that recovery does not need
    /// stay, where they come to less than `history_bytes_max`. Default 10 minutes; 0 s: not at all.
    pub history_min: Duration,
    /// What of the past may take so many bytes, the newest. Default 256 MiB.
    pub history_bytes_max: u64,
    /// What followers by name have not seen yet may take so many bytes, however old it is. Default 1 GiB. Who falls further behind
    /// has to begin anew.
    pub followed_bytes_max: u64,
    /// Who flushes and compacts: `background`, threads of the store's own, or `manual`, nobody until somebody
    /// asks for it (but for a memtable that is full).
    pub maintenance: Maintenance,
    /// What a commit does when flushes fall behind: `block`, wait; `raise`, be refused; `flush`, flush itself. A
    /// server refuses, because a client can wait better than a thread of its own.
    pub busy_policy: BusyPolicy,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            memtable_bytes_max: 64 * MIB,
            memtable_rows_max: None,
            memory_bytes_max: 256 * MIB,
            wal_segment_bytes: 16 * MIB,
            wal_bytes_max: 1024 * MIB,
            sync_interval: Duration::from_secs(1),
            group_commit_delay: Duration::ZERO,
            run_batch_rows: 32_768,
            run_bytes_max: 256 * MIB,
            cache_bytes_max: 128 * MIB,
            level0_runs_max: 4,
            compaction_bytes_per_second: None,
            scrub_bytes_per_second: Some(8 * MIB),
            quarantine_bytes_max: 1024 * MIB,
            quarantine_age_max: Duration::from_secs(7 * 24 * 60 * 60),
            history_min: Duration::from_secs(600),
            history_bytes_max: 256 * MIB,
            followed_bytes_max: 1024 * MIB,
            maintenance: Maintenance::Background,
            busy_policy: BusyPolicy::Block,
        }
    }
}

impl Settings {
    /// Refuses settings that can't work together, as opening a store with them does.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the setting and its bound.
    pub fn validate(&self) -> Result<()> {
        let checks = [
            (self.memtable_bytes_max >= 1024, "memtable_bytes_max must be at least 1 KiB"),
            (
                self.memtable_rows_max.is_none_or(|rows| rows > 0),
                "memtable_rows_max must be at least 1; None is for no bound",
            ),
            (
                self.group_commit_delay <= Duration::from_secs(1),
                "group_commit_delay must be at most 1 s",
            ),
            (
                self.memory_bytes_max >= self.memtable_bytes_max,
                "memory_bytes_max must be at least memtable_bytes_max",
            ),
            (self.wal_segment_bytes >= 4096, "wal_segment_bytes must be at least 4 KiB"),
            (
                self.wal_segment_bytes <= u64::from(u32::MAX),
                "wal_segment_bytes must be below 4 GiB",
            ),
            (
                self.wal_bytes_max >= 2 * self.wal_segment_bytes,
                "wal_bytes_max must be at least two segments (2 x wal_segment_bytes)",
            ),
            (self.run_batch_rows >= 1, "run_batch_rows must be at least 1"),
            (self.run_bytes_max >= 1024, "run_bytes_max must be at least 1 KiB"),
            (self.level0_runs_max >= 1, "level0_runs_max must be at least 1"),
            (
                self.compaction_bytes_per_second.is_none_or(|rate| rate > 0),
                "compaction_bytes_per_second must be positive",
            ),
            (
                self.scrub_bytes_per_second.is_none_or(|rate| rate > 0),
                "scrub_bytes_per_second must be positive; None is for never",
            ),
        ];
        match checks.iter().find(|(holds, _)| !holds) {
            Some((_, message)) => Err(Error::new(ErrorKind::InvalidArgument, *message)),
            None => Ok(()),
        }
    }
}
