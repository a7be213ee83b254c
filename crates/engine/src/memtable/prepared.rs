//! Batches made ready for a memtable before the commit lock is taken.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::Field;

use super::chunks::{failed, in_order};
use super::memory::{compacted, filler, held_bytes};
use super::row::keeps_every_row;
use crate::key::KeyOrder;
use crate::{ErrorKind, Result, Stream, memory};

/// A checked batch with the stored columns, sorted by the whole key; for `Latest` without
/// equal keys.
#[derive(Debug, Clone)]
pub(crate) struct PreparedBatch {
    batch: RecordBatch,
    bytes: usize,
}

impl PreparedBatch {
    /// Rows to insert. Columns go by place; their names don't matter. Rows that are sorted
    /// already are not copied, unless their batch holds far more memory than they need.
    ///
    /// # Errors
    /// `InvalidData` names the first column that doesn't fit, what is expected and found.
    pub(crate) fn insert(stream: &Arc<Stream>, batch: RecordBatch) -> Result<Self> {
        check_batch(stream, &batch)?;
        let rows = batch.num_rows();
        Self::finish(stream, batch.columns().to_vec(), rows, false)
    }

    /// Keys to delete from a `Latest` stream: `keys` has the key columns, in key order.
    ///
    /// # Errors
    /// `InvalidArgument` where the stream is not `Latest`; else as [`Self::insert`].
    pub(crate) fn delete_keys(stream: &Arc<Stream>, keys: RecordBatch) -> Result<Self> {
        if !stream.is_latest() {
            return Err(keeps_every_row(stream));
        }
        let fields: Vec<&Field> = stream.key_fields().collect();
        check_columns(stream, "a batch of keys", &fields, &keys)?;
        let rows = keys.num_rows();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(stream.schema().fields().len() + 1);
        for (index, field) in stream.schema().fields().iter().enumerate() {
            let key = stream.key_columns().iter().position(|&column| column == index);
            columns.push(match key {
                Some(key) => Arc::clone(keys.column(key)),
                None => filler(field.data_type(), field.is_nullable(), rows).map_err(|error| {
                    let why = format!(
                        "column '{}' takes no null and its type {} has no default, so keys can't \
                         be deleted",
                        field.name(),
                        field.data_type()
                    );
                    stream.spec().error(ErrorKind::InvalidData, why).caused_by(error)
                })?,
            });
        }
        Self::finish(stream, columns, rows, true)
    }

    /// Rows as an earlier commit stored them, read back from the log: sorted, with the
    /// columns of the stored schema. The bytes come from disk, so everything is checked.
    ///
    /// # Errors
    /// `InvalidData` if they can't be what was stored.
    pub(crate) fn stored(stream: &Arc<Stream>, batch: RecordBatch) -> Result<Self> {
        let fields: Vec<&Field> =
            stream.stored_schema().fields().iter().map(|field| field.as_ref()).collect();
        check_columns(stream, "a stored batch", &fields, &batch)?;
        Self::ordered(stream, batch.columns().to_vec())
    }

    /// Rows of prepared batches that were put in order together.
    pub(crate) fn part(rows: RecordBatch) -> Result<Self> {
        let batch = compacted(rows)?;
        let bytes = held_bytes(&batch);
        Ok(Self { batch, bytes })
    }

    fn finish(
        stream: &Arc<Stream>,
        mut columns: Vec<ArrayRef>,
        rows: usize,
        deleted: bool,
    ) -> Result<Self> {
        if stream.is_latest() {
            columns.push(Arc::new(BooleanArray::from(vec![deleted; rows])));
        }
        Self::ordered(stream, columns)
    }

    fn ordered(stream: &Arc<Stream>, columns: Vec<ArrayRef>) -> Result<Self> {
        let schema = Arc::clone(stream.stored_schema());
        let batch = RecordBatch::try_new(schema, columns).map_err(failed)?;
        let order = KeyOrder::new(stream)?;
        if order.is_sorted(&batch, stream.is_latest())? {
            return Self::part(batch);
        }
        memory::ask_for_order(&batch, "to put the rows in order")?;
        Self::part(in_order(stream, &order, &batch)?)
    }

    /// Rows with the columns of the stored schema.
    pub(crate) fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    pub(crate) fn into_batch(self) -> RecordBatch {
        self.batch
    }

    /// Rows, after `Latest` has dropped all but the newest of each key.
    pub(crate) fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// Memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Whether a batch has the columns of a stream's schema, by place.
///
/// # Errors
/// `InvalidData` names the first column that doesn't fit, what is expected and found.
pub(crate) fn check_batch(stream: &Stream, batch: &RecordBatch) -> Result<()> {
    let fields: Vec<&Field> = stream.schema().fields().iter().map(|field| field.as_ref()).collect();
    check_columns(stream, "a batch", &fields, batch)
}

fn check_columns(
    stream: &Stream,
    what: &str,
    fields: &[&Field],
    batch: &RecordBatch,
) -> Result<()> {
    let invalid = |why: String| Err(stream.spec().error(ErrorKind::InvalidData, why));
    for (field, column) in fields.iter().zip(batch.columns()) {
        if field.data_type() != column.data_type() {
            return invalid(format!(
                "column '{}': expected type {}, found {}",
                field.name(),
                field.data_type(),
                column.data_type()
            ));
        }
        let nulls = if field.is_nullable() { 0 } else { column.logical_null_count() };
        if nulls > 0 {
            return invalid(format!("column '{}': expected no nulls, found {nulls}", field.name()));
        }
    }
    if fields.len() != batch.num_columns() {
        let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        return invalid(format!(
            "{what} has {} columns ({}), found {}",
            fields.len(),
            names.join(", "),
            batch.num_columns()
        ));
    }
    Ok(())
}
