//! What goes along the edges of a graph: `walk` and `shortest_path`.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::builder::{FixedSizeBinaryBuilder, StringViewBuilder};
use datafusion::arrow::array::{ArrayRef, Float64Array, RecordBatch, UInt32Array, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use timestrata_engine::{Error, ErrorKind, Result, RunningQuery};
use timestrata_graph::walk::Order;
use timestrata_graph::{Along, BlockId, Direction};

use crate::physical_plan::Computation;
use crate::table::GraphTable;

/// Blocks that a walk or a search may come to where the query doesn't say how many.
const NODES_MAX: usize = 1_000_000;
const ID_BYTES: i32 = 16;

/// Along which edges, and how far.
#[derive(Debug, Clone)]
pub(super) struct AlongEdges {
    pub(super) direction: Direction,
    pub(super) kinds: Vec<String>,
    pub(super) as_of_ns: Option<i64>,
    pub(super) depth: Option<u32>,
    /// How many blocks at most; `None`: an error, if that is more than a bound.
    pub(super) nodes: Option<usize>,
}

impl AlongEdges {
    fn along<'a>(&self, kinds: &'a [&'a str]) -> Along<'a> {
        Along {
            direction: self.direction,
            kinds,
            as_of_ns: self.as_of_ns,
            depth_max: self.depth.unwrap_or(u32::MAX),
            nodes_max: self.nodes.unwrap_or(NODES_MAX),
        }
    }

    fn kinds(&self) -> Vec<&str> {
        self.kinds.iter().map(String::as_str).collect()
    }
}

/// The error for an answer that isn't all, where nobody asked for a part.
fn cut(function: &str) -> Error {
    let message = format!(
        "{function} came to more than {NODES_MAX} blocks: give a smaller depth, or how many blocks are wanted with \
         nodes_max =>"
    );
    Error::new(ErrorKind::TooLarge, message)
}

fn id_field(name: &str, is_nullable: bool) -> Field {
    Field::new(name, DataType::FixedSizeBinary(ID_BYTES), is_nullable)
}

fn ids(all: impl ExactSizeIterator<Item = Option<BlockId>>) -> Result<ArrayRef> {
    let mut ids = FixedSizeBinaryBuilder::with_capacity(all.len(), ID_BYTES);
    for id in all {
        match id {
            Some(id) => ids.append_value(id.bytes()).map_err(unmade)?,
            None => ids.append_null(),
        }
    }
    Ok(Arc::new(ids.finish()))
}

fn kinds<'a>(all: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    let mut kinds = StringViewBuilder::new().with_deduplicate_strings();
    all.for_each(|kind| kinds.append_option(kind));
    Arc::new(kinds.finish())
}

fn unmade(error: datafusion::arrow::error::ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, "what was found makes no columns").caused_by(error)
}

/// `walk(graph, start, ...)`: the blocks that can be reached from some.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) graph: GraphTable,
    pub(super) starts: Vec<BlockId>,
    pub(super) order: Order,
    pub(super) edges: AlongEdges,
}

impl fmt::Display for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Walk: graph={}, starts={}", self.graph.name, self.starts.len())
    }
}

impl Computation for Walk {
    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("step", DataType::UInt64, false),
            id_field("id", false),
            Field::new("depth", DataType::UInt32, false),
            id_field("parent", true),
            Field::new("kind", DataType::Utf8View, true),
        ]))
    }

    fn compute(&self) -> Result<RecordBatch> {
        let query = self.graph.read.query.as_ref();
        let names = self.edges.kinds();
        // Asked at each block: a walk that isn't wanted any more takes no further ones.
        let is_wanted = || query.is_none_or(|query| query.check().is_ok());
        let view = self.graph.view()?;
        let walked =
            view.walk(&self.starts, &self.edges.along(&names), self.order, |_| is_wanted())?;
        query.map_or(Ok(()), RunningQuery::check)?;
        if walked.is_cut && self.edges.nodes.is_none() && walked.blocks.len() >= NODES_MAX {
            return Err(cut("walk"));
        }
        let blocks = &walked.blocks;
        let parent = |place: usize| blocks.get(place).map(|block| block.id);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from_iter_values(0..blocks.len() as u64)),
            ids(blocks.iter().map(|block| Some(block.id)))?,
            Arc::new(UInt32Array::from_iter_values(blocks.iter().map(|block| block.depth))),
            ids(blocks.iter().map(|block| block.parent.and_then(parent)))?,
            kinds(blocks.iter().map(|block| block.kind.as_deref())),
        ];
        RecordBatch::try_new(self.schema(), columns).map_err(unmade)
    }
}

/// `shortest_path(graph, source, target, ...)`: the blocks on a shortest way.
#[derive(Debug)]
pub(super) struct ShortestPath {
    pub(super) graph: GraphTable,
    pub(super) source: BlockId,
    pub(super) target: BlockId,
    pub(super) by_weight: bool,
    pub(super) edges: AlongEdges,
}

impl fmt::Display for ShortestPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { graph, source, target, .. } = self;
        write!(f, "ShortestPath: graph={}, source={source}, target={target}", graph.name)
    }
}

impl Computation for ShortestPath {
    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("step", DataType::UInt64, false),
            id_field("id", false),
            Field::new("kind", DataType::Utf8View, true),
            Field::new("cost", DataType::Float64, false),
        ]))
    }

    fn compute(&self) -> Result<RecordBatch> {
        let names = self.edges.kinds();
        let view = self.graph.view()?;
        let search =
            |along: &Along<'_>| view.shortest_path(self.source, self.target, along, self.by_weight);
        let along = self.edges.along(&names);
        let routed = search(&along)?;
        if routed.route.is_none() && routed.is_cut && self.edges.nodes.is_none() {
            // If it was for the depth alone, a longer way is found, or that there is none.
            let any = search(&Along { depth_max: u32::MAX, ..along })?;
            if any.route.is_none() && any.is_cut {
                return Err(cut("shortest_path"));
            }
        }
        self.graph.read.query.as_ref().map_or(Ok(()), RunningQuery::check)?;
        let route = routed.route.unwrap_or_default();
        let steps = route.ids.len();
        // The kind of the edge that leads to a block: to the first none does.
        let to_each = std::iter::once(None).chain(route.kinds.iter().map(|kind| Some(&**kind)));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from_iter_values(0..steps as u64)),
            ids(route.ids.iter().map(|id| Some(*id)))?,
            kinds(to_each.take(steps)),
            Arc::new(Float64Array::from_iter_values(std::iter::repeat_n(route.cost, steps))),
        ];
        RecordBatch::try_new(self.schema(), columns).map_err(unmade)
    }
}
