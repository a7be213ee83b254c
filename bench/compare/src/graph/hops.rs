//! One hop: from the id of a block to the blocks beside it.

use std::hint::black_box;

use timestrata_bench::{Bench, Better, Measure, Numbers, Result, Samples, scratch};
use timestrata_graph::adjacency::{EdgeFilter, View};
use timestrata_graph::{BlockId, Direction};

use crate::data::{KINDS, Shape};
use crate::made::Made;

const ROUNDS: usize = 21;
const HOPS: u64 = 100_000;

/// What is measured: its name, the edges' direction, whether one kind counts, nanoseconds hoped for
/// over a miss of the cache.
const MEASURES: [(&str, Direction, bool, f64); 3] = [
    ("1 hop out", Direction::Out, false, 50.0),
    ("1 hop in", Direction::In, false, 50.0),
    ("1 hop out, edges of one kind", Direction::Out, true, 90.0),
];

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let (nodes, edges) = (bench.many(100_000), bench.many(1_000_000));
    let shapes = [Shape::uniform(nodes, edges), Shape::power_law(nodes, edges)];
    for shape in shapes.into_iter().chain(Shape::standard_library()?) {
        of_shape(bench, &shape)?;
    }
    Ok(())
}

fn of_shape(bench: &mut Bench, shape: &Shape) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let made = Made::of(dir.path(), shape)?;
    let view = made.adjacency()?;
    // As settled as what was opened again: everything is in the base.
    let view = match view.delta().edges() {
        0 => view,
        _ => return Err("edges have not settled".into()),
    };
    let (mut numbers, hops) = (Numbers::new(41), bench.many(HOPS));
    let starts: Vec<BlockId> =
        (0..hops).map(|_| shape.ids[numbers.below(shape.ids.len() as u64) as usize]).collect();
    let one = view.kinds().number(KINDS[0]).ok_or("a kind is missing")?;
    let filters = [EdgeFilter::all(), EdgeFilter::of_kinds([one])];
    let chain = Chain::of_bytes(view.base().bytes());
    let (mut floor, mut taken) = (Samples::new(), MEASURES.map(|_| Samples::new()));
    for _ in 0..bench.rounds(ROUNDS) {
        let scale = 1e9 / hops as f64;
        black_box(bench.watch.sample(&mut floor, scale, || Ok(chain.follow(hops)))?);
        for ((_, direction, is_filtered, _), samples) in MEASURES.iter().zip(&mut taken) {
            let filter = &filters[usize::from(*is_filtered)];
            let walk = || Ok(hop(&view, &starts, *direction, filter));
            black_box(bench.watch.sample(samples, scale, walk)?);
        }
    }
    for ((name, _, _, over), samples) in MEASURES.iter().zip(taken) {
        let miss = floor.median();
        bench.report(
            Measure::new(format!("{name}, {}", shape.title()), "ns", samples.median())
                .against(
                    format!("{over} ns over one miss of the cache ({miss:.0} ns)"),
                    over + miss,
                    Better::Lower,
                )
                .aim(1.0)
                .note(format!(
                    "median of {} rounds of {hops} blocks at random, from the id to the sum of the \
                     numbers beside it; the miss: a chain through as much memory as the edges take, \
                     {} bytes",
                    samples.count(),
                    view.base().bytes()
                )),
        );
    }
    made.close()
}

fn hop(view: &View, starts: &[BlockId], direction: Direction, filter: &EdgeFilter) -> u64 {
    let mut sum = 0;
    for start in starts {
        if let Some(number) = view.number(*start) {
            view.for_each(number, direction, filter, |neighbor| sum += u64::from(neighbor.number));
        }
    }
    sum
}

/// Places that each name the next one to look at, all of them in one ring.
struct Chain(Vec<[u32; 16]>);

impl Chain {
    fn of_bytes(bytes: usize) -> Self {
        let count = bytes.div_ceil(size_of::<[u32; 16]>()).max(2);
        let mut order: Vec<u32> = (0..count as u32).collect();
        let mut numbers = Numbers::new(43);
        for place in (1..count).rev() {
            order.swap(place, numbers.below(place as u64 + 1) as usize);
        }
        let mut links = vec![[0; 16]; count];
        for (here, next) in order.iter().zip(order.iter().cycle().skip(1)) {
            links[*here as usize][0] = *next;
        }
        Self(links)
    }

    fn follow(&self, steps: u64) -> u32 {
        (0..steps).fold(0, |at, _| self.0[at as usize][0])
    }
}
