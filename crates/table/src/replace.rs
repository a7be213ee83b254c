//! Upserts: rows that replace others at another time.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::Schema;
use arrow_select::take::{take, take_record_batch};
use timestrata_engine::Result;
use timestrata_values::time::array as time_array;

use super::identity::Identities;
use super::layout::Layout;
use super::write::unmade;

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
