//! What was begun and promised, when, and what was seen. Its lock is held for a moment only, and never
//! where another actor may go on.

use parking_lot::Mutex;
use timestrata_engine::{Durability, Snapshot, Store};

use super::kinds::Change;
use crate::disk::{CrashKind, CrashPoint};

/// What came of a commit.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fate {
    /// Nobody has said yet.
    Open,
    /// Its place in the order, the moment of the acknowledgement, and what was promised.
    Acknowledged { seq: u64, at: u64, durability: Durability },
    /// It failed, and may be found in this place.
    InDoubt { seq: u64 },
    /// Nothing of it was kept, as the store says.
    Refused,
}

/// A commit, as whoever made it knows it. Moments are numbers of the disk's next operation.
#[derive(Debug, Clone)]
pub(super) struct Commit {
    pub(super) changes: Vec<Change>,
    pub(super) begun_at: u64,
    pub(super) fate: Fate,
}

/// A snapshot that somebody took, kept to be held against the commits once their order is known.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) who: &'static str,
    pub(super) store: Store,
    pub(super) snapshot: Snapshot,
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
    pub(super) fn begun(&self, at: u64, changes: Vec<Change>) -> usize {
        let mut records = self.0.lock();
        records.commits.push(Commit { changes, begun_at: at, fate: Fate::Open });
        records.commits.len() - 1
    }

    pub(super) fn acknowledged(&self, commit: usize, seq: u64, at: u64, durability: Durability) {
        self.0.lock().commits[commit].fate = Fate::Acknowledged { seq, at, durability };
    }

    pub(super) fn refused(&self, commit: usize) {
        self.0.lock().commits[commit].fate = Fate::Refused;
    }

    pub(super) fn in_doubt(&self, commit: usize, seq: u64) {
        self.0.lock().commits[commit].fate = Fate::InDoubt { seq };
    }

    /// A commit that was acknowledged is synced as well.
    pub(super) fn synced_too(&self, commit: usize, at: u64) {
        let mut records = self.0.lock();
        if let Fate::Acknowledged { seq, .. } = records.commits[commit].fate {
            records.synced.push((at, seq));
        }
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
        self.0.lock().acknowledged().map(|(seq, ..)| seq).max().unwrap_or(0)
    }
}

impl Records {
    fn acknowledged(&self) -> impl Iterator<Item = (u64, u64, Durability)> + '_ {
        self.commits.iter().filter_map(|commit| match commit.fate {
            Fate::Acknowledged { seq, at, durability } => Some((seq, at, durability)),
            _ => None,
        })
    }

    /// The least commit that a crash at this moment must leave.
    pub(super) fn least(&self, moment: u64, kind: CrashKind) -> u64 {
        let wanted = match kind {
            CrashKind::Killed => Durability::Written,
            CrashKind::PowerCut => Durability::Synced,
        };
        let promised = self
            .acknowledged()
            .filter(|(_, at, durability)| *at <= moment && *durability >= wanted)
            .map(|(seq, ..)| seq);
        let synced =
            self.synced.iter().filter(|(at, _)| *at <= moment).map(|(_, through)| *through);
        promised.chain(synced).max().unwrap_or(0)
    }
}
