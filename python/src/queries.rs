//! What is being asked of a store, and its end by number.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use timestrata_engine::QueryInfo;

use crate::store::Store;

#[pymethods]
impl Store {
    /// List what is being asked of this store, in all threads of this process, the oldest first.
    ///
    /// Returns
    /// -------
    /// list of dict
    ///     ``id``; ``query``, the first 1,000 characters of what was asked; ``state``: "running", "waiting"
    ///     for whoever reads its rows, or "ending"; ``worked`` and ``timeout`` in seconds, the latter None
    ///     without a limit; ``steps`` done; ``memory_bytes`` set aside. A query is listed until nothing
    ///     works for it any more.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> rows = store.sql("SELECT 1 AS x")
    /// >>> [(query["query"], query["state"]) for query in store.queries()]
    /// [('SELECT 1 AS x', 'waiting')]
    /// >>> rows.to_pylist(), store.queries()
    /// ([{'x': 1}], [])
    fn queries<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let store = self.handle.store()?;
        let shown = |query: QueryInfo| {
            let dict = PyDict::new(py);
            dict.set_item("id", query.id)?;
            dict.set_item("query", query.text)?;
            dict.set_item("state", query.state.name())?;
            dict.set_item("worked", query.worked.as_secs_f64())?;
            dict.set_item("timeout", query.time_max.map(|max| max.as_secs_f64()))?;
            dict.set_item("steps", query.steps)?;
            dict.set_item("memory_bytes", query.memory_bytes)?;
            Ok(dict)
        };
        py.detach(|| store.queries()).into_iter().map(shown).collect()
    }

    /// Cancel a query by its number: whoever asked gets `CancelledError`. Whether there was one.
    ///
    /// Parameters
    /// ----------
    /// id : int
    ///     As `queries` lists it.
    fn cancel_query(&self, py: Python<'_>, id: u64) -> PyResult<bool> {
        let store = self.handle.store()?;
        Ok(py.detach(|| store.cancel_query(id)))
    }
}
