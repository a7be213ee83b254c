//! Tables of one model that a table function is given: the log, graph or topic behind one.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use timestrata_engine::{Error, ErrorKind, Result, StreamId};
use timestrata_graph::{Graph, GraphPart, GraphView};
use timestrata_logs::EntryFilter;
use timestrata_topic::{RecordProof, Topic};

use super::topic::TopicPartitions;
use super::{DerivedTable, ReadFrom, SnapshotTable};
use crate::schema::SqlTable;

/// The table of the entries of a log that a filter lets through.
///
/// # Errors
/// `InvalidArgument` if the table is no log, or points at what is wrong with the filter.
pub(crate) fn search_table(
    table: &dyn TableProvider,
    name: &str,
    filter: &str,
) -> Result<Arc<dyn TableProvider>> {
    let known = table.downcast_ref::<SnapshotTable<DerivedTable>>();
    let (known, stream) = known
        .and_then(|known| Some((known, known.source.log()?)))
        .ok_or_else(|| other_kind(name, "log"))?;
    let filter = EntryFilter::new(stream, &filter.parse()?)?;
    let (source, read) = (known.source.searched(filter), known.read.clone());
    Ok(Arc::new(SnapshotTable { source, read }))
}

/// A graph at the snapshot of a query.
#[derive(Debug, Clone)]
pub(crate) struct GraphTable {
    pub(crate) name: String,
    blocks: StreamId,
    pub(crate) read: ReadFrom,
}

impl GraphTable {
    /// The graph whose blocks a table has.
    ///
    /// # Errors
    /// `InvalidArgument` if the table is none.
    pub(crate) fn of(table: &dyn TableProvider, name: &str) -> Result<Self> {
        let known = table.downcast_ref::<SnapshotTable<Arc<SqlTable>>>();
        let known =
            known.filter(|known| GraphPart::of(&known.source.stream) == Some(GraphPart::Blocks));
        let known = known.ok_or_else(|| other_kind(name, "graph"))?;
        let (name, blocks) = (known.source.name.clone(), known.source.stream.id());
        Ok(Self { name, blocks, read: known.read.clone() })
    }

    /// The graph, to be read.
    ///
    /// # Errors
    /// `NotFound` if it was removed since, also where another one has its name.
    pub(crate) fn view(&self) -> Result<GraphView> {
        let graph = Graph::open(&self.read.store, &self.name)?;
        if graph.stream_id() != self.blocks {
            let message = format!("graph '{}' was removed, and made anew", self.name);
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        Ok(graph.view_at(self.read.snapshot.clone()))
    }
}

/// A topic at the snapshot of a query.
#[derive(Debug, Clone)]
pub(crate) struct TopicTable {
    pub(crate) name: String,
    read: ReadFrom,
}

impl TopicTable {
    /// The topic whose records a table has.
    ///
    /// # Errors
    /// `InvalidArgument` if the table is none.
    pub(crate) fn of(table: &dyn TableProvider, name: &str) -> Result<Self> {
        let known = table.downcast_ref::<SnapshotTable<TopicPartitions>>();
        let known = known.ok_or_else(|| other_kind(name, "topic"))?;
        Ok(Self { name: known.source.topic().to_owned(), read: known.read.clone() })
    }

    pub(crate) fn proof(&self, partition: u32, offset: u64) -> Result<RecordProof> {
        let topic = Topic::open(&self.read.store, &self.name)?;
        topic.proof_at(&self.read.snapshot, partition, offset)
    }
}

fn other_kind(name: &str, wanted: &str) -> Error {
    let message = format!("'{name}' is no {wanted}: give the name of one");
    Error::new(ErrorKind::InvalidArgument, message)
}
