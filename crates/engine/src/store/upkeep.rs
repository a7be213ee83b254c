//! What keeps a store in good order, as users ask for it: flush, compaction, checks, figures, the end.

use timestrata_format::StreamId;

use super::{Store, StoreStats};
use crate::directory::{self, QuarantinedFile};
use crate::maintenance::PurgeReport;
use crate::{CheckReport, Result, RunningQuery};

impl Store {
    /// Writes all memtables to runs.
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
    /// assert_eq!((store.stats().memtable_bytes, store.stats().streams[0].runs), (0, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn flush(&self) -> Result<()> {
        self.engine().telling(self.engine().flush_all())
    }

    /// Compacts one stream, or all, until nothing is left to do; applies retention.
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
    /// store.compact(Some(kitchen))?;
    /// assert_eq!(store.stats().streams[0].compaction_debt_bytes, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn compact(&self, stream: Option<StreamId>) -> Result<()> {
        let slot = match stream {
            Some(stream) => Some(self.engine().core.lock().slot_of(stream)?),
            None => None,
        };
        self.engine().telling(self.engine().compact_fully(slot, &|| Ok(())))
    }

    /// Erases what has been deleted, replaced or dropped by now in one stream or in all: from runs, log and history, and from what was
    /// set aside. Without it such rows lie in the store's files until compaction and history have let go of them. No backup
    /// is reached, and a disk that remaps its blocks may still have them where nobody reads.
    ///
    /// The history begins behind it: no earlier commit can be read any more, whatever streams are asked for. It can be called again after an error or a crash, and goes on.
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
    /// let early = KeyRange::new(LeadKey::Time(0), Some(LeadKey::Time(2_500)));
    /// store.commit(Changes::new().delete_range(kitchen, early), Durability::Synced)?;
    /// store.purge(Some(&[kitchen]))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Conflict` where a pin keeps such rows, or a follower by name has not seen all commits: they are named. `Busy` where the past is being
    /// read all the time. `Corruption` where a run is damaged, and so can't be rewritten. `ReadOnly`, `NoSpace`, `Io`.
    pub fn purge(&self, streams: Option<&[StreamId]>) -> Result<PurgeReport> {
        self.purge_while(streams, &|| Ok(()))
    }

    /// The same until nobody waits for it any more. What is done by then stays done: another purge goes on from there.
    ///
    /// # Errors
    /// As [`purge`](Self::purge); `Cancelled` and `TimedOut` where the query has ended.
    pub fn purge_for(
        &self,
        streams: Option<&[StreamId]>,
        query: &RunningQuery,
    ) -> Result<PurgeReport> {
        self.purge_while(streams, &|| query.listen())
    }

    fn purge_while(
        &self,
        streams: Option<&[StreamId]>,
        go_on: &dyn Fn() -> Result<()>,
    ) -> Result<PurgeReport> {
        let engine = self.engine();
        let slots = match streams {
            Some(streams) => {
                let core = engine.core.lock();
                let slots: Result<Vec<_>> = streams.iter().map(|id| core.slot_of(*id)).collect();
                Some(slots?)
            }
            None => None,
        };
        engine.telling(engine.purge(slots, go_on))
    }

    /// Does one piece of due maintenance in this thread; false if there was none.
    pub fn maintain_step(&self) -> Result<bool> {
        let engine = self.engine();
        let outcome = engine.flush_step().and_then(|done| match done {
            true => Ok(true),
            false => engine.maintain_runs(),
        });
        engine.telling(outcome)
    }

    /// Reads about `bytes_max` bytes of runs against their checksums, from where the last call or the
    /// background has stopped; true if that ended a round over all runs. What it finds is in
    /// [`StoreStats::damaged`](crate::StoreStats::damaged). With [`Maintenance::Background`](crate::Maintenance::Background) threads do it, at
    /// [`Settings::scrub_bytes_per_second`](crate::Settings::scrub_bytes_per_second).
    ///
    /// ```
    /// # use timestrata_engine::{Settings, Store};
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// while !store.scrub_step(64 << 20)? {}
    /// assert_eq!(store.stats().scrub.rounds, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Io` from the disk, but for bytes that can't be read: those are damage. `Closed`.
    pub fn scrub_step(&self, bytes_max: u64) -> Result<bool> {
        self.engine().scrub_step(bytes_max)
    }

    /// Whether the store takes no more writes, because an earlier failure has left in doubt what is on
    /// disk; [`StoreStats::background_error`](crate::StoreStats::background_error) names it. Reads go on; reopening recovers.
    pub fn is_poisoned(&self) -> bool {
        self.engine().poison.is_set()
    }

    /// The failure since which the store takes no writes, if there was one.
    pub fn failure(&self) -> Option<String> {
        self.engine().poison.cause()
    }

    /// Reads every byte of the store's files, as [`crate::check`] does.
    ///
    /// ```
    /// # use timestrata_engine::*;
    /// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    /// # let temporary = tempfile::tempdir()?;
    /// # let dir = temporary.path().join("store");
    /// let store = Store::open(&dir, Settings::default())?;
    /// let report = store.check()?;
    /// assert!(report.is_sound(), "{:?}", report.findings);
    /// # Ok(())
    /// # }
    /// ```
    pub fn check(&self) -> Result<CheckReport> {
        self.engine().check_open()?;
        let engine = self.engine();
        let has_log = engine.wal.is_some() || self.is_read_only();
        let report = crate::check::check_parts(&engine.io, &engine.dir, has_log)?;
        // Nothing is flushed for it: rows that are in no run yet are counted.
        let memory_rows = self.stats().streams.iter().map(|stream| stream.memtable_rows).sum();
        Ok(CheckReport { memory_rows, ..report })
    }

    /// Figures.
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
    /// assert_eq!((stats.streams[0].name.as_str(), stats.streams[0].memtable_rows), ("kitchen", 3));
    /// # Ok(())
    /// # }
    /// ```
    pub fn stats(&self) -> StoreStats {
        self.engine().stats()
    }

    /// Run files that an open for writing has set aside, because no version of the store names
    /// them; the oldest first. [`Settings::quarantine_bytes_max`](crate::Settings::quarantine_bytes_max) and
    /// [`Settings::quarantine_age_max`](crate::Settings::quarantine_age_max) say how long they stay.
    pub fn quarantine(&self) -> Result<Vec<QuarantinedFile>> {
        directory::list_quarantine(&*self.engine().io.disk, &self.engine().dir)
    }

    /// Flushes, syncs and closes. Fine to call twice. Dropping the last clone closes as well,
    /// but can't report an error.
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
    /// store.close()?;
    /// assert_eq!(store.snapshot().unwrap_err().kind(), ErrorKind::Closed);
    /// # Ok(())
    /// # }
    /// ```
    pub fn close(&self) -> Result<()> {
        self.engine().close()
    }
}
