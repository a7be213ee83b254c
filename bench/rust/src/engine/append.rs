//! Single rows: 8 bytes of time, 64 of value.

use timestrata_bench::{
    Bench, Better, Measure, Numbers, Result, STEP, Samples, bytes_schema, scratch,
};
use timestrata_engine::{Cell, Durability, Settings, Store};

use super::{PUBLISHED_APPENDS, store, with_stream};

const VALUE_BYTES: usize = 64;

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let rows = bench.many(3_000_000);
    let dir = scratch(&bench.dir)?;
    let (mut memory, mut written) = (Rates::default(), Rates::default());
    for _ in 0..bench.rounds(5) {
        let (store, stream) = with_stream(Store::memory(Settings::default())?, bytes_schema())?;
        memory.take(bench, &store, stream, rows)?;
    }
    // Behind all of those: what the system still writes back takes a core from the next round.
    for round in 0..bench.rounds(5) {
        let path = dir.path().join(round.to_string());
        let (store_on_disk, stream) = store(&path, Settings::default(), bytes_schema())?;
        written.take(bench, &store_on_disk, stream, rows)?;
        store_on_disk.close()?;
    }
    for (name, rates, aim) in [("memory", memory, 20.0e6), ("`Written`", written, 5.0e6)] {
        let note = format!(
            "median of {} runs of {rows} rows in order, one commit each, 64 B values, default \
             settings with background flushes; fastest run {:.2} M/s; first {} rows, before any \
             flush: {:.2} M/s",
            rates.all.count(),
            rates.all.spread().1 / 1e6,
            rows / BURST_SHARE,
            rates.burst.median() / 1e6
        );
        bench.report(
            Measure::new(format!("append of single rows, {name}"), "rows/s", rates.all.median())
                .against(
                    "what the system that it replaces reports",
                    PUBLISHED_APPENDS,
                    Better::Higher,
                )
                .aim(aim / PUBLISHED_APPENDS)
                .note(note),
        );
    }
    Ok(())
}

const BURST_SHARE: u64 = 6;

#[derive(Debug, Default)]
struct Rates {
    all: Samples,
    burst: Samples,
}

impl Rates {
    fn take(
        &mut self,
        bench: &Bench,
        store: &Store,
        stream: timestrata_engine::StreamId,
        rows: u64,
    ) -> Result<()> {
        let values = Numbers::new(3).bytes(4096 + VALUE_BYTES);
        let mut appender = store.appender(stream)?;
        let start = bench.watch.now_ns();
        let mut burst_end = start;
        for row in 0..rows {
            let from = (row as usize * 8) % 4096;
            let value = values.get(from..from + VALUE_BYTES).unwrap_or_default();
            let cells = [Cell::Int(row as i64 * STEP), Cell::Bytes(value)];
            appender.append(&cells, Durability::Written)?;
            if row + 1 == rows / BURST_SHARE {
                burst_end = bench.watch.now_ns();
            }
        }
        let end = bench.watch.now_ns();
        self.all.add(rows as f64 * 1e9 / (end - start) as f64);
        self.burst.add((rows / BURST_SHARE) as f64 * 1e9 / (burst_end - start) as f64);
        Ok(())
    }
}
