//! One entry by its time, in small logs and in large ones.

use timestrata_bench::{Bench, Better, Measure, Numbers, Result, Samples, scratch, settle};
use timestrata_engine::{Durability, Settings, Store};
use timestrata_logs::{Logs, Query};

use super::{create, entry};

const SAMPLES: u64 = 2_000;

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let many = bench.many(1_000_000) as usize;
    for (name, cache_bytes_max) in [("warm", Settings::default().cache_bytes_max), ("decoded", 0)] {
        let small = samples(bench, (many / 100).max(100), cache_bytes_max)?;
        let large = samples(bench, many, cache_bytes_max)?;
        let floor = small.median();
        bench.report(
            Measure::new(format!("one entry by time of {many}, {name}"), "us", large.median())
                .against(format!("of {}", (many / 100).max(100)), floor, Better::Lower)
                .aim(1.0 / 1.5)
                .note(format!(
                    "p50 of {SAMPLES}; compacted entries of 256 B; cache of {cache_bytes_max} B; p99 \
                     {:.0} us",
                    large.percentile(0.99)
                )),
        );
    }
    Ok(())
}

fn samples(bench: &Bench, count: usize, cache_bytes_max: u64) -> Result<Samples> {
    let dir = scratch(&bench.dir)?;
    let store = Store::open(dir.path(), Settings { cache_bytes_max, ..Settings::default() })?;
    let logs = create(&store)?;
    let times = fill(&logs, count)?;
    settle(&store)?;
    logs.compact()?;
    let mut numbers = Numbers::new(12);
    let mut samples = Samples::new();
    for _ in 0..bench.many(SAMPLES) {
        let time = times[numbers.below(times.len() as u64) as usize];
        let found = bench.watch.sample(&mut samples, 1e6, || {
            let query = Query { from: Some(time), to: Some(time + 1), ..Query::default() };
            let mut found = 0;
            for batch in logs.search(&query)? {
                found += batch?.len();
            }
            Ok(found)
        })?;
        if found != 1 {
            return Err(format!("{found} entries at {time}").into());
        }
    }
    store.close()?;
    Ok(samples)
}

/// Writes entries that are shorter than others', so that a million of them is soon there; their
/// timestamps.
fn fill(logs: &Logs, count: usize) -> Result<Vec<i64>> {
    let mut numbers = Numbers::new(13);
    let mut times = Vec::with_capacity(count);
    let mut some = Vec::new();
    for index in 0..count {
        let mut short = entry(index, &mut numbers);
        short.message.truncate(120);
        some.push(short);
        if some.len() == 10_000 || index + 1 == count {
            let first =
                logs.write_many(&some, Durability::Written)?.ok_or("nothing was written")?;
            times.extend((0..some.len() as i64).map(|index| first + index));
            some.clear();
        }
    }
    Ok(times)
}
