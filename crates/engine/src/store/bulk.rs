//! One commit of as many rows as a caller likes, given batch by batch.

use std::sync::Arc;

use arrow_array::RecordBatch;
use timestrata_format::{KeyRange, SeqNo, StreamId};
use timestrata_io::sync::Mutex;

use super::handle::Handle;
use crate::changes::Change;
use crate::commit::BulkLoad;
use crate::state::{Engine, GiveUp};
use crate::{Changes, Durability, Error, ErrorKind, Result};

/// What was given so far, or why it was given up.
type BulkState = Result<BulkLoad>;

/// One atomic commit of any number of rows, given batch by batch (see [`crate::Store::bulk`]).
///
/// About [`crate::Settings::memtable_bytes_max`] of rows wait in memory; what is more goes to run
/// files as it comes, which nobody sees before [`BulkCommit::commit`]. Putting rows in order that
/// come in none takes as much memory again, twice. Rows in key order are neither sorted nor copied,
/// and make few large runs.
///
/// The rules are those of [`crate::Changes`]: range deletes hide rows of earlier commits only, and of
/// several changes to one key of a `Latest` stream the last one added wins. Other commits go on
/// meanwhile, and come before this one, whose place in the order is that of its end.
///
/// Dropped without [`BulkCommit::commit`] it leaves nothing behind; after a crash the next open
/// removes the files. Each run file stays open until the end: about one a
/// [`crate::Settings::run_bytes_max`] for rows in order, one a `memtable_bytes_max` for others.
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
/// let mut bulk = store.bulk()?;
/// bulk.delete_range(kitchen, KeyRange::times(0, 2_000))?;
/// let seq = bulk.commit()?;
/// assert_eq!((store.stats().last_seq, store.snapshot()?.count(kitchen, &KeyRange::ALL)?), (seq, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct BulkCommit {
    /// First, so that files are gone before the store may close.
    state: Arc<Mutex<BulkState>>,
    handle: Arc<Handle>,
    rows: u64,
}

impl GiveUp for Mutex<BulkState> {
    fn give_up(&self) {
        *self.lock() = Err(Error::new(ErrorKind::Closed, "the store is closed"));
    }
}

impl BulkCommit {
    pub(super) fn new(handle: Arc<Handle>) -> Result<Self> {
        handle.engine.check_writable()?;
        let state = Arc::new(Mutex::new(Ok(BulkLoad::default())));
        let open: Arc<dyn GiveUp> = state.clone();
        handle.engine.bulks.add(&open);
        Ok(Self { state, handle, rows: 0 })
    }

    /// Adds rows, as [`crate::Changes::insert`] does.
    ///
    /// # Errors
    /// `NotFound`, `InvalidData`, `InvalidArgument` for what doesn't fit the stream: nothing of
    /// this batch was added, and others can be. `InvalidData` too if the stream has got other
    /// columns since an earlier batch, and `Io` or `NoSpace` from the disk: the commit is given up,
    /// its files are removed, and the store is as it was. `Poisoned`, `Closed`: it is given up too.
    pub fn insert(&mut self, stream: StreamId, batch: RecordBatch) -> Result<()> {
        self.change(Changes::new().insert(stream, batch))
    }

    /// Hides every row of earlier commits whose leading key is in `range`: earlier than the end
    /// of this commit, not than this call.
    ///
    /// # Errors
    /// As [`BulkCommit::insert`].
    pub fn delete_range(&mut self, stream: StreamId, range: KeyRange) -> Result<()> {
        self.add(Change::DeleteRange { stream, range })
    }

    /// Deletes rows of a `Latest` stream by key; `keys` has the key columns, in key order.
    ///
    /// # Errors
    /// As [`BulkCommit::insert`].
    pub fn delete_keys(&mut self, stream: StreamId, keys: RecordBatch) -> Result<()> {
        self.add(Change::DeleteKeys { stream, keys })
    }

    /// As [`Changes::rewrites`].
    ///
    /// # Errors
    /// As [`BulkCommit::insert`].
    pub fn rewrites(&mut self, stream: StreamId) -> Result<()> {
        self.add(Change::Rewritten { stream })
    }

    /// Adds changes, in their order.
    ///
    /// # Errors
    /// As [`BulkCommit::insert`]; what came before the one that fails was added.
    pub fn change(&mut self, changes: Changes) -> Result<()> {
        for change in changes.list {
            let rows = change.rows_inserted();
            self.add(change)?;
            self.rows += rows;
        }
        Ok(())
    }

    /// Rows that were inserted so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes of rows that wait in memory.
    pub fn bytes(&self) -> u64 {
        self.state.lock().as_ref().map_or(0, BulkLoad::bytes)
    }

    /// Commits everything, [`crate::Durability::Synced`]. What is small goes through the log, as
    /// other commits do.
    ///
    /// # Errors
    /// As [`crate::Store::commit`]; and the one that the bulk commit was given up with.
    pub fn commit(self) -> Result<SeqNo> {
        self.commit_with(Durability::Synced)
    }

    /// As [`BulkCommit::commit`], but what is small enough for the log is only as durable as told. What is large is
    /// [`crate::Durability::Synced`] in any case.
    ///
    /// # Errors
    /// As [`BulkCommit::commit`].
    pub fn commit_with(self, durability: Durability) -> Result<SeqNo> {
        let engine = &self.handle.engine;
        let mut state = self.state.lock();
        engine.check_writable()?;
        let done = Error::new(ErrorKind::Closed, "the bulk commit is done");
        let load = std::mem::replace(&mut *state, Err(done))?;
        // Locked to the end: closing the store waits.
        let outcome = engine.commit_bulk_load(load, durability);
        drop(state);
        engine.telling(outcome)
    }

    fn add(&self, change: Change) -> Result<()> {
        let engine: &Engine = &self.handle.engine;
        let mut state = self.state.lock();
        if let Err(error) = &*state {
            return Err(error.duplicate());
        }
        if let Err(error) = engine.check_writable() {
            *state = Err(error.duplicate());
            return Err(error);
        }
        let Some(change) = engine.prepare_change(change)? else { return Ok(()) };
        let added = match &mut *state {
            Ok(load) => load.add(engine, change),
            Err(error) => Err(error.duplicate()),
        };
        added.inspect_err(|error| *state = Err(error.duplicate()))
    }
}
