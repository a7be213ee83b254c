//! From opening a store to the end of its first walk.

use timestrata_bench::{Bench, Better, Measure, Result, Samples, scratch, settle};
use timestrata_graph::Along;
use timestrata_graph::walk::Order;

use crate::data::Shape;
use crate::made::Made;

const ROUNDS: usize = 11;
/// Milliseconds hoped for.
const AIM_MS: f64 = 1_000.0;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let shape = Shape::uniform(bench.many(100_000), bench.many(1_000_000));
    let dir = scratch(&bench.dir)?;
    let made = Made::of(dir.path(), &shape)?;
    settle(&made.store)?;
    made.close()?;
    let mut samples = Samples::new();
    for _ in 0..bench.rounds(ROUNDS) {
        let made = bench.watch.sample(&mut samples, 1e3, || {
            let made = Made::open(dir.path())?;
            let along = Along { depth_max: 3, ..Along::default() };
            let start = [shape.ids[0]];
            let walked = made.graph.view()?.walk(&start, &along, Order::Breadth, |_| true)?;
            match walked.blocks.len() {
                0 => Err("the walk came to nothing".into()),
                _ => Ok(made),
            }
        })?;
        made.close()?;
    }
    bench.report(
        Measure::new(format!("reopen to the end of the first walk, {}", shape.title()), "ms", samples.median())
            .against("the aim", AIM_MS, Better::Lower)
            .aim(1.0)
            .note(format!(
                "median of {} openings after clean closes, page cache warm; a walk of 3 hops, for which \
                 all edges are read",
                samples.count()
            )),
    );
    Ok(())
}
