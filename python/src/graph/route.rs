//! `Route`: a way from one block to another.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use timestrata_graph::Route as ModelRoute;

use super::arguments::id_object;

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
pub(crate) struct Route {
    route: ModelRoute,
}

impl From<ModelRoute> for Route {
    fn from(route: ModelRoute) -> Self {
        Self { route }
    }
}

#[pymethods]
impl Route {
    /// Ids of the blocks on it, both ends among them.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.route.ids.iter().map(|id| id_object(py, *id)).collect()
    }

    /// Kinds of the edges between them.
    #[getter]
    fn kinds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.route.kinds.iter().map(|kind| &**kind))
    }

    /// What its edges weigh in all, or how many there are where weights were not asked for.
    #[getter]
    fn cost(&self) -> f64 {
        self.route.cost
    }

    /// How many edges it has.
    fn __len__(&self) -> usize {
        self.route.kinds.len()
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.route == other.get().route)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        pyo3::types::PyTuple::new(py, self.ids(py))?.hash()
    }

    fn __repr__(&self) -> String {
        format!("<Route of {} edges, cost={}>", self.route.kinds.len(), self.route.cost)
    }
}
