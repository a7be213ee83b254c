//! KausalDB's report: blocks and edges, hops and walks; compaction, the log, and runs of blocks in [`runs`].

mod runs;

use std::hint::black_box;
use std::path::Path;

use timestrata_bench::published::{Row, RowGroup, Rows, Side};
use timestrata_bench::{Bench, Numbers, Prepared, Result, Samples, scratch, settle};
use timestrata_engine::{Durability, Settings, Store};
use timestrata_graph::adjacency::{EdgeFilter, View};
use timestrata_graph::walk::{Order, Scratch, Step, WalkOptions, walk};
use timestrata_graph::{BlockId, Direction, Edge, Graph, GraphChanges, GraphOptions, NewBlock};

use super::{FLOOR, OURS, a_second, memory, micros};

pub(super) const GROUPS: [RowGroup; 8] = [
    RowGroup { name: "puts", run: puts },
    RowGroup { name: "gets and deletes", run: gets },
    RowGroup { name: "edges", run: edges },
    RowGroup { name: "walks", run: walks },
    RowGroup { name: "compaction", run: runs::compaction },
    RowGroup { name: "lookups by run", run: runs::lookups },
    RowGroup { name: "log and runs", run: runs::log_and_runs },
    RowGroup { name: "memory", run: memory::of_graph },
];

/// Bytes of a block's content, as in its report.
const CONTENT_BYTES: usize = 500;
pub(super) const BLOCKS: u64 = 10_000;
const SYNCED: u64 = 2_500;
pub(super) const EDGES: u64 = 20_000;
/// Blocks of 100 MB, and the runs that they are in before they are compacted.
pub(super) const COMPACTED: u64 = 200_000;
const RUNS: usize = 8;
const FLOOR_FILE_BYTES: u64 = 16 << 20;
/// Calls that take less than looking at the clock are timed so many at once.
const CALLS: usize = 64;
const KIND: &str = "calls";

pub(super) struct Made {
    pub(super) store: Store,
    pub(super) graph: Graph,
}

impl Made {
    pub(super) fn new(path: &Path, settings: Settings) -> Result<Self> {
        let store = Store::open(path, settings)?;
        let graph = Graph::create(&store, "graph", &GraphOptions::default())?;
        Ok(Self { store, graph })
    }

    /// One whose blocks are in several runs.
    pub(super) fn in_runs(
        path: &Path,
        settings: Settings,
        blocks: &[(BlockId, Vec<u8>)],
    ) -> Result<Self> {
        let made = Self::new(path, settings)?;
        made.put_in_runs(blocks)?;
        Ok(made)
    }

    fn put_in_runs(&self, blocks: &[(BlockId, Vec<u8>)]) -> Result<()> {
        for part in blocks.chunks(blocks.len().div_ceil(RUNS)) {
            self.put_many(part)?;
            self.store.flush()?;
        }
        Ok(())
    }

    pub(super) fn put(
        &self,
        (id, content): &(BlockId, Vec<u8>),
        durability: Durability,
    ) -> Result<()> {
        let block = NewBlock { id: Some(*id), content, ..NewBlock::default() };
        self.graph.change(&GraphChanges::new().put(block), durability)?;
        Ok(())
    }

    fn put_many(&self, blocks: &[(BlockId, Vec<u8>)]) -> Result<()> {
        for some in blocks.chunks(1_000) {
            self.graph.change(&put_all(some), Durability::Written)?;
        }
        Ok(())
    }

    /// Brings all of it into compacted runs.
    fn compact(&self) -> Result<()> {
        settle(&self.store)?;
        Ok(self.store.compact(None)?)
    }

    pub(super) fn adjacency(&self) -> Result<View> {
        Ok(self.graph.view()?.adjacency()?.ok_or("the edges take more memory than they may")?)
    }
}

fn put_all(blocks: &[(BlockId, Vec<u8>)]) -> GraphChanges<'_> {
    blocks.iter().fold(GraphChanges::new(), |changes, (id, content)| {
        changes.put(NewBlock { id: Some(*id), content, ..NewBlock::default() })
    })
}

fn id(numbers: &mut Numbers) -> BlockId {
    let (high, low) = (u128::from(numbers.next_u64()), u128::from(numbers.next_u64()));
    BlockId::new((high << 64 | low).to_be_bytes())
}

pub(super) fn blocks(count: u64) -> Vec<(BlockId, Vec<u8>)> {
    let mut numbers = Numbers::new(67);
    (0..count).map(|_| (id(&mut numbers), numbers.bytes(CONTENT_BYTES))).collect()
}

/// Times of some calls each, over how many there are of them.
fn of_some<T: Copy>(
    bench: &Bench,
    given: &[T],
    mut call: impl FnMut(T) -> Result<()>,
) -> Result<Samples> {
    let mut samples = Samples::new();
    for some in given.chunks(CALLS) {
        bench.watch.sample(&mut samples, 1.0 / some.len() as f64, || {
            some.iter().try_for_each(|each| call(*each))
        })?;
    }
    Ok(samples)
}

fn puts(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let made = Made::new(&dir.path().join("written"), Settings::default())?;
    let blocks = blocks(bench.many(BLOCKS));
    let mut written = Samples::new();
    for block in &blocks {
        bench.watch.sample(&mut written, 1.0, || made.put(block, Durability::Written))?;
    }
    rows.add(Row::of_calls("put written", Side::Ours, OURS, &written, a_second));
    made.store.close()?;
    let made = Made::new(&dir.path().join("synced"), Settings::default())?;
    let mut prepared = Prepared::create(&dir.path().join("prepared"), FLOOR_FILE_BYTES)?;
    let (mut synced, mut floor) = (Samples::new(), Samples::new());
    for block in blocks.iter().take(bench.many(SYNCED) as usize) {
        bench.watch.sample(&mut synced, 1.0, || made.put(block, Durability::Synced))?;
        bench.watch.sample(&mut floor, 1.0, || prepared.write_synced(&block.1))?;
    }
    rows.add(Row::of_calls("put synced", Side::Ours, OURS, &synced, a_second));
    rows.add(Row::of_calls("put synced", Side::Floor, FLOOR, &floor, a_second));
    Ok(made.store.close()?)
}

fn gets(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let blocks = blocks(bench.many(10 * BLOCKS));
    let path = dir.path().join("store");
    let made = Made::new(&path, Settings::default())?;
    made.put_many(&blocks)?;
    let view = made.graph.view()?;
    let hot: Vec<BlockId> = blocks.iter().take(1_000).map(|(id, _)| *id).collect();
    let get = |id| -> Result<()> {
        black_box(view.get(id)?.ok_or("a block is missing")?);
        Ok(())
    };
    hot.iter().try_for_each(|id| get(*id))?;
    let again: Vec<BlockId> = hot.iter().cycle().take(hot.len() * 20).copied().collect();
    let note = format!("{CALLS} calls at once: one takes less than looking at the clock");
    let samples = of_some(bench, &again, get)?;
    rows.add(Row::of_calls("get hot", Side::Ours, OURS, &samples, a_second).note(note));
    rows.add(Row::of_calls("hit cache", Side::Ours, OURS, &samples, micros));
    drop(view);
    made.compact()?;
    made.store.close()?;

    // Opened anew, nothing of it is in memory but what the disk's cache has.
    let store = Store::open(&path, Settings::default())?;
    let graph = Graph::open(&store, "graph")?;
    let view = graph.view()?;
    let mut cold = Samples::new();
    for (id, _) in blocks.iter().step_by(10) {
        bench.watch.sample(&mut cold, 1.0, || Ok(view.get(*id)?.ok_or("a block is missing")?))?;
    }
    let note = "each for the first time since the store was opened, of 100,000 in a compacted run";
    rows.add(Row::of_calls("get cold", Side::Ours, OURS, &cold, a_second).note(note));
    let in_micros =
        |id: &str, samples: &Samples| Row::of_calls(id, Side::Ours, OURS, samples, micros);
    rows.add(in_micros("hit second", &cold).note(note));
    let (mut misses, mut numbers) = (Samples::new(), Numbers::new(71));
    for _ in 0..bench.many(BLOCKS) {
        let other = id(&mut numbers);
        bench.watch.sample(&mut misses, 1.0, || Ok(black_box(view.get(other)?)))?;
    }
    rows.add(in_micros("miss", &misses));
    let mut deletes = Samples::new();
    for (id, _) in blocks.iter().take(bench.many(BLOCKS) as usize) {
        bench.watch.sample(&mut deletes, 1.0, || {
            Ok(graph.change(&GraphChanges::new().delete(*id), Durability::Written)?)
        })?;
    }
    let note = "`Written`; blocks of a compacted run, with no edges";
    rows.add(Row::of_calls("delete", Side::Ours, OURS, &deletes, a_second).note(note));
    Ok(store.close()?)
}

/// Edges between blocks that are drawn evenly, four from each on average; and the blocks.
pub(super) fn links(count: u64) -> (Vec<BlockId>, Vec<Edge>) {
    let mut numbers = Numbers::new(73);
    let ids: Vec<BlockId> = (0..count.div_ceil(4)).map(|_| id(&mut numbers)).collect();
    let mut end = || ids[numbers.below(ids.len() as u64) as usize];
    let links = (0..count).map(|_| Edge::new(end(), KIND, end())).collect();
    (ids, links)
}

fn edges(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let made = Made::new(dir.path(), Settings::default())?;
    let count = bench.many(EDGES);
    let (ids, links) = links(count);
    let (mut linked, mut unlinked) = (Samples::new(), Samples::new());
    for edge in &links {
        let changes = GraphChanges::new().link(edge.clone());
        bench
            .watch
            .sample(&mut linked, 1.0, || Ok(made.graph.change(&changes, Durability::Written)?))?;
    }
    rows.add(
        Row::of_calls("link", Side::Ours, OURS, &linked, a_second).note("`Written`, one a commit"),
    );
    made.adjacency()?;
    let view = made.graph.view()?;
    let asked: Vec<BlockId> = ids.iter().cycle().take(5 * EDGES as usize).copied().collect();
    let samples = of_some(bench, &asked, |id| {
        black_box(view.edges(id, Direction::Out, &[])?);
        Ok(())
    })?;
    let note = format!("four edges on average, with their kinds; {CALLS} calls at once");
    rows.add(Row::of_calls("edges", Side::Ours, OURS, &samples, a_second).note(note));
    for edge in links.iter().take((count / 2) as usize) {
        let changes = GraphChanges::new().unlink(edge.key.clone());
        bench.watch.sample(&mut unlinked, 1.0, || {
            Ok(made.graph.change(&changes, Durability::Written)?)
        })?;
    }
    rows.add(
        Row::of_calls("unlink", Side::Ours, OURS, &unlinked, a_second)
            .note("`Written`, one a commit"),
    );
    Ok(made.store.close()?)
}

/// A tree: each node has as many below it, down to a depth.
fn tree(below: u64, depth: u32) -> (Vec<BlockId>, Vec<Edge>) {
    let mut numbers = Numbers::new(79);
    let nodes: u64 = (0..=depth).map(|level| below.pow(level)).sum();
    let ids: Vec<BlockId> = (0..nodes).map(|_| id(&mut numbers)).collect();
    let edge = |node: u64| Edge::new(ids[((node - 1) / below) as usize], KIND, ids[node as usize]);
    let edges = (1..nodes).map(edge).collect();
    (ids, edges)
}

fn walks(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    for (name, below, depth, order) in [("bfs", 10, 3, Order::Breadth), ("dfs", 5, 5, Order::Depth)]
    {
        let dir = scratch(&bench.dir)?;
        let made = Made::new(dir.path(), Settings::default())?;
        let (ids, edges) = tree(below, depth);
        made.graph.change(&GraphChanges::new().link_many(edges), Durability::Written)?;
        let (view, mut scratch) = (made.adjacency()?, Scratch::new());
        let (options, mut samples) = (WalkOptions::default(), Samples::new());
        let mut given = 0;
        for _ in 0..bench.rounds(2_000) {
            let found = bench.watch.sample(&mut samples, 1.0, || {
                let start = view.number(ids[0]).ok_or("no such node")?;
                Ok(walk(&view, &mut scratch, &[start], order, &options, |_| true).nodes)
            })?;
            if found.len() != ids.len() {
                return Err(format!("{name}: {} nodes of {}", found.len(), ids.len()).into());
            }
            given = found.capacity() * size_of::<Step>();
        }
        let note = "from the id to numbers and depths of all nodes";
        rows.add(Row::of_calls(name, Side::Ours, OURS, &samples, micros).note(note));
        let note = format!("{given} B are what it gives; the rest is kept for the next walk");
        let bytes = (given + scratch.bytes()) as f64;
        rows.add(Row::new(&format!("{name} memory"), Side::Ours, OURS, bytes, 1).note(note));
        made.store.close()?;
    }
    hops(bench, rows)
}

fn hops(bench: &Bench, rows: &mut Rows) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let made = Made::new(dir.path(), Settings::default())?;
    let (count, mut numbers) = (bench.many(10_000), Numbers::new(83));
    let ids: Vec<BlockId> = (0..count).map(|_| id(&mut numbers)).collect();
    let mut end = || ids[numbers.below(count) as usize];
    let links = (0..count * 3)
        .map(|at| Edge::new(end(), if at % 2 == 0 { KIND } else { "imports" }, end()))
        .collect();
    made.graph.change(&GraphChanges::new().link_many(links), Durability::Written)?;
    let (view, mut scratch) = (made.adjacency()?, Scratch::new());
    let starts: Vec<BlockId> = (0..bench.many(128_000)).map(|_| end()).collect();
    let kind = view.kinds().number(KIND).ok_or("a kind is missing")?;
    let (all, one) = (EdgeFilter::all(), EdgeFilter::of_kinds([kind]));
    for (name, direction, filter) in [
        ("hop 1", Direction::Out, &all),
        ("hop reverse", Direction::In, &all),
        ("hop filtered", Direction::Out, &one),
    ] {
        let samples = of_some(bench, &starts, |start| {
            if let Some(number) = view.number(start) {
                view.for_each(number, direction, filter, |neighbor| {
                    black_box(neighbor.number);
                });
            }
            Ok(())
        })?;
        let note =
            format!("from the id; three edges on average, 10,000 blocks; {CALLS} calls at once");
        rows.add(Row::of_calls(name, Side::Ours, OURS, &samples, a_second).note(note));
    }
    let options = WalkOptions { depth_max: 3, ..WalkOptions::default() };
    let mut nodes = 0;
    let samples = of_some(bench, &starts, |start| {
        if let Some(number) = view.number(start) {
            nodes += walk(&view, &mut scratch, &[number], Order::Breadth, &options, |_| true)
                .nodes
                .len();
        }
        Ok(())
    })?;
    let note = format!("all nodes within three hops, {} on average", nodes / starts.len());
    rows.add(Row::of_calls("hop 3", Side::Ours, OURS, &samples, a_second).note(note));
    Ok(made.store.close()?)
}
