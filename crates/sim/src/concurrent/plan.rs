//! What a seed draws: who is there, what they do, and how the store is set.

use timestrata_engine::{BusyPolicy, Durability, Maintenance, Settings};
use timestrata_io::sync::schedule::Manner;
use timestrata_io::{Rng, SeededRng};

use crate::streams::{EVENTS, ModelChange, Row, STATE};

/// What a writer does once.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// One row, by a row appender.
    Append {
        stream: usize,
        row: Row,
        durability: Durability,
    },
    /// One commit; large ones go straight to runs.
    Commit {
        changes: Vec<ModelChange>,
        durability: Durability,
    },
    /// One bulk commit.
    Bulk(Vec<ModelChange>),
    Sync,
    Flush,
    Compact,
}

/// A run.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) manner: Manner,
    pub(super) settings: Settings,
    pub(super) writers: Vec<Vec<Act>>,
    /// Snapshots that each reader takes.
    pub(super) readers: Vec<usize>,
    /// Looks of a reader of another process; 0: there is none.
    pub(super) follower: usize,
    pub(super) backup: bool,
    pub(super) pins: usize,
    /// Streams that come and go.
    pub(super) passing: usize,
    /// One in so many operations of the disk is a moment to crash at.
    pub(super) capture_one_in: u64,
}

/// Numbers from a seed.
pub(super) struct Draw(SeededRng);

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Self(SeededRng::new(seed ^ 0x5EED_0F50_4EA1_0000))
    }

    pub(super) fn below(&self, bound: u64) -> u64 {
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
        let follower = if draw.one_in(3) { 3 } else { 0 };
        let writers = 2 + draw.below(2);
        let writers = (0..writers).map(|writer| acts(&draw, writer)).collect();
        Self {
            manner,
            settings: settings(&draw),
            writers,
            readers: (0..draw.below(3)).map(|_| 2 + draw.below(4) as usize).collect(),
            follower,
            backup: draw.one_in(4),
            pins: if draw.one_in(4) { 2 } else { 0 },
            passing: if draw.one_in(4) { 2 } else { 0 },
            capture_one_in: 60,
        }
    }
}

/// So small that a few rows exercise every path.
fn settings(draw: &Draw) -> Settings {
    Settings {
        memtable_bytes_max: draw.of(&[1 << 10, 2 << 10, 8 << 10]),
        memory_bytes_max: draw.of(&[8 << 10, 32 << 10]),
        wal_segment_bytes: 4 << 10,
        wal_bytes_max: draw.of(&[8 << 10, 16 << 10]),
        run_batch_rows: 8,
        run_bytes_max: 4 << 10,
        level0_runs_max: 2,
        maintenance: Maintenance::Background,
        // It reads by the clock, of which the seeds that are kept know nothing.
        scrub_bytes_per_second: None,
        busy_policy: draw.of(&[BusyPolicy::Block, BusyPolicy::Flush, BusyPolicy::Raise]),
        ..Settings::default()
    }
}

fn acts(draw: &Draw, writer: u64) -> Vec<Act> {
    let count = 6 + draw.below(10);
    (0..count).map(|turn| act(draw, writer, turn)).collect()
}

fn act(draw: &Draw, writer: u64, turn: u64) -> Act {
    let now = 100 + 10 * turn as i64 + writer as i64;
    let padded = |bytes: usize| format!("turn {turn} of {writer} {}", "x".repeat(bytes));
    let row = |key: i64, bytes: usize| (key, padded(bytes));
    let durability = draw.of(&[Durability::Written, Durability::Synced, Durability::Buffered]);
    let commit = |changes| Act::Commit { changes, durability };
    let key = draw.below(6) as i64;
    match draw.below(16) {
        0..=3 => Act::Append { stream: EVENTS, row: row(now, 8), durability },
        // A segment of the log has room for three of these.
        4..=6 => Act::Append { stream: EVENTS, row: row(now, 1100), durability },
        7 => Act::Append { stream: STATE, row: row(key, 40), durability },
        8 => Act::Append { stream: EVENTS, row: row(9 - turn as i64, 100), durability },
        9 => commit(vec![
            ModelChange::Insert(EVENTS, vec![row(now, 20), row(50, 20)]),
            ModelChange::Insert(STATE, vec![row(key, 20), row(key + 1, 20)]),
        ]),
        10 => commit(vec![
            ModelChange::DeleteRange(EVENTS, 0, 60 + 20 * key),
            ModelChange::Insert(EVENTS, vec![row(55, 10)]),
            ModelChange::DeleteRange(STATE, key, key + 2),
        ]),
        11 => commit(vec![ModelChange::DeleteKeys(STATE, vec![key, key + 1])]),
        12 => {
            let rows = (0..24).map(|i| row(i * 7 % 120, 90)).collect();
            commit(vec![
                ModelChange::Insert(EVENTS, rows),
                ModelChange::Insert(STATE, vec![row(key, 90)]),
            ])
        }
        13 => {
            let rows = |n: i64| ModelChange::Insert(EVENTS, vec![row(now, 300), row(40 - n, 300)]);
            Act::Bulk((0..1 + key).map(rows).collect())
        }
        14 => Act::Sync,
        _ if draw.one_in(2) => Act::Flush,
        _ => Act::Compact,
    }
}
