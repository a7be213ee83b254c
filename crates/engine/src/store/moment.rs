//! The store as it was.

use std::sync::Arc;

use timestrata_format::SeqNo;
use timestrata_io::sync::Mutex;

use super::Store;
use crate::catalog::no_pin;
use crate::state::{Engine, StoreState};
use crate::wal::ms_of;
use crate::{Error, ErrorKind, Result, recovery};

/// A moment of a store: see [`Store::at`].
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// store.pin("before the move")?;
/// let then = store.at(&Moment::Pin("before the move".to_owned()))?;
/// assert!(then.is_read_only());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// Behind a commit.
    Commit(SeqNo),
    /// When a pin was made.
    Pin(String),
    /// Behind the last commit that was made by then, nanoseconds since the epoch. Commits are dated to the millisecond, by a
    /// wall clock that never goes back.
    Time(i64),
}

impl Store {
    /// The store as it was: a store for reading, which never changes, and stays readable whatever becomes of this one.
    ///
    /// How far back commits can be read the setting `history_min` says; what a pin keeps can be read as long as the pin is there. Of a
    /// pin's streams their columns are those of now. What it costs is what a recovery would.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use std::time::Duration;
    /// # use arrow_schema::{DataType, Field, Schema};
    /// # use timestrata_engine::*;
    /// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    /// # let temporary = tempfile::tempdir()?;
    /// # let dir = temporary.path().join("store");
    /// let settings = Settings { history_min: Duration::from_secs(600), ..Settings::default() };
    /// let store = Store::open(&dir, settings)?;
    /// # let schema = Schema::new(vec![
    /// #     Field::new("time", DataType::Int64, false),
    /// #     Field::new("celsius", DataType::Float64, true),
    /// # ]);
    /// # let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(schema)))?;
    /// # let mut appender = store.appender(kitchen)?;
    /// let first = appender.append(&[Cell::Int(1_000), Cell::Float(20.5)], Durability::Written)?;
    /// appender.append(&[Cell::Int(2_000), Cell::Float(21.5)], Durability::Written)?;
    /// let then = store.at(&Moment::Commit(first))?;
    /// assert_eq!(then.snapshot()?.count(kitchen, &KeyRange::ALL)?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `HistoryLost` for a commit of which not all is kept any more; `InvalidArgument` for one that was not made, a time that has
    /// not come, and a time where the store is in memory; `NotFound` for a pin that isn't there.
    pub fn at(&self, moment: &Moment) -> Result<Self> {
        let engine = self.engine();
        engine.check_open()?;
        let core = match moment {
            Moment::Pin(name) => {
                let core = engine.core.lock();
                core.pins.get(name).ok_or_else(|| no_pin(name))?.core(&engine.folder, &core)?
            }
            Moment::Commit(seq) => engine.core_behind(*seq)?,
            Moment::Time(time_ns) => match engine.core_now_by(*time_ns)? {
                Some(core) => core,
                None => engine.core_behind(recovery::commit_by(engine, *time_ns)?)?,
            },
        };
        let then = engine.frozen(core);
        Ok(Self::of(Arc::new(then)))
    }

    /// The commit that a store for reading is fixed at; `None` where it is not.
    pub fn moment(&self) -> Option<SeqNo> {
        self.engine().moment
    }

    /// The oldest commit that [`Store::at`] can read.
    ///
    /// ```
    /// # use timestrata_engine::*;
    /// # fn main() -> timestrata_engine::Result<()> {
    /// let store = Store::memory(Settings::default())?;
    /// assert_eq!(store.oldest_commit()?, store.stats().last_seq); // in memory there is no log
    /// # Ok(())
    /// # }
    /// ```
    pub fn oldest_commit(&self) -> Result<SeqNo> {
        let engine = self.engine();
        engine.check_open()?;
        let of_history = recovery::oldest_commit(engine)?;
        let last_seq = engine.core.lock().last_seq;
        Ok(of_history.unwrap_or(last_seq).min(last_seq))
    }

    /// What is kept of the past, and what it takes on disk.
    ///
    /// ```
    /// # use timestrata_engine::*;
    /// # fn main() -> timestrata_engine::Result<()> {
    /// let store = Store::memory(Settings::default())?;
    /// assert_eq!(store.history()?.run_bytes, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn history(&self) -> Result<HistoryStats> {
        let oldest_seq = self.oldest_commit()?;
        let bytes = recovery::kept_bytes(self.engine())?;
        Ok(HistoryStats {
            oldest_seq,
            run_bytes: bytes.runs,
            log_bytes: bytes.log,
            pinned_bytes: bytes.pinned,
        })
    }
}

/// What is kept of a store's past, and what it takes on disk: see [`Store::history`].
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// assert_eq!(store.history()?, HistoryStats { oldest_seq: store.stats().last_seq, ..HistoryStats::default() });
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HistoryStats {
    /// The oldest commit that [`Store::at`] can read by the history; the last one where there is none.
    pub oldest_seq: SeqNo,
    /// Bytes of runs that were replaced or dropped, and that only the history needs.
    pub run_bytes: u64,
    /// Bytes of log that no recovery needs.
    pub log_bytes: u64,
    /// Bytes of runs that only pins need.
    pub pinned_bytes: u64,
}

impl Engine {
    /// All streams as of a commit.
    fn core_behind(&self, seq: SeqNo) -> Result<StoreState> {
        match self.core_now(seq)? {
            Some(core) => Ok(core),
            None => recovery::core_at(self, seq),
        }
    }

    /// All streams as they are now, if the last commit was made by a time that has come: whoever commits meanwhile does not make
    /// it the last but one.
    fn core_now_by(&self, time_ns: i64) -> Result<Option<StoreState>> {
        let (Some(manifest), Some(wal)) = (&self.manifest, &self.wal) else { return Ok(None) };
        if time_ns > self.io.clock.wall_ns() {
            return Ok(None);
        }
        // What takes long comes before the locks.
        drop(self.core_to_view(None));
        let manifest = manifest.lock();
        let mut core = self.core.lock();
        let is_newest = manifest.history().is_none_or(|history| history.is_newest(core.last_seq));
        match is_newest && wal.time_ms() <= ms_of(time_ns) {
            true => core.frozen().map(Some),
            false => Ok(None),
        }
    }

    /// All streams as of a commit, if that is the last one and nothing was taken away since: a stream that was dropped behind a
    /// commit goes with the next one, for whoever asks before and after that.
    fn core_now(&self, seq: SeqNo) -> Result<Option<StoreState>> {
        let mut is_newest = true;
        if let Some(follower) = &self.follower {
            recovery::refresh(self, follower)?;
            is_newest = recovery::is_newest_beside(self, seq)?;
        }
        // What takes long comes before the locks.
        drop(self.core_to_view(None));
        let manifest = self.manifest.as_ref().map(Mutex::lock);
        if let Some(history) = manifest.as_ref().and_then(|manifest| manifest.history()) {
            is_newest = history.is_newest(seq);
        }
        let mut core = self.core.lock();
        if seq > core.last_seq {
            let why = format!("commit {seq} has not been made: the last one is {}", core.last_seq);
            return Err(Error::new(ErrorKind::InvalidArgument, why));
        }
        match seq == core.last_seq && is_newest {
            true => core.frozen().map(Some),
            false if self.moment.is_none() => Ok(None),
            false => Err(self.lost(seq, Some(core.last_seq))),
        }
    }
}
