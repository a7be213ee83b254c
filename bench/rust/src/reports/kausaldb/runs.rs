//! Compaction, the log, and runs of blocks: built, opened, scanned, and looked into.

use std::hint::black_box;
use std::path::Path;

use timestrata_bench::published::{Row, Rows, Side};
use timestrata_bench::{
    Bench, Prepared, Result, Samples, process_seconds, scratch, settle, tree_bytes, written_bytes,
};
use timestrata_engine::{Durability, Maintenance, Settings, Store};
use timestrata_graph::{BlockId, Graph};

use super::{
    BLOCKS, COMPACTED, CONTENT_BYTES, FLOOR, FLOOR_FILE_BYTES, Made, OURS, SYNCED, blocks, micros,
    put_all,
};
use crate::engine::recovery;

/// Blocks of a commit where its report syncs a batch.
const BATCH: usize = 256;
/// So that a log has many files.
const LOG_FILE_BYTES: u64 = 1 << 20;

type Blocks = [(BlockId, Vec<u8>)];

/// A store that does nothing by itself.
fn by_hand() -> Settings {
    Settings { maintenance: Maintenance::Manual, ..Settings::default() }
}

pub(super) fn compaction(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let blocks = blocks(bench.many(COMPACTED));
    let bytes = (blocks.len() * CONTENT_BYTES) as f64;
    let (mut samples, mut spaces, mut shares) = (Samples::new(), Samples::new(), Samples::new());
    for round in 0..bench.rounds(5) {
        let path = dir.path().join(round.to_string());
        let made = Made::in_runs(&path, Settings::default(), &blocks)?;
        let (before, used) = (bench.watch.now_ns(), process_seconds());
        bench.watch.sample(&mut samples, 1.0, || Ok(made.store.compact(None)?))?;
        let seconds = (bench.watch.now_ns() - before) as f64 / 1e9;
        shares.add((process_seconds() - used) / seconds);
        made.store.close()?;
        spaces.add(tree_bytes(&path.join("runs"))? as f64 / bytes);
    }
    let note = "runs of a closed store over contents put, which don't compress";
    let row = Row::new("space amplification", Side::Ours, OURS, spaces.median(), 5).note(note);
    rows.add(row);
    let rate = |seconds: f64| bytes / 1e6 / seconds;
    let note = "100 MB of contents in eight runs, compacted into one";
    rows.add(Row::of_calls("compact manual", Side::Ours, OURS, &samples, rate).note(note));
    let note = "of the whole process, over the same compactions";
    let runs = shares.count() as u64;
    rows.add(Row::new("compact cpu", Side::Ours, OURS, shares.median(), runs).note(note));
    by_steps(bench, rows, &blocks)?;
    amplification(bench, rows, &blocks)
}

/// What maintenance does by itself, step after step: of runs that were just flushed, and of such that meet as much below them.
fn by_steps(bench: &Bench, rows: &mut Rows, blocks: &Blocks) -> Result<()> {
    let (above, below) = blocks.split_at(blocks.len() / 2);
    let (mut first, mut onto) = (Samples::new(), Samples::new());
    for _ in 0..bench.rounds(3) {
        let dir = scratch(&bench.dir)?;
        let made = Made::new(dir.path(), by_hand())?;
        for (some, samples) in [(below, &mut first), (above, &mut onto)] {
            made.put_in_runs(some)?;
            made.store.sync()?;
            let before = made.store.stats().compaction_bytes;
            let (seconds, ()) = bench.watch.time(|| settle(&made.store))?;
            let bytes = made.store.stats().compaction_bytes - before;
            samples.add(bytes as f64 / 1e6 / seconds);
        }
        made.store.close()?;
    }
    for (id, samples, note) in [
        (
            "compact first",
            &first,
            "eight runs of 6 MB, merged as they would be in the background; bytes written are counted",
        ),
        (
            "compact tier",
            &onto,
            "the same onto 50 MB that are there already: our runs are in levels, not in tiers",
        ),
    ] {
        let runs = samples.count() as u64;
        rows.add(Row::new(id, Side::Ours, OURS, samples.median(), runs).note(note));
    }
    Ok(())
}

/// All that the process has the system write, for blocks put one by one: log, flushes, and compactions in the background.
fn amplification(bench: &Bench, rows: &mut Rows, blocks: &Blocks) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let before = written_bytes()?;
    let made = Made::new(dir.path(), Settings::default())?;
    for block in blocks {
        made.put(block, Durability::Written)?;
    }
    settle(&made.store)?;
    made.store.close()?;
    let written = (written_bytes()? - before) as f64;
    if written == 0.0 {
        println!("write amplification: nothing was written to a disk");
        return Ok(());
    }
    let put = (blocks.len() * CONTENT_BYTES) as f64;
    let note =
        "as the system counts what the process has it write: the log and its files made ahead too";
    rows.add(Row::new("write amplification", Side::Ours, OURS, written / put, 1).note(note));
    Ok(())
}

/// Blocks that are read for the first time since the store was opened: from the only run, which was just flushed, and from one of eight.
pub(super) fn lookups(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    let blocks = blocks(bench.many(10 * BLOCKS));
    let some = blocks.get(..bench.many(BLOCKS) as usize).unwrap_or(&blocks);
    for (id, blocks, is_one, note) in [
        ("hit first", some, true, "of 10,000 blocks in a run that was just flushed"),
        ("hit third", &*blocks, false, "of 100,000 blocks in eight runs that were just flushed"),
    ] {
        let dir = scratch(&bench.dir)?;
        let made = match is_one {
            true => {
                let made = Made::new(dir.path(), by_hand())?;
                made.put_many(blocks)?;
                made.store.flush()?;
                made
            }
            false => Made::in_runs(dir.path(), by_hand(), blocks)?,
        };
        made.store.close()?;
        drop(made);
        let store = Store::open(dir.path(), by_hand())?;
        let view = Graph::open(&store, "graph")?.view()?;
        let mut samples = Samples::new();
        for (id, _) in blocks.iter().step_by(blocks.len().div_ceil(BLOCKS as usize)) {
            bench
                .watch
                .sample(&mut samples, 1.0, || Ok(view.get(*id)?.ok_or("a block is missing")?))?;
        }
        let note = format!("each for the first time since the store was opened, {note}");
        rows.add(Row::of_calls(id, Side::Ours, OURS, &samples, micros).note(note));
        drop(view);
        store.close()?;
    }
    Ok(())
}

/// The log, written and read back where nothing was flushed; and runs of 10,000 blocks.
pub(super) fn log_and_runs(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let blocks = blocks(bench.many(100_000));
    let path = dir.path().join("log");
    synced(bench, rows, &path, &blocks)?;
    recovery(bench, rows)?;
    rotation(bench, rows, &dir.path().join("rotation"), &blocks)?;
    of_runs(bench, rows, &dir.path().join("runs"), &blocks)
}

/// Commits of many blocks and of one, each synced, in turns with as many bytes written and synced.
fn synced(bench: &Bench, rows: &mut Rows, path: &Path, blocks: &Blocks) -> Result<()> {
    let made = Made::new(path, Settings::default())?;
    let mut prepared = Prepared::create(&path.with_extension("prepared"), FLOOR_FILE_BYTES)?;
    let alone = blocks.get(..bench.many(SYNCED) as usize).unwrap_or(blocks);
    for (id, blocks, at_once, note) in [
        (
            "log sequential",
            blocks,
            BATCH,
            "256 blocks a commit, each commit `Synced`; contents alone are counted",
        ),
        ("log random", alone, 1, "a block a commit, each `Synced`; contents alone are counted"),
    ] {
        let bytes = vec![7; at_once * CONTENT_BYTES];
        let (mut ours, mut floor) = (Samples::new(), Samples::new());
        for some in blocks.chunks(at_once) {
            let changes = put_all(some);
            bench.watch.sample(&mut ours, 1.0, || {
                Ok(made.graph.change(&changes, Durability::Synced)?)
            })?;
            bench.watch.sample(&mut floor, 1.0, || prepared.write_synced(&bytes))?;
        }
        let rate = |seconds: f64| bytes.len() as f64 / 1e6 / seconds;
        rows.add(Row::of_calls(id, Side::Ours, OURS, &ours, rate).note(note));
        rows.add(Row::of_calls(id, Side::Floor, FLOOR, &floor, rate));
    }
    Ok(made.store.close()?)
}

/// Opening a store whose rows are in the log alone, as its writer's end left it, beside reading and checksumming that log.
fn recovery(bench: &Bench, rows: &mut Rows) -> Result<()> {
    let found = recovery::measured(bench)?;
    let note = "half the rows single commits of 64 B values, half commits of 10,000 rows";
    let runs = found.ours.count() as u64;
    rows.add(Row::new("recovery", Side::Ours, OURS, found.ours.median(), runs).note(note));
    let floor = "reading and CRC-32C of the same bytes";
    rows.add(Row::new("recovery", Side::Floor, floor, found.floor.median(), runs));
    Ok(())
}

/// The commit that goes on in the next file of the log is one of those of a file's length; the slowest of them is what it takes
/// at most.
fn rotation(bench: &Bench, rows: &mut Rows, path: &Path, blocks: &Blocks) -> Result<()> {
    let settings = Settings { wal_segment_bytes: LOG_FILE_BYTES, ..Settings::default() };
    let made = Made::new(path, settings)?;
    let mut slowest = Samples::new();
    for some in blocks.chunks(LOG_FILE_BYTES as usize / CONTENT_BYTES) {
        let mut file = Samples::new();
        for block in some {
            bench.watch.sample(&mut file, 1.0, || made.put(block, Durability::Written))?;
        }
        slowest.add(file.percentile(1.0));
    }
    let note = "at most: the slowest of the commits that fill a file of 1 MiB, each `Written`, flushes beside them included";
    rows.add(Row::of_calls("rotation", Side::Ours, OURS, &slowest, micros).note(note));
    Ok(made.store.close()?)
}

/// Flushes of 10,000 blocks, what memory holds before and after, and the run that comes of one.
fn of_runs(bench: &Bench, rows: &mut Rows, path: &Path, blocks: &Blocks) -> Result<()> {
    let some = blocks.get(..bench.many(BLOCKS) as usize).unwrap_or(blocks);
    let (mut flushes, mut opens, mut scans) = (Samples::new(), Samples::new(), Samples::new());
    let mut left = 0;
    for round in 0..bench.rounds(9) {
        let path = path.join(round.to_string());
        let made = Made::new(&path, Settings::default())?;
        made.put_many(some)?;
        bench.watch.sample(&mut flushes, 1.0, || Ok(made.store.flush()?))?;
        left = made.store.stats().memtable_bytes;
        made.store.close()?;
        let store = bench.watch.sample(&mut opens, 1.0, || {
            let store = Store::open(&path, Settings::default())?;
            black_box(Graph::open(&store, "graph")?.view()?.get(some[0].0)?);
            Ok(store)
        })?;
        let graph = Graph::open(&store, "graph")?;
        let seen = bench.watch.sample(&mut scans, 1.0, || {
            let mut seen = 0;
            for batch in graph.view()?.scan_blocks()? {
                seen += batch?.num_rows();
            }
            Ok(seen)
        })?;
        if seen != some.len() {
            return Err(format!("{seen} blocks of {} were scanned", some.len()).into());
        }
        store.close()?;
    }
    let count = some.len() as f64;
    let rate = |seconds: f64| count / seconds;
    let note = "a flush: sorted, encoded, written and synced";
    rows.add(Row::of_calls("build", Side::Ours, OURS, &flushes, rate).note(note));
    let millis = |seconds: f64| seconds * 1e3;
    let note = "a store with one run opened, and a block read";
    rows.add(Row::of_calls("load index", Side::Ours, OURS, &opens, millis).note(note));
    rows.add(
        Row::of_calls("scan", Side::Ours, OURS, &scans, rate)
            .note("as Arrow rows, with all columns"),
    );
    let note = "the store's own count of rows in memory";
    rows.add(Row::new("flush after", Side::Ours, OURS, left as f64 / 1e6, 1).note(note));
    Ok(())
}
