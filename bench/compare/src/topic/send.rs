//! One record, synced: beside the disk itself, and beside the peer.

use std::path::Path;

use timestrata_bench::{
    Bench, Better, Measure, Prepared, Result, Samples, grouped, scratch, sync_disk,
};

use crate::data::{Maker, VALUE_BYTES};
use crate::ours::Ours;
use crate::peer::{self, Peer};

/// How many records there are before.
const SIZES: [u64; 3] = [0, 50_000, 1_000_000];
/// Sends of each store; a percentile of 1 in 100 is of 25 of them.
const SENDS: u64 = 2_500;
const FLOOR_FILE_BYTES: u64 = 16 << 20;
const PERCENTILES: [(&str, f64); 2] = [("p50", 0.5), ("p99", 0.99)];
/// How many times the floor a send may take.
const OVER_FLOOR: f64 = 1.5;
/// How many times longer a send may take where there are more records.
const FLAT: f64 = 1.2;

/// Sends of each side; fewer of a store that is to be empty, as the peer slows down with each.
const PEER_SENDS: u64 = 2_000;
const PEER_FRESH: u64 = 100;
/// Sends of a turn: what the peer has not synced is written out before the next side's.
const PEER_TURN: u64 = 50;
/// The peer's sizes, and how many times faster ours is to be.
const PEER_SIZES: [(u64, f64); 2] = [(0, 10.0), (50_000, 200.0)];

struct Side {
    size: u64,
    ours: Ours,
    maker: Maker,
    times: Samples,
}

fn scaled(bench: &Bench, size: u64) -> u64 {
    if size == 0 { 0 } else { bench.many(size) }
}

fn timed_send(bench: &Bench, ours: &Ours, maker: &mut Maker, times: &mut Samples) -> Result<()> {
    let batch = maker.batch(1);
    let record = batch.records().pop().ok_or("no record was made")?;
    bench.watch.sample(times, 1e6, || ours.send(&record))
}

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let sends = bench.many(SENDS);
    let dir = scratch(&bench.dir)?;
    let mut sides = Vec::new();
    for size in SIZES {
        let size = scaled(bench, size);
        let mut maker = Maker::new();
        let ours = Ours::filled(&dir.path().join(size.to_string()), &mut maker, size)?;
        sides.push(Side { size, ours, maker, times: Samples::new() });
    }
    let mut prepared = Prepared::create(&dir.path().join("prepared"), FLOOR_FILE_BYTES)?;
    let mut floor = Samples::new();
    let count = sides.len();
    for turn in 0..sends as usize {
        // Each turn begins with another one; the one behind the last side is the floor.
        for place in 0..=count {
            match sides.get_mut((turn + place) % (count + 1)) {
                Some(side) => {
                    timed_send(bench, &side.ours, &mut side.maker, &mut side.times)?;
                }
                None => {
                    let write = || prepared.write_synced(&[7; VALUE_BYTES]);
                    bench.watch.sample(&mut floor, 1e6, write)?;
                }
            }
        }
    }
    let own: Option<(u64, Samples)> = sides.first().map(|side| (side.size, side.times.clone()));
    for Side { size, times, .. } in &sides {
        for (name, share) in PERCENTILES {
            let value = times.percentile(share);
            let title = format!("`Synced` send of 256 B at {} records, {name}", grouped(*size));
            let note = format!(
                "{sends} sends of one record, each in turn with the floor and the other sizes; \
                 default settings"
            );
            bench.report(
                Measure::new(title.clone(), "us", value)
                    .against(
                        "write and fdatasync into a prepared file",
                        floor.percentile(share),
                        Better::Lower,
                    )
                    .aim(1.0 / OVER_FLOOR)
                    .note(note.clone()),
            );
            let Some((own_size, own)) = own.as_ref().filter(|(own, _)| own != size) else {
                continue;
            };
            let against = format!("own figure at {} records", grouped(*own_size));
            bench.report(
                Measure::new(format!("{title}, flat"), "us", value)
                    .against(against, own.percentile(share), Better::Lower)
                    .aim(1.0 / FLAT)
                    .note(note),
            );
        }
    }
    sides.into_iter().try_for_each(|side| side.ours.close())
}

pub(crate) fn run_peer(bench: &mut Bench) -> Result<()> {
    let sends = bench.many(PEER_SENDS);
    for (size, aim) in PEER_SIZES {
        let size = scaled(bench, size);
        let (mut ours, mut theirs) = (Samples::new(), Samples::new());
        // What is to be empty is so only for a moment.
        let fresh = if size == 0 { PEER_FRESH.min(sends) } else { sends };
        while (ours.count() as u64) < sends {
            let dir = scratch(&bench.dir)?;
            beside_peer(bench, dir.path(), size, fresh, [&mut ours, &mut theirs])?;
        }
        for (name, share) in PERCENTILES {
            bench.report(
                Measure::new(
                    format!(
                        "`Synced` send of 256 B at {} records, {name}, and {}",
                        grouped(size),
                        peer::NAME
                    ),
                    "us",
                    ours.percentile(share),
                )
                .against(peer::NAME, theirs.percentile(share), Better::Lower)
                .aim(aim)
                .note(format!(
                    "{} sends of one record each, in turns of {PEER_TURN} with all of the disk synced \
                     between; new stores after each {fresh}",
                    ours.count()
                )),
            );
        }
    }
    Ok(())
}

fn beside_peer(
    bench: &Bench,
    dir: &Path,
    size: u64,
    sends: u64,
    [ours_times, theirs_times]: [&mut Samples; 2],
) -> Result<()> {
    let mut maker = Maker::new();
    let ours = Ours::filled(&dir.join("ours"), &mut maker, size)?;
    let theirs = Peer::filled(&dir.join("theirs"), &mut Maker::new(), size)?;
    let turn = PEER_TURN.min(sends);
    for _ in 0..sends / turn {
        sync_disk(dir)?;
        for _ in 0..turn {
            timed_send(bench, &ours, &mut maker, ours_times)?;
        }
        sync_disk(dir)?;
        for _ in 0..turn {
            let record = Peer::record(&mut maker);
            bench.watch.sample(theirs_times, 1e6, || theirs.send(&record))?;
        }
    }
    ours.close()
}
