//! `Edge`: one edge of a graph, as it was read.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use timestrata_graph::{Edge as ModelEdge, EdgeKey};

use super::arguments::{id_object, id_of, json_object};

/// An edge of a graph: there is one of a source, kind and target. Given by `Graph.edges`;
/// `Graph.link_many` takes it too.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> graph = timestrata.open().graph("code")
/// >>> one, other = graph.put("one"), graph.put("other")
/// >>> graph.link(one, "calls", other, weight=2)
/// >>> edge = graph.edges(one)[0]
/// >>> edge.kind, edge.target == other, edge.weight, edge.valid_from, edge.properties
/// ('calls', True, 2.0, None, None)
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct Edge(pub(super) ModelEdge);

#[pymethods]
impl Edge {
    /// One of these parts, for `timestrata.connect`; its properties are a JSON object as text.
    #[staticmethod]
    fn _of(
        source: &Bound<'_, PyAny>,
        kind: String,
        target: &Bound<'_, PyAny>,
        weight: Option<f64>,
        valid_from: Option<i64>,
        properties: Option<String>,
    ) -> PyResult<Self> {
        let key = EdgeKey { source: id_of(source)?, kind: kind.into(), target: id_of(target)? };
        let properties = properties.map(Into::into);
        Ok(Self(ModelEdge { key, weight, valid_from_ns: valid_from, properties }))
    }

    /// Id of the block that it comes from.
    #[getter]
    fn source<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        id_object(py, self.0.key.source)
    }

    /// What it says.
    #[getter]
    fn kind(&self) -> &str {
        &self.0.key.kind
    }

    /// Id of the block that it goes to, which need not exist.
    #[getter]
    fn target<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        id_object(py, self.0.key.target)
    }

    /// How much it counts; None: 1.
    #[getter]
    fn weight(&self) -> Option<f64> {
        self.0.weight
    }

    /// Since when it holds, nanoseconds since the epoch; None: always.
    #[getter]
    fn valid_from(&self) -> Option<i64> {
        self.0.valid_from_ns
    }

    /// What else is said about it, as a dict made anew each time; None if nothing is.
    #[getter]
    fn properties<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        json_object(py, self.0.properties.as_deref())
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Self>() else { return Ok(false) };
        let (one, other) = (&self.0, &other.get().0);
        let is_same = one.key == other.key
            && one.weight == other.weight
            && one.valid_from_ns == other.valid_from_ns;
        let (mine, others) = (one.properties.as_deref(), other.properties.as_deref());
        if !is_same || mine == others {
            return Ok(is_same);
        }
        match (json_object(py, mine)?, json_object(py, others)?) {
            (Some(mine), Some(others)) => mine.eq(others),
            _ => Ok(false),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        (self.source(py), self.kind(), self.target(py)).into_pyobject(py)?.hash()
    }

    fn __repr__(&self) -> String {
        let key = &self.0.key;
        let weight = self.0.weight.map(|weight| format!(" weight={weight}"));
        let weight = weight.unwrap_or_default();
        format!("<Edge {} -{}-> {}{weight}>", key.source, key.kind, key.target)
    }
}
