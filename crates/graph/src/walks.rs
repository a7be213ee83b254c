//! Walks by block ids and names of kinds, as callers of a view ask for them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use timestrata_engine::{Result, ScanSpec};

use super::adjacency::{self, BlockId, Direction, EdgeFilter, KindFilter, Kinds, View};
use super::block::{self, unmade};
use super::edge::{EdgeRows, EdgeSide};
use super::nearby::Edges;
use super::read;
use super::view::GraphView;
use super::walk::{self, Order, RankOptions, WalkOptions};

/// Along which edges something goes, and how far.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_graph::{Along, Direction};
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
/// let callers = Along { direction: Direction::In, kinds: &["calls"], ..Along::default() };
/// assert_eq!(code.view()?.degree(run.id(), &callers)?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Along<'a> {
    /// The direction of the edges. Default: out.
    pub direction: Direction,
    /// Names of the kinds that count; all where there are none. A kind that no edge has is no error.
    pub kinds: &'a [&'a str],
    /// Edges whose `valid_from` is later than this, nanoseconds since the epoch, don't count.
    pub as_of_ns: Option<i64>,
    /// How many edges away at most.
    pub depth_max: u32,
    /// How many blocks at most.
    pub nodes_max: usize,
}

impl Default for Along<'_> {
    /// Along all edges that go out, without bounds.
    fn default() -> Self {
        Self {
            direction: Direction::Out,
            kinds: &[],
            as_of_ns: None,
            depth_max: u32::MAX,
            nodes_max: usize::MAX,
        }
    }
}

impl Along<'_> {
    /// The same in numbers of a view, within a bound to the nodes.
    fn options(&self, of: &GraphView, kinds: &Kinds, nodes_max: usize) -> WalkOptions {
        let (direction, depth_max) = (self.direction, self.depth_max);
        let (edges, query) = (self.filter(kinds), of.query.clone());
        WalkOptions { direction, edges, depth_max, nodes_max, query }
    }

    fn filter(&self, kinds: &Kinds) -> EdgeFilter {
        let known = self.kinds.iter().filter_map(|name| kinds.number(name));
        let kinds = if self.kinds.is_empty() { KindFilter::all() } else { KindFilter::of(known) };
        EdgeFilter { kinds, as_of: self.as_of_ns }
    }

    /// Whether an edge of a kind counts.
    pub(super) fn counts(&self, kind: &str, edge: &adjacency::Edge) -> bool {
        let is_wanted = self.kinds.is_empty() || self.kinds.contains(&kind);
        let holds = |time: i64| edge.valid_from.is_none_or(|from| from <= time);
        is_wanted && self.as_of_ns.is_none_or(holds)
    }
}

/// A block that a walk came to; it need not exist, where an edge names it.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_graph::Along;
/// use timestrata_graph::walk::Order;
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
/// let walked = code.view()?.walk(&[main.id()], &Along::default(), Order::Breadth, |_| true)?;
/// let last = &walked.blocks[1];
/// assert_eq!((last.id, last.depth, last.parent), (run.id(), 1, Some(0)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// Its id.
    pub id: BlockId,
    /// How many edges it is away from where the walk began.
    pub depth: u32,
    /// The place in the walk of the block it was reached from; `None` where the walk began.
    pub parent: Option<usize>,
    /// The kind of the edge it was reached by; `None` where the walk began.
    pub kind: Option<Arc<str>>,
}

/// Blocks at the other ends of a block's edges, each with the kind of the edge.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_graph::Along;
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
/// let of_main = &code.view()?.neighbors(&[main.id()], &Along::default())?[0];
/// assert_eq!((of_main[0].0, &*of_main[0].1), (run.id(), "calls"));
/// # Ok(())
/// # }
/// ```
pub type Neighbors = Vec<(BlockId, Arc<str>)>;

/// What a walk came to.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_graph::Along;
/// use timestrata_graph::walk::Order;
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
/// let one = Along { nodes_max: 1, ..Along::default() };
/// let walked = code.view()?.walk(&[main.id()], &one, Order::Breadth, |_| true)?;
/// assert!(walked.blocks.len() == 1 && walked.is_cut);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Walked {
    /// Each block once, in the order of the walk.
    pub blocks: Vec<Reached>,
    /// Whether a bound kept the walk from some block.
    pub is_cut: bool,
}

/// A way from one block to another.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_graph::Along;
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
/// let routed = code.view()?.shortest_path(main.id(), run.id(), &Along::default(), false)?;
/// assert_eq!(routed.route.map(|route| route.ids), Some(vec![main.id(), run.id()]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Route {
    /// The blocks on it, both ends among them.
    pub ids: Vec<BlockId>,
    /// The kinds of the edges between them: one less than there are blocks.
    pub kinds: Vec<Arc<str>>,
    /// What the edges weigh in all, or how many there are where weights were not asked for.
    pub cost: f64,
}

/// What a search for a way found.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_graph::Along;
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
/// let routed = code.view()?.shortest_path(run.id(), main.id(), &Along::default(), false)?;
/// assert!(routed.route.is_none() && !routed.is_cut);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Routed {
    /// The way, if there is one within the bounds.
    pub route: Option<Route>,
    /// Whether a bound kept the search from looking further.
    pub is_cut: bool,
}

/// Names of kinds by their numbers, each made once.
struct Names(Vec<Arc<str>>);

impl Names {
    fn of(view: &View) -> Self {
        Self(view.kinds().names().map(Arc::from).collect())
    }

    fn name(&self, kind: u16) -> Arc<str> {
        self.0.get(usize::from(kind)).cloned().unwrap_or_default()
    }
}

impl GraphView {
    /// Walks from some blocks to all that can be reached from them; `takes` is asked once for each other
    /// block, and one that it turns down is neither given nor gone through.
    ///
    /// Where a block comes before others of its depth depends on the edges, not on its id.
    ///
    /// # Errors
    /// What reading may fail with.
    pub fn walk(
        &self,
        starts: &[BlockId],
        along: &Along<'_>,
        order: Order,
        mut takes: impl FnMut(BlockId) -> bool,
    ) -> Result<Walked> {
        // What `takes` has said, where it may be asked again.
        let mut said = HashMap::new();
        let walked = self.ask(along, &mut |edges| {
            let near = match edges {
                Edges::All(view) if said.is_empty() => {
                    return Ok(Some(self.walk_in(view, starts, along, order, &mut takes)));
                }
                Edges::All(view) => {
                    let takes = |id| *said.entry(id).or_insert_with(|| takes(id));
                    return Ok(Some(self.walk_in(view, starts, along, order, takes)));
                }
                Edges::Near(near) => near,
            };
            let mut wanted = starts.to_vec();
            loop {
                if !near.read(&wanted)? {
                    return Ok(None);
                }
                near.read_ahead()?;
                let takes = |id| *said.entry(id).or_insert_with(|| takes(id));
                let walked = self.walk_in(&near.view()?, starts, along, order, takes);
                let came_to = walked.blocks.iter().map(|reached| reached.id);
                wanted = came_to.filter(|id| !near.has_read(*id)).collect();
                if wanted.is_empty() {
                    return Ok(Some(walked));
                }
            }
        })?;
        self.check_wanted()?;
        Ok(walked)
    }

    fn walk_in(
        &self,
        view: &View,
        starts: &[BlockId],
        along: &Along<'_>,
        order: Order,
        mut takes: impl FnMut(BlockId) -> bool,
    ) -> Walked {
        let mut seen = HashSet::new();
        // Blocks without edges have no number, and are where they begin.
        let (known, alone): (Vec<BlockId>, Vec<BlockId>) = starts
            .iter()
            .filter(|id| seen.insert(**id))
            .partition(|id| view.number(**id).is_some());
        let known: Vec<u32> = known.iter().filter_map(|id| view.number(*id)).collect();
        let mut walked = Walked { blocks: Vec::new(), is_cut: alone.len() > along.nodes_max };
        let lonely = alone.iter().take(along.nodes_max);
        walked.blocks.extend(lonely.map(|id| Reached {
            id: *id,
            depth: 0,
            parent: None,
            kind: None,
        }));
        let before = walked.blocks.len();
        let options = along.options(self, view.kinds(), along.nodes_max - before);
        let takes = |number| view.id(number).is_some_and(&mut takes);
        let pool = &self.shared.scratch;
        let found = pool.with(|own| walk::walk(view, own, &known, order, &options, takes));
        let names = Names::of(view);
        walked.is_cut |= found.is_cut;
        walked.blocks.extend(found.nodes.iter().map(|step| Reached {
            id: view.id(step.number).unwrap_or_default(),
            depth: step.depth,
            parent: step.parent().map(|place| before + place),
            kind: step.kind().map(|kind| names.name(kind)),
        }));
        walked
    }

    /// A way of the fewest edges; or, by weight, the one whose edges weigh least, where an edge without
    /// a weight weighs 1. By weight the depth has no bound.
    ///
    /// # Errors
    /// `InvalidData` by weight, for an edge that weighs less than nothing; what reading may fail with.
    pub fn shortest_path(
        &self,
        source: BlockId,
        target: BlockId,
        along: &Along<'_>,
        by_weight: bool,
    ) -> Result<Routed> {
        // The cheapest way may be one of many edges.
        let depth_max = if by_weight { u32::MAX } else { along.depth_max };
        let routed = self.ask(&Along { depth_max, ..along.clone() }, &mut |edges| {
            let near = match edges {
                Edges::All(view) => {
                    return self.path_in(view, source, target, along, by_weight).map(Some);
                }
                Edges::Near(near) => near,
            };
            let Some(is_all) = near.read_all_from(source, along.nodes_max)? else {
                return Ok(None);
            };
            let mut routed = self.path_in(&near.view()?, source, target, along, by_weight)?;
            routed.is_cut |= !is_all;
            Ok(Some(routed))
        })?;
        self.check_wanted()?;
        Ok(routed)
    }

    fn path_in(
        &self,
        view: &View,
        source: BlockId,
        target: BlockId,
        along: &Along<'_>,
        by_weight: bool,
    ) -> Result<Routed> {
        let (Some(from), Some(to)) = (view.number(source), view.number(target)) else {
            // A block without edges has a way to itself.
            let route = (source == target).then(|| Route { ids: vec![source], ..Route::default() });
            return Ok(Routed { route, is_cut: false });
        };
        let options = along.options(self, view.kinds(), along.nodes_max);
        let search = self.shared.scratch.with(|own| match by_weight {
            true => walk::cheapest_path(view, own, from, to, &options),
            false => Ok(walk::shortest_path(view, own, from, to, &options)),
        })?;
        let names = Names::of(view);
        let route = search.path.map(|path| Route {
            ids: path.nodes.iter().filter_map(|number| view.id(*number)).collect(),
            kinds: path.kinds.iter().map(|kind| names.name(*kind)).collect(),
            cost: path.cost,
        });
        Ok(Routed { route, is_cut: search.is_cut })
    }

    /// The blocks one edge away from each of some, with the kind of the edge; by kind.
    ///
    /// # Errors
    /// What reading may fail with.
    pub fn neighbors(&self, ids: &[BlockId], along: &Along<'_>) -> Result<Vec<Neighbors>> {
        self.ask_of(ids, along, |view| {
            let (filter, names) = (along.filter(view.kinds()), Names::of(view));
            let of = |id: &BlockId| {
                let mut found = Vec::new();
                if let Some(number) = view.number(*id) {
                    view.for_each(number, along.direction, &filter, |neighbor| {
                        let other = view.id(neighbor.number).unwrap_or_default();
                        found.push((other, names.name(neighbor.kind)));
                    });
                }
                found
            };
            ids.iter().map(of).collect()
        })
    }

    /// How many edges a block has; in both directions, an edge to itself counts twice.
    ///
    /// # Errors
    /// What reading may fail with.
    pub fn degree(&self, id: BlockId, along: &Along<'_>) -> Result<usize> {
        self.ask_of(&[id], along, |view| match view.number(id) {
            Some(number) => view.degree_of(number, along.direction, &along.filter(view.kinds())),
            None => 0,
        })
    }

    /// Asks what the edges of some blocks tell, and those of no other.
    fn ask_of<T>(
        &self,
        ids: &[BlockId],
        along: &Along<'_>,
        answer: impl Fn(&View) -> T,
    ) -> Result<T> {
        self.ask(along, &mut |edges| match edges {
            Edges::All(view) => Ok(Some(answer(view))),
            Edges::Near(near) => match near.read(ids)? {
                true => Ok(Some(answer(&near.view()?))),
                false => Ok(None),
            },
        })
    }

    /// The parts of the graph between which there is no edge, whatever its direction: blocks with their
    /// part, of those that an edge names.
    ///
    /// # Errors
    /// `TooLarge` if the edges may not be in memory; what reading may fail with.
    pub fn components(&self, along: &Along<'_>) -> Result<Vec<(BlockId, u32)>> {
        let view = self.whole()?;
        let parts = walk::components(&view, &along.filter(view.kinds()));
        let each = (0..).zip(parts.of);
        Ok(each.filter_map(|(number, part)| Some((view.id(number)?, part?))).collect())
    }

    /// How much each block counts, by the edges that lead to it: `PageRank`, 1 in all. Blocks that no
    /// edge names are not ranked.
    ///
    /// # Errors
    /// `InvalidArgument` for a damping that is not from 0 to 1; `TooLarge` if the edges may not be in
    /// memory; what reading may fail with.
    pub fn page_rank(&self, along: &Along<'_>, damping: f64) -> Result<Vec<(BlockId, f64)>> {
        let view = self.whole()?;
        let edges = along.filter(view.kinds());
        let ranks = walk::page_rank(&view, &RankOptions { damping, edges, ..Default::default() })?;
        let ranked = (0..).zip(ranks.of).filter(|(_, rank)| *rank > 0.0);
        Ok(ranked.filter_map(|(number, rank)| Some((view.id(number)?, rank))).collect())
    }

    /// Blocks, and the edges between them: rows of both, as their streams have them.
    ///
    /// # Errors
    /// What reading may fail with.
    pub fn subgraph(&self, ids: &[BlockId]) -> Result<(RecordBatch, RecordBatch)> {
        let within: HashSet<BlockId> = ids.iter().copied().collect();
        let (mut blocks, mut edges) = (Vec::new(), Vec::new());
        let mut sorted: Vec<BlockId> = within.iter().copied().collect();
        sorted.sort_unstable();
        for id in sorted {
            let spec = ScanSpec { range: read::range_of(id), ..ScanSpec::default() };
            for rows in self.snapshot.scan(self.shared.blocks, &spec)? {
                blocks.push(rows?);
            }
            for rows in self.snapshot.scan(self.shared.edges_out, &spec)? {
                let rows = rows?;
                let kept: BooleanArray = EdgeRows::of(EdgeSide::Out, &rows)?
                    .keys()
                    .map(|(_, _, target)| Some(within.contains(&target)))
                    .collect();
                edges.push(filter_record_batch(&rows, &kept).map_err(|error| unmade(&error))?);
            }
        }
        let joined = |schema, rows: &[RecordBatch]| {
            concat_batches(&schema, rows).map_err(|error: ArrowError| unmade(&error))
        };
        Ok((joined(block::schema(), &blocks)?, joined(EdgeSide::Out.schema(), &edges)?))
    }

    /// All edges in memory, for what needs them all.
    fn whole(&self) -> Result<View> {
        self.adjacency()?.ok_or_else(|| {
            let message = format!(
                "graph '{}': its edges take more memory than they may (cache_bytes_max)",
                self.shared.name
            );
            timestrata_engine::Error::new(timestrata_engine::ErrorKind::TooLarge, message)
        })
    }
}
