//! The handle of a time log: writing, and reading its present state.

use std::ops::RangeBounds;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{BinaryArray, RecordBatch};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;
use serde::Serialize;
use timestrata_engine::planted::{Plant, is_planted};
use timestrata_engine::{
    Cell, Changes, Durability, Error, ErrorKind, Result, Retention, RowAppender, SeqNo, Snapshot,
    Store, Stream, StreamId,
};
use timestrata_io::sync::Mutex;
use timestrata_values::name;
use timestrata_values::range::delete_range;
use timestrata_values::time::relabeled;

use super::batch::{EntryBatch, check_value_bytes, record_batch};
use super::codec::encode_cbor;
use super::{Codec, Entry, Selection, TimelogOptions, TimelogView, Unit, Value, options};

/// Values of one chunk of [`Timelog::extend_from`] together, in bytes, at most.
const CHUNK_BYTES_MAX: usize = 16 << 20;

#[cold]
fn below(name: &str, time: i64, min: i64) -> Error {
    let what = format!("time log '{name}': timestamp {time} is below min_ts boundary ({min})");
    Error::new(ErrorKind::InvalidData, what)
}

/// A time log of an open store. Cheap to clone; clones are the same log, and may be used
/// from several threads.
///
/// Writes have [`Durability::Written`] unless they say otherwise.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_timelog::{Timelog, TimelogOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let log = Timelog::create(&store, "log", TimelogOptions::default())?;
/// log.append(1_000, b"first")?;
/// log.append(3_000, b"third")?;
/// log.append(2_000, b"second, and late")?;
/// let times: Vec<i64> = log.first(2)?.iter().map(|entry| entry.time).collect();
/// assert_eq!(times, [1_000, 2_000]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Timelog {
    shared: Arc<SharedTimelog>,
}

/// What all handles of a time log share.
#[derive(Debug)]
struct SharedTimelog {
    store: Store,
    stream: Arc<Stream>,
    codec: Codec,
    unit: Unit,
    min_time: Option<i64>,
    writer: Mutex<RowWriter>,
}

/// The path of single entries: made at the first append, since a read-only store has none.
#[derive(Debug, Default)]
struct RowWriter {
    appender: Option<RowAppender>,
    /// The CBOR of one value; kept for its memory.
    encoded: Vec<u8>,
}

impl Timelog {
    /// Opens a time log that exists.
    ///
    /// # Errors
    /// `NotFound` if the store has no stream of that name, `InvalidArgument` if the stream is
    /// not a time log.
    pub fn open(store: &Store, name: &str) -> Result<Self> {
        let stream = store.stream(name).ok_or_else(|| name::not_found(store, "time log", name))?;
        Self::of_stream(store, stream)
    }

    /// Creates a time log, or opens the one that exists with the same codec and unit.
    ///
    /// # Errors
    /// `AlreadyExists` if it exists with another codec or unit, `InvalidArgument` if the name
    /// is another kind of stream's or can't be a name, `ReadOnly` if it would have to be made
    /// in a store opened for reading.
    ///
    /// ```
    /// # use timestrata_engine::{ErrorKind, Settings, Store};
    /// # use timestrata_timelog::{Codec, Timelog, TimelogOptions};
    /// # fn main() -> timestrata_engine::Result<()> {
    /// let store = Store::memory(Settings::default())?;
    /// Timelog::create(&store, "log", TimelogOptions::default())?;
    /// let other = TimelogOptions { codec: Codec::Cbor, ..Default::default() };
    /// let error = Timelog::create(&store, "log", other).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    /// # Ok(())
    /// # }
    /// ```
    pub fn create(store: &Store, name: &str, wanted: TimelogOptions) -> Result<Self> {
        let Some(stream) = store.stream(name) else {
            store.create_stream(wanted.spec(name)?)?;
            return Self::open(store, name);
        };
        let log = Self::of_stream(store, stream)?;
        name::acknowledge_existing(store, name)?;
        let exists = |what: String| {
            let what = format!("time log '{name}' exists with {what}");
            Err(Error::new(ErrorKind::AlreadyExists, what))
        };
        if (log.codec(), log.unit()) != (wanted.codec, wanted.unit) {
            return exists(format!(
                "codec '{}' and unit '{}'; codec '{}' and unit '{}' were asked for",
                log.codec(),
                log.unit(),
                wanted.codec,
                wanted.unit
            ));
        }
        if wanted.columns.is_some() && wanted.columns != log.columns() {
            return exists("other columns than those asked for".to_owned());
        }
        if wanted.min_time.is_some() && wanted.min_time != log.min_time_allowed() {
            return exists(match log.min_time_allowed() {
                Some(time) => format!("times from {time} on"),
                None => "any time".to_owned(),
            });
        }
        if let Some(retention) = wanted.retention
            && retention != log.shared.stream.spec().retention
        {
            store.set_retention(log.stream_id(), retention)?;
        }
        Ok(log)
    }

    /// Names of all time logs of a store, in order.
    ///
    /// ```
    /// # use timestrata_engine::{Settings, Store};
    /// # use timestrata_timelog::{Timelog, TimelogOptions};
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// Timelog::create(&store, "door", TimelogOptions::default())?;
    /// assert_eq!(Timelog::names(&store), ["door"]);
    /// Timelog::drop(&store, "door")?;
    /// assert!(Timelog::names(&store).is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn names(store: &Store) -> Vec<String> {
        name::all(store, options::is_timelog)
    }

    /// Removes a time log and its entries.
    ///
    /// # Errors
    /// `NotFound` if the store has no stream of that name, `InvalidArgument` if the stream is
    /// not a time log.
    pub fn drop(store: &Store, name: &str) -> Result<()> {
        Self::open(store, name)?;
        store.drop_stream(name)
    }

    pub(super) fn of_stream(store: &Store, stream: Arc<Stream>) -> Result<Self> {
        let (codec, unit) = options::of_stream(&stream)?;
        let writer = Mutex::new(RowWriter::default());
        let min_time = options::min_time_of(&stream)?;
        let shared = SharedTimelog { store: store.clone(), stream, codec, unit, min_time, writer };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The log's name.
    pub fn name(&self) -> &str {
        self.shared.stream.name()
    }

    /// What its values are.
    pub fn codec(&self) -> Codec {
        self.shared.codec
    }

    /// The unit of its timestamps.
    pub fn unit(&self) -> Unit {
        self.shared.unit
    }

    /// The time below which it refuses entries, if there is one.
    pub fn min_time_allowed(&self) -> Option<i64> {
        self.shared.min_time
    }

    /// Refuses an entry whose time is smaller than the log takes.
    #[inline]
    pub(super) fn check_time(&self, time: i64) -> Result<()> {
        match self.shared.min_time {
            Some(min) if time < min => Err(below(self.name(), time, min)),
            _ => Ok(()),
        }
    }

    /// Refuses rows of which one is.
    pub(super) fn check_times(&self, rows: &RecordBatch) -> Result<()> {
        if self.shared.min_time.is_none() {
            return Ok(());
        }
        let Some(times) = rows.columns().get(options::TIME_COLUMN) else { return Ok(()) };
        let times = relabeled(times, &DataType::Int64)?;
        let times = times.as_primitive::<Int64Type>().values();
        times.iter().try_for_each(|time| self.check_time(*time))
    }

    /// What may be thrown away by itself.
    ///
    /// # Errors
    /// `NotFound` if the log was dropped.
    pub fn retention(&self) -> Result<Retention> {
        Ok(self.shared.store.stream_of(self.stream_id())?.spec().retention)
    }

    /// The store it is in.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// The stream that keeps it.
    pub fn stream(&self) -> &Arc<Stream> {
        &self.shared.stream
    }

    /// The stream that keeps it, to change it in one commit with others.
    pub fn stream_id(&self) -> StreamId {
        self.shared.stream.id()
    }

    /// Appends one entry; the fast path for single ones. In a CBOR log the bytes must be one
    /// CBOR item, which is not checked here.
    ///
    /// # Errors
    /// `TooLarge` for a value longer than [`VALUE_BYTES_MAX`](super::VALUE_BYTES_MAX), and
    /// what a commit may fail with: `ReadOnly`, `Busy`, `NoSpace`, `Io`, `Poisoned`, `Closed`.
    pub fn append(&self, time: i64, value: &[u8]) -> Result<SeqNo> {
        self.append_with(time, value, Durability::Written)
    }

    /// Appends one entry with this durability.
    pub fn append_with(&self, time: i64, value: &[u8], durability: Durability) -> Result<SeqNo> {
        check_value_bytes(time, value.len())?;
        self.append_row_with(&[Cell::Int(time), Cell::Bytes(value)], durability)
    }

    /// Appends one row of the log's columns.
    pub(super) fn append_row_with(
        &self,
        cells: &[Cell<'_>],
        durability: Durability,
    ) -> Result<SeqNo> {
        if let Some(Cell::Int(time)) = cells.first() {
            self.check_time(*time)?;
        }
        let padded = self.padded(cells)?;
        let cells = padded.as_deref().unwrap_or(cells);
        let seq = {
            let mut writer = self.shared.writer.lock();
            self.append_row(&mut writer.appender, cells, durability)?
        };
        self.sync_if(durability)?;
        Ok(seq)
    }

    /// As [`append`](Self::append), if nothing has to be waited for; `None`, and nothing was
    /// written, if something would: another writer, a flush, the log's next segment. For callers
    /// who hold a lock of their own (an interpreter's) that others need meanwhile.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn try_append(&self, time: i64, value: &[u8]) -> Result<Option<SeqNo>> {
        check_value_bytes(time, value.len())?;
        self.check_time(time)?;
        let Some(mut writer) = self.shared.writer.try_lock() else { return Ok(None) };
        // The first append of a handle asks the store, which may have to wait.
        let Some(appender) = &mut writer.appender else { return Ok(None) };
        appender.try_append(&[Cell::Int(time), Cell::Bytes(value)])
    }

    /// Appends one entry, whose value becomes CBOR.
    ///
    /// # Errors
    /// `InvalidArgument` if the log holds bytes, `InvalidData` if the value has no CBOR form,
    /// and as [`append`](Self::append).
    pub fn append_value<T: Serialize + ?Sized>(&self, time: i64, value: &T) -> Result<SeqNo> {
        self.append_value_with(time, value, Durability::Written)
    }

    /// Appends one entry, whose value becomes CBOR, with this durability.
    pub fn append_value_with<T: Serialize + ?Sized>(
        &self,
        time: i64,
        value: &T,
        durability: Durability,
    ) -> Result<SeqNo> {
        if self.codec() != Codec::Cbor {
            let what = format!("time log '{}' holds bytes: a value can't be encoded", self.name());
            return Err(Error::new(ErrorKind::InvalidArgument, what));
        }
        self.check_time(time)?;
        let seq = {
            let mut writer = self.shared.writer.lock();
            let RowWriter { appender, encoded } = &mut *writer;
            encoded.clear();
            encode_cbor(value, encoded)?;
            check_value_bytes(time, encoded.len())?;
            let cells = [Cell::Int(time), Cell::Bytes(encoded)];
            self.append_row(appender, &cells, durability)?
        };
        self.sync_if(durability)?;
        Ok(seq)
    }

    /// Appends one row; one that is to be synced is written here and synced by the caller.
    fn append_row(
        &self,
        appender: &mut Option<RowAppender>,
        cells: &[Cell<'_>],
        durability: Durability,
    ) -> Result<SeqNo> {
        let appender = match appender {
            Some(appender) => appender,
            None => appender.insert(self.shared.store.appender(self.stream_id())?),
        };
        appender.append(cells, durability.min(Durability::Written))
    }

    /// Syncs where an append was asked to be synced: outside the lock, so that threads that
    /// append at once share one sync.
    fn sync_if(&self, durability: Durability) -> Result<()> {
        if durability == Durability::Synced && !is_planted(Plant::UnsyncedValue) {
            self.shared.store.sync()?;
        }
        Ok(())
    }

    /// Appends many entries, in any order, as one atomic commit. `None`: there were none.
    ///
    /// # Errors
    /// `InvalidData` if there isn't one value a time, and as [`append`](Self::append).
    pub fn extend(&self, times: &[i64], values: &[impl AsRef<[u8]>]) -> Result<Option<SeqNo>> {
        if times.len() != values.len() {
            let what = format!("{} times but {} values", times.len(), values.len());
            return Err(Error::new(ErrorKind::InvalidData, what));
        }
        let bytes = values.iter().map(|value| value.as_ref().len()).sum();
        let mut batch = EntryBatch::with_capacity(times.len(), bytes);
        for (time, value) in times.iter().zip(values) {
            batch.push(*time, value.as_ref())?;
        }
        self.extend_batch(batch, Durability::Written)
    }

    /// Appends a batch as one atomic commit. `None`: it was empty.
    pub fn extend_batch(&self, batch: EntryBatch, durability: Durability) -> Result<Option<SeqNo>> {
        let batch = batch.into_record_batch(self.shared.stream.schema(), self.unit())?;
        self.commit_batch(batch, durability)
    }

    /// Commits rows of the log's columns. `None`: there were none.
    pub(super) fn commit_batch(
        &self,
        batch: RecordBatch,
        durability: Durability,
    ) -> Result<Option<SeqNo>> {
        if batch.num_rows() == 0 {
            return self.shared.store.acknowledge(durability).map(|_| None);
        }
        self.check_times(&batch)?;
        let batch = self.with_all_columns(batch)?;
        let changes = Changes::new().insert(self.stream_id(), batch);
        self.shared.store.commit(changes, durability).map(Some)
    }

    /// Appends Arrow columns as one atomic commit, without copying them. `None`: they were
    /// empty.
    ///
    /// # Errors
    /// `InvalidData` if there isn't one value a time or a value is null, `TooLarge` if one is
    /// longer than [`VALUE_BYTES_MAX`](super::VALUE_BYTES_MAX).
    pub fn extend_arrays(
        &self,
        times: ScalarBuffer<i64>,
        values: BinaryArray,
        durability: Durability,
    ) -> Result<Option<SeqNo>> {
        for (time, length) in times.iter().zip(values.offsets().lengths()) {
            check_value_bytes(*time, length)?;
        }
        let batch = record_batch(self.shared.stream.schema(), self.unit(), times, values)?;
        self.commit_batch(batch, durability)
    }

    /// Appends entries from an iterator, in commits of `chunk_rows` (fewer where values are
    /// large, so that memory stays bounded). Gives how many there were.
    ///
    /// # Errors
    /// As [`extend`](Self::extend); chunks committed before the error stay.
    pub fn extend_from<V: AsRef<[u8]>>(
        &self,
        entries: impl IntoIterator<Item = (i64, V)>,
        chunk_rows: usize,
    ) -> Result<u64> {
        let chunk_rows = chunk_rows.max(1);
        let (mut chunk, mut rows) = (EntryBatch::new(), 0);
        for (time, value) in entries {
            chunk.push(time, value.as_ref())?;
            if chunk.len() >= chunk_rows || chunk.value_bytes() >= CHUNK_BYTES_MAX {
                rows += chunk.len() as u64;
                self.extend_batch(std::mem::take(&mut chunk), Durability::Written)?;
            }
        }
        rows += chunk.len() as u64;
        self.extend_batch(chunk, Durability::Written)?;
        Ok(rows)
    }

    /// Deletes every entry whose time is in `range`, in time that doesn't depend on how many
    /// there are; what is appended later stays. `None`: no time is in the range.
    ///
    /// # Errors
    /// `InvalidArgument` if the range ends before it begins.
    ///
    /// ```
    /// # use timestrata_engine::{Settings, Store};
    /// # use timestrata_timelog::{Timelog, TimelogOptions};
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// # let log = Timelog::create(&store, "log", TimelogOptions::default())?;
    /// log.extend(&[1, 2, i64::MAX], &["a", "b", "c"])?;
    /// log.delete_range(2..=i64::MAX)?;
    /// assert_eq!(log.len()?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn delete_range(&self, range: impl RangeBounds<i64>) -> Result<Option<SeqNo>> {
        self.delete_range_with(range, Durability::Written)
    }

    /// [`delete_range`](Self::delete_range) with this durability.
    pub fn delete_range_with(
        &self,
        range: impl RangeBounds<i64>,
        durability: Durability,
    ) -> Result<Option<SeqNo>> {
        delete_range(&self.shared.store, self.stream_id(), &range, durability)
    }

    /// The log as it is now, frozen.
    pub fn snapshot(&self) -> Result<TimelogView> {
        Ok(self.view_of(self.shared.store.snapshot_of(self.stream_id())?))
    }

    /// The log as a snapshot of its store sees it: several logs at one instant, or at a pin.
    pub fn view_of(&self, snapshot: Snapshot) -> TimelogView {
        // With the columns that it had then.
        let then = snapshot.streams().find(|stream| stream.id() == self.stream_id()).cloned();
        let stream = then.unwrap_or_else(|| Arc::clone(&self.shared.stream));
        TimelogView::new(snapshot, stream, (self.codec(), self.unit()))
    }

    /// See [`TimelogView::range`].
    pub fn range(&self, range: impl RangeBounds<i64>) -> Result<Selection> {
        self.snapshot()?.range(range)
    }

    /// See [`TimelogView::at`].
    pub fn at(&self, time: i64) -> Result<Vec<Value>> {
        self.snapshot()?.at(time)
    }

    /// See [`TimelogView::first`].
    pub fn first(&self, entries: usize) -> Result<Vec<Entry>> {
        self.snapshot()?.first(entries)
    }

    /// See [`TimelogView::last`].
    pub fn last(&self, entries: usize) -> Result<Vec<Entry>> {
        self.snapshot()?.last(entries)
    }

    /// See [`TimelogView::len`].
    pub fn len(&self) -> Result<u64> {
        self.snapshot()?.len()
    }

    /// See [`TimelogView::is_empty`].
    pub fn is_empty(&self) -> Result<bool> {
        self.snapshot()?.is_empty()
    }

    /// See [`TimelogView::min_time`].
    pub fn min_time(&self) -> Result<Option<i64>> {
        self.snapshot()?.min_time()
    }

    /// See [`TimelogView::max_time`].
    pub fn max_time(&self) -> Result<Option<i64>> {
        self.snapshot()?.max_time()
    }

    /// See [`TimelogView::next_time`].
    pub fn next_time(&self, time: i64) -> Result<Option<i64>> {
        self.snapshot()?.next_time(time)
    }

    /// See [`TimelogView::previous_time`].
    pub fn previous_time(&self, time: i64) -> Result<Option<i64>> {
        self.snapshot()?.previous_time(time)
    }

    /// Writes the whole store's memory to runs.
    pub fn flush(&self) -> Result<()> {
        self.shared.store.flush()
    }

    /// Compacts this log until nothing is left to do; applies its retention.
    pub fn compact(&self) -> Result<()> {
        self.shared.store.compact(Some(self.stream_id()))
    }

    /// Makes every commit of the store so far survive a power cut.
    pub fn sync(&self) -> Result<SeqNo> {
        self.shared.store.sync()
    }
}
