//! Streams, as users make, find and change them.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use timestrata_format::StreamId;
use timestrata_format::manifest::Retention;

use super::Store;
use crate::catalog::no_stream_named;
use crate::state::Seen;
use crate::{Result, Stream, StreamSpec};

impl Store {
    /// Creates a stream, durably. Creating one that exists with the same spec gives that one.
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
    /// let columns = vec![Field::new("time", DataType::Int64, false)];
    /// let id = store.create_stream(StreamSpec::new("hall", Arc::new(Schema::new(columns))))?;
    /// assert_eq!(store.expect_stream("hall")?.id(), id);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` for a spec that makes no sense, `AlreadyExists` for a name that is
    /// taken by another spec.
    pub fn create_stream(&self, spec: StreamSpec) -> Result<StreamId> {
        let ids = self.create_streams(&[spec])?;
        // One is given for each that is asked for.
        Ok(ids.into_iter().next().unwrap_or_default())
    }

    /// Creates many streams, durably, all of them or none: with one sync. Gives their ids, in the order
    /// asked for; for those that exist with the same spec the ids they have.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_schema::{DataType, Field, Schema};
    /// # use timestrata_engine::{Settings, Store, StreamSpec};
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// let schema = Arc::new(Schema::new(vec![Field::new("time", DataType::Int64, false)]));
    /// let spec = |room: &str| StreamSpec::new(room, schema.clone());
    /// let ids = store.create_streams(&[spec("kitchen"), spec("hall")])?;
    /// assert_eq!(store.stream_of(ids[1])?.name(), "hall");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::create_stream`]: none was made.
    pub fn create_streams(&self, specs: &[StreamSpec]) -> Result<Vec<StreamId>> {
        self.engine().telling(self.engine().create_streams(specs, self.maker()))
    }

    /// A stream by name.
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
    /// assert_eq!(store.stream("kitchen").map(|stream| stream.id()), Some(kitchen));
    /// assert!(store.stream("cellar").is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream(&self, name: &str) -> Option<Arc<Stream>> {
        self.engine().find_stream(name, self.maker())
    }

    /// A stream by its id, with the name and the columns that it has now.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn stream_of(&self, id: StreamId) -> Result<Arc<Stream>> {
        self.engine().stream_by_id(id)
    }

    /// All streams, by name.
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
    /// let names: Vec<String> = store.streams().iter().map(|stream| stream.name().to_owned()).collect();
    /// assert_eq!(names, ["kitchen"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn streams(&self) -> Vec<Arc<Stream>> {
        let core = self.engine().core.lock();
        let maker = self.maker();
        let seen = core.live().filter_map(|(slot, _)| match core.seen(slot, maker) {
            Seen::Yes(stream) => Some(stream),
            Seen::No | Seen::BeingMade(_) => None,
        });
        let mut streams: Vec<_> = seen.collect();
        streams.sort_by(|a, b| a.name().cmp(b.name()));
        streams
    }

    /// The stream of that name.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn expect_stream(&self, name: &str) -> Result<Arc<Stream>> {
        self.stream(name).ok_or_else(|| no_stream_named(name))
    }

    /// Removes a stream and its rows, durably. Snapshots that see it go on seeing it.
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
    /// store.drop_stream("kitchen")?;
    /// assert!(store.streams().is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn drop_stream(&self, name: &str) -> Result<()> {
        self.drop_streams(&[name])
    }

    /// Removes many streams and their rows, durably, all of them or none: with one sync.
    ///
    /// # Errors
    /// `NotFound` if one of them isn't there, `InvalidArgument` if a pin keeps one: none was removed.
    pub fn drop_streams(&self, names: &[&str]) -> Result<()> {
        self.engine().telling(self.engine().drop_streams(names))
    }

    /// Changes a stream's retention, durably.
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
    /// const DAY_NS: u64 = 24 * 60 * 60 * 1_000_000_000;
    /// store.set_retention(kitchen, Retention { age_ns: Some(30 * DAY_NS), ..Retention::default() })?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_retention(&self, stream: StreamId, retention: Retention) -> Result<()> {
        self.engine().telling(self.engine().set_retention(stream, retention))
    }

    /// Gives a stream other columns, durably: new nullable ones behind those it has, and wider
    /// types for those that are not part of its key (smaller to larger numbers, any integer to
    /// `Float64`, numbers, booleans and times to `Utf8`, times to a finer unit); columns may become nullable. The time that leads the
    /// key may get a finer unit too: keys of ranges are told in it from then on. Rows there
    /// are read as rows of the new columns, null where they have no value; no file is rewritten.
    /// Snapshots go on seeing what they saw. What the store has in memory of the stream is
    /// flushed first, and commits wait meanwhile.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_schema::{DataType, Field, Schema};
    /// # use timestrata_engine::{Settings, Store, StreamSpec};
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// let time = Field::new("time", DataType::Int64, false);
    /// let schema = Arc::new(Schema::new(vec![time.clone()]));
    /// let id = store.create_stream(StreamSpec::new("kitchen", schema))?;
    /// let wider = Schema::new(vec![time, Field::new("celsius", DataType::Float64, true)]);
    /// let stream = store.alter_stream(id, Arc::new(wider))?;
    /// assert_eq!(stream.schema().fields().len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` if the rows there would not fit the new columns, or a type can't be
    /// stored; `NotFound`, and what a flush may fail with.
    pub fn alter_stream(&self, stream: StreamId, schema: SchemaRef) -> Result<Arc<Stream>> {
        self.engine().telling(self.engine().alter_stream(stream, schema))
    }

    /// As [`alter_stream`](Self::alter_stream), of several streams in one change: all get their new columns, or none.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_schema::{DataType, Field, Schema, TimeUnit};
    /// # use timestrata_engine::{Settings, Store, StreamSpec};
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// let by = |unit| {
    ///     let time = Field::new("time", DataType::Timestamp(unit, None), false);
    ///     Arc::new(Schema::new(vec![time]))
    /// };
    /// let starts = store.create_stream(StreamSpec::new("starts", by(TimeUnit::Second)))?;
    /// let ends = store.create_stream(StreamSpec::new("ends", by(TimeUnit::Second)))?;
    /// let finer = by(TimeUnit::Microsecond);
    /// store.alter_streams(&[(starts, Arc::clone(&finer)), (ends, finer)])?;
    /// assert_eq!(store.stream_of(ends)?.time_unit_ns(), Some(1_000));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`alter_stream`](Self::alter_stream).
    pub fn alter_streams(&self, wanted: &[(StreamId, SchemaRef)]) -> Result<()> {
        self.engine().telling(self.engine().alter_streams(wanted))
    }

    /// Gives a stream another name, durably. Its id stays, and so do its rows, and what was got
    /// by its id; snapshots made before know it by the old name.
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
    /// store.rename_stream(kitchen, "kitchen, upstairs")?;
    /// assert_eq!(store.stream_of(kitchen)?.name(), "kitchen, upstairs");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `AlreadyExists` for a name that another stream has, `InvalidArgument` for one that no stream
    /// may have, `NotFound`.
    pub fn rename_stream(&self, stream: StreamId, name: &str) -> Result<Arc<Stream>> {
        self.engine().telling(self.engine().rename_stream(stream, name))
    }

    /// Gives a stream other [`StreamSpec::properties`], durably, in place of all it had.
    ///
    /// # Errors
    /// `InvalidArgument` where one of the engine's own makes no sense, `NotFound`.
    pub fn alter_stream_properties(
        &self,
        stream: StreamId,
        properties: Vec<(String, String)>,
    ) -> Result<Arc<Stream>> {
        self.engine().telling(self.engine().alter_stream_properties(stream, properties))
    }
}
