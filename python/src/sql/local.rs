//! Rows of Python's that a query reads beside those of the store.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use timestrata_engine::{Error, ErrorKind};
use timestrata_sql::LocalTable;

use crate::error::{to_python, wrong_type};
use crate::table::{Input, owned};

/// Tables by name. They are copied: a query may be asked again, on other threads, when whoever gave the rows has changed them.
pub(super) fn tables_of(tables: &Bound<'_, PyDict>) -> PyResult<Vec<LocalTable>> {
    let table = |(name, rows): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<LocalTable> {
        let name: String =
            name.extract().map_err(|_| wrong_type("names of tables are text", &name))?;
        let input = Input::of(&rows)?;
        let copied = rows.py().detach(move || {
            let (schema, batches) = match input {
                Input::One(batch) => {
                    let batch = owned(&batch)?;
                    (batch.schema(), vec![batch])
                }
                Input::Stream(reader) => {
                    let given = reader.schema();
                    let batches = reader.map(|batch| owned(&batch.map_err(failed)?));
                    let batches = batches.collect::<timestrata_engine::Result<Vec<_>>>()?;
                    let empty = || owned(&arrow_array::RecordBatch::new_empty(given));
                    let schema = match batches.first() {
                        Some(batch) => batch.schema(),
                        None => empty()?.schema(),
                    };
                    (schema, batches)
                }
            };
            LocalTable::new(name, schema, batches)
        });
        copied.map_err(to_python)
    };
    tables.iter().map(table).collect()
}

fn failed(error: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, format!("the Arrow stream failed: {error}")).caused_by(error)
}
