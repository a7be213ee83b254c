//! `Walk`: what a walk came to.

use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyIterator, PyList};
use timestrata_graph::{BlockId, Reached, Walked};

use super::arguments::{id_object, id_of};
use crate::typed::{batches_as_stream, batches_as_table, schema_as_capsule};

/// What a walk came to, each block once, in the order of the walk. Given by `Graph.walk`; iterates
/// over pairs of id and depth.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> graph = timestrata.open().graph("code")
/// >>> a, b, c = (graph.put(text) for text in "abc")
/// >>> graph.link_many([(a, "calls", b), (b, "calls", c)])
/// >>> walk = graph.walk(a, depth=1)
/// >>> list(walk) == [(a, 0), (b, 1)]
/// True
/// >>> walk.kinds, walk.is_cut
/// ([None, 'calls'], True)
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct Walk(pub(super) Walked);

/// Id, depth, place of the parent and kind of a block.
type ReachedParts<'py> = (Bound<'py, PyAny>, u32, Option<usize>, Option<String>);

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::FixedSizeBinary(16), false),
        Field::new("depth", DataType::UInt32, false),
        Field::new("parent", DataType::FixedSizeBinary(16), true),
        Field::new("kind", DataType::Utf8, true),
    ]))
}

impl Walk {
    fn ids_reached(&self) -> impl Iterator<Item = BlockId> {
        self.0.blocks.iter().map(|reached| reached.id)
    }

    fn parents_reached(&self) -> impl Iterator<Item = Option<BlockId>> {
        let blocks = &self.0.blocks;
        blocks.iter().map(|reached| Some(blocks.get(reached.parent?)?.id))
    }

    fn rows(&self) -> PyResult<RecordBatch> {
        let blocks = &self.0.blocks;
        let make = || {
            let mut ids = FixedSizeBinaryBuilder::with_capacity(blocks.len(), 16);
            self.ids_reached().try_for_each(|id| ids.append_value(id.bytes()))?;
            let mut parents = FixedSizeBinaryBuilder::with_capacity(blocks.len(), 16);
            for parent in self.parents_reached() {
                match parent {
                    Some(parent) => parents.append_value(parent.bytes())?,
                    None => parents.append_null(),
                }
            }
            let depths = blocks.iter().map(|reached| reached.depth);
            let kinds = blocks.iter().map(|reached| reached.kind.as_deref());
            let columns: Vec<ArrayRef> = vec![
                Arc::new(ids.finish()),
                Arc::new(UInt32Array::from_iter_values(depths)),
                Arc::new(parents.finish()),
                Arc::new(kinds.collect::<StringArray>()),
            ];
            RecordBatch::try_new(schema(), columns)
        };
        make().map_err(|error: ArrowError| PyValueError::new_err(error.to_string()))
    }
}

#[pymethods]
impl Walk {
    /// One of these parts, for `timestrata.connect`: of each block its id, depth, the place of the one that it was reached from, and
    /// the kind of the edge.
    #[staticmethod]
    fn _of(blocks: Vec<ReachedParts<'_>>, is_cut: bool) -> PyResult<Self> {
        let blocks = blocks.into_iter().map(|(id, depth, parent, kind)| {
            Ok(Reached { id: id_of(&id)?, depth, parent, kind: kind.map(Into::into) })
        });
        Ok(Self(Walked { blocks: blocks.collect::<PyResult<_>>()?, is_cut }))
    }

    /// Ids of the blocks, which need not exist where an edge names them.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.ids_reached().map(|id| id_object(py, id)).collect()
    }

    /// How many edges each is away from where the walk began.
    #[getter]
    fn depths(&self) -> Vec<u32> {
        self.0.blocks.iter().map(|reached| reached.depth).collect()
    }

    /// Id of the block that each was reached from; None where the walk began.
    #[getter]
    fn parents<'py>(&self, py: Python<'py>) -> Vec<Option<Bound<'py, PyBytes>>> {
        self.parents_reached().map(|parent| parent.map(|id| id_object(py, id))).collect()
    }

    /// Kind of the edge that each was reached by; None where the walk began.
    #[getter]
    fn kinds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.0.blocks.iter().map(|reached| reached.kind.as_deref()))
    }

    /// Whether a bound kept the walk from some block.
    #[getter]
    fn is_cut(&self) -> bool {
        self.0.is_cut
    }

    /// Give the walk as a ``pyarrow.Table`` of columns id, depth, parent and kind. Needs pyarrow.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        batches_as_table(py, schema(), std::iter::once(Ok(self.rows()?)))
    }

    /// The rows of `to_arrow`, for other Arrow libraries; see the Arrow C stream interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        batches_as_stream(py, schema(), std::iter::once(Ok(self.rows()?)), requested_schema)
    }

    /// The columns, for other Arrow libraries.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_as_capsule(py, schema().as_ref())
    }

    fn __len__(&self) -> usize {
        self.0.blocks.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let each = self.0.blocks.iter();
        PyList::new(py, each.map(|reached| (id_object(py, reached.id), reached.depth)))?.try_iter()
    }

    fn __repr__(&self) -> String {
        let cut = if self.0.is_cut { ", cut" } else { "" };
        format!("<Walk of {} blocks{cut}>", self.0.blocks.len())
    }
}
