//! dls's test `writeManyLogs`: entries written one by one, and all of them read back.

use std::hint::black_box;

use timestrata_bench::published::{Row, RowGroup, Rows, Side};
use timestrata_bench::{Bench, Prepared, Result, Samples, folder_bytes, scratch};
use timestrata_engine::{Durability, Settings, Store};
use timestrata_logs::{Level, NewEntry, Query};

use super::{FLOOR, OURS, memory, micros};
use crate::logs::scan::scan;
use crate::logs::{ENTRY_BYTES, create, entries};

pub(super) const GROUPS: [RowGroup; 4] = [
    RowGroup { name: "synced", run: synced },
    RowGroup { name: "written", run: written },
    RowGroup { name: "ten thousand", run: few },
    RowGroup { name: "memory", run: memory::of_logs },
];

pub(super) const ENTRIES: u64 = 100_000;
const FEW: u64 = 10_000;
/// Each so many entries are flushed, where its versions did that.
pub(super) const FLUSH_ENTRIES: usize = 1_000;
/// The floor is looked at in turns with every so many-th write.
const FLOOR_EACH: usize = 40;
const FLOOR_FILE_BYTES: u64 = 64 << 20;

/// What became of a log: seconds of each write and each flush, and seconds of reading all of it, once for each round.
struct Played {
    writes: Samples,
    flushes: Samples,
    reads: Samples,
    /// Of writing as much to the disk itself, where entries are synced.
    floor: Samples,
    log_bytes: u64,
}

struct Play<'a> {
    entries: &'a [NewEntry],
    durability: Durability,
    flush_each: Option<usize>,
    is_in_memory: bool,
}

fn play(bench: &Bench, how: &Play<'_>) -> Result<Played> {
    let dir = scratch(&bench.dir)?;
    let path = dir.path().join("store");
    let store = match how.is_in_memory {
        true => Store::memory(Settings::default())?,
        false => Store::open(&path, Settings::default())?,
    };
    let logs = create(&store)?;
    let mut played = Played {
        writes: Samples::new(),
        flushes: Samples::new(),
        reads: Samples::new(),
        floor: Samples::new(),
        log_bytes: 0,
    };
    let mut prepared = Prepared::create(&dir.path().join("prepared"), FLOOR_FILE_BYTES)?;
    for (at, entry) in how.entries.iter().enumerate() {
        if how.durability == Durability::Synced && at % FLOOR_EACH == 0 {
            bench
                .watch
                .sample(&mut played.floor, 1.0, || prepared.write_synced(&[7; ENTRY_BYTES]))?;
        }
        bench
            .watch
            .sample(&mut played.writes, 1.0, || Ok(logs.write_with(entry, how.durability)?))?;
        if how.flush_each.is_some_and(|each| at % each == each - 1) {
            bench.watch.sample(&mut played.flushes, 1.0, || Ok(logs.flush()?))?;
        }
    }
    for _ in 0..bench.rounds(9) {
        let (seen, _) = bench.watch.sample(&mut played.reads, 1.0, || scan(&logs))?;
        if seen != how.entries.len() {
            return Err(format!("{seen} of {} entries were read", how.entries.len()).into());
        }
    }
    if !how.is_in_memory {
        played.log_bytes = folder_bytes(&path.join("wal"))?;
    }
    store.close()?;
    Ok(played)
}

impl Played {
    fn add(&self, rows: &mut Rows, ids: (&[&str], &[&str]), note: &str) {
        let entries = self.writes.count() as f64;
        // As its report counts: all of the time, that of flushes too, over all entries.
        let each = (self.writes.sum() + self.flushes.sum()) * 1e6 / entries;
        for id in ids.0 {
            rows.add(Row::of_calls(id, Side::Ours, OURS, &self.writes, |_| each).note(note));
        }
        for id in ids.1 {
            let each = self.reads.median() * 1e6 / entries;
            rows.add(Row::new(id, Side::Ours, OURS, each, self.reads.count() as u64).note(note));
        }
    }
}

/// With each entry synced: flushed each 1,000 entries, as all of its versions from the fourth on, and never.
fn synced(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    let entries = entries(bench.many(ENTRIES) as usize);
    let how = Play {
        entries: &entries,
        durability: Durability::Synced,
        flush_each: Some(FLUSH_ENTRIES),
        is_in_memory: false,
    };
    let played = play(bench, &how)?;
    let note = "each entry `Synced`, flushed each 1,000 entries, compacted in the background";
    let writes =
        ["V8 write synced", "V8 initial write", "V7 write", "V6 write", "V5 write", "V4 write"];
    let reads = ["V8 read", "V8 initial read", "V7 read", "V6 read", "V5 read", "V4 read"];
    played.add(rows, (&writes, &reads), note);
    let (write, read) = (played.writes.sum() + played.flushes.sum(), played.reads.median());
    rows.add(Row::new("V8 ratio", Side::Ours, OURS, write / read, 1).note(note));
    rows.add(Row::of_calls("V8 flush", Side::Ours, OURS, &played.flushes, |median| median * 1e3));
    rows.add(Row::new("log growth", Side::Ours, OURS, played.log_bytes as f64 / 1e6, 1).note(note));
    for id in writes {
        rows.add(Row::of_calls(id, Side::Floor, FLOOR, &played.floor, micros));
    }
    let never = play(bench, &Play { flush_each: None, ..how })?;
    never.add(
        rows,
        (&["V3 write"], &["V3 read"]),
        "each entry `Synced`, flushed in the background",
    );
    rows.add(Row::of_calls("V3 write", Side::Floor, FLOOR, &never.floor, micros));
    newest(bench, rows, &entries)
}

fn written(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    let entries = entries(bench.many(ENTRIES) as usize);
    let how = Play {
        entries: &entries,
        durability: Durability::Written,
        flush_each: Some(FLUSH_ENTRIES),
        is_in_memory: false,
    };
    let played = play(bench, &how)?;
    let note = "each `Written`, which survives the process; flushed each 1,000 entries";
    played.add(rows, (&["V8 write"], &[]), note);
    parts(bench, rows, &entries, played.writes.median())
}

/// What a write is made of, by what is left of it where there is no log.
fn parts(bench: &Bench, rows: &mut Rows, entries: &[NewEntry], written: f64) -> Result<()> {
    let how =
        Play { entries, durability: Durability::Written, flush_each: None, is_in_memory: true };
    let rest = play(bench, &how)?.writes;
    let note = "the same write to a store in memory: encoding too, which is done in place";
    rows.add(Row::of_calls("V8 finish", Side::Ours, OURS, &rest, micros).note(note));
    let (log, runs) = (micros(written - rest.median()), rest.count() as u64);
    let note =
        "what more the median of 'V8 write' takes than that of 'V8 finish'; without the sync";
    rows.add(Row::new("V8 log", Side::Ours, OURS, log, runs).note(note));
    Ok(())
}

/// The newest entries of a log that is in storage.
fn newest(bench: &Bench, rows: &mut Rows, entries: &[NewEntry]) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let store = Store::open(dir.path(), Settings::default())?;
    let logs = create(&store)?;
    for some in entries.chunks(1_000) {
        logs.write_many(some, Durability::Written)?;
    }
    logs.flush()?;
    let query = Query { newest_first: true, limit: Some(1_000), ..Query::default() };
    let mut samples = Samples::new();
    for _ in 0..bench.rounds(200) {
        bench.watch.sample(&mut samples, 1.0, || {
            let mut seen = 0;
            for batch in logs.search(&query)? {
                for entry in batch?.iter() {
                    black_box(entry.message());
                    seen += 1;
                }
            }
            if seen == entries.len().min(1_000) {
                Ok(())
            } else {
                Err(format!("{seen} came").into())
            }
        })?;
    }
    rows.add(Row::of_calls("last 1000", Side::Ours, OURS, &samples, micros));
    Ok(store.close()?)
}

fn few(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    let long = entries(bench.many(FEW) as usize);
    let short: Vec<NewEntry> = (0..long.len())
        .map(|at| {
            let mut entry = NewEntry::new(format!("entry {at}"));
            entry.level = Some(Level::Info);
            entry.fields.int("at", at as i64);
            entry
        })
        .collect();
    let flushed = Some(FLUSH_ENTRIES);
    for (ids, entries, durability, flush_each, is_in_memory, note) in [
        (
            ["V4 10k write", "V4 10k read"],
            &long,
            Durability::Synced,
            flushed,
            false,
            "each `Synced`, flushed each 1,000",
        ),
        (["V3 10k write", "V3 10k read"], &long, Durability::Synced, None, false, "each `Synced`"),
        (["V2 write", "V2 read"], &short, Durability::Synced, None, false, "each `Synced`"),
        (["V1 write", "V1 read"], &short, Durability::Written, None, true, "a store in memory"),
    ] {
        let played = play(bench, &Play { entries, durability, flush_each, is_in_memory })?;
        played.add(rows, (&ids[..1], &ids[1..]), note);
    }
    Ok(())
}
