//! `CommitGraph`: what a commit over several models changes in a graph.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use timestrata_graph::{BlockId, Edge, EdgeKey, Graph as GraphModel, GraphChanges, GraphWrite};

use super::arguments::{id_object, id_of};
use super::input::{GivenBlock, GivenBlocks, Said, edges_of};
use super::object::WAYS;
use crate::opened::MadeForCommit;
use crate::staging::{Staged, Staging};

/// What a commit changes in a graph. Made by `Commit.graph`. Its changes are made in the order in which they were asked for.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> store = timestrata.open()
/// >>> with store.commit() as commit:
/// ...     code = commit.graph("code")
/// ...     f, g = code.put("f()"), code.put("g()")
/// ...     code.link(f, "calls", g)
/// >>> store.graph("code").edge_count()
/// 1
#[pyclass(frozen, module = "timestrata")]
pub(crate) struct CommitGraph {
    name: String,
    staging: Staging,
    steps: Staged<Vec<GraphStep>>,
}

enum GraphStep {
    Expect(BlockId, u32),
    Put(GivenBlocks),
    Link(Vec<Edge>),
    Unlink(EdgeKey),
    Delete(BlockId),
}

/// Changes on their way into a commit.
pub(crate) struct GraphSteps {
    graph: GraphModel,
    steps: Vec<GraphStep>,
}

impl GraphSteps {
    pub(crate) fn write(&mut self) -> GraphWrite<'_> {
        let changes = self.steps.iter_mut().fold(GraphChanges::new(), |changes, step| match step {
            GraphStep::Expect(id, version) => changes.expect_version(*id, *version),
            GraphStep::Put(blocks) => blocks.put(changes),
            GraphStep::Link(edges) => changes.link_many(std::mem::take(edges)),
            GraphStep::Unlink(key) => changes.unlink(key.clone()),
            GraphStep::Delete(id) => changes.delete(*id),
        });
        GraphWrite::new(&self.graph, changes)
    }
}

impl CommitGraph {
    pub(crate) fn new(name: &str, staging: Staging) -> Self {
        Self { name: name.to_owned(), staging, steps: Staged::default() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What it has; `None`: nothing. The graph is made if it is missing.
    pub(crate) fn take(
        &self,
        py: Python<'_>,
        made: &MadeForCommit<'_>,
    ) -> PyResult<Option<GraphSteps>> {
        let steps = self.steps.take().unwrap_or_default();
        if steps.is_empty() {
            return Ok(None);
        }
        let graph = WAYS.or_made(py, made, &self.name)?;
        Ok(Some(GraphSteps { graph, steps }))
    }

    fn add(&self, step: GraphStep) -> PyResult<()> {
        self.steps.add(|steps| steps.push(step))
    }
}

#[pymethods]
impl CommitGraph {
    /// Put a block, as `Graph.put` takes it. Gives its id.
    ///
    /// Parameters
    /// ----------
    /// content : bytes or str
    /// expected_version : int, optional
    ///     The version that the block has before the commit, 0 if it is not there: if it is another one, the end of the block
    ///     raises `ConflictError`.
    #[pyo3(signature = (content, *, id=None, version=None, source_uri=None, metadata=None,
                        expected_version=None))]
    fn put<'py>(
        &self,
        content: &Bound<'py, PyAny>,
        id: Option<&Bound<'py, PyAny>>,
        version: Option<u32>,
        source_uri: Option<String>,
        metadata: Option<&Bound<'py, PyAny>>,
        expected_version: Option<u32>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.staging.check()?;
        let mut given = GivenBlock::of_parts(content, id, version, source_uri, metadata)?;
        let id = given.identify();
        if let Some(version) = expected_version {
            self.add(GraphStep::Expect(id, version))?;
        }
        self.add(GraphStep::Put(GivenBlocks::Each(vec![given])))?;
        Ok(id_object(content.py(), id))
    }

    /// Put blocks, as `Graph.put_many` takes them.
    fn put_many(&self, blocks: &Bound<'_, PyAny>) -> PyResult<()> {
        self.staging.check()?;
        let blocks = GivenBlocks::of(blocks)?;
        self.add(GraphStep::Put(blocks))
    }

    /// Link two blocks, as `Graph.link` takes them.
    #[pyo3(signature = (source, kind, target, *, weight=None, valid_from=None, properties=None))]
    fn link(
        &self,
        source: &Bound<'_, PyAny>,
        kind: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
        weight: Option<&Bound<'_, PyAny>>,
        valid_from: Option<&Bound<'_, PyAny>>,
        properties: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.staging.check()?;
        let edge = Said { weight, valid_from, properties }.edge(source, kind, target)?;
        self.add(GraphStep::Link(vec![edge]))
    }

    /// Link blocks, as `Graph.link_many` takes them.
    fn link_many(&self, edges: &Bound<'_, PyAny>) -> PyResult<()> {
        self.staging.check()?;
        let edges = edges_of(edges)?;
        self.add(GraphStep::Link(edges))
    }

    /// Take an edge away, if it is there.
    fn unlink(
        &self,
        source: &Bound<'_, PyAny>,
        kind: &str,
        target: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.staging.check()?;
        let key = EdgeKey { source: id_of(source)?, kind: kind.into(), target: id_of(target)? };
        self.add(GraphStep::Unlink(key))
    }

    /// Delete a block with its edges, if it is there; ``expected_version`` as for `put`.
    #[pyo3(signature = (id, *, expected_version=None))]
    fn delete(&self, id: &Bound<'_, PyAny>, expected_version: Option<u32>) -> PyResult<()> {
        self.staging.check()?;
        let id = id_of(id)?;
        if let Some(version) = expected_version {
            self.add(GraphStep::Expect(id, version))?;
        }
        self.add(GraphStep::Delete(id))
    }
}
