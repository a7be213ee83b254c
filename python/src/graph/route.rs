//! `Route`: a way from one block to another.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use timestrata_graph::Route as ModelRoute;

use super::arguments::{id_object, id_of};

/// A way from one block of a graph to another. Given by `Graph.shortest_path`.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> graph = timestrata.open().graph("code")
/// >>> f, g = graph.put("f()", source_uri="f.py"), graph.put("g()")
/// >>> graph.link(f, "calls", g)
/// >>> route = graph.shortest_path(f, g)
/// >>> route.ids == [f, g], route.kinds, route.cost
/// (True, ['calls'], 1.0)
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct Route(pub(super) ModelRoute);

#[pymethods]
impl Route {
    /// One of these parts, for `timestrata.connect`.
    #[staticmethod]
    fn _of(ids: Vec<Bound<'_, PyAny>>, kinds: Vec<String>, cost: f64) -> PyResult<Self> {
        let ids = ids.iter().map(id_of).collect::<PyResult<_>>()?;
        let kinds = kinds.into_iter().map(Into::into).collect();
        Ok(Self(ModelRoute { ids, kinds, cost }))
    }

    /// Ids of the blocks on it, both ends among them.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.0.ids.iter().map(|id| id_object(py, *id)).collect()
    }

    /// Kinds of the edges between them.
    #[getter]
    fn kinds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.0.kinds.iter().map(|kind| &**kind))
    }

    /// What its edges weigh in all, or how many there are where weights were not asked for.
    #[getter]
    fn cost(&self) -> f64 {
        self.0.cost
    }

    /// How many edges it has.
    fn __len__(&self) -> usize {
        self.0.kinds.len()
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.0 == other.get().0)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        pyo3::types::PyTuple::new(py, self.ids(py))?.hash()
    }

    fn __repr__(&self) -> String {
        format!("<Route of {} edges, cost={}>", self.0.kinds.len(), self.0.cost)
    }
}
