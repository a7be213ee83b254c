//! Upserts: rows that replace others at another time.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::Schema;
use arrow_select::take::{take, take_record_batch};
use timestrata_engine::{Cell, Changes, Result, SeqNo};
use timestrata_values::time::array as time_array;

use super::Table;
use super::fit::{OnMismatch, fitted};
use super::identity::{Identities, times_of};
use super::layout::Layout;
use super::write::unmade;

impl Table {
    /// Adds to changes that the keys of some rows must be what they were since a commit. Whoever asks has the table's lock.
    ///
    /// Where the key lacks the time, that is the key of the index, which each row of it changes, and that of the row which is there: a
    /// range of times takes rows away without a look at the index.
    pub(super) fn expect_unchanged(
        &self,
        rows: &RecordBatch,
        since: SeqNo,
        on_mismatch: OnMismatch,
        changes: &mut Changes,
    ) -> Result<()> {
        let layout = self.layout()?;
        // Else the table needs other columns first, and nothing is committed before it has them.
        let Some(fitted) = fitted(&layout, rows, on_mismatch, 0)? else { return Ok(()) };
        let (rows, stream) = (fitted.into_rows(), &layout.stream);
        let Some(index) = self.shared.index else {
            for row in 0..rows.num_rows() {
                let key = cells_of(&rows, stream.key_columns(), row);
                changes.if_unchanged_since(stream, &key, since)?;
            }
            return Ok(());
        };
        let index_stream = self.shared.store.stream_of(index)?;
        let identities = Identities::of(&layout, &rows)?;
        let snapshot = self.shared.store.snapshot_of(index)?;
        let before = times_of(&snapshot, index, &identities, &layout.key_arrays(&rows))?;
        let places = identities.index_rows(&layout, index_stream.schema(), &rows)?;
        for (row, before) in before.iter().enumerate() {
            let key = cells_of(&places, index_stream.key_columns(), row);
            changes.if_unchanged_since(&index_stream, &key, since)?;
            let Some(time) = before else {
                changes.note_keys(stream);
                continue;
            };
            let mut key = cells_of(&rows, stream.key_columns(), row);
            for (cell, column) in key.iter_mut().zip(stream.key_columns()) {
                if *column == layout.time() {
                    *cell = Cell::Int(*time);
                }
            }
            changes.if_unchanged_since(stream, &key, since)?;
        }
        Ok(())
    }
}

/// Cells of some columns of a row.
fn cells_of<'a>(rows: &'a RecordBatch, columns: &[usize], row: usize) -> Vec<Cell<'a>> {
    let cell = |column: &usize| Cell::of(rows.column(*column).as_ref(), row).unwrap_or(Cell::Null);
    columns.iter().map(cell).collect()
}

/// The rows that no later row of the same batch replaces, with their identities.
pub(super) fn last_of_each(
    layout: &Layout,
    rows: RecordBatch,
) -> Result<(RecordBatch, Identities)> {
    let identities = Identities::of(layout, &rows)?;
    match identities.last_of_each() {
        None => Ok((rows, identities)),
        Some(last) => {
            let rows = take_record_batch(&rows, &last).map_err(unmade)?;
            let identities = Identities::of(layout, &rows)?;
            Ok((rows, identities))
        }
    }
}

/// Keys, in the table's stream, of the rows that were at other times before than they are now.
/// `key` has the columns of the upsert key. `None`: there are none.
pub(super) fn keys_before(
    layout: &Layout,
    key: &[ArrayRef],
    before: &[Option<i64>],
    now: &[i64],
) -> Result<Option<RecordBatch>> {
    let (mut moved, mut times) = (Vec::new(), Vec::new());
    for (row, (before, now)) in before.iter().zip(now).enumerate() {
        if let Some(before) = before.filter(|before| before != now) {
            moved.push(row as u32);
            times.push(before);
        }
    }
    if moved.is_empty() {
        return Ok(None);
    }
    let moved = UInt32Array::from(moved);
    let (stream, schema) = (&layout.stream, &layout.schema);
    let names = layout.key_columns();
    let column = |column: &usize| match names.iter().position(|name| name == column) {
        Some(place) if *column != layout.time() => take(&key[place], &moved, None).map_err(unmade),
        _ => time_array(schema.field(*column).data_type(), times.clone()),
    };
    let columns = stream.key_columns().iter().map(column).collect::<Result<Vec<_>>>()?;
    let fields: Vec<_> =
        stream.key_columns().iter().map(|column| schema.fields()[*column].clone()).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map(Some).map_err(unmade)
}
