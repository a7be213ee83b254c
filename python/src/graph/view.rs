//! `GraphView`: what is read of a graph, at one moment or always as it is now.

use std::sync::Arc;

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use timestrata_engine::Result;
use timestrata_graph::{Along, BlockId, Find, Graph as GraphModel, GraphView as ModelView};

use super::arguments::{
    AlongAsked, Ids, KindNames, direction_of, id_object, id_of, ids_of, json_of, order_of,
};
use super::{Block, Edge, Route, Walk};
use crate::error::invalid;
use crate::fork::Guarded;
use crate::handle::Handle;
use crate::interrupt::{detached, interruptible};
use crate::table::Rows;

/// A graph as it was at one moment, which is read and not written. Made by `Graph.view` and
/// `Graph.at`. A `Graph` has the same methods, and reads what is there when they are called.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> graph = timestrata.open().graph("code")
/// >>> before = graph.view()
/// >>> text = graph.put("text")
/// >>> len(before), len(graph), text in before, text in graph
/// (0, 1, False, True)
#[pyclass(frozen, subclass, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct GraphView {
    pub(super) handle: Arc<Handle>,
    pub(super) moment: Moment,
}

/// What is read.
#[derive(Debug)]
pub(super) enum Moment {
    /// Whatever is there.
    Now(GraphModel),
    /// What was there.
    At { name: String, view: Box<Guarded<ModelView>> },
}

impl GraphView {
    /// Answers a question with the GIL released.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&ModelView) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.handle.store()?;
        match &self.moment {
            Moment::Now(graph) => detached(py, || question(&graph.view()?)),
            Moment::At { view, .. } => {
                let view = view.get()?;
                detached(py, || question(view))
            }
        }
    }

    /// The view itself, for what outlives the call.
    fn model(&self, py: Python<'_>) -> PyResult<ModelView> {
        self.ask(py, |view| Ok(view.clone()))
    }

    /// A figure of each block that edges of these kinds name, by its id. What may take minutes.
    fn figure_by_id<'py, T>(
        &self,
        py: Python<'py>,
        direction: &str,
        kinds: Option<&Bound<'_, PyAny>>,
        question: impl FnOnce(&ModelView, &Along<'_>) -> Result<Vec<(BlockId, T)>> + Send + 'static,
    ) -> PyResult<Bound<'py, PyDict>>
    where
        T: IntoPyObject<'py> + Send + 'static,
    {
        let along = AlongAsked::of(direction, kinds)?;
        let view = self.model(py)?;
        let figures = interruptible(py, move || along.with(|along| question(&view, along)))?;
        let by_id = PyDict::new(py);
        for (id, figure) in figures {
            by_id.set_item(id_object(py, id), figure)?;
        }
        Ok(by_id)
    }

    fn blocks(found: Vec<timestrata_graph::Block>) -> Vec<Block> {
        found.into_iter().map(Block).collect()
    }
}

#[pymethods]
impl GraphView {
    /// The graph's name.
    #[getter]
    fn name(&self) -> &str {
        match &self.moment {
            Moment::Now(graph) => graph.name(),
            Moment::At { name, .. } => name,
        }
    }

    /// The latest version of a block; None if there is none.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> graph = timestrata.open().graph("code")
    /// >>> f, g = graph.put("f()", source_uri="f.py"), graph.put("g()")
    /// >>> graph.link(f, "calls", g)
    /// >>> graph.get(f).source_uri
    /// 'f.py'
    fn get(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<Option<Block>> {
        let id = id_of(id)?;
        Ok(self.ask(py, |view| view.get(id))?.map(Block))
    }

    /// The latest version of each of several blocks, in their order; None for those that are missing.
    fn get_many(&self, py: Python<'_>, ids: &Bound<'_, PyAny>) -> PyResult<Vec<Option<Block>>> {
        let ids = ids_of(ids)?;
        let found = self.ask(py, |view| view.get_many(&ids))?;
        Ok(found.into_iter().map(|block| block.map(Block)).collect())
    }

    /// Whether a block is there; what ``id in graph`` asks.
    fn contains(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let id = id_of(id)?;
        self.ask(py, |view| view.contains(id))
    }

    fn __contains__(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.contains(py, id)
    }

    /// The versions of a block that are kept, the latest first.
    fn versions(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<Vec<Block>> {
        let id = id_of(id)?;
        self.ask(py, |view| view.versions(id)).map(Self::blocks)
    }

    /// Look for blocks, in the order of their ids. All conditions must hold.
    ///
    /// Parameters
    /// ----------
    /// source_uri : str, optional
    ///     Where they came from.
    /// metadata : mapping or str, optional
    ///     Members that their metadata has, each with this value.
    /// limit : int, optional
    ///     How many at most.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> graph = timestrata.open().graph("code")
    /// >>> f, g = graph.put("f()", source_uri="f.py"), graph.put("g()")
    /// >>> graph.link(f, "calls", g)
    /// >>> [block.content for block in graph.find(source_uri="f.py")]
    /// ['f()']
    #[pyo3(signature = (source_uri=None, metadata=None, limit=None))]
    fn find(
        &self,
        py: Python<'_>,
        source_uri: Option<String>,
        metadata: Option<&Bound<'_, PyAny>>,
        limit: Option<usize>,
    ) -> PyResult<Vec<Block>> {
        let members = metadata.map(|given| json_of("metadata", given)).transpose()?.flatten();
        let members = members.map(|text| serde_json::from_str(&text)).transpose();
        let metadata =
            members.map_err(|why| invalid(format!("metadata must be a JSON object: {why}")))?;
        let what = Find { source_uri, metadata: metadata.unwrap_or_default(), limit };
        self.ask(py, |view| view.find(&what)).map(Self::blocks)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let blocks = self.ask(py, ModelView::block_count)?;
        Ok(usize::try_from(blocks)?)
    }

    fn __bool__(&self) -> bool {
        true
    }

    /// How many edges there are.
    fn edge_count(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, ModelView::edge_count)
    }

    /// The edges of a block, by kind and then by the block at their other end.
    ///
    /// Parameters
    /// ----------
    /// id : bytes, str or UUID
    /// direction : {"out", "in", "both"}
    ///     Those that come from it, those that go to it, or the one and then the other, an edge to
    ///     itself once.
    /// kinds : str or list of str, optional
    ///     Only those of these kinds.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> graph = timestrata.open().graph("code")
    /// >>> f, g = graph.put("f()", source_uri="f.py"), graph.put("g()")
    /// >>> graph.link(f, "calls", g)
    /// >>> [edge.source == f for edge in graph.edges(g, direction="in")]
    /// [True]
    #[pyo3(signature = (id, direction="out", kinds=None))]
    fn edges(
        &self,
        id: &Bound<'_, PyAny>,
        direction: &str,
        kinds: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Edge>> {
        let (block, direction) = (id_of(id)?, direction_of(direction)?);
        let kinds = KindNames::of(kinds)?;
        let found = self.ask(id.py(), |view| view.edges(block, direction, &kinds.names()))?;
        Ok(found.into_iter().map(Edge).collect())
    }

    /// Walk along edges, from one block or several to all that can be reached.
    ///
    /// Parameters
    /// ----------
    /// start : bytes, str, UUID, or a list of them
    /// direction : {"out", "in", "both"}
    /// kinds : str or list of str, optional
    ///     Only along edges of these kinds.
    /// depth : int, optional
    ///     How many edges away at most.
    /// limit : int, optional
    ///     How many blocks at most, those it begins with included.
    /// order : {"bfs", "dfs"}
    ///     Nearer blocks first, or down each path as far as it goes before the next.
    /// filter : callable, optional
    ///     Called with the id of each block but those it begins with, once. Where it gives nothing
    ///     true, the block is neither given nor gone through. What it raises ends the walk.
    /// as_of : int, datetime or str, optional
    ///     Only along edges that held at this time, by their ``valid_from``.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> graph = timestrata.open().graph("code")
    /// >>> a, b, c = (graph.put(text) for text in "abc")
    /// >>> graph.link_many([(a, "calls", b), (b, "calls", c), (c, "calls", a)])
    /// >>> graph.walk(a).depths
    /// [0, 1, 2]
    /// >>> graph.walk(a, filter=lambda id: id != b).ids == [a]
    /// True
    #[pyo3(signature = (start, *, direction="out", kinds=None, depth=None, limit=None, order="bfs",
                        filter=None, as_of=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn walk(
        &self,
        start: &Bound<'_, PyAny>,
        direction: &str,
        kinds: Option<&Bound<'_, PyAny>>,
        depth: Option<u32>,
        limit: Option<usize>,
        order: &str,
        filter: Option<Py<PyAny>>,
        as_of: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Walk> {
        let along = AlongAsked::of(direction, kinds)?.at_time(as_of)?;
        let along = AlongAsked { depth, limit, ..along };
        let (ids, order) = (Ids::of(start)?, order_of(order)?);
        let mut filter = filter.map(|function| Filter { function, raised: None });
        let walked = self.ask(start.py(), |view| {
            let takes = |id| filter.as_mut().is_none_or(|filter| filter.takes(id));
            along.with(|along| view.walk(ids.as_slice(), along, order, takes))
        })?;
        match filter.and_then(|filter| filter.raised) {
            Some(error) => Err(error),
            None => Ok(Walk(walked)),
        }
    }

    /// Find a way of the fewest edges; None if there is none.
    ///
    /// Parameters
    /// ----------
    /// source, target : bytes, str or UUID
    /// direction, kinds, as_of
    ///     As for `walk`.
    /// depth : int, optional
    ///     How many edges it has at most; by weight there is no bound.
    /// weighted : bool, optional
    ///     Find the way whose edges weigh least instead. An edge without a weight weighs 1; none may
    ///     weigh less than nothing.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> graph = timestrata.open().graph("roads")
    /// >>> a, b, c = (graph.put(text) for text in "abc")
    /// >>> graph.link_many([(a, "road", b, 1), (b, "road", c, 1), (a, "road", c, 5)])
    /// >>> graph.shortest_path(a, c)
    /// <Route of 1 edges, cost=1>
    /// >>> graph.shortest_path(a, c, weighted=True)
    /// <Route of 2 edges, cost=2>
    #[pyo3(signature = (source, target, *, direction="out", kinds=None, depth=None, weighted=false,
                        as_of=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn shortest_path(
        &self,
        source: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
        direction: &str,
        kinds: Option<&Bound<'_, PyAny>>,
        depth: Option<u32>,
        weighted: bool,
        as_of: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Route>> {
        let along = AlongAsked::of(direction, kinds)?.at_time(as_of)?;
        let along = AlongAsked { depth, ..along };
        let (from, to) = (id_of(source)?, id_of(target)?);
        let found = self.ask(source.py(), |view| {
            along.with(|along| view.shortest_path(from, to, along, weighted))
        })?;
        Ok(found.route.map(Route))
    }

    /// Whether there is a way from one block to another; a block has one to itself.
    #[pyo3(signature = (source, target, *, direction="out", kinds=None, depth=None, as_of=None))]
    fn reachable(
        &self,
        source: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
        direction: &str,
        kinds: Option<&Bound<'_, PyAny>>,
        depth: Option<u32>,
        as_of: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let path = self.shortest_path(source, target, direction, kinds, depth, false, as_of)?;
        Ok(path.is_some())
    }

    /// The blocks one edge away, with the kind of the edge; in both directions, those that edges lead
    /// to and then those that edges come from.
    ///
    /// Parameters
    /// ----------
    /// ids : bytes, str, UUID, or a list of them
    ///     One: the answer is a list of pairs. Several: a list of such lists, in their order.
    /// direction, kinds, as_of
    ///     As for `walk`.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> graph = timestrata.open().graph("code")
    /// >>> f, g = graph.put("f()", source_uri="f.py"), graph.put("g()")
    /// >>> graph.link(f, "calls", g)
    /// >>> graph.neighbors(f) == [(g, "calls")]
    /// True
    #[pyo3(signature = (ids, direction="out", kinds=None, *, as_of=None))]
    fn neighbors<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        direction: &str,
        kinds: Option<&Bound<'py, PyAny>>,
        as_of: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (ids, along) = (Ids::of(ids)?, AlongAsked::of(direction, kinds)?.at_time(as_of)?);
        let found =
            self.ask(py, |view| along.with(|along| view.neighbors(ids.as_slice(), along)))?;
        // Edges come by kind: most have the name of the one before.
        let mut last: Option<(Arc<str>, Bound<'py, PyString>)> = None;
        let mut name = |kind: Arc<str>| match &last {
            Some((known, name)) if Arc::ptr_eq(known, &kind) => name.clone(),
            _ => {
                let name = PyString::new(py, &kind);
                last = Some((kind, name.clone()));
                name
            }
        };
        let mut lists: Vec<Vec<(Bound<'py, PyBytes>, Bound<'py, PyString>)>> = found
            .into_iter()
            .map(|each| {
                each.into_iter().map(|(id, kind)| (id_object(py, id), name(kind))).collect()
            })
            .collect();
        match ids {
            Ids::One(_) => lists.pop().unwrap_or_default().into_pyobject(py),
            Ids::Several(_) => lists.into_pyobject(py),
        }
    }

    /// How many edges a block has; in both directions, an edge to itself counts twice.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> graph = timestrata.open().graph("code")
    /// >>> f, g = graph.put("f()", source_uri="f.py"), graph.put("g()")
    /// >>> graph.link(f, "calls", g)
    /// >>> graph.degree(f), graph.degree(f, "both")
    /// (1, 1)
    #[pyo3(signature = (id, direction="out", kinds=None, *, as_of=None))]
    fn degree(
        &self,
        id: &Bound<'_, PyAny>,
        direction: &str,
        kinds: Option<&Bound<'_, PyAny>>,
        as_of: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let (block, along) = (id_of(id)?, AlongAsked::of(direction, kinds)?.at_time(as_of)?);
        self.ask(id.py(), |view| along.with(|along| view.degree(block, along)))
    }

    /// The parts of the graph between which there is no edge, whatever its direction: the number of its
    /// part for each block that an edge names.
    #[pyo3(signature = (kinds=None))]
    fn components<'py>(
        &self,
        py: Python<'py>,
        kinds: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.figure_by_id(py, "both", kinds, |view, along| view.components(along))
    }

    /// How much each block counts by the edges that lead to it, 1 in all; blocks that no edge names
    /// are not ranked.
    #[pyo3(signature = (damping=0.85, kinds=None))]
    fn pagerank<'py>(
        &self,
        py: Python<'py>,
        damping: f64,
        kinds: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.figure_by_id(py, "out", kinds, move |view, along| view.page_rank(along, damping))
    }

    /// Give some blocks and the edges between them, as rows of both; see `to_arrow`.
    fn subgraph(&self, py: Python<'_>, ids: &Bound<'_, PyAny>) -> PyResult<(Rows, Rows)> {
        let ids = ids_of(ids)?;
        let (blocks, edges) = self.ask(py, |view| view.subgraph(&ids))?;
        let rows = |batch: RecordBatch| Rows::of_batches(batch.schema(), vec![batch]);
        Ok((rows(blocks), rows(edges)))
    }

    /// Give all blocks and all edges, as rows of both that are read when they are used.
    ///
    /// Blocks have columns id, version, source_uri, metadata, is_text and content; edges source, kind,
    /// target, weight, valid_from and properties. `Graph.put_many` and `Graph.link_many` take them.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> graph = timestrata.open().graph("code")
    /// >>> blocks, edges = graph.to_arrow()
    /// >>> edges.columns
    /// ['source', 'kind', 'target', 'weight', 'valid_from', 'properties']
    fn to_arrow(&self, py: Python<'_>) -> PyResult<(Rows, Rows)> {
        let view = self.model(py)?;
        let schemas = || Ok((view.scan_blocks()?.schema(), view.scan_edges()?.schema()));
        let (of_blocks, of_edges) = detached(py, schemas)?;
        let again = view.clone();
        let blocks = Rows::new(of_blocks, move || view.scan_blocks());
        let edges = Rows::new(of_edges, move || again.scan_edges());
        Ok((blocks, edges))
    }

    /// Give the graph as a ``networkx.MultiDiGraph``: nodes are ids, with version, source_uri and
    /// metadata; edges have their kind as key, with weight, valid_from and properties. Needs networkx.
    fn to_networkx<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("timestrata.graph")?.call_method1("to_networkx", (slf,))
    }

    /// Give the graph as a ``rustworkx.PyDiGraph``: nodes are ids, edges dicts of kind, weight,
    /// valid_from and properties. Needs rustworkx.
    fn to_rustworkx<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("timestrata.graph")?.call_method1("to_rustworkx", (slf,))
    }

    fn __repr__(&self) -> String {
        let at = match &self.moment {
            Moment::Now(_) => String::new(),
            Moment::At { view, .. } => match view.get() {
                Ok(view) => format!(" at commit {}", view.snapshot().seq().0),
                Err(_) => " of the parent process".to_owned(),
            },
        };
        format!("<GraphView {:?}{at}>", self.name())
    }
}

/// A Python function that says through which blocks a walk goes.
struct Filter {
    function: Py<PyAny>,
    /// The first that it raised; from then on nothing is taken, so that the walk ends.
    raised: Option<PyErr>,
}

impl Filter {
    fn takes(&mut self, id: BlockId) -> bool {
        if self.raised.is_some() {
            return false;
        }
        let answer = Python::attach(|py| {
            py.check_signals()?;
            self.function.bind(py).call1((id_object(py, id),))?.is_truthy()
        });
        answer.unwrap_or_else(|error| {
            self.raised = Some(error);
            false
        })
    }
}
