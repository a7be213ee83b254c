//! Reading blocks: those that were read before, and those of a store that was opened again.

use std::hint::black_box;

use timestrata_bench::{Bench, Better, Measure, Numbers, Result, Samples, scratch, settle};
use timestrata_engine::Durability;
use timestrata_graph::{BlockId, GraphChanges, GraphView, NewBlock};

use crate::data::id;
use crate::made::Made;

const BLOCKS: u64 = 100_000;
const CONTENT_BYTES: usize = 1024;
/// Blocks that are read again and again.
const HOT: u64 = 1_000;
const ROUNDS: usize = 21;
/// Nanoseconds hoped for.
const HOT_NS: f64 = 30.0;
const COLD_NS: f64 = 2_000.0;
/// Blocks read after each opening.
const COLD: u64 = 20_000;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let mut numbers = Numbers::new(53);
    let ids: Vec<BlockId> = (0..bench.many(BLOCKS)).map(|_| id(&mut numbers)).collect();
    let made = Made::empty(dir.path())?;
    for ids in ids.chunks(10_000) {
        let contents = numbers.bytes(ids.len() * CONTENT_BYTES);
        let blocks = ids.iter().zip(contents.chunks(CONTENT_BYTES));
        let changes = blocks.fold(GraphChanges::new(), |changes, (id, content)| {
            changes.put(NewBlock { id: Some(*id), content, ..NewBlock::default() })
        });
        made.graph.change(&changes, Durability::Written)?;
    }
    settle(&made.store)?;
    hot(bench, &made.graph.view()?, &ids)?;
    made.close()?;
    let mut samples = [Samples::new(), Samples::new()];
    let count = bench.many(COLD);
    for _ in 0..bench.rounds(ROUNDS) {
        let made = Made::open(dir.path())?;
        let view = made.graph.view()?;
        let start = numbers.below(ids.len() as u64 - count + 1) as usize;
        let some = ids.get(start..start + count as usize).ok_or("too few blocks")?;
        for samples in &mut samples {
            let scale = 1e9 / count as f64;
            let bytes = bench.watch.sample(samples, scale, || read_all(&view, some))?;
            if bytes != some.len() * CONTENT_BYTES {
                return Err("blocks have other contents than they were put with".into());
            }
        }
        made.close()?;
    }
    let [cold, again] = samples;
    let note = format!(
        "median of {} openings with the page cache warm; {count} blocks of {CONTENT_BYTES} bytes of \
         {} in random order",
        cold.count(),
        ids.len()
    );
    bench.report(
        Measure::new("block read, cold", "ns", cold.median())
            .against("the aim (what it replaces tells 12 us)", COLD_NS, Better::Lower)
            .aim(1.0)
            .note(format!("{note}, each for the first time")),
    );
    bench.report(
        Measure::new(format!("block read of {count} blocks once more"), "ns", again.median())
            .against("the first time", cold.median(), Better::Lower)
            .note(note),
    );
    Ok(())
}

fn hot(bench: &mut Bench, view: &GraphView, ids: &[BlockId]) -> Result<()> {
    let few: Vec<BlockId> = ids.iter().take(HOT as usize).copied().collect();
    let mut samples = Samples::new();
    let repeats = 20;
    read_all(view, &few)?;
    for _ in 0..bench.rounds(ROUNDS) {
        bench.watch.sample(&mut samples, 1e9 / (repeats * few.len()) as f64, || {
            for _ in 0..repeats {
                black_box(read_all(view, &few)?);
            }
            Ok(())
        })?;
    }
    bench.report(
        Measure::new("block read, hot", "ns", samples.median())
            .against("the aim (what it replaces tells 23 ns)", HOT_NS, Better::Lower)
            .aim(1.0)
            .note(format!(
                "median of {} rounds of {repeats} times {} blocks of {CONTENT_BYTES} bytes that were \
                 read before; a look at the length of each",
                samples.count(),
                few.len()
            )),
    );
    Ok(())
}

fn read_all(view: &GraphView, ids: &[BlockId]) -> Result<usize> {
    let mut bytes = 0;
    for id in ids {
        bytes += view.get(*id)?.ok_or("a block is missing")?.content().len();
    }
    Ok(bytes)
}
