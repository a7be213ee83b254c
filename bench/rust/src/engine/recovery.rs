//! Opening after the writer was killed, against reading and checksumming the same bytes.

use std::path::Path;

use timestrata_bench::child::{Figures, ask};
use timestrata_bench::{
    Batches, Bench, Better, Measure, Numbers, Result, Samples, Shuffle, Watch, bytes_schema,
    read_folder, scratch,
};
use timestrata_engine::{Cell, Changes, Durability, Maintenance, Settings, Store};
use timestrata_format::checksum::crc32c;

use super::store;

/// Role of a child: fills the WAL of a new store.
pub(super) const FILL: &str = "fill-wal";
/// Role of a child: opens that store.
pub(super) const RECOVER: &str = "recover";

const VALUE_BYTES: usize = 64;
const ROWS_A_TURN: usize = 10_000;
/// What another store (KausalDB) reports, MB/s.
const PUBLISHED_RECOVERY: f64 = 892.0;

/// What opening took: rates in MB/s of the log's bytes.
pub(crate) struct Recovered {
    pub(crate) ours: Samples,
    /// Of reading and checksumming the same bytes.
    pub(crate) floor: Samples,
    rows: f64,
    log_bytes: f64,
}

/// Opens one log again and again, in turns with the floor.
pub(crate) fn measured(bench: &Bench) -> Result<Recovered> {
    let bytes = bench.many(1 << 30);
    let dir = scratch(&bench.dir)?;
    let path = dir.path().join("store");
    let filled = ask(FILL, &path, bytes)?;
    let figure = |figures: &Figures, name: &str| figures.get(name).copied().unwrap_or(f64::NAN);
    let (rows, log_bytes) = (figure(&filled, "rows"), figure(&filled, "bytes"));
    let (mut ours, mut floor) = (Samples::new(), Samples::new());
    for _ in 0..bench.rounds(5) {
        let figures = ask(RECOVER, &path, 0)?;
        if figure(&figures, "commits") != figure(&filled, "commits") {
            return Err("recovery did not replay every commit".into());
        }
        ours.add(log_bytes / 1e6 / figure(&figures, "seconds"));
        let wal = path.join("wal");
        let (seconds, read) = bench.watch.time(|| {
            let mut sums = 0;
            let read = read_folder(&wal, log_bytes as u64, |piece| sums ^= crc32c(piece));
            std::hint::black_box(sums);
            read
        })?;
        floor.add(read as f64 / 1e6 / seconds);
    }
    Ok(Recovered { ours, floor, rows, log_bytes })
}

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let Recovered { ours, floor, rows, log_bytes } = measured(bench)?;
    let rounds = ours.count();
    let note = format!(
        "median of {rounds} opens of the same log of {:.0} MB, writer and openers killed, log in page \
         cache, nothing flushed; half the rows single commits of 64 B values, half commits of \
         10,000 rows: {:.1} M rows in all",
        log_bytes / 1e6,
        rows / 1e6,
    );
    bench.report(
        Measure::new("recovery of the WAL", "MB/s", ours.median())
            .against("reading and CRC-32C of the same bytes", floor.median(), Better::Higher)
            .aim(0.3)
            .note(note.clone()),
    );
    bench.report(
        Measure::new("recovery of the WAL, against a published figure", "MB/s", ours.median())
            .against("what the system that it replaces reports", PUBLISHED_RECOVERY, Better::Higher)
            .aim(1.0)
            .note(note),
    );
    Ok(())
}

/// Nothing is flushed, so that all of the WAL is needed.
fn settings() -> Settings {
    const GIB: u64 = 1 << 30;
    Settings {
        memtable_bytes_max: 6 * GIB,
        memory_bytes_max: 8 * GIB,
        wal_bytes_max: 6 * GIB,
        maintenance: Maintenance::Manual,
        ..Settings::default()
    }
}

pub(super) fn fill(dir: &Path, wal_bytes: u64) -> Result<(Figures, Store)> {
    let (store, stream) = store(dir, settings(), bytes_schema())?;
    let mut batches = Batches::of_bytes(Shuffle::InOrder, VALUE_BYTES);
    let value = Numbers::new(6).bytes(VALUE_BYTES);
    let mut appender = store.appender(stream)?;
    let (mut rows, mut commits) = (0, 0);
    while store.stats().wal_bytes < wal_bytes {
        let batch = batches.next_batch(ROWS_A_TURN)?;
        store.commit(Changes::new().insert(stream, batch), Durability::Written)?;
        for _ in 0..ROWS_A_TURN {
            let cells = [Cell::Int(batches.next_time()), Cell::Bytes(&value)];
            appender.append(&cells, Durability::Written)?;
        }
        rows += 2 * ROWS_A_TURN;
        commits += 1 + ROWS_A_TURN;
    }
    // Whatever the disk is still busy with isn't recovery's.
    store.sync()?;
    // The appender keeps the store alive as well; both go when the process is killed.
    std::mem::forget(appender);
    let bytes = store.stats().wal_bytes;
    let figures = [("rows", rows as f64), ("commits", commits as f64), ("bytes", bytes as f64)];
    Ok((figures.map(|(name, value)| (name.to_owned(), value)).into(), store))
}

pub(super) fn recover(dir: &Path) -> Result<(Figures, Store)> {
    let (seconds, store) = Watch::new().time(|| Store::open(dir, settings()))?;
    let commits = store.recovery_report().commits_replayed as f64;
    let figures = [("commits", commits), ("seconds", seconds)];
    Ok((figures.map(|(name, value)| (name.to_owned(), value)).into(), store))
}
