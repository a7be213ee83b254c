//! The handle of a table: creating, opening and removing one, and its properties.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use timestrata_engine::{
    Error, ErrorKind, KeyRange, Result, Retention, RowAppender, RunCompression, Store, Stream,
    StreamId,
};
use timestrata_io::sync::{Mutex, RwLock};
use timestrata_values::name;

use super::layout::Layout;
use super::materialized::Watched;
use super::options::{self, TableOptions};
use super::{TableView, time};

/// A table of an open store. Cheap to clone; clones are the same table, and may be used from
/// several threads.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// # use std::sync::Arc;
/// # use arrow_array::{Float64Array, RecordBatch, StringArray, TimestampMillisecondArray};
/// use timestrata_table::{Table, TableOptions, WriteOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Store::memory(Settings::default())?;
/// # let rows = RecordBatch::try_from_iter([
/// #     ("time", Arc::new(TimestampMillisecondArray::from(vec![1_000, 2_000, 3_000])) as _),
/// #     ("room", Arc::new(StringArray::from(vec!["kitchen", "hall", "kitchen"])) as _),
/// #     ("celsius", Arc::new(Float64Array::from(vec![20.5, 18.0, 21.0])) as _),
/// # ])?;
/// // `rows` has the columns `time`, `room` and `celsius`.
/// let rooms = Table::create_for(&store, "rooms", &rows, &TableOptions::default())?;
/// rooms.append(&rows, WriteOptions::default())?;
/// assert_eq!((rooms.time_column()?, rooms.view()?.last(1)?.num_rows()), ("time".to_owned(), 1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Table {
    pub(super) shared: Arc<SharedTable>,
    /// The unit in which whoever has this handle tells times, in nanoseconds, where that is known.
    told_unit_ns: Option<i64>,
}

/// What all handles of a table share.
#[derive(Debug)]
pub(super) struct SharedTable {
    pub(super) store: Store,
    pub(super) id: StreamId,
    /// The stream from identities to times.
    pub(super) index: Option<StreamId>,
    layout: Mutex<Arc<Layout>>,
    pub(super) appender: Mutex<Option<RowAppender>>,
    /// Held for reading by who only adds rows, for writing by who reads before it writes. What is
    /// in it: the greatest identity that was handed out.
    pub(super) lock: Arc<RwLock<u64>>,
    /// Whether rows have to be asked whether they are late for a materialised view.
    pub(super) watched: Arc<Watched>,
}

/// Held while a table or a view of an open store is made or removed, which are several steps.
#[derive(Debug, Default)]
pub(super) struct Changing(pub(super) Mutex<()>);

impl Table {
    /// Opens a table that exists.
    ///
    /// # Errors
    /// `NotFound` if the store has no stream of that name, `InvalidArgument` if the stream is not
    /// a table.
    pub fn open(store: &Store, name: &str) -> Result<Self> {
        let stream = store.stream(name).filter(|stream| !options::is_hidden(stream));
        let stream = stream.ok_or_else(|| name::not_found(store, "table", name))?;
        Self::of_stream(store, stream)
    }

    /// Creates a table with these columns, or opens the one that exists with the same time
    /// column, key and tags as far as they are said.
    ///
    /// # Errors
    /// `AlreadyExists` if it exists with others, `InvalidArgument` if the name is another kind of
    /// stream's or can't be a name, the columns hold no time, or the options don't go together;
    /// `ReadOnly` if it would have to be made in a store opened for reading.
    pub fn create(
        store: &Store,
        name: &str,
        columns: &SchemaRef,
        options: &TableOptions,
    ) -> Result<Self> {
        let changing = store.model_state::<Changing>();
        let _changing = changing.0.lock();
        if let Some(stream) = store.stream(name) {
            return Self::open_as(store, stream, options);
        }
        let specs = options.specs(store, name, columns)?;
        let mut parts = Vec::new();
        if let Some(index) = specs.index {
            // One that a crash left behind may have another key.
            if store.stream(&index.name).is_some() {
                store.drop_stream(&index.name)?;
            }
            parts.push(index);
        }
        parts.push(specs.main);
        match store.create_streams(&parts) {
            Ok(_) => Self::open(store, name),
            // Somebody made a stream of that name meanwhile.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Self::open_as(store, store.expect_stream(name)?, options)
            }
            Err(error) => Err(error),
        }
    }

    /// As [`create`](Self::create), with the columns of some rows. A time column of numbers has
    /// the unit that their magnitude tells.
    ///
    /// # Errors
    /// As [`create`](Self::create), and `InvalidData` for numbers that are days, or of several units.
    pub fn create_for(
        store: &Store,
        name: &str,
        rows: &RecordBatch,
        options: &TableOptions,
    ) -> Result<Self> {
        if let Some(stream) = store.stream(name) {
            return Self::open_as(store, stream, options);
        }
        let columns = time::columns_of(rows, options.time.as_deref())?;
        Self::create(store, name, &columns, options)
    }

    /// Opens a table that exists with the same time column, key and tags as far as they are said. Compression
    /// that is said and another is changed.
    ///
    /// # Errors
    /// As [`open`](Self::open), and `AlreadyExists` if it exists with others.
    pub fn open_like(store: &Store, name: &str, wanted: &TableOptions) -> Result<Self> {
        let table = Self::open(store, name)?;
        let layout = table.layout()?;
        layout.definition.check_wanted(&layout.stream, wanted)?;
        table.pack_as(wanted)?;
        Ok(table)
    }

    fn open_as(store: &Store, stream: Arc<Stream>, wanted: &TableOptions) -> Result<Self> {
        let table = Self::of_stream(store, stream)?;
        let layout = table.layout()?;
        layout.definition.check_wanted(&layout.stream, wanted)?;
        name::acknowledge_existing(store, layout.stream.name())?;
        if let Some(retention) = wanted.retention
            && retention != layout.stream.spec().retention
        {
            table.set_retention(retention)?;
        }
        table.pack_as(wanted)?;
        Ok(table)
    }

    /// Changes the compression of a table that exists, if another is asked for.
    fn pack_as(&self, wanted: &TableOptions) -> Result<()> {
        match wanted.compression {
            Some(compression) if compression != self.compression()? => {
                self.set_compression(compression)
            }
            _ => Ok(()),
        }
    }

    fn of_stream(store: &Store, stream: Arc<Stream>) -> Result<Self> {
        let id = stream.id();
        let layout = Layout::of(stream)?;
        let index = layout.definition.index.as_ref();
        let index = index.map(|name| store.expect_stream(name)).transpose()?;
        let watched = store.model_state::<Watched>();
        if !layout.definition.watchers.is_empty() {
            watched.0.store(true, Ordering::SeqCst);
        }
        Ok(Self {
            told_unit_ns: None,
            shared: Arc::new(SharedTable {
                store: store.clone(),
                id,
                index: index.map(|stream| stream.id()),
                layout: Mutex::new(Arc::new(layout)),
                appender: Mutex::new(None),
                lock: store.model_lock(id)?,
                watched,
            }),
        })
    }

    /// The columns as they are now: another handle may have added some.
    pub(super) fn layout(&self) -> Result<Arc<Layout>> {
        let stream = self.shared.store.stream_of(self.shared.id)?;
        let mut layout = self.shared.layout.lock();
        if !Arc::ptr_eq(&layout.stream, &stream) {
            *layout = Arc::new(Layout::of(stream)?);
        }
        Ok(Arc::clone(&layout))
    }

    /// The table's name.
    pub fn name(&self) -> Result<String> {
        Ok(self.layout()?.name().to_owned())
    }

    /// Its columns.
    pub fn schema(&self) -> Result<SchemaRef> {
        Ok(SchemaRef::clone(&self.layout()?.schema))
    }

    /// Name of its time column.
    pub fn time_column(&self) -> Result<String> {
        Ok(self.layout()?.time_name().to_owned())
    }

    /// Columns of its upsert key; empty where every row is kept.
    pub fn key(&self) -> Result<Vec<String>> {
        Ok(self.layout()?.definition.key.clone())
    }

    /// Columns that say which series a row belongs to.
    pub fn tags(&self) -> Result<Vec<String>> {
        Ok(self.layout()?.definition.tags.clone())
    }

    /// Whether rows without an `id` are given one.
    pub fn hands_out_ids(&self) -> Result<bool> {
        Ok(self.layout()?.definition.hands_out_ids)
    }

    /// Wall clock when it was made, nanoseconds since the epoch.
    pub fn created_ns(&self) -> Result<Option<i64>> {
        Ok(self.layout()?.definition.created_ns)
    }

    /// The store it is in.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// The stream of its rows.
    pub fn id(&self) -> StreamId {
        self.shared.id
    }

    /// The table as it is now, frozen.
    pub fn view(&self) -> Result<TableView> {
        let snapshot = match self.shared.index {
            None => self.shared.store.snapshot_of(self.shared.id)?,
            // Both streams at one commit.
            Some(_) => self.shared.store.snapshot()?,
        };
        TableView::new(snapshot, self.shared.id, self.shared.index)
    }

    /// The same table for whoever tells it times in the unit of `stream`, which is the table's as it was seen. Where the unit has
    /// become finer meanwhile, ranges of times are taken for the same times, and single rows and what picks rows are refused
    /// (`InvalidData`): they are made anew.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{RecordBatch, TimestampSecondArray};
    /// # use arrow_schema::{DataType, Field, TimeUnit};
    /// # use timestrata_engine::{Durability, KeyRange, Settings, Store};
    /// # use timestrata_table::{Table, TableOptions, WriteOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Store::memory(Settings::default())?;
    /// let times = Arc::new(TimestampSecondArray::from(vec![1, 2, 3])) as _;
    /// let rows = RecordBatch::try_from_iter([("time", times)])?;
    /// let ticks = Table::create_for(&store, "ticks", &rows, &TableOptions::default())?;
    /// ticks.append(&rows, WriteOptions::default())?;
    /// let in_seconds = ticks.with_times_of(ticks.view()?.stream());
    ///
    /// let finer = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    /// ticks.alter_columns(&[], &[Arc::new(Field::new("time", finer, false))])?;
    /// assert_eq!(in_seconds.delete_ranges(&[KeyRange::times(0, 3)], Durability::Written)?, 2);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_times_of(&self, stream: &Stream) -> Self {
        self.with_unit(stream.time_unit_ns())
    }

    pub(super) fn with_unit(&self, told_unit_ns: Option<i64>) -> Self {
        Self { told_unit_ns, ..self.clone() }
    }

    /// Ranges that were told by whoever has this handle, in the table's unit. To be asked with the table's lock.
    pub(super) fn ranges_today(&self, layout: &Layout, ranges: &[KeyRange]) -> Vec<KeyRange> {
        let today = layout.stream.time_unit_ns();
        match self.told_unit_ns.zip(today).map(|(told, today)| told / today) {
            Some(factor) if factor > 1 => {
                ranges.iter().filter_map(|range| range.in_finer_unit(factor)).collect()
            }
            _ => ranges.to_vec(),
        }
    }

    /// An error if the times of a stream, which is the table's as it was seen, have another unit than that in which whoever has this
    /// handle tells them.
    ///
    /// # Errors
    /// `InvalidData`, which another try mends.
    pub fn check_times_of(&self, stream: &Stream) -> Result<()> {
        if self.told_unit_ns.is_none_or(|told| Some(told) == stream.time_unit_ns()) {
            return Ok(());
        }
        let message =
            format!("the times of table '{}' have got a finer unit meanwhile", stream.name());
        Err(Error::new(ErrorKind::InvalidData, message).hinting("try again"))
    }

    /// Changes what may be thrown away by itself, durably.
    ///
    /// # Errors
    /// `InvalidArgument` for a number of bytes where the table has materialised views.
    pub fn set_retention(&self, retention: Retention) -> Result<()> {
        self.check_retention(&*self.layout()?, retention)?;
        self.shared.store.set_retention(self.shared.id, retention)
    }

    /// How its compacted runs are packed.
    ///
    /// # Errors
    /// `NotFound` if the table has been dropped.
    pub fn compression(&self) -> Result<RunCompression> {
        Ok(self.layout()?.stream.compression())
    }

    /// Changes how compacted runs are packed that are written from now on, durably.
    ///
    /// # Errors
    /// `NotFound` if the table has been dropped.
    pub fn set_compression(&self, compression: RunCompression) -> Result<()> {
        let properties = self.layout()?.stream.spec().properties.clone();
        let properties = compression.in_properties(properties);
        self.shared.store.alter_stream_properties(self.shared.id, properties)?;
        Ok(())
    }

    /// Gives the table another name, durably.
    ///
    /// # Errors
    /// `AlreadyExists` for a name that is taken, `InvalidArgument` for one that can't be, and where the table has materialised views.
    pub fn rename(&self, name: &str) -> Result<()> {
        options::check_name(name)?;
        self.check_unwatched(&*self.layout()?, "renamed")?;
        self.shared.store.rename_stream(self.shared.id, name)?;
        Ok(())
    }

    /// Removes a table and its rows, durably.
    ///
    /// # Errors
    /// `NotFound` if there is none, `InvalidArgument` if the name is another kind of stream's, or the table has materialised views.
    pub fn drop(store: &Store, name: &str) -> Result<()> {
        let changing = store.model_state::<Changing>();
        let _changing = changing.0.lock();
        let table = Self::open(store, name)?;
        let _alone = table.shared.lock.write();
        table.check_unwatched(&*table.layout()?, "dropped")?;
        table.drop_streams()
    }

    /// Removes the table unless it has rows.
    ///
    /// # Errors
    /// What reading and removing may fail with.
    pub(super) fn drop_if_empty(&self) -> Result<()> {
        let changing = self.shared.store.model_state::<Changing>();
        let _changing = changing.0.lock();
        // Nobody commits rows between the look and the removal.
        let _alone = self.shared.lock.write();
        match self.view()?.count(&KeyRange::ALL)? {
            0 => self.drop_streams(),
            _ => Ok(()),
        }
    }

    /// Removes its streams, all of them or none. Both locks are held.
    fn drop_streams(&self) -> Result<()> {
        let (store, layout) = (&self.shared.store, self.layout()?);
        // An earlier build could be interrupted between the two.
        let index = layout.definition.index.as_deref();
        let index = index.filter(|index| store.stream(index).is_some());
        let names: Vec<&str> = std::iter::once(layout.name()).chain(index).collect();
        store.drop_streams(&names)
    }

    /// Names of all tables of a store, in order.
    pub fn names(store: &Store) -> Vec<String> {
        name::all(store, options::is_table)
    }
}
