//! Snapshots and pins, as users take them.

use std::time::Duration;

use timestrata_format::{SeqNo, StreamId};

use super::Store;
use crate::catalog::no_pin;
use crate::state::PinInfo;
use crate::{Result, Snapshot, recovery};

impl Store {
    /// A frozen view of all streams now.
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
    /// let before = store.snapshot()?;
    /// store.commit(Changes::new().delete_range(kitchen, KeyRange::ALL), Durability::Written)?;
    /// assert_eq!(before.count(kitchen, &KeyRange::ALL)?, 3);
    /// assert_eq!(store.snapshot()?.count(kitchen, &KeyRange::ALL)?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.engine().check_open()?;
        Ok(self.engine().core_to_view(None).snapshot())
    }

    /// A frozen view of one stream now: cheaper than one of all.
    pub fn snapshot_of(&self, stream: StreamId) -> Result<Snapshot> {
        self.snapshot_of_streams(&[stream])
    }

    /// A frozen view of some streams at one instant: costs by how many they are, and not by how many
    /// the store has.
    ///
    /// # Errors
    /// `NotFound` if one of them isn't there.
    pub fn snapshot_of_streams(&self, streams: &[StreamId]) -> Result<Snapshot> {
        self.engine().check_open()?;
        let mut core = self.engine().core_to_view(Some(streams));
        let mut views = Vec::with_capacity(streams.len());
        for stream in streams {
            let slot = core.slot_of(*stream)?;
            views.push((*stream, core.streams[slot].view()));
        }
        let seq = core.last_seq;
        drop(core);
        Ok(Snapshot::new(seq, views))
    }

    /// Makes a named, durable snapshot of now. What is in memory is flushed first.
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
    /// store.pin("before the move")?;
    /// store.commit(Changes::new().delete_range(kitchen, KeyRange::ALL), Durability::Written)?;
    /// let pinned = store.snapshot_at("before the move")?;
    /// assert_eq!(pinned.count(kitchen, &KeyRange::ALL)?, 3);
    /// store.unpin("before the move")?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `AlreadyExists` for a name that is taken.
    pub fn pin(&self, name: &str) -> Result<SeqNo> {
        self.engine().telling(self.engine().pin(name))
    }

    /// Removes a pin; files that only it kept are removed.
    pub fn unpin(&self, name: &str) -> Result<()> {
        self.engine().telling(self.engine().unpin(name))
    }

    /// All pins, by name.
    pub fn pins(&self) -> Vec<PinInfo> {
        self.engine().core.lock().pins.values().map(|pin| pin.info.clone()).collect()
    }

    /// The view that a pin keeps.
    pub fn snapshot_at(&self, pin: &str) -> Result<Snapshot> {
        self.engine().check_open()?;
        let core = self.engine().core.lock();
        core.pins.get(pin).map(|pin| pin.snapshot.clone()).ok_or_else(|| no_pin(pin))
    }

    /// Read-only stores: catches up with the writer. Gives the last commit seen. For a
    /// writer there is nothing to catch up with.
    ///
    /// ```
    /// # use timestrata_engine::*;
    /// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    /// # let temporary = tempfile::tempdir()?;
    /// # let dir = temporary.path().join("store");
    /// let writer = Store::open(&dir, Settings::default())?;
    /// let reader = Store::open_with(Io::os(), &dir, Access::Read, Settings::default())?;
    /// assert_eq!(reader.refresh()?, writer.stats().last_seq);
    /// # Ok(())
    /// # }
    /// ```
    pub fn refresh(&self) -> Result<SeqNo> {
        self.engine().check_open()?;
        match &self.engine().follower {
            Some(follower) => recovery::refresh(self.engine(), follower),
            None => Ok(self.engine().core.lock().last_seq),
        }
    }

    /// Waits until there may be a commit behind this one, or time is up: the last one that there is then. Beside a writer
    /// of another process there is nobody to wake it: it waits for `look_every` at most, and catches up.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use timestrata_engine::*;
    /// # fn main() -> timestrata_engine::Result<()> {
    /// let store = Store::memory(Settings::default())?;
    /// let seen = store.snapshot()?.seq();
    /// assert_eq!(store.wait_behind(seen, Duration::ZERO, Duration::ZERO)?, seen);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Closed` where the store was closed meanwhile; beside a writer those of a refresh.
    pub fn wait_behind(
        &self,
        seen: SeqNo,
        timeout: Duration,
        look_every: Duration,
    ) -> Result<SeqNo> {
        let engine = self.engine();
        engine.check_open()?;
        if engine.follower.is_some() {
            let last = self.refresh()?;
            if last > seen {
                return Ok(last);
            }
            engine.committed.pause(timeout.min(look_every));
            return self.refresh();
        }
        engine.committed.wait_behind(seen, timeout, || engine.core.lock().last_seq);
        engine.check_open()?;
        let last = engine.core.lock().last_seq;
        Ok(last)
    }
}
