//! KausalDB's report: blocks and edges, hops and walks, compaction, the log, and runs of blocks.

use std::hint::black_box;
use std::path::Path;

use timestrata_bench::published::{Row, RowGroup, Rows, Side};
use timestrata_bench::{Bench, Numbers, Prepared, Result, Samples, scratch, settle, tree_bytes};
use timestrata_engine::{Durability, Settings, Store};
use timestrata_graph::adjacency::{EdgeFilter, View};
use timestrata_graph::walk::{Order, Scratch, WalkOptions, walk};
use timestrata_graph::{BlockId, Direction, Edge, Graph, GraphChanges, GraphOptions, NewBlock};

use super::{FLOOR, OURS, a_second, memory};
use crate::engine::recovery;

pub(super) const GROUPS: [RowGroup; 7] = [
    RowGroup { name: "puts", run: puts },
    RowGroup { name: "gets and deletes", run: gets },
    RowGroup { name: "edges", run: edges },
    RowGroup { name: "walks", run: walks },
    RowGroup { name: "compaction", run: compaction },
    RowGroup { name: "log and runs", run: log_and_runs },
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
/// Blocks of a commit where its report syncs a batch.
const BATCH: usize = 256;
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
    pub(super) fn in_runs(path: &Path, blocks: &[(BlockId, Vec<u8>)]) -> Result<Self> {
        let made = Self::new(path, Settings::default())?;
        for part in blocks.chunks(blocks.len().div_ceil(RUNS)) {
            made.put_many(part)?;
            made.store.flush()?;
        }
        Ok(made)
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
    let micros = Row::of_calls("hit cache", Side::Ours, OURS, &samples, |median| median * 1e6);
    rows.add(micros);
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
    let in_micros = |id: &str, samples: &Samples| {
        Row::of_calls(id, Side::Ours, OURS, samples, |median| median * 1e6)
    };
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
        for _ in 0..bench.rounds(2_000) {
            let found = bench.watch.sample(&mut samples, 1.0, || {
                let start = view.number(ids[0]).ok_or("no such node")?;
                Ok(walk(&view, &mut scratch, &[start], order, &options, |_| true).nodes.len())
            })?;
            if found != ids.len() {
                return Err(format!("{name}: {found} nodes of {}", ids.len()).into());
            }
        }
        let note = "from the id to numbers and depths of all nodes";
        rows.add(Row::of_calls(name, Side::Ours, OURS, &samples, |median| median * 1e6).note(note));
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

fn compaction(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let blocks = blocks(bench.many(COMPACTED));
    let bytes = (blocks.len() * CONTENT_BYTES) as f64;
    let (mut samples, mut spaces) = (Samples::new(), Samples::new());
    for round in 0..bench.rounds(5) {
        let path = dir.path().join(round.to_string());
        let made = Made::in_runs(&path, &blocks)?;
        bench.watch.sample(&mut samples, 1.0, || Ok(made.store.compact(None)?))?;
        made.store.close()?;
        spaces.add(tree_bytes(&path.join("runs"))? as f64 / bytes);
    }
    let note = "runs of a closed store over contents put, which don't compress";
    let row = Row::new("space amplification", Side::Ours, OURS, spaces.median(), 5).note(note);
    rows.add(row);
    let rate = |seconds: f64| bytes / 1e6 / seconds;
    let note = "100 MB of contents in eight runs, compacted into one";
    rows.add(Row::of_calls("compact manual", Side::Ours, OURS, &samples, rate).note(note));
    Ok(())
}

/// The log, read back where nothing was flushed; and runs of 10,000 blocks.
fn log_and_runs(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let blocks = blocks(bench.many(100_000));
    let path = dir.path().join("log");
    let made = Made::new(&path, Settings::default())?;
    let mut batches = Samples::new();
    for some in blocks.chunks(BATCH) {
        let changes = put_all(some);
        bench
            .watch
            .sample(&mut batches, 1.0, || Ok(made.graph.change(&changes, Durability::Synced)?))?;
    }
    let bytes = (BATCH * CONTENT_BYTES) as f64;
    let note = "256 blocks a commit, each commit `Synced`; contents alone are counted";
    let rate = |seconds: f64| bytes / 1e6 / seconds;
    rows.add(Row::of_calls("log sequential", Side::Ours, OURS, &batches, rate).note(note));
    let mut alone = Samples::new();
    for block in blocks.iter().take(bench.many(SYNCED) as usize) {
        bench.watch.sample(&mut alone, 1.0, || made.put(block, Durability::Synced))?;
    }
    let rate = |seconds: f64| CONTENT_BYTES as f64 / 1e6 / seconds;
    let note = "a block a commit, each `Synced`; contents alone are counted";
    rows.add(Row::of_calls("log random", Side::Ours, OURS, &alone, rate).note(note));
    made.store.close()?;
    recovery(bench, rows)?;
    of_runs(bench, rows, &dir.path().join("runs"), &blocks)
}

/// Opening a store whose rows are in the log alone, as its writer's end left it, beside reading and checksumming that log.
fn recovery(bench: &Bench, rows: &mut Rows) -> Result<()> {
    let found = recovery::measured(bench)?;
    let note = "half the rows single commits of 64 B values, half commits of 10,000 rows";
    let runs = found.ours.count() as u64;
    rows.add(Row::new("recovery", Side::Ours, OURS, found.ours.median(), runs).note(note));
    let floor = "reading and CRC-32C of the same bytes";
    rows.add(Row::new("recovery", Side::Floor, floor, found.floor.median(), runs));
    Ok(())
}

/// Flushes of 10,000 blocks, what memory holds before and after, and the run that comes of one.
fn of_runs(
    bench: &Bench,
    rows: &mut Rows,
    path: &Path,
    blocks: &[(BlockId, Vec<u8>)],
) -> Result<()> {
    let some = blocks.get(..bench.many(BLOCKS) as usize).unwrap_or(blocks);
    let (mut flushes, mut opens, mut scans) = (Samples::new(), Samples::new(), Samples::new());
    let mut left = 0;
    for round in 0..bench.rounds(9) {
        let path = path.join(round.to_string());
        let made = Made::new(&path, Settings::default())?;
        made.put_many(some)?;
        bench.watch.sample(&mut flushes, 1.0, || Ok(made.store.flush()?))?;
        left = made.store.stats().memtable_bytes;
        made.store.close()?;
        let store = bench.watch.sample(&mut opens, 1.0, || {
            let store = Store::open(&path, Settings::default())?;
            black_box(Graph::open(&store, "graph")?.view()?.get(some[0].0)?);
            Ok(store)
        })?;
        let graph = Graph::open(&store, "graph")?;
        let seen = bench.watch.sample(&mut scans, 1.0, || {
            let mut seen = 0;
            for batch in graph.view()?.scan_blocks()? {
                seen += batch?.num_rows();
            }
            Ok(seen)
        })?;
        if seen != some.len() {
            return Err(format!("{seen} blocks of {} were scanned", some.len()).into());
        }
        store.close()?;
    }
    let count = some.len() as f64;
    let rate = |seconds: f64| count / seconds;
    let note = "a flush: sorted, encoded, written and synced";
    rows.add(Row::of_calls("build", Side::Ours, OURS, &flushes, rate).note(note));
    let millis = |seconds: f64| seconds * 1e3;
    let note = "a store with one run opened, and a block read";
    rows.add(Row::of_calls("load index", Side::Ours, OURS, &opens, millis).note(note));
    rows.add(
        Row::of_calls("scan", Side::Ours, OURS, &scans, rate)
            .note("as Arrow rows, with all columns"),
    );
    let note = "the store's own count of rows in memory";
    rows.add(Row::new("flush after", Side::Ours, OURS, left as f64 / 1e6, 1).note(note));
    Ok(())
}
