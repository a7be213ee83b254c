//! `Block`: one block of a graph, as it was read.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView, PyString};
use timestrata_graph::{Block as ModelBlock, NewBlock};

use super::arguments::{id_object, id_of, json_object};
use crate::error::wrong_type;
use crate::payload::Payload;
use crate::typed::buffer;

/// A block of a graph: content with an id, a version, where it came from and what is said about it.
/// Given by `Graph.get` and others; `Graph.put_many` takes it too.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> graph = timestrata.open().graph("code")
/// >>> block = graph.get(graph.put("def f(): ...", source_uri="f.py", metadata={"lines": 1}))
/// >>> block.content, block.version, block.source_uri, block.metadata
/// ('def f(): ...', 1, 'f.py', {'lines': 1})
/// >>> block.view().nbytes
/// 12
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct Block(pub(super) ModelBlock);

#[pymethods]
impl Block {
    /// One of these parts, for `timestrata.connect`; its metadata is a JSON object as text.
    #[staticmethod]
    fn _of(
        id: &Bound<'_, PyAny>,
        version: u32,
        source_uri: Option<&str>,
        metadata: Option<&str>,
        content: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let payload = Payload::of(content)?;
        let payload = payload.ok_or_else(|| wrong_type("content must be bytes or str", content))?;
        let block = NewBlock {
            id: Some(id_of(id)?),
            version: Some(version),
            source_uri,
            metadata,
            is_text: payload.is_text(),
            content: payload.bytes(),
        };
        Ok(Self(ModelBlock::new(&block)))
    }

    /// Its 16 bytes of id.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        id_object(py, self.0.id())
    }

    /// How often it was put, unless versions were given.
    #[getter]
    fn version(&self) -> u32 {
        self.0.version()
    }

    /// Where it came from; None if nobody said.
    #[getter]
    fn source_uri(&self) -> Option<&str> {
        self.0.source_uri()
    }

    /// What is said about it, as a dict made anew each time; None if nothing is.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        json_object(py, self.0.metadata())
    }

    /// Whether its content is text.
    #[getter]
    fn is_text(&self) -> bool {
        self.0.is_text()
    }

    /// What it holds: str if it was put as text, else bytes.
    #[getter]
    fn content<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let content = self.0.content();
        match self.0.is_text() {
            true => Ok(PyString::from_bytes(py, content)?.into_any()),
            false => Ok(PyBytes::new(py, content).into_any()),
        }
    }

    /// Give the bytes of its content where the store has them: a memoryview that copies nothing, can't
    /// be written to, and may be kept.
    fn view<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMemoryView>> {
        PyMemoryView::from(&buffer(py, &self.0.content_buffer())?)
    }

    fn __len__(&self) -> usize {
        self.0.content().len()
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Self>() else { return Ok(false) };
        let (one, other) = (&self.0, &other.get().0);
        let is_same = one.id() == other.id()
            && one.version() == other.version()
            && one.source_uri() == other.source_uri()
            && one.is_text() == other.is_text()
            && one.content() == other.content();
        if !is_same || one.metadata() == other.metadata() {
            return Ok(is_same);
        }
        match (json_object(py, one.metadata())?, json_object(py, other.metadata())?) {
            (Some(one), Some(other)) => one.eq(other),
            _ => Ok(false),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        (self.id(py), self.version()).into_pyobject(py)?.hash()
    }

    fn __repr__(&self) -> String {
        let what = if self.0.is_text() { "text of" } else { "of" };
        let from = self.0.source_uri().map(|uri| format!(" from {uri:?}")).unwrap_or_default();
        let (id, version) = (self.0.id(), self.0.version());
        format!("<Block {id} version={version} {what} {} bytes{from}>", self.0.content().len())
    }
}
