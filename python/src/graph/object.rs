//! `Graph`: the class that writes; reading is its base's.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use timestrata_graph::{EdgeKey, Graph as GraphModel, GraphChanges, GraphOptions, Unlinked};

use super::GraphView;
use super::arguments::{durability_of, id_object, id_of, ids_of};
use super::input::{GivenBlock, GivenBlocks, Said, edges_of};
use super::view::Moment;
use crate::error::invalid;
use crate::fork::Guarded;
use crate::handle::Handle;
use crate::opened::{Opened, Ways};

/// Versioned blocks and the edges between them. Made by `Store.graph`.
///
/// A block has an id of 16 bytes, given as bytes, as a str of 32 hexadecimal digits or as a
/// ``uuid.UUID``; one that is put without is given the first half of its content's SHA-256. An edge has
/// a source, a kind and a target, and there is one of each three. It reads as a `GraphView` does, but
/// always what is there when it is asked.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> store = timestrata.open()
/// >>> graph = store.graph("code")
/// >>> main = graph.put("main()", source_uri="main.py")
/// >>> helper = graph.put("helper()", source_uri="helper.py")
/// >>> graph.link(main, "calls", helper)
/// >>> [graph.get(id).content for id in graph.walk(main).ids]
/// ['main()', 'helper()']
/// >>> len(graph), graph.edge_count()
/// (2, 1)
#[pyclass(frozen, extends = GraphView, module = "timestrata")]
#[derive(Debug)]
pub(crate) struct Graph {
    pub(super) graph: Opened<GraphModel>,
}

pub(super) const WAYS: Ways<GraphModel, GraphOptions> = Ways {
    open: GraphModel::open,
    create: GraphModel::create,
    options: |graph| Ok(graph.options()),
    stream: GraphModel::stream_id,
};

impl Graph {
    /// The store that it is in.
    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.graph.handle
    }

    /// Makes changes, in one commit. Gives the ids of the blocks that were put.
    fn commit<'py>(
        &self,
        py: Python<'py>,
        changes: &GraphChanges<'_>,
        durability: Option<&str>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let durability = durability_of(&self.graph.handle, durability)?;
        let changed = self.graph.detached(py, |graph| graph.change(changes, durability))?;
        Ok(changed.put.into_iter().map(|(id, _)| id_object(py, id)).collect())
    }
}

#[pymethods]
impl Graph {
    /// How many versions of a block stay readable, the latest among them.
    #[getter]
    fn keep_versions(&self) -> u32 {
        self.graph.even_closed().options().keep_versions
    }

    /// Put a block: it is the latest of its id from then on. Gives its id.
    ///
    /// Parameters
    /// ----------
    /// content : bytes-like or str
    ///     What it holds; it is given back as bytes, or as str.
    /// id : bytes, str or UUID, optional
    ///     16 bytes, or 32 hexadecimal digits; else the first half of the content's SHA-256.
    /// version : int, optional
    ///     At least that of the block that is there; else one more, 1 for a new one.
    /// source_uri : str, optional
    ///     Where it came from.
    /// metadata : mapping or str, optional
    ///     What is said about it: what JSON can say, or a JSON object.
    /// durability : {"written", "buffered", "synced"}, optional
    ///     What it survives; else as the store was opened.
    ///
    /// Raises
    /// ------
    /// ConflictError
    ///     The block that is there has a later version.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> graph = timestrata.open().graph("code")
    /// >>> graph.put("x = 1").hex()
    /// '8ff436def1451285599a1b1ad7080049'
    /// >>> id = graph.put(b"bytes", id="000102030405060708090a0b0c0d0e0f", version=7)
    /// >>> graph.get(id)
    /// <Block 000102030405060708090a0b0c0d0e0f version=7 of 5 bytes>
    #[pyo3(signature = (content, *, id=None, version=None, source_uri=None, metadata=None,
                        durability=None))]
    fn put<'py>(
        &self,
        content: &Bound<'py, PyAny>,
        id: Option<&Bound<'py, PyAny>>,
        version: Option<u32>,
        source_uri: Option<String>,
        metadata: Option<&Bound<'py, PyAny>>,
        durability: Option<&str>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let given = GivenBlock::of_parts(content, id, version, source_uri, metadata)?;
        let ids = self.commit(content.py(), &GraphChanges::new().put(given.block()), durability)?;
        ids.into_iter().next().ok_or_else(|| invalid("no block"))
    }

    /// Put blocks in one commit, all or none. Gives their ids, in their order.
    ///
    /// Parameters
    /// ----------
    /// blocks : iterable, or Arrow data
    ///     Each a mapping of what `put` takes, a `Block` that was read, which keeps its version, or a
    ///     content alone. Or anything with ``__arrow_c_stream__``: columns content and, where there are
    ///     any, id, version, source_uri, metadata and is_text.
    /// durability : {"written", "buffered", "synced"}, optional
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> graph = timestrata.open().graph("code")
    /// >>> ids = graph.put_many(["f()", {"content": "g()", "source_uri": "g.py"}])
    /// >>> [graph.get(id).content for id in ids]
    /// ['f()', 'g()']
    #[pyo3(signature = (blocks, durability=None))]
    fn put_many<'py>(
        &self,
        blocks: &Bound<'py, PyAny>,
        durability: Option<&str>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let given = GivenBlocks::of(blocks)?;
        self.commit(blocks.py(), &given.put(GraphChanges::new()), durability)
    }

    /// Delete a block, with its earlier versions and all of its edges, if it is there.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> graph = timestrata.open().graph("code")
    /// >>> f, g = graph.put("f()", source_uri="f.py"), graph.put("g()")
    /// >>> graph.link(f, "calls", g)
    /// >>> graph.delete(g)
    /// >>> g in graph, graph.edge_count()
    /// (False, 0)
    #[pyo3(signature = (id, *, durability=None))]
    fn delete(&self, id: &Bound<'_, PyAny>, durability: Option<&str>) -> PyResult<()> {
        let changes = GraphChanges::new().delete(id_of(id)?);
        self.commit(id.py(), &changes, durability).map(|_| ())
    }

    /// Delete blocks in one commit; see `delete`.
    #[pyo3(signature = (ids, *, durability=None))]
    fn delete_many(&self, ids: &Bound<'_, PyAny>, durability: Option<&str>) -> PyResult<()> {
        let changes = ids_of(ids)?.into_iter().fold(GraphChanges::new(), GraphChanges::delete);
        self.commit(ids.py(), &changes, durability).map(|_| ())
    }

    /// Link two blocks, which need not exist; an edge of that kind which is there is replaced.
    ///
    /// Parameters
    /// ----------
    /// source : bytes, str or UUID
    /// kind : str
    ///     What the edge says: any name.
    /// target : bytes, str or UUID
    /// weight : float, optional
    ///     How much it counts along a path; else 1.
    /// valid_from : int, datetime or str, optional
    ///     Since when it holds, an int in nanoseconds; else always.
    /// properties : mapping or str, optional
    ///     What else is said about it: what JSON can say, or a JSON object.
    /// durability : {"written", "buffered", "synced"}, optional
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> graph = timestrata.open().graph("code")
    /// >>> f, g = graph.put("f()", source_uri="f.py"), graph.put("g()")
    /// >>> graph.link(f, "calls", g)
    /// >>> [edge.kind for edge in graph.edges(f)]
    /// ['calls']
    #[pyo3(signature = (source, kind, target, *, weight=None, valid_from=None, properties=None,
                        durability=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn link(
        &self,
        source: &Bound<'_, PyAny>,
        kind: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
        weight: Option<&Bound<'_, PyAny>>,
        valid_from: Option<&Bound<'_, PyAny>>,
        properties: Option<&Bound<'_, PyAny>>,
        durability: Option<&str>,
    ) -> PyResult<()> {
        let edge = Said { weight, valid_from, properties }.edge(source, kind, target)?;
        self.commit(source.py(), &GraphChanges::new().link(edge), durability).map(|_| ())
    }

    /// Link blocks in one commit, all or none.
    ///
    /// Parameters
    /// ----------
    /// edges : iterable, or Arrow data
    ///     Each a tuple of source, kind, target and, where they are said, weight, valid_from and
    ///     properties; a mapping of them; or an `Edge`. Or anything with ``__arrow_c_stream__``:
    ///     columns source, kind, target and, where there are any, weight, valid_from and properties.
    /// durability : {"written", "buffered", "synced"}, optional
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> graph = timestrata.open().graph("code")
    /// >>> f, g = graph.put_many(["f()", "g()"])
    /// >>> graph.link_many([(f, "calls", g), (g, "calls", f, 0.5)])
    /// >>> graph.edge_count()
    /// 2
    #[pyo3(signature = (edges, durability=None))]
    fn link_many(&self, edges: &Bound<'_, PyAny>, durability: Option<&str>) -> PyResult<()> {
        let changes = GraphChanges::new().link_many(edges_of(edges)?);
        self.commit(edges.py(), &changes, durability).map(|_| ())
    }

    /// Change several things in one commit, all or none: what is deleted and unlinked goes first, then
    /// what is put and linked comes. Gives the ids of the blocks that were put.
    ///
    /// Parameters
    /// ----------
    /// put : iterable, or Arrow data, optional
    ///     Blocks, as `put_many` takes them.
    /// link : iterable, or Arrow data, optional
    ///     Edges, as `link_many` takes them.
    /// delete : iterable, optional
    ///     Ids of blocks, which go with all of their edges.
    /// unlink : iterable, or Arrow data, optional
    ///     Edges that go; only their source, kind and target count.
    /// durability : {"written", "buffered", "synced"}, optional
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> graph = timestrata.open().graph("code")
    /// >>> old = graph.put("def f(): g()")
    /// >>> f, g = bytes(15) + b"f", bytes(15) + b"g"
    /// >>> blocks = [{"id": f, "content": "def f(): g()"}, {"id": g, "content": "def g(): pass"}]
    /// >>> graph.change(delete=[old], put=blocks, link=[(f, "calls", g)]) == [f, g]
    /// True
    /// >>> old in graph, len(graph), graph.edge_count()
    /// (False, 2, 1)
    #[pyo3(signature = (*, put=None, link=None, delete=None, unlink=None, durability=None))]
    fn change<'py>(
        &self,
        py: Python<'py>,
        put: Option<&Bound<'py, PyAny>>,
        link: Option<&Bound<'py, PyAny>>,
        delete: Option<&Bound<'py, PyAny>>,
        unlink: Option<&Bound<'py, PyAny>>,
        durability: Option<&str>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let gone = delete.map(ids_of).transpose()?.unwrap_or_default();
        let unlinked = unlink.map(edges_of).transpose()?.unwrap_or_default();
        let blocks = put.map(GivenBlocks::of).transpose()?;
        let linked = link.map(edges_of).transpose()?.unwrap_or_default();
        let changes = gone.into_iter().fold(GraphChanges::new(), GraphChanges::delete);
        let keys = unlinked.into_iter().map(|edge| edge.key);
        let changes = keys.fold(changes, GraphChanges::unlink);
        let changes = match &blocks {
            Some(blocks) => blocks.put(changes),
            None => changes,
        };
        self.commit(py, &changes.link_many(linked), durability)
    }

    /// Take an edge away, if it is there.
    #[pyo3(signature = (source, kind, target, *, durability=None))]
    fn unlink(
        &self,
        source: &Bound<'_, PyAny>,
        kind: &str,
        target: &Bound<'_, PyAny>,
        durability: Option<&str>,
    ) -> PyResult<()> {
        let key = EdgeKey { source: id_of(source)?, kind: kind.into(), target: id_of(target)? };
        self.commit(source.py(), &GraphChanges::new().unlink(key), durability).map(|_| ())
    }

    /// Take all edges away that come from a block, that go to one, or that are of a kind: one of the
    /// three is named.
    #[pyo3(signature = (source=None, target=None, kind=None, *, durability=None))]
    fn unlink_all(
        &self,
        py: Python<'_>,
        source: Option<&Bound<'_, PyAny>>,
        target: Option<&Bound<'_, PyAny>>,
        kind: Option<String>,
        durability: Option<&str>,
    ) -> PyResult<()> {
        let which = match (source, target, kind) {
            (Some(source), None, None) => Unlinked::Source(id_of(source)?),
            (None, Some(target), None) => Unlinked::Target(id_of(target)?),
            (None, None, Some(kind)) => Unlinked::Kind(kind),
            _ => {
                return Err(invalid("unlink_all takes exactly one of source, target and kind"));
            }
        };
        self.commit(py, &GraphChanges::new().unlink_all(which), durability).map(|_| ())
    }

    /// Give the graph as it is now: what is written later is not in it.
    fn view(&self, py: Python<'_>) -> PyResult<GraphView> {
        Ok(self.moment(self.graph.detached(py, GraphModel::view)?))
    }

    /// Give the graph as a pin of the store keeps it.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> graph = store.graph("code")
    /// >>> text = graph.put("text")
    /// >>> commit = store.pin("monday")
    /// >>> graph.delete(text)
    /// >>> text in graph, text in graph.at("monday")
    /// (False, True)
    fn at(&self, py: Python<'_>, pin: &str) -> PyResult<GraphView> {
        let store = self.graph.handle.store()?;
        let view = self.graph.detached(py, |graph| Ok(graph.view_at(store.snapshot_at(pin)?)))?;
        Ok(self.moment(view))
    }

    /// Bound the memory that the edges may take, in bytes; 4 GiB unless it is said. Where they would take
    /// more, walks read those that they need, and what needs all of them, such as `pagerank`, is
    /// refused. Holds until the store is closed.
    fn set_cache_bytes_max(&self, py: Python<'_>, bytes: u64) -> PyResult<()> {
        self.graph.detached(py, |graph| {
            graph.set_cache_bytes_max(bytes);
            Ok(())
        })
    }

    /// Remove the graph with all that it holds, durably.
    fn drop(&self, py: Python<'_>) -> PyResult<()> {
        self.graph.detached(py, GraphModel::remove)
    }

    fn __repr__(&self) -> String {
        let name = self.graph.even_closed().name();
        format!("<Graph {name:?} keep_versions={}>", self.keep_versions())
    }
}

impl Graph {
    fn moment(&self, view: timestrata_graph::GraphView) -> GraphView {
        let view = Box::new(Guarded::new(view));
        let name = self.graph.even_closed().name().to_owned();
        GraphView { handle: Arc::clone(&self.graph.handle), moment: Moment::At { name, view } }
    }
}
