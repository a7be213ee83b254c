//! What was begun and promised, when, and what was seen. Its lock is held for a moment only, and never
//! where another actor may go on.

use parking_lot::Mutex;
use timestrata_engine::Durability;

use crate::disk::{CrashKind, CrashPoint};
use crate::streams::{ModelChange, Row};

/// A commit, as whoever made it knows it. Moments are numbers of the disk's next operation.
#[derive(Debug, Clone)]
pub(super) struct Commit {
    pub(super) changes: Vec<ModelChange>,
    pub(super) begun_at: u64,
    /// Its place in the order, the moment of the acknowledgement, and what was promised.
    pub(super) acknowledged: Option<(u64, u64, Durability)>,
    /// Nothing of it was kept, as the store says.
    pub(super) is_refused: bool,
}

/// Rows of both streams as somebody saw them.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) who: String,
    pub(super) seq: u64,
    pub(super) rows: [Vec<Row>; 2],
}

#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) commits: Vec<Commit>,
    /// From this moment on, commits up to there survive a power cut.
    pub(super) synced: Vec<(u64, u64)>,
    pub(super) seen: Vec<Seen>,
    pub(super) problems: Vec<String>,
    /// Before the store is closed.
    pub(super) last_moment: Option<CrashPoint>,
}

#[derive(Debug, Default)]
pub(super) struct Journal(pub(super) Mutex<Records>);

impl Journal {
    /// A commit begins; its place here.
    pub(super) fn begun(&self, at: u64, changes: Vec<ModelChange>) -> usize {
        let mut records = self.0.lock();
        records.commits.push(Commit {
            changes,
            begun_at: at,
            acknowledged: None,
            is_refused: false,
        });
        records.commits.len() - 1
    }

    pub(super) fn acknowledged(&self, commit: usize, seq: u64, at: u64, durability: Durability) {
        self.0.lock().commits[commit].acknowledged = Some((seq, at, durability));
    }

    pub(super) fn refused(&self, commit: usize) {
        self.0.lock().commits[commit].is_refused = true;
    }

    pub(super) fn synced(&self, through: u64, at: u64) {
        self.0.lock().synced.push((at, through));
    }

    pub(super) fn saw(&self, seen: Seen) {
        self.0.lock().seen.push(seen);
    }

    pub(super) fn problem(&self, problem: String) {
        self.0.lock().problems.push(problem);
    }

    /// The last commit that was acknowledged.
    pub(super) fn last_acknowledged(&self) -> u64 {
        let records = self.0.lock();
        let acknowledged = records.commits.iter().filter_map(|commit| commit.acknowledged);
        acknowledged.map(|(seq, ..)| seq).max().unwrap_or(0)
    }
}

impl Records {
    /// The least commit that a crash at this moment must leave.
    pub(super) fn least(&self, moment: u64, kind: CrashKind) -> u64 {
        let wanted = match kind {
            CrashKind::Killed => Durability::Written,
            CrashKind::PowerCut => Durability::Synced,
        };
        let acknowledged = self.commits.iter().filter_map(|commit| commit.acknowledged);
        let promised = acknowledged
            .filter(|(_, at, durability)| *at <= moment && *durability >= wanted)
            .map(|(seq, ..)| seq);
        let synced =
            self.synced.iter().filter(|(at, _)| *at <= moment).map(|(_, through)| *through);
        promised.chain(synced).max().unwrap_or(0)
    }
}
