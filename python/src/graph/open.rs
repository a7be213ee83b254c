//! `Store.graph`: the graph of a name.

use std::sync::Arc;

use pyo3::prelude::*;
use timestrata_graph::{Graph as GraphModel, GraphOptions};

use super::object::WAYS;
use super::view::Moment;
use super::{Graph, GraphView};
use crate::opened::Opened;
use crate::store::Store;

#[pymethods]
impl Store {
    /// Give the graph of this name; make it if it is missing.
    ///
    /// Parameters
    /// ----------
    /// name : str
    ///     1 to 249 letters, digits, dots, underscores and hyphens.
    /// keep_versions : int, optional
    ///     How many versions of a block stay readable, the latest among them. A new graph has 1; one
    ///     that exists keeps its own.
    /// create : bool, optional
    ///     False: it must exist.
    ///
    /// Raises
    /// ------
    /// AlreadyExistsError
    ///     It exists with another number of versions than asked for.
    /// NotFoundError
    ///     It doesn't exist, and may not be made.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> store.graph("code", keep_versions=3)
    /// <Graph "code" keep_versions=3>
    #[pyo3(signature = (name, *, keep_versions=None, create=true))]
    fn graph<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        keep_versions: Option<u32>,
        create: bool,
    ) -> PyResult<Bound<'py, Graph>> {
        let wanted = |found: GraphOptions| GraphOptions {
            keep_versions: keep_versions.unwrap_or(found.keep_versions),
        };
        let graph = Opened::named(py, &self.handle, name, create, &WAYS, wanted)?;
        let moment = Moment::Now(graph.even_closed().clone());
        let reads = GraphView { handle: Arc::clone(&self.handle), moment };
        Bound::new(py, PyClassInitializer::from(reads).add_subclass(Graph { graph }))
    }

    /// List the names of all graphs.
    fn graphs(&self) -> PyResult<Vec<String>> {
        Ok(GraphModel::names(self.handle.store()?))
    }
}
