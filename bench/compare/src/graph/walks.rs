//! Walks: some hops, trees, and the whole graph.

use std::hint::black_box;

use petgraph::Direction as PetDirection;
use petgraph::graph::NodeIndex;
use petgraph::stable_graph::StableDiGraph;
use petgraph::visit::{Bfs, VisitMap, Visitable};
use timestrata_bench::{Bench, Better, Measure, Numbers, Result, Samples, scratch};
use timestrata_graph::walk::{Order, Scratch, WalkOptions, walk};
use timestrata_graph::{Along, BlockId};

use crate::data::Shape;
use crate::expect_same;
use crate::made::{Made, compressed, stable};

const ROUNDS: usize = 21;
/// Short walks of a round.
const WALKS: u64 = 200;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let (nodes, edges) = (bench.many(100_000), bench.many(1_000_000));
    let uniform = Shape::uniform(nodes, edges);
    three_hops(bench, &uniform)?;
    tree(bench, &Shape::tree("tree of 1,111 nodes", 10, 3), Order::Breadth, 14.2, 8.0)?;
    tree(bench, &Shape::tree("tree of 3,906 nodes", 5, 5), Order::Depth, 38.9, 25.0)?;
    let others = std::iter::once(Shape::power_law(nodes, edges)).chain(Shape::standard_library()?);
    for shape in std::iter::once(uniform).chain(others) {
        whole(bench, &shape)?;
    }
    Ok(())
}

fn three_hops(bench: &mut Bench, shape: &Shape) -> Result<()> {
    const DEPTH: u32 = 3;
    let dir = scratch(&bench.dir)?;
    let made = Made::of(dir.path(), shape)?;
    let (view, theirs) = (made.adjacency()?, stable(shape));
    let (mut numbers, mut scratch) = (Numbers::new(47), Scratch::new());
    let starts: Vec<u32> =
        (0..bench.many(WALKS)).map(|_| numbers.below(shape.ids.len() as u64) as u32).collect();
    let options = WalkOptions { depth_max: DEPTH, ..WalkOptions::default() };
    let by_id = made.graph.view()?;
    let [mut ours, mut with_ids, mut others] = [(); 3].map(|()| Samples::new());
    let mut reached = 0;
    for _ in 0..bench.rounds(ROUNDS) {
        let mut found = [0; 3];
        let per_walk = 1e6 / starts.len() as f64;
        bench.watch.sample(&mut ours, per_walk, || {
            for start in &starts {
                let start = view.number(shape.ids[*start as usize]).ok_or("no such node")?;
                found[0] += walk(&view, &mut scratch, &[start], Order::Breadth, &options, |_| true)
                    .nodes
                    .len();
            }
            Ok(())
        })?;
        bench.watch.sample(&mut with_ids, per_walk, || {
            let along = Along { depth_max: DEPTH, ..Along::default() };
            for start in &starts {
                let start = [shape.ids[*start as usize]];
                found[1] += by_id.walk(&start, &along, Order::Breadth, |_| true)?.blocks.len();
            }
            Ok(())
        })?;
        bench.watch.sample(&mut others, per_walk, || {
            for start in &starts {
                found[2] += hops_of_peer(&theirs, *start, DEPTH);
            }
            Ok(())
        })?;
        expect_same("3 hops", found[0] as u64, found[2] as u64)?;
        expect_same("3 hops by id", found[1] as u64, found[2] as u64)?;
        reached = found[0] / starts.len();
    }
    let note = format!(
        "median of {} rounds of {} walks each; {reached} nodes on average; seen to reach as many",
        ours.count(),
        starts.len()
    );
    let title = format!("3 hops, {}", shape.title());
    bench.report(
        Measure::new(title.clone(), "us", ours.median())
            .against("the aim", 20.0, Better::Lower)
            .aim(1.0)
            .note(format!("{note}; from the id to numbers and depths of all nodes")),
    );
    bench.report(
        Measure::new(format!("{title}, beside petgraph"), "us", ours.median())
            .against("petgraph's StableGraph, as in rustworkx", others.median(), Better::Lower)
            .aim(1.0)
            .note(note.clone()),
    );
    bench.report(
        Measure::new(format!("{title}, ids and kinds of all blocks"), "us", with_ids.median())
            .against("the same without", ours.median(), Better::Lower)
            .note(note),
    );
    made.close()
}

/// Nodes that a walk of petgraph reaches, as its users write it: `Bfs` knows no depth.
fn hops_of_peer(graph: &StableDiGraph<(), u16>, start: u32, depth: u32) -> usize {
    let mut seen = graph.visit_map();
    let mut front = vec![NodeIndex::new(start as usize)];
    front.iter().for_each(|node| {
        seen.visit(*node);
    });
    let mut reached = front.clone();
    for _ in 0..depth {
        let mut next = Vec::new();
        for node in &front {
            for other in graph.neighbors_directed(*node, PetDirection::Outgoing) {
                if seen.visit(other) {
                    next.push(other);
                }
            }
        }
        reached.extend_from_slice(&next);
        front = next;
    }
    black_box(reached).len()
}

fn tree(bench: &mut Bench, shape: &Shape, order: Order, published: f64, aim: f64) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let made = Made::of(dir.path(), shape)?;
    let (view, mut scratch) = (made.adjacency()?, Scratch::new());
    let root: BlockId = shape.ids[0];
    let options = WalkOptions::default();
    let (mut samples, walks) = (Samples::new(), bench.many(WALKS));
    for _ in 0..bench.rounds(ROUNDS) {
        let reached = bench.watch.sample(&mut samples, 1e6 / walks as f64, || {
            let mut reached = 0;
            for _ in 0..walks {
                let start = view.number(root).ok_or("no such node")?;
                reached +=
                    walk(&view, &mut scratch, &[start], order, &options, |_| true).nodes.len();
            }
            Ok(reached)
        })?;
        expect_same(shape.name, reached as u64, walks * shape.ids.len() as u64)?;
    }
    let how = if order == Order::Breadth { "breadth" } else { "depth" };
    bench.report(
        Measure::new(format!("walk in {how}, {}", shape.name), "us", samples.median())
            .against(format!("the aim (what it replaces tells {published} us)"), aim, Better::Lower)
            .aim(1.0)
            .note(format!(
                "median of {} rounds of {walks} walks; numbers, depths and parents of all nodes",
                samples.count()
            )),
    );
    made.close()
}

fn whole(bench: &mut Bench, shape: &Shape) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let made = Made::of(dir.path(), shape)?;
    let (view, mut scratch) = (made.adjacency()?, Scratch::new());
    let (stable, csr) = (stable(shape), compressed(shape)?);
    let start = farthest_reaching(shape, &stable);
    let [mut ours, mut theirs, mut compact] = [(); 3].map(|()| Samples::new());
    let mut reached = 0;
    for _ in 0..bench.rounds(ROUNDS) {
        let found = bench.watch.sample(&mut ours, 1e6, || {
            let start = view.number(shape.ids[start as usize]).ok_or("no such node")?;
            let options = WalkOptions::default();
            let walk = walk(&view, &mut scratch, &[start], Order::Breadth, &options, |_| true);
            Ok(black_box(walk).nodes.len())
        })?;
        reached = found as u64;
        let found = bench.watch.sample(&mut theirs, 1e6, || {
            let mut walk = Bfs::new(&stable, NodeIndex::new(start as usize));
            Ok(std::iter::from_fn(|| walk.next(&stable)).count() as u64)
        })?;
        expect_same("whole walk", reached, found)?;
        let found = bench.watch.sample(&mut compact, 1e6, || {
            let mut walk = Bfs::new(&csr, start);
            Ok(std::iter::from_fn(|| walk.next(&csr)).count() as u64)
        })?;
        expect_same("whole walk, compressed", reached, found)?;
    }
    for (peer, samples) in
        [("petgraph's StableGraph, as in rustworkx", theirs), ("petgraph's Csr", compact)]
    {
        let name = format!("whole walk in breadth, {}, and {peer}", shape.title());
        bench.report(
            Measure::new(name, "us", ours.median())
                .against(peer, samples.median(), Better::Lower)
                .aim(1.0)
                .note(format!(
                    "median of {} rounds in turns; {reached} nodes; ours with depths, parents and \
                     kinds, petgraph's Bfs with the nodes alone",
                    ours.count()
                )),
        );
    }
    made.close()
}

/// The node from which most others are reached, of some that most edges come from.
fn farthest_reaching(shape: &Shape, graph: &StableDiGraph<(), u16>) -> u32 {
    const TRIED: usize = 20;
    let mut degrees: Vec<(u32, u32)> = (0..shape.ids.len() as u32).map(|node| (0, node)).collect();
    shape.links.iter().for_each(|(source, ..)| degrees[*source as usize].0 += 1);
    degrees.sort_unstable_by_key(|(degree, _)| std::cmp::Reverse(*degree));
    let reached = |node: &u32| {
        let mut walk = Bfs::new(graph, NodeIndex::new(*node as usize));
        std::iter::from_fn(|| walk.next(graph)).count()
    };
    degrees.into_iter().take(TRIED).map(|(_, node)| node).max_by_key(reached).unwrap_or_default()
}
