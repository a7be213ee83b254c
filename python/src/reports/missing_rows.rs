//! Rows that can't be read because of damage, as Python shows them: a dict `MissingRows`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use timestrata_engine::MissingRange;

use super::shown;

pub(crate) fn missing_rows<'py>(
    py: Python<'py>,
    missing: &MissingRange,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("stream", &missing.stream)?;
    dict.set_item("key_min", missing.key_min.to_string())?;
    dict.set_item("key_max", missing.key_max.to_string())?;
    dict.set_item("rows", missing.rows)?;
    dict.set_item("path", shown(&missing.file))?;
    dict.set_item("offset", missing.offset)?;
    dict.set_item("why", &missing.why)?;
    Ok(dict)
}
