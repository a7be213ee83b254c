//! Commits of Arrow batches, against the least that a log must do with the same bytes.

use timestrata_bench::{
    Batches, Bench, Better, Measure, Prepared, Result, Samples, Shuffle, scratch, settle,
};
use timestrata_engine::{Changes, Durability, Settings};
use timestrata_format::checksum::crc32c;

use super::{flat, store};

const BATCH_ROWS: usize = 10_000;
const FLOOR_FILE_BYTES: u64 = 64 << 20;

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let batches_a_round = bench.many(100) as usize;
    let rounds = bench.rounds(9);
    let dir = scratch(&bench.dir)?;
    let mut rows = Batches::of_bytes(Shuffle::InOrder, 64);
    let (store, stream) = store(&dir.path().join("store"), Settings::default(), rows.schema())?;
    let mut floor = Prepared::create(&dir.path().join("floor"), FLOOR_FILE_BYTES)?;
    let (mut ours, mut raw) = (Samples::new(), Samples::new());
    let mut bytes = 0;
    // The first round warms both up and doesn't count.
    for round in 0..=rounds {
        let batches = (0..batches_a_round)
            .map(|_| rows.next_batch(BATCH_ROWS))
            .collect::<Result<Vec<_>>>()?;
        // The same number of bytes as the columns hold, in one piece as the WAL has them.
        let flat: Vec<u8> = batches.first().map(flat).unwrap_or_default();
        bytes = flat.len() * batches_a_round;
        let (raw_seconds, _) = bench.watch.time(|| -> Result<u32> {
            let mut sums = 0;
            for _ in 0..batches_a_round {
                sums ^= crc32c(std::hint::black_box(&flat));
                floor.write(&flat)?;
            }
            Ok(std::hint::black_box(sums))
        })?;
        let (our_seconds, ()) = bench.watch.time(|| -> Result<()> {
            for batch in batches {
                store.commit(Changes::new().insert(stream, batch), Durability::Written)?;
            }
            Ok(())
        })?;
        settle(&store)?;
        if round > 0 {
            ours.add(bytes as f64 / 1e6 / our_seconds);
            raw.add(bytes as f64 / 1e6 / raw_seconds);
        }
    }
    store.close()?;
    bench.report(
        Measure::new("commit of 10,000-row batches, `Written`", "MB/s", ours.median())
            .against("pwrite and CRC-32C of the same bytes", raw.median(), Better::Higher)
            .aim(0.5)
            .note(format!(
                "median of {rounds} rounds in turns, {batches_a_round} batches ({:.0} MB) each, \
                 64 B values; flushes in the background are in it, the floor overwrites a \
                 prepared 64 MiB file; {:.2} M rows/s",
                bytes as f64 / 1e6,
                ours.median() * 1e6 / (bytes / (batches_a_round * BATCH_ROWS)).max(1) as f64 / 1e6
            )),
    );
    Ok(())
}
