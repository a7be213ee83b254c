//! What a seed draws: who is there, what they do, how the store is set, and what is wrong with the disk.

use std::time::Duration;

use timestrata_engine::{BusyPolicy, Maintenance, Settings};
use timestrata_io::sync::schedule::Manner;
use timestrata_io::{Rng, SeededRng};

use super::kinds::Kind;
use crate::disk::Fault;

/// Operations of the disk in which a fault comes, and reads.
const WITHIN: u64 = 500;

/// What a writer does once.
#[derive(Debug, Clone, Copy)]
pub(super) enum Act {
    /// A step of a workload of one of the plan's kinds; turns are like no others'.
    Step {
        kind: usize,
        letter: char,
        turn: usize,
    },
    Sync,
    Flush,
    Compact,
}

/// What goes wrong with the disk.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trouble {
    /// The operation so many from now fails.
    Operation(u64, Fault),
    /// The same of reads.
    Read(u64),
    /// After so many turns there is room for so many bytes more, and after as many again for any.
    Full { turns: u64, free_bytes: u64 },
    /// The same for files that may be open.
    OpenFiles { turns: u64, more: usize },
}

/// A run.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) manner: Manner,
    pub(super) settings: Settings,
    pub(super) kinds: Vec<Kind>,
    pub(super) writers: Vec<Vec<Act>>,
    /// Snapshots that each reader takes.
    pub(super) readers: Vec<usize>,
    /// Looks of a reader of another process; 0: there is none.
    pub(super) follower: usize,
    pub(super) backup: bool,
    pub(super) pins: usize,
    /// Streams that come and go.
    pub(super) passing: usize,
    pub(super) troubles: Vec<Trouble>,
    /// One in so many operations of the disk is a moment to crash at.
    pub(super) capture_one_in: u64,
}

/// Numbers from a seed.
struct Draw(SeededRng);

impl Draw {
    fn new(seed: u64) -> Self {
        Self(SeededRng::new(seed ^ 0x5EED_0F50_4EA1_0000))
    }

    fn below(&self, bound: u64) -> u64 {
        self.0.next_u64() % bound.max(1)
    }

    fn of<T: Copy>(&self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn one_in(&self, count: u64) -> bool {
        self.below(count) == 0
    }
}

impl Plan {
    pub(super) fn drawn(seed: u64) -> Self {
        let draw = Draw::new(seed);
        let manner = match draw.one_in(2) {
            true => Manner::Walk { one_in: draw.of(&[1, 4, 16, 64]) },
            false => Manner::Priorities { changes: 1 + draw.below(8) as usize },
        };
        let kinds = kinds(&draw);
        let writers = 2 + draw.below(2);
        let has_models = kinds.len() > 1;
        Self {
            manner,
            settings: settings(&draw, has_models),
            writers: (0..writers).map(|writer| acts(&draw, &kinds, writer)).collect(),
            kinds,
            readers: (0..draw.below(3)).map(|_| 2 + draw.below(4) as usize).collect(),
            follower: if draw.one_in(3) { 3 } else { 0 },
            backup: draw.one_in(4),
            pins: if draw.one_in(4) { 2 } else { 0 },
            passing: if draw.one_in(4) { 2 } else { 0 },
            troubles: if draw.one_in(3) { troubles(&draw) } else { Vec::new() },
            // A store of models takes longer to look at.
            capture_one_in: if has_models { 150 } else { 60 },
        }
    }
}

/// Plain streams alone, or beside one or two models.
fn kinds(draw: &Draw) -> Vec<Kind> {
    let [streams, models @ ..] = Kind::all();
    let mut kinds = vec![streams];
    if draw.one_in(2) {
        let first = draw.below(models.len() as u64) as usize;
        kinds.push(models[first]);
        if draw.one_in(3) {
            let beside = 1 + draw.below(models.len() as u64 - 1) as usize;
            kinds.push(models[(first + beside) % models.len()]);
        }
    }
    kinds
}

/// So small that a few rows exercise every path.
fn settings(draw: &Draw, has_models: bool) -> Settings {
    // Commits to several streams fit into longer segments only.
    let segment_bytes = if has_models { draw.of(&[4 << 10, 16 << 10]) } else { 4 << 10 };
    Settings {
        memtable_bytes_max: segment_bytes / 4 * draw.of(&[1, 2, 8]),
        memory_bytes_max: segment_bytes * draw.of(&[2, 8]),
        wal_segment_bytes: segment_bytes,
        wal_bytes_max: segment_bytes * draw.of(&[2, 4]),
        run_batch_rows: 8,
        run_bytes_max: 4 << 10,
        level0_runs_max: 2,
        maintenance: Maintenance::Background,
        // Seeds that are kept know nothing of it, and it is tried by `models`, one writer at a time.
        history_min: Duration::ZERO,
        // It reads by the clock, of which the seeds that are kept know nothing.
        scrub_bytes_per_second: None,
        busy_policy: draw.of(&[BusyPolicy::Block, BusyPolicy::Flush, BusyPolicy::Raise]),
        ..Settings::default()
    }
}

fn acts(draw: &Draw, kinds: &[Kind], writer: u64) -> Vec<Act> {
    let count = 6 + draw.below(10);
    (0..count).map(|turn| act(draw, kinds, writer, turn)).collect()
}

fn act(draw: &Draw, kinds: &[Kind], writer: u64, turn: u64) -> Act {
    match draw.below(16) {
        0 => Act::Sync,
        1 => Act::Flush,
        2 => Act::Compact,
        _ => {
            // Models more often than the streams beside them.
            let kind = (draw.below(kinds.len() as u64 + 1) as usize).min(kinds.len() - 1);
            let of_all = kinds[kind].letters;
            let of_one = if writer == 0 { kinds[kind].of_one } else { "" };
            let letters: Vec<char> = of_all.chars().chain(of_one.chars()).collect();
            let turn = (100 * writer + turn) as usize;
            Act::Step { kind, letter: draw.of(&letters), turn }
        }
    }
}

fn troubles(draw: &Draw) -> Vec<Trouble> {
    let trouble = || match draw.below(6) {
        0..=2 => Trouble::Operation(draw.below(WITHIN), draw.of(&Fault::ALL)),
        3 => Trouble::Read(draw.below(WITHIN)),
        4 => Trouble::Full { turns: draw.below(200), free_bytes: draw.below(12_000) },
        _ => Trouble::OpenFiles { turns: draw.below(200), more: draw.below(4) as usize },
    };
    (0..1 + draw.below(2)).map(|_| trouble()).collect()
}
