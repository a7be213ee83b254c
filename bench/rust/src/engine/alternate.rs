//! A write, then a read of what was written, over and over.

use timestrata_bench::{Batches, Bench, Better, Measure, Result, Samples, Shuffle};
use timestrata_engine::{Cell, Durability, RowAppender, Settings, Store, StreamId};

use super::{take_in, with_stream};

const PAIRS: usize = 50;

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let rounds = bench.rounds(20);
    for (name, shuffle) in [("in order", Shuffle::InOrder), ("20 % late", Shuffle::Late(100_000))] {
        let rows = [bench.many(1_000_000), 1_000];
        let mut sides = [Side::new(rows[0], shuffle)?, Side::new(rows[1], shuffle)?];
        for _ in 0..rounds {
            for side in &mut sides {
                side.round(bench)?;
            }
        }
        let [large, small] = sides;
        bench.report(
            Measure::new(
                format!("one append, one read, in turns, {} rows in memory, {name}", rows[0]),
                "us",
                large.seconds_a_pair.median() * 1e6,
            )
            .against(
                "the same with 1,000 rows in memory",
                small.seconds_a_pair.median() * 1e6,
                Better::Lower,
            )
            .aim(1.0 / 1.5)
            .note(format!(
                "median of {rounds} rounds of {PAIRS} pairs, a memory-only store: append one \
                 row, take a snapshot of the stream, get the row at that time; the small side \
                 grows to {} rows",
                1_000 + rounds * PAIRS
            )),
        );
    }
    Ok(())
}

/// One store and its pairs.
struct Side {
    store: Store,
    stream: StreamId,
    appender: RowAppender,
    times: Batches,
    seconds_a_pair: Samples,
}

impl Side {
    fn new(rows: u64, shuffle: Shuffle) -> Result<Self> {
        let settings = Settings {
            memtable_bytes_max: 512 << 20,
            memory_bytes_max: 1 << 30,
            ..Settings::default()
        };
        let mut times = Batches::of_numbers(shuffle);
        let (store, stream) = with_stream(Store::memory(settings)?, times.schema())?;
        take_in(&store, stream, &mut times, rows, rows.min(10_000))?;
        let appender = store.appender(stream)?;
        Ok(Self { store, stream, appender, times, seconds_a_pair: Samples::new() })
    }

    fn round(&mut self, bench: &Bench) -> Result<()> {
        bench.watch.sample(&mut self.seconds_a_pair, 1.0 / PAIRS as f64, || {
            for _ in 0..PAIRS {
                let time = self.times.next_time();
                self.appender.append(&[Cell::Int(time), Cell::Int(1)], Durability::Written)?;
                let snapshot = self.store.snapshot_of(self.stream)?;
                let row = snapshot.get(self.stream, &[Cell::Int(time)])?;
                if row.is_none() {
                    return Err(format!("the row at {time} is missing").into());
                }
            }
            Ok(())
        })
    }
}
