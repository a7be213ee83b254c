//! Many rows at once: one atomic commit of any size, or a stream of commits.
//!
//! Rows go to files as they come, so that memory stays bounded, and nobody sees them before the
//! last one is there. The table's lock is held for the end only: whoever sends slowly holds up
//! nobody.

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, SchemaRef};
use timestrata_engine::{
    BulkCommit, Durability, Error, ErrorKind, KeyRange, LeadKey, Result, SeqNo, Store, StreamId,
};

use timestrata_values::spelling::Spelling;

use super::fit::{OnMismatch, fitted};
use super::handle::Table;
use super::identity::{Identities, Written, times_of};
use super::layout::Layout;
use super::replace::{keys_before, last_of_each};
use super::time::{self, values as times_in};
use super::write::check_ids;
use super::{TableOptions, WriteOptions};

/// How many commits an ingest is.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// # use std::sync::Arc;
/// # use arrow_array::{Float64Array, RecordBatch, StringArray, TimestampMillisecondArray};
/// use timestrata_table::{Commits, IngestOptions, ingest};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Store::memory(Settings::default())?;
/// # let rows = RecordBatch::try_from_iter([
/// #     ("time", Arc::new(TimestampMillisecondArray::from(vec![1_000, 2_000, 3_000])) as _),
/// #     ("room", Arc::new(StringArray::from(vec!["kitchen", "hall", "kitchen"])) as _),
/// #     ("celsius", Arc::new(Float64Array::from(vec![20.5, 18.0, 21.0])) as _),
/// # ])?;
/// // One commit each two rows: what was committed stays if a later row is refused.
/// let options = IngestOptions { commits: Commits::Every(2), ..IngestOptions::default() };
/// let taken = ingest(&store, "rooms", &mut std::iter::once(Ok(rows)), &options)?;
/// assert_eq!(taken.rows, 3);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Commits {
    /// One: all rows or none. One of more rows than the log takes is `Synced`, whatever was told.
    #[default]
    One,
    /// One each time that so many rows are there; what is committed before an error stays.
    Every(usize),
}

/// How rows are taken in.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// # use std::sync::Arc;
/// # use arrow_array::{Float64Array, RecordBatch, StringArray, TimestampMillisecondArray};
/// use timestrata_table::{IngestOptions, TableOptions, ingest};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Store::memory(Settings::default())?;
/// # let rows = RecordBatch::try_from_iter([
/// #     ("time", Arc::new(TimestampMillisecondArray::from(vec![1_000, 2_000, 3_000])) as _),
/// #     ("room", Arc::new(StringArray::from(vec!["kitchen", "hall", "kitchen"])) as _),
/// #     ("celsius", Arc::new(Float64Array::from(vec![20.5, 18.0, 21.0])) as _),
/// # ])?;
/// let table = TableOptions { tags: vec!["room".to_owned()], ..TableOptions::default() };
/// let options = IngestOptions { table, ..IngestOptions::default() };
/// let taken = ingest(&store, "rooms", &mut std::iter::once(Ok(rows)), &options)?;
/// assert_eq!(taken.table.map(|rooms| rooms.tags()).transpose()?, Some(vec!["room".to_owned()]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct IngestOptions {
    /// The table, if it has to be made; and what one that exists must be.
    pub table: TableOptions,
    /// How rows are written. Default: [`Durability::Synced`], and else as rows that are appended.
    pub write: WriteOptions,
    /// How many commits it is.
    pub commits: Commits,
    /// Columns of a table that exists that are widened first, to hold values of these types:
    /// what a source of `timestrata-ingest` says of itself.
    pub widened: Vec<FieldRef>,
    /// Which column of the rows is the time of a new table, unless `table` says it.
    pub found_time: FoundTime,
    /// How messages spell options.
    pub spelling: Spelling,
}

/// What is known of the time column of rows, before a table is made for them.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// use timestrata_table::{FoundTime, IngestOptions, ingest};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Store::memory(Settings::default())?;
/// // How long patients were watched, which is no time since 1970.
/// let rows = RecordBatch::try_from_iter([
///     ("time", Arc::new(Int64Array::from(vec![306, 455, 1_010])) as _),
/// ])?;
/// let options = IngestOptions { found_time: FoundTime::Missing(None), ..IngestOptions::default() };
/// assert!(ingest(&store, "lung", &mut std::iter::once(Ok(rows)), &options).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum FoundTime {
    /// Nothing: it is found by the types and names of the columns.
    #[default]
    Unknown,
    /// This column is it.
    Column(String),
    /// No column is it, as a source of `timestrata-ingest` knows that has looked at the values; and why the
    /// column is none that seems to be meant as it, if there is one.
    Missing(Option<String>),
}

impl Default for IngestOptions {
    /// One commit that is synced.
    fn default() -> Self {
        Self {
            table: TableOptions::default(),
            write: WriteOptions { durability: Durability::Synced, ..WriteOptions::default() },
            commits: Commits::default(),
            widened: Vec::new(),
            found_time: FoundTime::Unknown,
            spelling: Spelling::default(),
        }
    }
}

impl IngestOptions {
    /// What a new table is to be, with the time column that was found; or why it can't be made.
    fn new_table(&self, name: &str, rows: &RecordBatch) -> Result<TableOptions> {
        if let Some(error) = self.refuses(name, &rows.schema()) {
            return Err(error);
        }
        let mut table = self.table.clone();
        if let FoundTime::Column(time) = &self.found_time {
            table.time.get_or_insert_with(|| time.clone());
        }
        Ok(table)
    }

    /// Why a new table can't be made for rows with these columns, if no column of theirs is the time.
    #[must_use]
    pub fn refuses(&self, name: &str, columns: &SchemaRef) -> Option<Error> {
        match &self.found_time {
            FoundTime::Missing(why) if self.table.time.is_none() => {
                Some(self.no_time(name, columns, why.as_deref()))
            }
            _ => None,
        }
    }

    fn no_time(&self, name: &str, columns: &SchemaRef, why: Option<&str>) -> Error {
        let kind = if why.is_some() { ErrorKind::InvalidData } else { ErrorKind::InvalidArgument };
        let why = match why {
            Some(why) => format!(": {why}"),
            None => format!(", among {}", time::names_of(columns)),
        };
        let option = |option: &str, value: &str| self.spelling.option(option, value);
        let (declared, format) = (option("time", "COLUMN"), option("time_format", "FORMAT"));
        let of_load = self.spelling.switch("time_of_load");
        let message = format!(
            "table '{name}': no column holds times{why}; name the time column ({declared}), say how its times are \
             written ({format}), or have each row given the time of this load ({of_load})"
        );
        Error::new(kind, message)
    }
}

/// What an ingest did.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// # use std::sync::Arc;
/// # use arrow_array::{Float64Array, RecordBatch, StringArray, TimestampMillisecondArray};
/// use timestrata_table::{IngestOptions, ingest};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Store::memory(Settings::default())?;
/// # let rows = RecordBatch::try_from_iter([
/// #     ("time", Arc::new(TimestampMillisecondArray::from(vec![1_000, 2_000, 3_000])) as _),
/// #     ("room", Arc::new(StringArray::from(vec!["kitchen", "hall", "kitchen"])) as _),
/// #     ("celsius", Arc::new(Float64Array::from(vec![20.5, 18.0, 21.0])) as _),
/// # ])?;
/// let options = IngestOptions::default();
/// let taken = ingest(&store, "rooms", &mut std::iter::once(Ok(rows)), &options)?;
/// assert!(taken.rows == 3 && taken.seq.is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Ingested {
    /// Rows that came.
    pub rows: u64,
    /// The last commit; `None` without rows.
    pub seq: Option<SeqNo>,
    /// The table; `None` if there were no rows and there is none.
    pub table: Option<Table>,
}

/// Takes rows into the table of a name, made if it is missing. A table that was made for rows
/// which were then refused is gone again.
///
/// # Errors
/// The first one of `batches`; `InvalidData` for what doesn't fit, with the number of its row
/// among all; what a commit may fail with.
pub fn ingest(
    store: &Store,
    name: &str,
    batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    options: &IngestOptions,
) -> Result<Ingested> {
    let is_empty = |batch: &Result<RecordBatch>| matches!(batch, Ok(rows) if rows.num_rows() == 0);
    let mut batches = batches.filter(|batch| !is_empty(batch));
    let first = batches.next().transpose()?;
    let exists = store.stream(name).is_some();
    let Some(first) = first else {
        let table = if exists { Some(Table::open(store, name)?) } else { None };
        store.acknowledge(options.write.durability)?;
        return Ok(Ingested { rows: 0, seq: None, table });
    };
    let table = match exists {
        true => Table::create_for(store, name, &first, &options.table)?,
        false => Table::create_for(store, name, &first, &options.new_table(name, &first)?)?,
    };
    table.widen(&options.widened)?;
    let done = match options.commits {
        Commits::One => table.ingest_one(first, &mut batches, options.write),
        Commits::Every(rows) => table.ingest_parts(first, &mut batches, options.write, rows),
    };
    if done.is_err() && !exists {
        // If this fails there is an empty table too many, which is no reason to hide the error that led
        // here.
        let _ = table.drop_if_empty();
    }
    let (rows, seq) = done?;
    Ok(Ingested { rows, seq, table: Some(table) })
}

/// What rows have to be for a table to take them, at one moment.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// # use std::sync::Arc;
/// # use arrow_array::{Float64Array, RecordBatch, StringArray, TimestampMillisecondArray};
/// # use timestrata_table::{OnMismatch, Table, TableOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Store::memory(Settings::default())?;
/// # let rows = RecordBatch::try_from_iter([
/// #     ("time", Arc::new(TimestampMillisecondArray::from(vec![1_000, 2_000, 3_000])) as _),
/// #     ("room", Arc::new(StringArray::from(vec!["kitchen", "hall", "kitchen"])) as _),
/// #     ("celsius", Arc::new(Float64Array::from(vec![20.5, 18.0, 21.0])) as _),
/// # ])?;
/// # let rooms = Table::create_for(&store, "rooms", &rows, &TableOptions::default())?;
/// let expected = rooms.expected(OnMismatch::Widen)?;
/// assert_eq!((expected.time.as_str(), expected.schema.fields().len()), ("time", 3));
/// assert_eq!(expected.widening, ["room", "celsius"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Expected {
    /// The table's columns.
    pub schema: SchemaRef,
    /// Name of its time column.
    pub time: String,
    /// Columns that may come as another type than the table's, which is then widened.
    pub widening: Vec<String>,
}

impl Table {
    /// What rows of this table have to be: its time column, the types of its columns and, with
    /// [`OnMismatch::Widen`], which of these may be widened.
    ///
    /// # Errors
    /// `NotFound` if the table has been dropped.
    pub fn expected(&self, on_mismatch: OnMismatch) -> Result<Expected> {
        let layout = self.layout()?;
        let schema = SchemaRef::clone(&layout.schema);
        let columns = schema.fields().iter().enumerate();
        let widening = match on_mismatch {
            OnMismatch::Widen => columns
                .filter(|(index, _)| !layout.is_key(*index))
                .map(|(_, field)| field.name().clone())
                .collect(),
            _ => Vec::new(),
        };
        let time = layout.time_name().to_owned();
        Ok(Expected { schema, time, widening })
    }

    /// Takes rows in as one atomic commit, whose memory is bounded however many they are (but for
    /// 16 bytes a row where the upsert key lacks the time and is given).
    fn ingest_one(
        &self,
        first: RecordBatch,
        others: &mut dyn Iterator<Item = Result<RecordBatch>>,
        options: WriteOptions,
    ) -> Result<(u64, Option<SeqNo>)> {
        // Columns that the rows add are added before the first one is written.
        self.evolve(&first, options.on_mismatch)?;
        let mut load = BulkLoad::new(self)?;
        for batch in std::iter::once(Ok(first)).chain(others) {
            load.add(self, &batch?, options.on_mismatch)?;
        }
        load.commit(self, options.durability)
    }

    fn ingest_parts(
        &self,
        first: RecordBatch,
        others: &mut dyn Iterator<Item = Result<RecordBatch>>,
        options: WriteOptions,
        part_rows: usize,
    ) -> Result<(u64, Option<SeqNo>)> {
        let (mut rows, mut seq) = (0, None);
        let part_rows = part_rows.max(1);
        for batch in std::iter::once(Ok(first)).chain(others) {
            let batch = batch?;
            for start in (0..batch.num_rows()).step_by(part_rows) {
                let part = batch.slice(start, part_rows.min(batch.num_rows() - start));
                seq = self.append_numbered(&part, options, rows)?;
                rows += part.num_rows() as u64;
            }
        }
        Ok((rows, seq))
    }
}

/// One commit while its rows come.
struct BulkLoad {
    layout: std::sync::Arc<Layout>,
    bulk: BulkCommit,
    rows: u64,
    index: Option<IndexLoad>,
}

/// The part that knows which rows replace others.
struct IndexLoad {
    stream: StreamId,
    /// What the index is to hold: small, and needed again at the end.
    entries: Vec<RecordBatch>,
    written: Written,
    /// Identities that were handed out here, from and to; nobody else may have used them.
    handed_out: Vec<(u64, u64)>,
}

impl BulkLoad {
    fn new(table: &Table) -> Result<Self> {
        let index = table.shared.index.map(|stream| IndexLoad {
            stream,
            entries: Vec::new(),
            written: Written::default(),
            handed_out: Vec::new(),
        });
        let bulk = table.shared.store.bulk()?;
        Ok(Self { layout: table.layout()?, bulk, rows: 0, index })
    }

    fn add(&mut self, table: &Table, rows: &RecordBatch, on_mismatch: OnMismatch) -> Result<()> {
        let (rows, handed_out) =
            table.with_ids(&self.layout, rows, &mut table.shared.lock.write())?;
        let Some(fitted) = fitted(&self.layout, &rows, on_mismatch, self.rows)? else {
            let (name, row) = (self.layout.name(), self.rows);
            let message = format!(
                "table '{name}', row {row} (the first is 0) or one soon after: it needs other \
                 columns than the rows before; ingest in several commits, or declare the columns"
            );
            return Err(Error::new(ErrorKind::InvalidData, message));
        };
        let fitted = fitted.into_rows();
        table.check_rows(&self.layout, &fitted)?;
        let count = fitted.num_rows() as u64;
        match &mut self.index {
            None => self.bulk.insert(table.id(), fitted)?,
            Some(index) => {
                check_ids(&self.layout, &fitted, self.rows)?;
                index.add(table, &self.layout, &mut self.bulk, fitted, handed_out)?;
            }
        }
        self.rows += count;
        Ok(())
    }

    fn commit(mut self, table: &Table, durability: Durability) -> Result<(u64, Option<SeqNo>)> {
        let seq = match &self.index {
            None => {
                let _shared = table.shared.lock.read();
                self.bulk.commit_with(durability)?
            }
            Some(index) => {
                let _alone = table.shared.lock.write();
                index.finish(table, &self.layout, &mut self.bulk)?;
                self.bulk.commit_with(durability)?
            }
        };
        Ok((self.rows, Some(seq)))
    }
}

impl IndexLoad {
    fn add(
        &mut self,
        table: &Table,
        layout: &Layout,
        bulk: &mut BulkCommit,
        rows: RecordBatch,
        handed_out: Option<(u64, u64)>,
    ) -> Result<()> {
        let (rows, identities) = last_of_each(layout, rows)?;
        let schema = table.shared.store.stream_of(self.stream)?;
        let entries = identities.index_rows(layout, schema.schema(), &rows)?;
        if let Some((first, last)) = handed_out {
            match self.handed_out.last_mut() {
                Some((_, end)) if *end + 1 == first => *end = last,
                _ => self.handed_out.push((first, last)),
            }
        } else {
            // Rows of this same commit that are replaced at another time.
            let now = times_in(rows.column(layout.time()))?;
            let before = self.written.put(&identities, &now, &self.entries)?;
            let columns = layout.key_arrays(&rows);
            if let Some(keys) = keys_before(layout, &columns, &before, &now)? {
                bulk.delete_keys(table.id(), keys)?;
            }
            self.entries.push(entries.clone());
        }
        bulk.insert(table.id(), rows)?;
        bulk.insert(self.stream, entries)
    }

    /// Deletes the rows of earlier commits that this one's replace at another time. Nobody else
    /// writes to the table meanwhile.
    fn finish(&self, table: &Table, layout: &Layout, bulk: &mut BulkCommit) -> Result<()> {
        let snapshot = table.shared.store.snapshot()?;
        for (first, last) in self.handed_out.iter().copied() {
            let range = KeyRange::closed(LeadKey::Offset(first), LeadKey::Offset(last));
            if snapshot.count(self.stream, &range)? > 0 {
                let name = layout.name();
                let message = format!(
                    "table '{name}': some of the ids {first} to {last}, which were handed out for \
                     these rows, were used by somebody meanwhile; nothing was written"
                );
                return Err(Error::new(ErrorKind::Busy, message));
            }
        }
        for entries in &self.entries {
            let (identities, columns) = Identities::of_index(layout, entries)?;
            let before = times_of(&snapshot, self.stream, &identities, &columns)?;
            let last = entries.columns().last().map(times_in).transpose()?.unwrap_or_default();
            // Of a row that this commit writes more than once the last time counts.
            let now = self.written.last(&identities, last);
            if let Some(keys) = keys_before(layout, &columns, &before, &now)? {
                bulk.delete_keys(table.id(), keys)?;
            }
        }
        Ok(())
    }
}
