//! The rows of merkql's own report, ours beside it.

use std::path::Path;

use merkql::record::ProducerRecord;
use timestrata_bench::published::{Row, RowGroup, Rows, Side};
use timestrata_bench::{Bench, Numbers, Prepared, Result, Samples, scratch, sync_disk};
use timestrata_topic::Record;

use crate::data::Maker;
use crate::ours::Ours;
use crate::peer::{self, Peer, TOPIC};
use crate::proof::{self, Figures, PROOFS};

/// Its groups, in the order of the report.
pub(crate) const GROUPS: [RowGroup; 4] = [
    RowGroup { name: "sends", run: sends },
    RowGroup { name: "reads", run: reads },
    RowGroup { name: "proofs", run: proofs },
    RowGroup { name: "opening", run: opening },
];

const OURS: &str = "timestrata";
const FLOOR: &str = "write and fdatasync into a prepared file";
/// Bytes of a record, and how many are sent of each.
const PAYLOADS: [usize; 7] = [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10];
const SENDS: u64 = 1_000;
/// Sends of a turn: what the others have not synced is written out before.
const TURN: u64 = 50;
/// Samples of the report's own row of latencies.
const LATENCIES: u64 = 200;
const FLOOR_FILE_BYTES: u64 = 64 << 20;
const RECORDS: u64 = 10_000;
/// Far enough from one read to the next that nothing is read ahead; it has no divisor in common with the records.
const STRIDE: u64 = 7_919;

fn micros(seconds: f64) -> f64 {
    seconds * 1e6
}

fn sends(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    for bytes in PAYLOADS {
        of_payload(bench, rows, &format!("send {bytes}"), bytes, SENDS)?;
    }
    of_payload(bench, rows, "latency 256", 256, LATENCIES)
}

/// Sends of so many bytes: ours, the peer's and the disk's own, in turns.
fn of_payload(bench: &Bench, rows: &mut Rows, id: &str, bytes: usize, sends: u64) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let ours = Ours::open(&dir.path().join("ours"), 1)?;
    let theirs = Peer::open(&dir.path().join("theirs"))?;
    let mut prepared = Prepared::create(&dir.path().join("prepared"), FLOOR_FILE_BYTES)?;
    let mut numbers = Numbers::new(29);
    let [mut of_ours, mut of_theirs, mut of_floor] = [Samples::new(), Samples::new(), Samples::new()];
    let sends = bench.many(sends);
    while (of_ours.count() as u64) < sends {
        // Text, which both take.
        let values: Vec<String> = (0..TURN.min(sends)).map(|_| text(&mut numbers, bytes)).collect();
        sync_disk(dir.path())?;
        for value in &values {
            let record = Record { value: Some(value.as_bytes()), ..Record::default() };
            bench.watch.sample(&mut of_ours, 1.0, || ours.send(&record))?;
        }
        sync_disk(dir.path())?;
        for value in &values {
            let record = ProducerRecord::new(TOPIC, None, value.clone());
            bench.watch.sample(&mut of_theirs, 1.0, || theirs.send(&record))?;
        }
        sync_disk(dir.path())?;
        for value in &values {
            bench.watch.sample(&mut of_floor, 1.0, || prepared.write_synced(value.as_bytes()))?;
        }
    }
    rows.add(Row::of_calls(id, Side::Ours, OURS, &of_ours, micros));
    rows.add(Row::of_calls(id, Side::Peer, peer::NAME, &of_theirs, micros));
    rows.add(Row::of_calls(id, Side::Floor, FLOOR, &of_floor, micros));
    ours.close()
}

fn text(numbers: &mut Numbers, bytes: usize) -> String {
    numbers.bytes(bytes).into_iter().map(|byte| char::from(byte & 0x7f)).collect()
}

/// Both sides with so many records.
fn filled(bench: &Bench, dir: &Path, records: u64) -> Result<(u64, Ours, Peer)> {
    let records = bench.many(records);
    let ours = Ours::filled(&dir.join("ours"), &mut Maker::new(), records)?;
    let theirs = Peer::filled(&dir.join("theirs"), &mut Maker::new(), records)?;
    Ok((records, ours, theirs))
}

fn reads(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let (records, ours, theirs) = filled(bench, dir.path(), RECORDS)?;
    let (mut scans, mut others) = (Samples::new(), Samples::new());
    for _ in 0..bench.rounds(15) {
        bench.watch.sample(&mut scans, 1.0, || (0..records).try_for_each(|at| ours.get(at).map(drop)))?;
        bench.watch.sample(&mut others, 1.0, || (0..records).try_for_each(|at| theirs.get(at).map(drop)))?;
    }
    let rate = |seconds: f64| records as f64 / seconds;
    let note = "each record by its offset, one after the other";
    rows.add(Row::of_calls("scan", Side::Ours, OURS, &scans, rate).note(note));
    rows.add(Row::of_calls("scan", Side::Peer, peer::NAME, &others, rate));
    let (mut found, mut others) = (Samples::new(), Samples::new());
    for at in 0..records {
        let offset = at * STRIDE % records;
        bench.watch.sample(&mut found, 1.0, || ours.get(offset))?;
        bench.watch.sample(&mut others, 1.0, || theirs.get(offset))?;
    }
    rows.add(Row::of_calls("random", Side::Ours, OURS, &found, micros));
    rows.add(Row::of_calls("random", Side::Peer, peer::NAME, &others, micros));
    ours.close()
}

fn proofs(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    for size in [100, 1_000, 10_000] {
        let dir = scratch(&bench.dir)?;
        let (records, ours, theirs) = filled(bench, dir.path(), size)?;
        let (mut of_ours, mut of_theirs) = (Figures::default(), Figures::default());
        let mut numbers = Numbers::new(24);
        for _ in 0..bench.rounds(15) {
            proof::ours(bench, &ours, &mut numbers, &mut of_ours)?;
            proof::theirs(bench, &theirs, records, &mut numbers, &mut of_theirs)?;
        }
        let id = format!("proof {size}");
        let note = format!("median of {} turns of {PROOFS}", of_ours.both.count());
        let row = |side, label, figures: &Figures| {
            Row::new(&id, side, label, figures.both.median(), figures.both.count() as u64)
        };
        rows.add(row(Side::Ours, OURS, &of_ours).note(note));
        rows.add(row(Side::Peer, peer::NAME, &of_theirs));
        ours.close()?;
    }
    Ok(())
}

fn opening(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    for size in [100, 1_000, 10_000, 50_000] {
        let dir = scratch(&bench.dir)?;
        let (_, ours, theirs) = filled(bench, dir.path(), size)?;
        ours.close()?;
        drop(theirs);
        let (mut of_ours, mut of_theirs) = (Samples::new(), Samples::new());
        for _ in 0..bench.rounds(50) {
            let opened = bench.watch.sample(&mut of_ours, 1.0, || Ours::open(&dir.path().join("ours"), 1))?;
            opened.close()?;
            bench.watch.sample(&mut of_theirs, 1.0, || Peer::reopen(&dir.path().join("theirs")))?;
        }
        let id = format!("reopen {size}");
        let note = "ours until a record can be sent: the store's lock, manifest and log";
        rows.add(Row::of_calls(&id, Side::Ours, OURS, &of_ours, micros).note(note));
        rows.add(Row::of_calls(&id, Side::Peer, peer::NAME, &of_theirs, micros));
    }
    Ok(())
}
