//! Rows that come late, against the same number of rows that come in order.

use timestrata_bench::{
    Batches, Bench, Better, Measure, Result, Samples, Shuffle, scratch, settle,
};
use timestrata_engine::{Cell, Durability, Settings, Store, StreamId};

use super::{store, sum_times, take_in};

const LATE_PLACES: u64 = 100_000;
const BATCH_ROWS: u64 = 1_000;
const SCANS: usize = 5;

/// Rows a second of one kind of rows.
#[derive(Debug, Default)]
struct Rates {
    single: Samples,
    batches: Samples,
    scan_at_once: Samples,
    scan_settled: Samples,
}

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let rows = bench.many(5_000_000);
    let rounds = bench.rounds(5);
    let (mut in_order, mut late) = (Rates::default(), Rates::default());
    for _ in 0..rounds {
        measure(bench, Shuffle::InOrder, rows, &mut in_order)?;
        measure(bench, Shuffle::Late(LATE_PLACES), rows, &mut late)?;
    }
    let shape = format!(
        "median of {rounds} rounds in turns, {rows} rows of 8 B time and 8 B value a round, \
         `Written`, default settings; one row in five late by 1 to {LATE_PLACES} places, evenly \
         spread"
    );
    for (name, late, in_order, note) in [
        ("ingest of single rows", &late.single, &in_order.single, "one commit a row"),
        ("ingest of batches", &late.batches, &in_order.batches, "commits of 1,000 rows"),
        (
            "scan when settled",
            &late.scan_settled,
            &in_order.scan_settled,
            "sum of the time column after flush and all maintenance, fastest of 5 scans a round",
        ),
        (
            "scan right after ingest",
            &late.scan_at_once,
            &in_order.scan_at_once,
            "sum of the time column with memtable and young runs as they are, fastest of 5 \
             scans a round",
        ),
    ] {
        bench.report(
            Measure::new(format!("20 % late rows: {name}"), "rows/s", late.median())
                .against("the same with all rows in order", in_order.median(), Better::Higher)
                .aim(0.7)
                .note(format!("{note}; {shape}")),
        );
    }
    Ok(())
}

fn measure(bench: &Bench, shuffle: Shuffle, rows: u64, rates: &mut Rates) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let mut times = Batches::of_numbers(shuffle);
    let (single, stream) = store(&dir.path().join("single"), Settings::default(), times.schema())?;
    let times: Vec<i64> = (0..rows).map(|_| times.next_time()).collect();
    let mut appender = single.appender(stream)?;
    bench.watch.rate(&mut rates.single, rows as f64, || {
        for time in &times {
            appender.append(&[Cell::Int(*time), Cell::Int(*time)], Durability::Written)?;
        }
        Ok(())
    })?;
    drop(appender);
    single.close()?;

    let mut batches = Batches::of_numbers(shuffle);
    let (store, stream) =
        store(&dir.path().join("batches"), Settings::default(), batches.schema())?;
    let seconds = take_in(&store, stream, &mut batches, rows, BATCH_ROWS)?;
    rates.batches.add(rows as f64 / seconds);
    rates.scan_at_once.add(fastest_scan(bench, &store, stream)?);
    settle(&store)?;
    rates.scan_settled.add(fastest_scan(bench, &store, stream)?);
    Ok(store.close()?)
}

fn fastest_scan(bench: &Bench, store: &Store, stream: StreamId) -> Result<f64> {
    let mut rates = Samples::new();
    for _ in 0..SCANS {
        let (seconds, (total, rows)) = bench.watch.time(|| sum_times(store, stream))?;
        std::hint::black_box(total);
        rates.add(rows as f64 / seconds);
    }
    Ok(rates.spread().1)
}
