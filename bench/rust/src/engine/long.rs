//! Fifty million rows, some late and some early: what is written twice, what is taken on
//! disk, what is taken in memory.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use timestrata_bench::child::{Figures, ask};
use timestrata_bench::{
    Batches, Bench, Better, Measure, Result, Shuffle, Watch, anonymous_bytes, folder_bytes,
    scratch, settle,
};
use timestrata_engine::{Settings, Store};

use super::{store, take_in};

/// Role of a child: takes in all rows, late and early ones near their place.
pub(super) const INGEST_NEAR: &str = "ingest-near";
/// Role of a child: the same with some rows anywhere.
pub(super) const INGEST_ANYWHERE: &str = "ingest-anywhere";

const ROW_BYTES: u64 = 16;
const BATCH_ROWS: u64 = 10_000;
const WRITE_AMPLIFICATION_MAX: f64 = 3.0;
const SPACE_MAX: f64 = 1.2;

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let rows = bench.many(50_000_000);
    for (name, role, spread) in [
        ("near", INGEST_NEAR, ""),
        ("anywhere", INGEST_ANYWHERE, ", and one in a hundred anywhere among all rows so far"),
    ] {
        let dir = scratch(&bench.dir)?;
        let figures = ask(role, dir.path(), rows)?;
        let figure = |name: &str| figures.get(name).copied().unwrap_or(f64::NAN);
        let shape = format!(
            "{rows} rows of 8 B time and 8 B value in commits of {BATCH_ROWS}, one in ten late \
             and one in ten early by up to {} places{spread}, default settings; ingest {:.2} M \
             rows/s, {:.1} s of maintenance behind it",
            places(rows),
            figure("rows_a_second") / 1e6,
            figure("settle_seconds"),
        );
        report(bench, name, rows, &figures, &shape);
    }
    Ok(())
}

fn report(bench: &mut Bench, name: &str, rows: u64, figures: &Figures, shape: &str) {
    let figure = |name: &str| figures.get(name).copied().unwrap_or(f64::NAN);
    let written = figure("flush_bytes") + figure("compaction_bytes");
    bench.report(
        Measure::new(format!("write amplification, {name}"), "x", written / figure("flush_bytes"))
            .against("the most it may be", WRITE_AMPLIFICATION_MAX, Better::Lower)
            .aim(1.0)
            .note(format!(
                "bytes of flushes and compactions over bytes of flushes ({:.0} MB); {shape}",
                figure("flush_bytes") / 1e6
            )),
    );
    let space = figure("live_bytes") / (rows * ROW_BYTES) as f64;
    bench.report(
        Measure::new(format!("space, {name}"), "x", space)
            .against("the most it may be", SPACE_MAX, Better::Lower)
            .aim(1.0)
            .note(format!(
                "bytes of run files ({:.0} runs) over bytes of rows, after all maintenance; {shape}",
                figure("runs")
            )),
    );
    let settings = Settings::default();
    let bound = (settings.memory_bytes_max + settings.cache_bytes_max) as f64;
    let peak = figure("memory_peak_bytes") / 1e6;
    bench.report(
        Measure::new(format!("memory while ingesting, {name}"), "MB", peak)
            .against("memory_bytes_max and cache_bytes_max", bound / 1e6, Better::Lower)
            .aim(1.0)
            .note(format!(
                "peak of RssAnon in a process of its own, looked at every 5 ms; {:.1} MB before \
                 the store was open; {shape}",
                figure("memory_before_bytes") / 1e6
            )),
    );
}

fn places(rows: u64) -> u64 {
    (rows / 50).max(1)
}

pub(super) fn ingest(role: &str, dir: &Path, rows: u64) -> Result<(Figures, Store)> {
    let before = anonymous_bytes()?;
    let shuffle = match role {
        INGEST_ANYWHERE => Shuffle::Anywhere(places(rows)),
        _ => Shuffle::LateAndEarly(places(rows)),
    };
    let mut batches = Batches::of_numbers(shuffle);
    let (store, stream) = store(dir, Settings::default(), batches.schema())?;
    let (peak, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let (seconds, settle_seconds) = std::thread::scope(|scope| -> Result<(f64, f64)> {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                peak.fetch_max(anonymous_bytes().unwrap_or(0), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let outcome = take_in(&store, stream, &mut batches, rows, BATCH_ROWS);
        over.store(true, Ordering::Relaxed);
        let seconds = outcome?;
        Ok((seconds, Watch::new().time(|| settle(&store))?.0))
    })?;
    let stats = store.stats();
    let figures = [
        ("rows_a_second", rows as f64 / seconds),
        ("settle_seconds", settle_seconds),
        ("flush_bytes", stats.flush_bytes as f64),
        ("compaction_bytes", stats.compaction_bytes as f64),
        ("live_bytes", folder_bytes(&dir.join("runs"))? as f64),
        ("runs", stats.streams.iter().map(|stream| stream.runs).sum::<u64>() as f64),
        ("memory_before_bytes", before as f64),
        ("memory_peak_bytes", peak.load(Ordering::Relaxed) as f64),
    ];
    Ok((figures.map(|(name, value)| (name.to_owned(), value)).into(), store))
}
