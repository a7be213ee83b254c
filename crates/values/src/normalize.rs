//! Arrow data in any encoding as the plain types that the engine stores.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema};
use timestrata_engine::{Error, ErrorKind, Result};

use crate::time::is_time;

/// How pandas calls the levels of an index that have no names, before the number of the level.
const PANDAS_INDEX: &str = "__index_level_";

/// The same rows in plain types: encodings (dictionaries, runs, views) are undone, also within
/// lists and groups; text is `Utf8`; metadata is left off. Other types stay as they are,
/// `Null` and types that the engine refuses among them. Columns are called as [`plain_columns`] says.
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
    let schema = Schema::new(plain_columns(batch.schema().fields()));
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

/// Columns of any make as those of the plain types. What pandas calls an index without a name is called as it does once
/// it is a column, `index` or `level_1`; one of times is `time`.
///
/// ```
/// use arrow_schema::{DataType, Field, Fields};
/// use timestrata_values::plain_columns;
///
/// let days = Field::new("__index_level_0__", DataType::Date32, true);
/// let frame = Fields::from(vec![Field::new("price", DataType::Float64, true), days]);
/// assert_eq!(plain_columns(&frame)[1].name(), "time");
/// ```
pub fn plain_columns(columns: &Fields) -> Fields {
    let plain = plain_fields(columns);
    let name = |field: &FieldRef| {
        let level = field.name().strip_prefix(PANDAS_INDEX)?.strip_suffix("__")?;
        let level: usize = level.parse().ok()?;
        let names = match level {
            0 if is_time(field.data_type()) => vec!["time".to_owned(), "index".to_owned()],
            0 => vec!["index".to_owned(), "level_0".to_owned()],
            level => vec![format!("level_{level}")],
        };
        names.into_iter().find(|name| columns.find(name).is_none())
    };
    let named = |field: &FieldRef| match name(field) {
        Some(name) => Arc::new(field.as_ref().clone().with_name(name)),
        None => Arc::clone(field),
    };
    plain.iter().map(named).collect()
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
