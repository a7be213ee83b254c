//! Adding rows.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use timestrata_engine::{
    Cell, Changes, Durability, Error, ErrorKind, KeyRange, LeadKey, Result, ScanSpec, SeqNo,
};

use super::commit_part::OneRow;
use super::fit::{Fitted, OnMismatch, evolved, fit, fitted, no_float, widened};
use super::identity::{Identities, times_of};
use super::layout::Layout;
use super::options::ID_COLUMN;
use super::replace::{keys_before, last_of_each};
use super::{Table, time};

/// How rows are written.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
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
/// let rooms = Table::create_for(&store, "rooms", &rows, &TableOptions::default())?;
/// let options = WriteOptions { durability: Durability::Synced, ..WriteOptions::default() };
/// assert!(rooms.append(&rows, options)?.is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteOptions {
    /// What the commit survives once it is acknowledged. Default: [`Durability::Written`].
    pub durability: Durability,
    /// What to do with values of another type than their column's. Default: refuse the batch.
    pub on_mismatch: OnMismatch,
}

impl Table {
    /// Adds rows as one atomic commit; columns are found by name, new ones are added to the
    /// table. `None`: there were no rows.
    ///
    /// # Errors
    /// `InvalidData`, naming row, column, value and expected type, if a value doesn't fit;
    /// nothing was written then. What a commit may fail with: `ReadOnly`, `Busy`, `NoSpace`, ...
    pub fn append(&self, rows: &RecordBatch, options: WriteOptions) -> Result<Option<SeqNo>> {
        self.append_numbered(rows, options, 0)
    }

    /// As [`append`](Self::append), by somebody else's commit: `commit` gets the changes that the rows
    /// are, and commits them with its own.
    ///
    /// # Errors
    /// As [`append`](Self::append), and those of `commit`.
    pub fn append_by(
        &self,
        rows: &RecordBatch,
        on_mismatch: OnMismatch,
        commit: &mut dyn FnMut(Changes) -> Result<()>,
    ) -> Result<()> {
        if rows.num_rows() == 0 {
            return commit(Changes::new());
        }
        self.append_through(&[rows], on_mismatch, 0, commit)
    }

    /// As [`append`](Self::append), of rows of which the first has this number in messages.
    pub(super) fn append_numbered(
        &self,
        rows: &RecordBatch,
        options: WriteOptions,
        first_row: u64,
    ) -> Result<Option<SeqNo>> {
        if rows.num_rows() == 0 {
            return self.shared.store.acknowledge(options.durability).map(|_| None);
        }
        let commit = &mut |changes| self.shared.store.commit(changes, options.durability);
        self.append_through(&[rows], options.on_mismatch, first_row, commit).map(Some)
    }

    /// Rows as changes, in the hands of whoever commits them: of one batch at least, those of each behind those before.
    pub(super) fn append_through<T>(
        &self,
        rows: &[&RecordBatch],
        on_mismatch: OnMismatch,
        first_row: u64,
        commit: &mut dyn FnMut(Changes) -> Result<T>,
    ) -> Result<T> {
        loop {
            let done = match self.shared.index {
                None => {
                    let _shared = self.shared.lock.read();
                    self.append_as_it_is(rows, on_mismatch, first_row, commit)?
                }
                Some(_) => {
                    // Who replaces rows reads before it writes.
                    let mut reserved = self.shared.lock.write();
                    let layout = self.layout()?;
                    let with_ids =
                        |rows: &&RecordBatch| self.with_ids(&layout, rows, &mut reserved);
                    let rows: Vec<_> = rows.iter().map(with_ids).collect::<Result<_>>()?;
                    let rows: Vec<&RecordBatch> = rows.iter().map(|(rows, _)| rows).collect();
                    self.append_as_it_is(&rows, on_mismatch, first_row, commit)?
                }
            };
            if let Some(done) = done {
                return Ok(done);
            }
            rows.iter().try_for_each(|rows| self.evolve(rows, on_mismatch))?;
        }
    }

    /// Rows that are cells as changes behind those that `before` gives, in the hands of whoever commits them. `None`, and nothing was committed, where
    /// the table has other columns by now than they were made for, or a row may replace another.
    pub(super) fn append_ones(
        &self,
        rows: &[&OneRow<'_>],
        unchanged_since: &[(usize, SeqNo)],
        before: &dyn Fn() -> Result<Changes>,
        commit: &mut dyn FnMut(Changes) -> Result<SeqNo>,
    ) -> Result<Option<SeqNo>> {
        if !self.takes_cells() {
            return Ok(None);
        }
        rows.iter().try_for_each(|row| self.check_cells(&row.cells))?;
        let _shared = self.shared.lock.read();
        let encoder = self.shared.store.row_encoder(self.shared.id)?;
        let schema = encoder.stream().schema();
        if rows.iter().any(|row| !Arc::ptr_eq(row.stream.schema(), schema)) {
            return Ok(None);
        }
        let mut changes = before()?;
        for (place, since) in unchanged_since {
            let Some(row) = rows.get(*place) else { continue };
            let cell = |column: &usize| row.cells.get(*column).copied().unwrap_or(Cell::Null);
            let key: Vec<Cell<'_>> = encoder.stream().key_columns().iter().map(cell).collect();
            changes.if_unchanged_since(encoder.stream(), &key, *since)?;
        }
        rows.iter().try_for_each(|row| encoder.put(&mut changes, &row.cells))?;
        commit(changes).map(Some)
    }

    /// `None`, and nothing was written, if the table needs other columns first.
    fn append_as_it_is<T>(
        &self,
        rows: &[&RecordBatch],
        on_mismatch: OnMismatch,
        first_row: u64,
        commit: &mut dyn FnMut(Changes) -> Result<T>,
    ) -> Result<Option<T>> {
        let layout = self.layout()?;
        let (mut parts, mut first) = (Vec::with_capacity(rows.len()), first_row);
        for rows in rows {
            let Some(part) = fitted(&layout, rows, on_mismatch, first)? else { return Ok(None) };
            self.check_rows(&layout, part.rows())?;
            parts.push(part);
            first += rows.num_rows() as u64;
        }
        let changes = self.insertion(&layout, Fitted::joined(&layout, parts)?, first_row)?;
        commit(changes).map(Some)
    }

    /// Gives the table the columns that some rows need, once it is sure that they fit then.
    pub(super) fn evolve(&self, rows: &RecordBatch, on_mismatch: OnMismatch) -> Result<()> {
        let reserved = self.shared.lock.write();
        let layout = self.layout()?;
        // The ids of a trial are handed out to nobody.
        let (rows, _) = self.with_ids(&layout, rows, &mut reserved.clone())?;
        let Some(schema) = evolved(&layout, &rows, on_mismatch)? else { return Ok(()) };
        fit(&layout.with_schema(Arc::clone(&schema)), &rows, on_mismatch, 0)?;
        self.alter(&layout, schema)
    }

    /// Gives columns types that also hold values of these ones'.
    pub(super) fn widen(&self, columns: &[FieldRef]) -> Result<()> {
        if columns.is_empty() {
            return Ok(());
        }
        let _alone = self.shared.lock.write();
        let layout = self.layout()?;
        match widened(&layout, columns) {
            Some(schema) => self.alter(&layout, schema),
            None => Ok(()),
        }
    }

    /// Gives the table other columns; whoever asks holds its lock for writing.
    pub(super) fn alter(&self, layout: &Layout, schema: SchemaRef) -> Result<()> {
        let others = layout.schema.fields().iter().zip(schema.fields());
        if others.into_iter().any(|(old, new)| old.data_type() != new.data_type()) {
            self.check_unwatched(layout, "given columns of other types")?;
        }
        self.check_digits(layout, &schema)?;
        self.check_far_times(layout, &schema)?;
        let mut wanted = vec![(self.shared.id, Arc::clone(&schema))];
        wanted.extend(self.index_with_times_of(layout, &schema)?);
        self.shared.store.alter_streams(&wanted)?;
        // It knows the old columns.
        *self.shared.appender.lock() = None;
        Ok(())
    }

    /// Whether whole numbers that are there stay what they are where their columns are to hold floats.
    fn check_digits(&self, layout: &Layout, wider: &Schema) -> Result<()> {
        let changes = layout.schema.fields().iter().zip(wider.fields()).enumerate();
        let becomes_float = changes.filter(|(_, (old, new))| {
            matches!(old.data_type(), DataType::Int64 | DataType::UInt64)
                && *new.data_type() == DataType::Float64
        });
        let columns: Vec<usize> = becomes_float.map(|(index, _)| index).collect();
        if columns.is_empty() {
            return Ok(());
        }
        let snapshot = self.shared.store.snapshot_of(self.shared.id)?;
        let spec = ScanSpec { columns: Some(columns), ..ScanSpec::default() };
        for batch in snapshot.scan(self.shared.id, &spec)? {
            let batch = batch?;
            for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
                let Some(value) = no_float(column) else { continue };
                let (table, column) = (layout.name(), field.name());
                let message = format!(
                    "table '{table}', column '{column}': it can't be widened to Float64, for {value} \
                     is in it, which would be rounded; give whole numbers"
                );
                return Err(Error::new(ErrorKind::InvalidData, message));
            }
        }
        Ok(())
    }

    /// Rows in the table's columns, as changes that put them in the place of those that they
    /// replace.
    fn insertion(&self, layout: &Layout, rows: Fitted, first_row: u64) -> Result<Changes> {
        let rows = rows.into_rows();
        let Some(index) = self.shared.index else {
            return Ok(Changes::new().insert(self.shared.id, rows));
        };
        check_ids(layout, &rows, first_row)?;
        let (rows, identities) = last_of_each(layout, rows)?;
        let snapshot = self.shared.store.snapshot_of(index)?;
        let key = layout.key_arrays(&rows);
        let before = times_of(&snapshot, index, &identities, &key)?;
        let now = time::values(rows.column(layout.time()))?;
        let replaced = keys_before(layout, &key, &before, &now)?;
        let index_schema = self.shared.store.stream_of(index)?;
        let index_rows = identities.index_rows(layout, index_schema.schema(), &rows)?;
        let mut changes = Changes::new();
        if let Some(replaced) = replaced {
            changes = changes.delete_keys(self.shared.id, replaced);
        }
        Ok(changes.insert(self.shared.id, rows).insert(index, index_rows))
    }

    /// Rows with identities, where the table hands them out and the rows have none; and the first
    /// and the last of those. `reserved` is the greatest that was handed out so far.
    pub(super) fn with_ids(
        &self,
        layout: &Layout,
        rows: &RecordBatch,
        reserved: &mut u64,
    ) -> Result<(RecordBatch, Option<(u64, u64)>)> {
        let is_given = rows.column_by_name(ID_COLUMN).is_some();
        let hands_out = layout.definition.hands_out_ids && !is_given;
        let Some(index) = self.shared.index.filter(|_| hands_out) else {
            return Ok((rows.clone(), None));
        };
        let snapshot = self.shared.store.snapshot_of(index)?;
        let greatest = match snapshot.max_key(index, &KeyRange::ALL)? {
            Some(LeadKey::Offset(greatest)) => greatest.max(*reserved),
            _ => *reserved,
        };
        let Some(last) = greatest.checked_add(rows.num_rows() as u64) else {
            let name = layout.name();
            let message =
                format!("table '{name}': after id {greatest} there are none left to hand out");
            return Err(Error::new(ErrorKind::TooLarge, message));
        };
        *reserved = last;
        let ids: ArrayRef = Arc::new(UInt64Array::from_iter_values(greatest + 1..=last));
        let mut fields = vec![Arc::new(Field::new(ID_COLUMN, DataType::UInt64, false))];
        fields.extend(rows.schema_ref().fields().iter().cloned());
        let columns = std::iter::once(ids).chain(rows.columns().iter().cloned()).collect();
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(unmade)?;
        Ok((rows, Some((greatest + 1, last))))
    }

    /// Adds one row, one cell a column of the table's; the fast path, without a batch a row.
    ///
    /// # Errors
    /// `InvalidData` if a cell doesn't fit its column, and as [`append`](Self::append);
    /// `InvalidArgument` in tables where a row may replace another at another time.
    pub fn append_row(&self, cells: &[Cell<'_>], durability: Durability) -> Result<SeqNo> {
        self.check_takes_cells()?;
        self.check_cells(cells)?;
        let seq = {
            let _shared = self.shared.lock.read();
            let mut appender = self.shared.appender.lock();
            let appender = match &mut *appender {
                Some(appender) => appender,
                none => none.insert(self.shared.store.appender(self.shared.id)?),
            };
            self.check_times_of(appender.stream())?;
            appender.append(cells, Durability::Written)?
        };
        // Outside of the lock, so that threads that append at once share a sync.
        if durability == Durability::Synced {
            self.shared.store.sync()?;
        }
        Ok(seq)
    }

    /// As [`append_row`](Self::append_row), if nothing has to be waited for; `None`, and nothing
    /// was written, if something would.
    pub fn try_append_row(&self, cells: &[Cell<'_>]) -> Result<Option<SeqNo>> {
        self.check_takes_cells()?;
        self.check_cells(cells)?;
        let Some(_shared) = self.shared.lock.try_read() else { return Ok(None) };
        let Some(mut appender) = self.shared.appender.try_lock() else { return Ok(None) };
        match &mut *appender {
            Some(appender) => {
                self.check_times_of(appender.stream())?;
                appender.try_append(cells)
            }
            None => Ok(None),
        }
    }

    /// Whether single rows can be added as cells.
    pub fn takes_cells(&self) -> bool {
        self.shared.index.is_none()
    }

    fn check_takes_cells(&self) -> Result<()> {
        if self.takes_cells() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::InvalidArgument,
            "in a table whose key lacks the time a row may replace another: append a batch",
        ))
    }
}

/// Ids begin at 1.
pub(super) fn check_ids(layout: &Layout, rows: &RecordBatch, first_row: u64) -> Result<()> {
    if !layout.definition.hands_out_ids {
        return Ok(());
    }
    let Identities::Numbers(ids) = Identities::of(layout, rows)? else { return Ok(()) };
    let Some(row) = ids.iter().position(|id| *id == 0) else { return Ok(()) };
    let (name, row) = (layout.name(), first_row + row as u64);
    let message = format!(
        "table '{name}', row {row} (the first is 0), column '{ID_COLUMN}': 0 is no id; ids begin \
         at 1, and rows without the column are given one"
    );
    Err(Error::new(ErrorKind::InvalidData, message))
}

pub(super) fn unmade(error: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, "the rows make no batch").caused_by(error)
}
