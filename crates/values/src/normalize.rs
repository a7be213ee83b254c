//! Arrow data in any encoding as the plain types that the engine stores.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema};
use timestrata_engine::{Error, ErrorKind, Result};

/// The same rows in plain types: encodings (dictionaries, runs, views) are undone, also within
/// lists and groups; text is `Utf8`; metadata is left off. Other types stay as they are,
/// `Null` and types that the engine refuses among them.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_array::{DictionaryArray, RecordBatch, types::Int8Type};
/// use arrow_schema::DataType;
/// use timestrata_values::normalize;
///
/// let symbols: DictionaryArray<Int8Type> = ["ACME", "ACME"].into_iter().collect();
/// let batch = RecordBatch::try_from_iter([("symbol", Arc::new(symbols) as _)])?;
/// assert_eq!(normalize(&batch)?.schema().field(0).data_type(), &DataType::Utf8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// `InvalidData` for data that its plain type can't hold: more than 2 GiB of text in a column.
pub fn normalize(batch: &RecordBatch) -> Result<RecordBatch> {
    plain_batch(batch).map_err(|cause| {
        Error::new(ErrorKind::InvalidData, format!("the batch has no plain form: {cause}"))
            .caused_by(cause)
    })
}

fn plain_batch(batch: &RecordBatch) -> std::result::Result<RecordBatch, ArrowError> {
    let schema = Schema::new(plain_fields(batch.schema().fields()));
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| plain_array(column, field.data_type()));
    let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &options)
}

/// A checked cast, where there is anything to do.
pub(super) fn plain_array(
    array: &ArrayRef,
    data_type: &DataType,
) -> std::result::Result<ArrayRef, ArrowError> {
    if array.data_type() == data_type {
        return Ok(Arc::clone(array));
    }
    cast_with_options(array, data_type, &CastOptions { safe: false, ..CastOptions::default() })
}

/// Fields of any make as those of the plain types, the same at any depth.
pub fn plain_fields(fields: &Fields) -> Fields {
    fields.iter().map(plain_field).collect()
}

fn plain_field(field: &FieldRef) -> FieldRef {
    Arc::new(Field::new(field.name(), plain_type(field.data_type()), field.is_nullable()))
}

/// The type without encodings.
fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => plain_type(values),
        DataType::RunEndEncoded(_, values) => plain_type(values.data_type()),
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::List(item) | DataType::ListView(item) => DataType::List(plain_field(item)),
        DataType::LargeList(item) | DataType::LargeListView(item) => {
            DataType::LargeList(plain_field(item))
        }
        DataType::FixedSizeList(item, length) => {
            DataType::FixedSizeList(plain_field(item), *length)
        }
        DataType::Map(entries, is_sorted) => DataType::Map(plain_field(entries), *is_sorted),
        DataType::Struct(fields) => DataType::Struct(plain_fields(fields)),
        other => other.clone(),
    }
}
