//! A graph as it is at one snapshot.

use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StringArray};
use serde_json::{Map, Value};
use timestrata_engine::{Cell, KeyRange, Result, RunningQuery, Scan, ScanSpec, Snapshot};

use super::adjacency::{BlockId, Direction, View};
use super::block::{Block, column};
use super::edge::{Edge, EdgeRows, EdgeSide};
use super::handle::{Graph, SharedGraph};
use super::{in_memory, read};

/// A graph at one snapshot: what is written later is not in it. Cheap to clone.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// # use timestrata_graph::{Edge, Graph, GraphChanges, GraphOptions, NewBlock};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let code = Graph::create(&store, "code", &GraphOptions::default())?;
/// # let block = |content| NewBlock { is_text: true, content, ..NewBlock::default() };
/// # let (main, run) = (block(b"fn main() { run() }"), block(b"fn run() {}"));
/// # let call = Edge::new(main.id(), "calls", run.id());
/// # let changes = GraphChanges::new().put(main).put(run).link(call);
/// # code.change(&changes, Durability::Written)?;
/// // A block `main` has an edge to a block `run`, of the kind `calls`.
/// let view = code.view()?;
/// assert_eq!((view.block_count()?, view.edge_count()?), (2, 1));
/// assert_eq!(view.get(run.id())?.map(|block| block.version()), Some(1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct GraphView {
    pub(super) shared: Arc<SharedGraph>,
    pub(super) snapshot: Snapshot,
    /// Whether the store is another process's, of whose commits nobody tells.
    pub(super) follows: bool,
    /// The edges in memory, once somebody has asked.
    pub(super) adjacency: Arc<OnceLock<View>>,
    /// Who asks, where somebody may give up.
    pub(super) query: Option<RunningQuery>,
    /// The same snapshot, for what is read for others as well.
    pub(super) for_all: Snapshot,
}

/// Which blocks are looked for; all conditions must hold.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_graph::Find;
/// # use timestrata_graph::{Edge, Graph, GraphChanges, GraphOptions, NewBlock};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let code = Graph::create(&store, "code", &GraphOptions::default())?;
/// # let block = |content| NewBlock { is_text: true, content, ..NewBlock::default() };
/// # let (main, run) = (block(b"fn main() { run() }"), block(b"fn run() {}"));
/// # let call = Edge::new(main.id(), "calls", run.id());
/// # let changes = GraphChanges::new().put(main).put(run).link(call);
/// # code.change(&changes, Durability::Written)?;
/// // A block `main` has an edge to a block `run`, of the kind `calls`.
/// let first = Find { limit: Some(1), ..Find::default() };
/// assert_eq!(code.view()?.find(&first)?.len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Find {
    /// Where they came from.
    pub source_uri: Option<String>,
    /// What their metadata has among its members, each with this value.
    pub metadata: Map<String, Value>,
    /// How many at most.
    pub limit: Option<usize>,
}

impl Find {
    fn takes(&self, source_uri: Option<&str>, metadata: Option<&str>) -> bool {
        if self.source_uri.is_some() && self.source_uri.as_deref() != source_uri {
            return false;
        }
        if self.metadata.is_empty() {
            return true;
        }
        let object =
            metadata.and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
        object.is_some_and(|object| {
            self.metadata.iter().all(|(name, value)| object.get(name) == Some(value))
        })
    }
}

impl Graph {
    /// The graph as it is now.
    ///
    /// # Errors
    /// `Closed` if the store is.
    pub fn view(&self) -> Result<GraphView> {
        // Nobody commits between the two.
        let resident = self.shared.resident.lock();
        let snapshot = self.store.snapshot()?;
        let edges = resident.at(snapshot.seq(), self.store.is_read_only());
        drop(resident);
        Ok(self.view_of(snapshot, edges))
    }

    /// The graph as it is at a snapshot of the same store: one that somebody kept, or a pin's.
    #[must_use]
    pub fn view_at(&self, snapshot: Snapshot) -> GraphView {
        self.view_of(snapshot, None)
    }

    fn view_of(&self, snapshot: Snapshot, edges: Option<View>) -> GraphView {
        GraphView {
            shared: Arc::clone(&self.shared),
            for_all: snapshot.clone(),
            snapshot,
            query: None,
            follows: self.store.is_read_only(),
            adjacency: Arc::new(edges.map_or_else(OnceLock::new, OnceLock::from)),
        }
    }
}

impl GraphView {
    /// The same for a query that was begun ([`Store::begin_query`](timestrata_engine::Store::begin_query)): what is read of
    /// it, and walks, end as that says. Edges that are read into memory for all who ask later are read to their end.
    ///
    /// ```
    /// use timestrata_engine::{Durability, ErrorKind, Settings, Store};
    /// use timestrata_graph::walk::Order;
    /// use timestrata_graph::{Along, BlockId, Graph, GraphOptions};
    ///
    /// # fn main() -> timestrata_engine::Result<()> {
    /// let store = Store::memory(Settings::default())?;
    /// let code = Graph::create(&store, "code", &GraphOptions::default())?;
    /// let query = store.begin_query("a walk", None);
    /// let view = code.view()?.for_query(&query);
    /// query.cancel();
    /// let walked = view.walk(&[BlockId::default()], &Along::default(), Order::Breadth, |_| true);
    /// assert_eq!(walked.map_err(|error| error.kind()), Err(ErrorKind::Cancelled));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn for_query(&self, query: &RunningQuery) -> Self {
        let snapshot = self.for_all.for_query(query);
        Self { snapshot, query: Some(query.clone()), ..self.clone() }
    }

    /// An error once nobody wants the answer any more.
    pub(super) fn check_wanted(&self) -> Result<()> {
        self.query.as_ref().map_or(Ok(()), RunningQuery::check)
    }

    /// The snapshot that it is of.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The latest block of an id.
    ///
    /// # Errors
    /// What reading may fail with.
    pub fn get(&self, id: BlockId) -> Result<Option<Block>> {
        let (cache, seq) = (&self.shared.read_blocks, self.snapshot.seq());
        let kept = cache.get(id, seq, self.follows);
        if kept.is_some() {
            return Ok(kept);
        }
        let found = self.shared.latest_block(&self.snapshot, id)?;
        Ok(found.map(|block| cache.keep(block, seq, self.follows)))
    }

    /// The latest block of each id, in their order.
    ///
    /// # Errors
    /// What reading may fail with.
    pub fn get_many(&self, ids: &[BlockId]) -> Result<Vec<Option<Block>>> {
        ids.iter().map(|id| self.get(*id)).collect()
    }

    /// Whether a block is there.
    ///
    /// # Errors
    /// What reading may fail with.
    pub fn contains(&self, id: BlockId) -> Result<bool> {
        Ok(self.get(id)?.is_some())
    }

    /// The versions of a block that are kept, the latest first.
    ///
    /// # Errors
    /// What reading may fail with.
    pub fn versions(&self, id: BlockId) -> Result<Vec<Block>> {
        let mut found: Vec<Block> = self.get(id)?.into_iter().collect();
        let Some(stream) = self.shared.versions else { return Ok(found) };
        for number in read::version_numbers(&self.snapshot, stream, id)?.into_iter().rev() {
            let key = [Cell::Bytes(id.bytes()), Cell::UInt(number.into())];
            found.extend(read::block(&self.snapshot, stream, &key)?);
        }
        Ok(found)
    }

    /// Blocks in the order of their ids.
    ///
    /// # Errors
    /// What reading may fail with.
    pub fn find(&self, what: &Find) -> Result<Vec<Block>> {
        let mut found = Vec::new();
        let most = what.limit.unwrap_or(usize::MAX);
        for rows in self.snapshot.scan(self.shared.blocks, &ScanSpec::default())? {
            let rows = rows?;
            for row in matching(&rows, what) {
                if found.len() >= most {
                    return Ok(found);
                }
                found.push(Block::of_row(&rows, row)?);
            }
        }
        Ok(found)
    }

    /// The edges of a block, by kind and then by the block at their other end; of kinds of these names,
    /// of all where there are none. Those in both directions: first those that come from it, and an edge
    /// to itself once.
    ///
    /// # Errors
    /// What reading may fail with.
    pub fn edges(&self, id: BlockId, direction: Direction, kinds: &[&str]) -> Result<Vec<Edge>> {
        let in_memory = self.adjacency.get().filter(|view| view.tells_all());
        let of_side = |side: EdgeSide| match in_memory {
            Some(view) => Ok(in_memory::edges_of(view, side, id)),
            None => self.shared.edges_of(&self.snapshot, side, id),
        };
        let mut edges = match direction {
            Direction::Out | Direction::Both => of_side(EdgeSide::Out)?,
            Direction::In => of_side(EdgeSide::In)?,
        };
        if direction == Direction::Both {
            let is_new = |edge: &Edge| edge.key.source != edge.key.target;
            edges.extend(of_side(EdgeSide::In)?.into_iter().filter(is_new));
        }
        if !kinds.is_empty() {
            edges.retain(|edge| kinds.contains(&&*edge.key.kind));
        }
        Ok(edges)
    }

    /// All blocks in their latest versions, by id.
    ///
    /// # Errors
    /// What reading may fail with; each item can be an error.
    pub fn all_blocks(&self) -> Result<impl Iterator<Item = Result<Block>> + Send + use<>> {
        Ok(self.scan_blocks()?.flat_map(|rows| {
            let each = |rows: RecordBatch| {
                (0..rows.num_rows()).map(move |row| Block::of_row(&rows, row)).collect()
            };
            rows.map_or_else(|error| vec![Err(error)], each)
        }))
    }

    /// All edges, by source, kind and target.
    ///
    /// # Errors
    /// What reading may fail with; each item can be an error, and is the last one then.
    pub fn all_edges(&self) -> Result<impl Iterator<Item = Result<Edge>> + Send + use<>> {
        Ok(self.scan_edges()?.flat_map(|rows| {
            let edges = rows.and_then(|rows| {
                Ok(EdgeRows::of(EdgeSide::Out, &rows)?.edges().collect::<Vec<Edge>>())
            });
            let (edges, error) = match edges {
                Ok(edges) => (edges, None),
                Err(error) => (Vec::new(), Some(Err(error))),
            };
            edges.into_iter().map(Ok).chain(error)
        }))
    }

    /// All blocks as rows, by id, with the columns that their stream has.
    ///
    /// # Errors
    /// What reading may fail with.
    pub fn scan_blocks(&self) -> Result<Scan> {
        self.snapshot.scan(self.shared.blocks, &ScanSpec::default())
    }

    /// All edges as rows, by source, kind and target, with the columns that their stream has.
    ///
    /// # Errors
    /// What reading may fail with.
    pub fn scan_edges(&self) -> Result<Scan> {
        self.snapshot.scan(self.shared.edges_out, &ScanSpec::default())
    }

    /// How many blocks there are.
    ///
    /// # Errors
    /// What reading may fail with.
    pub fn block_count(&self) -> Result<u64> {
        self.snapshot.count(self.shared.blocks, &KeyRange::ALL)
    }

    /// How many edges there are.
    ///
    /// # Errors
    /// What reading may fail with.
    pub fn edge_count(&self) -> Result<u64> {
        self.snapshot.count(self.shared.edges_out, &KeyRange::ALL)
    }
}

/// Rows of blocks that are looked for.
fn matching(rows: &RecordBatch, what: &Find) -> Vec<usize> {
    let texts = |index: usize| rows.columns().get(index)?.as_string_opt::<i32>();
    let (uris, metadata) = (texts(column::SOURCE_URI), texts(column::METADATA));
    let takes = |row: &usize| what.takes(text(uris, *row), text(metadata, *row));
    (0..rows.num_rows()).filter(takes).collect()
}

fn text(texts: Option<&StringArray>, row: usize) -> Option<&str> {
    texts.filter(|texts| texts.is_valid(row)).map(|texts| texts.value(row))
}
