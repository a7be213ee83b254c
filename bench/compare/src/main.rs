//! Timestrata beside other embedded stores: the same rows, the same batches, the same sync
//! points, in turns in one run.
//!
//! Writes its lines into the report of the engine suite, which `timestrata-bench` begins.

mod data;
mod peers;
mod race;

use std::process::ExitCode;

use timestrata_bench::report::{self, Others};
use timestrata_bench::{Better, Measure, Request, Result, Samples, Watch, scratch, suite};

use crate::data::{BATCH_ROWS, Data, VALUE_BYTES};
use crate::peers::{PEERS, Peer};
use crate::race::{Race, Syncs};

const USAGE: &str = "usage: timestrata-bench-compare [OPTIONS]

  --quick        few rows: shows that it works, the figures say little
  --only NAME    only Timestrata and the peers whose name holds this
  --dir PATH     where stores are made (default: next to the program)
  --out PATH     the report (default: bench/results/latest.json)";

/// The peer that everything is about.
const OURS: &str = "Timestrata";
/// The peer that point reads need not beat: it reads a mapped tree without copying.
const FASTEST_POINTS: &str = "LMDB";

/// Rows a second of one peer, one sample a round.
#[derive(Debug, Default)]
struct Figures {
    ingest: Samples,
    ingest_synced: Samples,
    scan: Samples,
    points: Samples,
}

fn run(request: &Request) -> Result<()> {
    let (rows, lookups, rounds) =
        if request.quick { (20_000, 2_000, 1) } else { (1_000_000, 200_000, 3) };
    let data = Data::new(rows, lookups);
    let peers: Vec<&Peer> = PEERS
        .iter()
        .filter(|peer| peer.name == OURS || peer.name.contains(&request.only))
        .collect();
    let mut figures: Vec<Figures> = peers.iter().map(|_| Figures::default()).collect();
    for round in 0..rounds {
        for (peer, figures) in peers.iter().zip(&mut figures) {
            eprintln!("(round {} of {rounds}: {})", round + 1, peer.name);
            take(request, peer, &data, round == 0, figures)
                .map_err(|error| format!("{}: {error}", peer.name))?;
        }
    }
    let measures = measures(&peers, &figures, &data, rounds);
    println!("{}", report::heading());
    measures.iter().for_each(|measure| println!("{}", report::line(measure)));
    report::merge_into(&request.out, "engine", &measures, Others::Keep)
}

fn take(
    request: &Request,
    peer: &Peer,
    data: &Data,
    with_syncs: bool,
    figures: &mut Figures,
) -> Result<()> {
    let watch = Watch::new();
    let dir = scratch(&request.dir)?;
    let mut race = Race::new(&watch, data, Syncs::AtTheEnd);
    (peer.run)(dir.path(), &mut race)?;
    race.check()?;
    figures.ingest.add(race.ingest.median());
    figures.scan.add(race.scan.median());
    figures.points.add(race.points.median());
    drop(dir);
    if with_syncs {
        // Syncs take long and vary little; one round of them is enough.
        let dir = scratch(&request.dir)?;
        let mut race = Race::new(&watch, data, Syncs::EachBatch);
        (peer.run)(dir.path(), &mut race)?;
        race.check()?;
        figures.ingest_synced.add(race.ingest.median());
    }
    Ok(())
}

fn measures(peers: &[&Peer], figures: &[Figures], data: &Data, rounds: usize) -> Vec<Measure> {
    let Some(ours) = peers.iter().position(|peer| peer.name == OURS) else {
        return Vec::new();
    };
    let shape = format!(
        "median of {rounds} rounds, peers in turns; {} rows of {VALUE_BYTES} B with ordered 16 B \
         keys in batches of {BATCH_ROWS}; each store as its documentation begins, but for the \
         settings that make durability equal",
        data.rows()
    );
    let kinds: [(&str, &str, fn(&Figures) -> &Samples, Option<&str>); 4] = [
        (
            "durable ingest, one sync at the end",
            "no sync a batch, one at the end",
            |f| &f.ingest,
            None,
        ),
        ("durable ingest, a sync each batch", "one round", |f| &f.ingest_synced, None),
        ("ordered scan of keys and values", "right after ingest, middle of 3", |f| &f.scan, None),
        (
            "random point reads",
            "200,000 (quick: 2,000) keys that exist, one reader, right after the scans",
            |f| &f.points,
            Some(FASTEST_POINTS),
        ),
    ];
    let mut measures = Vec::new();
    for (name, note, samples, excepted) in kinds {
        for (peer, figures_of_peer) in peers.iter().zip(figures) {
            if peer.name == OURS {
                continue;
            }
            let value = figures.get(ours).map_or(f64::NAN, |figures| samples(figures).median());
            let theirs = samples(figures_of_peer).median();
            let measure = Measure::new(format!("{name}: against {}", peer.name), "rows/s", value)
                .against(peer.name, theirs, Better::Higher)
                .note(format!("{note}; {}; {shape}", peer.settings));
            let is_excepted = excepted == Some(peer.name);
            measures.push(if is_excepted { measure } else { measure.aim(1.0) });
        }
    }
    measures
}

fn main() -> ExitCode {
    let request = Request::read(std::env::args().skip(1), &[], USAGE);
    let outcome = request.and_then(|request| run(&request)).map(|()| true);
    suite::end("timestrata-bench-compare", outcome)
}
