//! Text as views: sixteen bytes a value, short text within them, longer text in buffers that many
//! values share.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringViewArray};
use arrow_schema::{DataType, Field, FieldRef, Schema};

use super::plan::unfit;
use crate::Result;

/// A field, with views of its text.
pub(crate) fn viewed_field(field: &FieldRef) -> FieldRef {
    let viewed = Field::clone(field).with_data_type(DataType::Utf8View);
    Arc::new(viewed)
}

/// The same text, as views of its bytes, which stay where they are.
pub(crate) fn of_column(column: &ArrayRef) -> ArrayRef {
    match column.as_string_opt::<i32>() {
        Some(text) => Arc::new(StringViewArray::from(text)),
        None => Arc::clone(column),
    }
}

/// A batch with views of the text in some columns: one entry of `views` a column.
pub(super) fn of_batch(batch: &RecordBatch, views: &[bool]) -> Result<RecordBatch> {
    let found = batch.schema();
    let viewed = |column: usize| views.get(column).copied().unwrap_or(false);
    let fields = found.fields().iter().enumerate();
    let fields: Vec<FieldRef> = fields
        .map(|(column, field)| match viewed(column) {
            true => viewed_field(field),
            false => Arc::clone(field),
        })
        .collect();
    let columns = batch.columns().iter().enumerate();
    let columns = columns
        .map(|(column, array)| match viewed(column) {
            true => of_column(array),
            false => Arc::clone(array),
        })
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
        .map_err(|error| unfit(&error))
}
