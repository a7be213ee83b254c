//! Commits, as users make them.

use std::sync::Arc;

use timestrata_format::{SeqNo, StreamId};

use super::{BulkCommit, GroupAppender, RowAppender, Store};
use crate::{Changes, Durability, Result, RowEncoder};

impl Store {
    /// Commits a group of changes: all of them or none. Gives the commit's place in the order.
    ///
    /// A commit larger than [`Settings::memtable_bytes_max`](crate::Settings::memtable_bytes_max), or than half a WAL segment,
    /// goes straight to runs; it is `Synced` whatever was asked for.
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
    /// let changes = Changes::new().delete_range(kitchen, KeyRange::times(0, 2_000));
    /// let seq = store.commit(changes, Durability::Synced)?;
    /// assert_eq!(store.stats().synced_seq >= seq, true);
    /// assert_eq!(store.snapshot()?.count(kitchen, &KeyRange::ALL)?, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `NotFound`, `InvalidData`, `InvalidArgument`, `TooLarge`, `Busy`: nothing was written.
    /// `NoSpace`, `Io`, `Poisoned`: nothing was written either, unless the store
    /// [is poisoned](Store::is_poisoned): then the commit is in doubt, and reopening tells.
    pub fn commit(&self, changes: Changes, durability: Durability) -> Result<SeqNo> {
        self.engine().telling(self.engine().commit(changes, durability))
    }

    /// As [`Store::commit`], but the sync of [`Durability::Synced`](crate::Durability::Synced) is left to the caller, who lets go
    /// of a lock of its own and then calls [`Store::sync_through`] at once: it is written in the way that makes that cheap.
    ///
    /// # Errors
    /// As [`Store::commit`].
    pub fn commit_leaving_sync(&self, changes: Changes, durability: Durability) -> Result<SeqNo> {
        self.engine().telling(self.engine().commit_leaving_sync(changes, durability))
    }

    /// What to answer a write with that finds nothing to change, or what it asks for done already: it
    /// is an acknowledgement like that of a commit, and so every commit up to now, whoever made it,
    /// survives what `durability` says. Gives the last of them.
    ///
    /// # Errors
    /// `ReadOnly`, `Poisoned`, `Closed`; what a sync may fail with.
    pub fn acknowledge(&self, durability: Durability) -> Result<SeqNo> {
        self.engine().check_writable()?;
        let last_seq = self.engine().core.lock().last_seq;
        match durability {
            Durability::Synced => self.engine().telling(self.engine().sync_commit(last_seq)),
            Durability::Buffered | Durability::Written => Ok(last_seq),
        }
    }

    /// Begins one commit of as many rows as the caller likes, in bounded memory.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # use arrow_schema::{DataType, Field, Schema};
    /// # use timestrata_engine::{KeyRange, Settings, Store, StreamSpec};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Store::memory(Settings::default())?;
    /// let schema = Arc::new(Schema::new(vec![Field::new("time", DataType::Int64, false)]));
    /// let id = store.create_stream(StreamSpec::new("kitchen", schema.clone()))?;
    /// let mut bulk = store.bulk()?;
    /// for hour in 0..24 {
    ///     let times = Int64Array::from_iter_values(hour * 3600..(hour + 1) * 3600);
    ///     let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(times)])?;
    ///     bulk.insert(id, batch)?;
    /// }
    /// bulk.commit()?;
    /// assert_eq!(store.snapshot()?.count(id, &KeyRange::ALL)?, 86_400);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `ReadOnly`, `Poisoned`, `Closed`.
    pub fn bulk(&self) -> Result<BulkCommit> {
        BulkCommit::new(Arc::clone(&self.handle))
    }

    /// A row appender for one stream.
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
    /// let mut appender = store.appender(kitchen)?;
    /// appender.append(&[Cell::Int(4_000), Cell::Null], Durability::Written)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn appender(&self, stream: StreamId) -> Result<RowAppender> {
        self.engine().check_writable()?;
        let core = self.engine().core.lock();
        let slot = core.slot_of(stream)?;
        let stream = Arc::clone(&core.streams[slot].stream);
        RowAppender::new(Arc::clone(&self.handle), stream, slot)
    }

    /// An appender for several streams: what it commits is there in all of them or in none. Changes name
    /// a stream by its place in `streams`.
    ///
    /// # Errors
    /// `NotFound` for a stream that isn't there; as for [`appender`](Self::appender) else.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_schema::{DataType, Field, Schema};
    /// # use timestrata_engine::*;
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// # let schema = Arc::new(Schema::new(vec![Field::new("time", DataType::Int64, false)]));
    /// # let begun = store.create_stream(StreamSpec::new("begun", Arc::clone(&schema)))?;
    /// # let ended = store.create_stream(StreamSpec::new("ended", schema))?;
    /// let mut both = store.group_appender(&[begun, ended])?;
    /// let rows = [[Cell::Int(1_000)], [Cell::Int(2_000)]];
    /// both.commit(&[RowChange::Put(0, &rows[0]), RowChange::Put(1, &rows[1])], Durability::Written)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn group_appender(&self, streams: &[StreamId]) -> Result<GroupAppender> {
        self.engine().check_writable()?;
        let core = self.engine().core.lock();
        let target = |stream: &StreamId| -> Result<_> {
            let slot = core.slot_of(*stream)?;
            Ok((Arc::clone(&core.streams[slot].stream), slot))
        };
        let targets: Vec<_> = streams.iter().map(target).collect::<Result<_>>()?;
        drop(core);
        GroupAppender::new(Arc::clone(&self.handle), targets.into_iter())
    }

    /// What adds single rows of a stream to changes, without a batch for them.
    ///
    /// # Errors
    /// `NotFound` for a stream that isn't there, `InvalidArgument` if it has a column that cells can't express.
    pub fn row_encoder(&self, stream: StreamId) -> Result<RowEncoder> {
        let core = self.engine().core.lock();
        let state = &core.streams[core.slot_of(stream)?];
        RowEncoder::new(&state.stream, state.row_layout.clone(), state.key_layout.clone())
    }

    /// Makes every commit so far survive a power cut. Gives the last one that does.
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
    /// let through = store.sync()?;
    /// assert_eq!(through, store.stats().last_seq);
    /// # Ok(())
    /// # }
    /// ```
    pub fn sync(&self) -> Result<SeqNo> {
        self.acknowledge(Durability::Synced)
    }

    /// Makes this commit and all before it survive a power cut; whoever asks meanwhile shares the
    /// sync. Gives the last commit that does.
    pub fn sync_through(&self, seq: SeqNo) -> Result<SeqNo> {
        self.engine().check_writable()?;
        self.engine().telling(self.engine().sync_commit(seq))
    }
}
