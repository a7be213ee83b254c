//! What was begun and promised, when, and what was seen. Its lock is held for a moment only, and never
//! where another actor may go on.

use std::any::Any;
use std::sync::Arc;

use timestrata_engine::planted::take_placed;
use timestrata_engine::{Durability, Snapshot, Store};
use timestrata_io::locks::Mutex;

use crate::disk::{CrashKind, CrashPoint};

/// A change of any kind of store: who looks for those of one kind looks for their type.
pub(crate) type Change = Arc<dyn Any + Send + Sync>;

/// What came of a commit.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fate {
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
pub(crate) struct Commit {
    pub(crate) changes: Vec<Change>,
    pub(crate) begun_at: u64,
    pub(crate) fate: Fate,
}

/// A snapshot that somebody took, kept to be held against the commits once their order is known.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) who: &'static str,
    pub(crate) store: Store,
    pub(crate) snapshot: Snapshot,
}

#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) commits: Vec<Commit>,
    /// From this moment on, commits up to there survive a power cut.
    pub(crate) synced: Vec<(u64, u64)>,
    pub(crate) seen: Vec<Seen>,
    pub(crate) problems: Vec<String>,
    /// Before the store is closed.
    pub(crate) last_moment: Option<CrashPoint>,
}

#[derive(Debug, Default)]
pub(crate) struct Journal(pub(crate) Mutex<Records>);

impl Journal {
    /// A commit begins; its place here.
    pub(crate) fn begun(&self, at: u64, changes: Vec<Change>) -> usize {
        let _ = take_placed();
        let mut records = self.0.lock();
        records.commits.push(Commit { changes, begun_at: at, fate: Fate::Open });
        records.commits.len() - 1
    }

    /// Nothing was kept of a commit, as the store says.
    pub(crate) fn refused(&self, commit: usize) {
        self.0.lock().commits[commit].fate = Fate::Refused;
    }

    /// A commit has ended so in its place in the order. If it was given none, there was nothing to do, or
    /// nothing of it was kept; whether it was.
    pub(crate) fn ended(&self, commit: usize, fate: impl FnOnce(u64) -> Fate) -> bool {
        let placed = take_placed();
        let fate = placed.map_or(Fate::Refused, |seq| fate(seq.0));
        self.0.lock().commits[commit].fate = fate;
        placed.is_some()
    }

    /// A commit that was acknowledged is synced as well.
    pub(crate) fn synced_too(&self, commit: usize, at: u64) {
        let mut records = self.0.lock();
        if let Fate::Acknowledged { seq, .. } = records.commits[commit].fate {
            records.synced.push((at, seq));
        }
    }

    pub(crate) fn synced(&self, through: u64, at: u64) {
        self.0.lock().synced.push((at, through));
    }

    pub(crate) fn saw(&self, seen: Seen) {
        self.0.lock().seen.push(seen);
    }

    pub(crate) fn problem(&self, problem: String) {
        self.0.lock().problems.push(problem);
    }

    /// The last commit that was acknowledged.
    pub(crate) fn last_acknowledged(&self) -> u64 {
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
    pub(crate) fn least(&self, moment: u64, kind: CrashKind) -> u64 {
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
