//! What the tests of sources share: reading all of one.

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use arrow_select::concat::concat_batches;
use timestrata_engine::{Error, Result};
use timestrata_ingest::rows::{ReadReport, Source};

/// All rows as one batch, and the report on them.
pub(crate) fn all(mut source: Source) -> (RecordBatch, ReadReport) {
    let batches: Vec<RecordBatch> = source.by_ref().collect::<Result<_>>().unwrap();
    (concat_batches(&source.schema(), &batches).unwrap(), source.report().clone())
}

/// The error that opening or reading ends with.
pub(crate) fn failure(source: Result<Source>) -> Error {
    match source {
        Ok(source) => source.filter_map(Result::err).next().expect("an error"),
        Err(error) => error,
    }
}

/// Names and types.
pub(crate) fn types(schema: &Schema) -> String {
    let columns = schema.fields().iter();
    let columns = columns.map(|field| format!("{} {}", field.name(), field.data_type()));
    columns.collect::<Vec<_>>().join(", ")
}
