use proptest::prelude::*;
use timestrata_format::manifest::Merge;
use timestrata_format::{KeyRange, SeqNo};
use timestrata_io::{Rng, SeededRng};

use super::super::simulation::{Simulation, run, small_settings, stream_of};
use super::*;

const SECOND: i64 = 1_000_000_000;
const START: i64 = 1_700_000_000 * SECOND;

/// How keys come in.
#[derive(Debug, Clone, Copy)]
enum Pattern {
    InOrder,
    /// One row in five is late by up to all of history.
    LateAnywhere,
    /// One row in five is late by up to as much as a hundred thousand rows take.
    LateALittle,
    /// Every row falls somewhere into one day.
    OneWindow,
    /// Every row has the same time.
    OneInstant,
    /// Order, with jumps ahead and back of up to a year, and rows dated ten years ahead.
    Jumps,
}

const PATTERNS: [Pattern; 6] = [
    Pattern::InOrder,
    Pattern::LateAnywhere,
    Pattern::LateALittle,
    Pattern::OneWindow,
    Pattern::OneInstant,
    Pattern::Jumps,
];

fn below(rng: &SeededRng, bound: u64) -> u64 {
    let mut bytes = [0; 8];
    rng.fill(&mut bytes);
    u64::from_le_bytes(bytes) % bound
}

fn time_of(pattern: Pattern, row: i64, offset: &mut i64, rng: &SeededRng) -> i64 {
    let now = START + row * SECOND;
    let late = below(rng, 5) == 0;
    match pattern {
        Pattern::InOrder => now,
        Pattern::LateAnywhere if late => now - below(rng, row as u64 + 1) as i64 * SECOND,
        Pattern::LateALittle if late => now - below(rng, 100_000) as i64 * SECOND / 10,
        Pattern::LateAnywhere | Pattern::LateALittle => now,
        Pattern::OneWindow => START + below(rng, 86_400 * SECOND as u64) as i64,
        Pattern::OneInstant => START,
        Pattern::Jumps => {
            if below(rng, 500) == 0 {
                *offset = below(rng, 2 * 365 * 86_400) as i64 * SECOND - 365 * 86_400 * SECOND;
            }
            let ahead = if below(rng, 1_000) == 0 { 3650 * 86_400 * SECOND } else { 0 };
            now + *offset + ahead
        }
    }
}

fn simulate(pattern: Pattern, merge: Merge, rows: i64, seed: u64) -> Simulation {
    let stream = stream_of(LeadKind::Time, merge, RunFormat::Hot);
    let mut simulation = Simulation::new(stream, small_settings());
    let rng = SeededRng::new(seed);
    let mut offset = 0;
    for row in 0..rows {
        let time = time_of(pattern, row, &mut offset, &rng);
        simulation.insert(LeadKey::Time(time));
    }
    simulation
}

fn print(what: &str, simulation: &Simulation) {
    println!(
        "{what:>16}: write amplification {:.2}, {} runs, depth {}, largest plan {:.1} full runs",
        simulation.write_amplification(),
        simulation.runs.len(),
        simulation.depth(),
        simulation.largest_plan_bytes as f64 / simulation.settings.run_bytes_max as f64,
    );
}

#[test]
fn write_amplification_and_run_counts_stay_bounded_for_every_pattern() {
    for pattern in PATTERNS {
        for rows in [8_000, 32_000] {
            let simulation = simulate(pattern, Merge::Keep, rows, 7);
            print(&format!("{pattern:?} {rows}"), &simulation);
        }
    }
}
