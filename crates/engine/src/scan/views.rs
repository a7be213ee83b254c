//! Text as views: sixteen bytes a value, short text within them, longer text in buffers that many
//! values share.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringViewArray};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use super::plan::unfit;
use crate::Result;

/// A field, with views of its text.
pub(crate) fn viewed_field(field: &FieldRef) -> FieldRef {
    let viewed = Field::clone(field).with_data_type(DataType::Utf8View);
    Arc::new(viewed)
}

/// Fields and columns with views of the text in those columns that `views` says: one entry a column,
/// which may have views already.
pub(crate) fn viewed(
    fields: &[FieldRef],
    columns: &[ArrayRef],
    views: &[bool],
) -> (SchemaRef, Vec<ArrayRef>) {
    let each = fields.iter().zip(columns).zip(views.iter().copied());
    let each = each.map(|((field, column), is_viewed)| match is_viewed {
        true => (viewed_field(field), of_column(column)),
        false => (Arc::clone(field), Arc::clone(column)),
    });
    let (fields, columns): (Vec<_>, Vec<_>) = each.unzip();
    (Arc::new(Schema::new(fields)), columns)
}

/// Whether it is the type of text that is stored by a dictionary, as it is decoded.
pub(crate) fn is_dictionary(data_type: &DataType) -> bool {
    let DataType::Dictionary(keys, values) = data_type else { return false };
    (keys.as_ref(), values.as_ref()) == (&DataType::Int32, &DataType::Utf8)
}

/// The same columns, of which some have dictionaries of text.
pub(crate) fn with_dictionaries(schema: &SchemaRef, columns: &[ArrayRef]) -> SchemaRef {
    if !columns.iter().any(|column| is_dictionary(column.data_type())) {
        return Arc::clone(schema);
    }
    let each = schema.fields().iter().zip(columns);
    let fields = each.map(|(field, column)| match is_dictionary(column.data_type()) {
        true => Arc::new(Field::clone(field).with_data_type(column.data_type().clone())),
        false => Arc::clone(field),
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

/// A column, as views of its text where `is_viewed` says so.
pub(super) fn shown(column: &ArrayRef, is_viewed: bool) -> ArrayRef {
    if is_viewed { of_column(column) } else { Arc::clone(column) }
}

/// The same text, as views of its bytes, which stay where they are.
fn of_column(column: &ArrayRef) -> ArrayRef {
    match column.as_string_opt::<i32>() {
        Some(text) => Arc::new(StringViewArray::from(text)),
        None => Arc::clone(column),
    }
}

/// A batch with views of the text in some columns: one entry of `views` a column.
pub(super) fn of_batch(batch: &RecordBatch, views: &[bool]) -> Result<RecordBatch> {
    let (schema, columns) = viewed(batch.schema_ref().fields(), batch.columns(), views);
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema, columns, &options).map_err(|error| unfit(&error))
}
