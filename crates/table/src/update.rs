//! Changing rows where they are, and a table's columns.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, FieldRef, SchemaRef};
use arrow_select::filter::filter_record_batch;
use timestrata_engine::{
    BulkCommit, Durability, Error, ErrorKind, KeyRange, Result, finer_times, widens,
};

use super::Table;
use super::delete::{RowPredicate, for_each_picked};
use super::layout::Layout;
use super::options::with_fields;
use super::unit::in_zone_of;
use super::view::TableView;
use super::write::unmade;

impl Table {
    /// Puts others in the place of the rows in `ranges` (disjoint and ascending) that a predicate picks, as one atomic commit:
    /// `change` is given a batch of them, in all columns of the table, and gives as many, of the same keys and times. Gives how
    /// many there were. Writers of the table wait meanwhile, so that no row changes between being read and being replaced. The
    /// commit is `Synced`.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use arrow_array::{BooleanArray, Float64Array, RecordBatch, StringArray, TimestampMillisecondArray};
    /// use timestrata_engine::{KeyRange, Settings, Store};
    /// use timestrata_table::{Table, TableOptions, WriteOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = Store::memory(Settings::default())?;
    /// let rows = RecordBatch::try_from_iter([
    ///     ("time", Arc::new(TimestampMillisecondArray::from(vec![1_000, 2_000])) as _),
    ///     ("room", Arc::new(StringArray::from(vec!["kitchen", "hall"])) as _),
    ///     ("celsius", Arc::new(Float64Array::from(vec![20.5, 18.0])) as _),
    /// ])?;
    /// let options = TableOptions { key: vec!["room".to_owned()], ..TableOptions::default() };
    /// let rooms = Table::create_for(&store, "rooms", &rows, &options)?;
    /// rooms.append(&rows, WriteOptions::default())?;
    ///
    /// let all = |batch: &RecordBatch| Ok(BooleanArray::from(vec![true; batch.num_rows()]));
    /// let freezing = |batch: &RecordBatch| {
    ///     let mut columns = batch.columns().to_vec();
    ///     columns[2] = Arc::new(Float64Array::from(vec![0.0; batch.num_rows()]));
    ///     let changed = RecordBatch::try_new(batch.schema(), columns);
    ///     Ok(changed.expect("the same columns"))
    /// };
    /// assert_eq!(rooms.update_where(&[KeyRange::ALL], all, freezing)?, 2);
    /// assert_eq!(rooms.view()?.count(&KeyRange::ALL)?, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` for a table without a key, whose rows nothing tells apart; `InvalidData` for changed rows of other keys or
    /// times, or that don't fit the table; those of the predicate and of `change`, and what a commit may fail with. Nothing was changed then.
    pub fn update_where(
        &self,
        ranges: &[KeyRange],
        mut predicate: impl RowPredicate,
        mut change: impl FnMut(&RecordBatch) -> Result<RecordBatch>,
    ) -> Result<u64> {
        let _alone = self.shared.lock.write();
        let layout = self.layout()?;
        self.check_times_of(&layout.stream)?;
        let view = self.view()?;
        if view.key().is_empty() {
            let name = layout.name();
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "table '{name}' has no key, so that nothing tells which row is to be changed"
                ),
            )
            .hinting(
                "make a table with a key (PRIMARY KEY), or delete the rows and append others",
            ));
        }
        let closed = layout.closed(self.shared.store.wall_ns());
        let mut picked = |batch: &RecordBatch| {
            let picked = predicate(batch)?;
            closed.as_ref().map_or(Ok(()), |closed| closed.check_picked(batch, &picked))?;
            Ok(picked)
        };
        let (mut bulk, mut rows) = (self.shared.store.bulk()?, 0);
        for range in ranges {
            rows += self.replace(&view, range, &mut picked, &mut change, &mut bulk)?;
        }
        match rows {
            0 => {
                drop(bulk);
                self.shared.store.acknowledge(Durability::Synced)?
            }
            _ => bulk.commit()?,
        };
        Ok(rows)
    }

    fn replace(
        &self,
        view: &TableView,
        range: &KeyRange,
        predicate: &mut impl RowPredicate,
        change: &mut impl FnMut(&RecordBatch) -> Result<RecordBatch>,
        bulk: &mut BulkCommit,
    ) -> Result<u64> {
        let (layout, mut rows) = (self.layout()?, 0);
        for_each_picked(view, range, predicate, |batch, picked| {
            let before = filter_record_batch(batch, picked).map_err(unmade)?;
            if before.num_rows() == 0 {
                return Ok(());
            }
            let behind = change(&before)?;
            check_same_rows(&layout, &before, &behind)?;
            rows += before.num_rows() as u64;
            bulk.insert(self.shared.id, behind)
        })?;
        Ok(rows)
    }

    /// Gives the table more columns, in which the rows that it has hold nothing, and columns that it has types that also hold values
    /// of others, or times a finer unit: all in one change, durably. Rows aren't rewritten. Gives whether anything was to be done.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use arrow_array::{Int32Array, RecordBatch, TimestampMillisecondArray};
    /// use arrow_schema::{DataType, Field};
    /// use timestrata_engine::{Settings, Store};
    /// use timestrata_table::{Table, TableOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = Store::memory(Settings::default())?;
    /// let rows = RecordBatch::try_from_iter([
    ///     ("time", Arc::new(TimestampMillisecondArray::from(vec![1_000])) as _),
    ///     ("n", Arc::new(Int32Array::from(vec![1])) as _),
    /// ])?;
    /// let table = Table::create_for(&store, "t", &rows, &TableOptions::default())?;
    /// let note = Arc::new(Field::new("note", DataType::Utf8, true));
    /// let wider = Arc::new(Field::new("n", DataType::Int64, true));
    /// assert!(table.alter_columns(&[note], &[wider])?);
    /// assert_eq!(table.schema()?.fields().len(), 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `AlreadyExists` for a new column that is there, `NotFound` for one to widen that isn't, and `InvalidArgument` for a type that
    /// doesn't hold all values of the column's, for columns of the key, and for names that can't be. The time gets a finer unit
    /// only, of the same zone; `InvalidArgument` too if that can't hold all times that are there.
    pub fn alter_columns(&self, added: &[FieldRef], widened: &[FieldRef]) -> Result<bool> {
        let _alone = self.shared.lock.write();
        let layout = self.layout()?;
        let schema = altered(&layout, added, widened)?;
        if schema.fields() == layout.schema.fields() {
            return Ok(false);
        }
        self.alter(&layout, schema)?;
        Ok(true)
    }
}

/// Changed rows are in the place of others by their keys and times.
fn check_same_rows(layout: &Layout, before: &RecordBatch, behind: &RecordBatch) -> Result<()> {
    let wrong = |why: String| {
        let message = format!("table '{}': {why}", layout.name());
        Err(Error::new(ErrorKind::InvalidData, message))
    };
    if behind.schema() != before.schema() || behind.num_rows() != before.num_rows() {
        return wrong("changed rows are as many as they were, in the same columns".to_owned());
    }
    for column in 0..before.num_columns() {
        let is_kept = layout.is_key(column) || column == layout.time();
        if is_kept && before.column(column) != behind.column(column) {
            let name = before.schema_ref().field(column).name().clone();
            return wrong(format!("column '{name}' tells rows apart, and stays what it is"));
        }
    }
    Ok(())
}

/// The columns that a table is to have.
fn altered(layout: &Layout, added: &[FieldRef], widened: &[FieldRef]) -> Result<SchemaRef> {
    let name = layout.name();
    let refused = |kind: ErrorKind, message: String| Err(Error::new(kind, message));
    let mut fields = layout.schema.fields().to_vec();
    for column in widened {
        let found = fields.iter_mut().enumerate().find(|(_, known)| known.name() == column.name());
        let Some((place, field)) = found else {
            let message = format!("table '{name}' has no column '{}'", column.name());
            return refused(ErrorKind::NotFound, message);
        };
        let from = field.data_type().clone();
        let to = in_zone_of(&from, column.data_type());
        if from == to {
            continue;
        }
        let is_finer = finer_times(&from, &to).is_some();
        if (layout.is_key(place) || place == layout.time()) && !(is_finer && place == layout.time())
        {
            let what = match place == layout.time() {
                true => "the time column only gets a finer unit, of the same zone",
                false => "the type of a key column is fixed",
            };
            let message = format!("table '{name}', column '{}': {what}", column.name());
            return refused(ErrorKind::InvalidArgument, message);
        }
        if !is_finer && !widens(&from, &to) {
            let message = format!(
                "table '{name}', column '{}': a column gets a type that holds all of its values, and {to} does not \
                hold those of {from}",
                column.name()
            );
            return refused(ErrorKind::InvalidArgument, message);
        }
        *field = Arc::new(Field::new(field.name(), to, field.is_nullable()));
    }
    for column in added {
        if column.name().is_empty() || column.name().starts_with("__") {
            let message =
                format!("table '{name}': '{}' can't be the name of a column", column.name());
            return refused(ErrorKind::InvalidArgument, message);
        }
        if fields.iter().any(|known| known.name() == column.name()) {
            let message = format!("table '{name}' has a column '{}' already", column.name());
            return refused(ErrorKind::AlreadyExists, message);
        }
        fields.push(Arc::new(Field::new(column.name(), column.data_type().clone(), true)));
    }
    Ok(with_fields(&layout.schema, fields))
}
