//! What was read from the log a moment ago: where several follow a store in one process, one of them reads the log for all.
//!
//! ```text
//!    read by A      read by C        of the log
//!    5 6 7 8        9 10 11          12 ...
//!      └── B is behind 6: it is given 7 to 11, and goes on behind them
//! ```
//!
//! Invariant: pieces follow on one another without a gap, and have nothing but commits of the log.

use std::any::TypeId;
use std::collections::VecDeque;
use std::sync::Arc;

use timestrata_format::SeqNo;
use timestrata_io::sync::{Mutex, MutexGuard};

use super::CommittedChanges;
use crate::state::Engine;
use crate::wal::WalPosition;

/// Bytes of commits that are kept. Who takes more at once is no use to others, and would hold them up.
pub(super) const BYTES_MAX: usize = 4 << 20;

/// A commit, and the bytes that it counts.
pub(super) type Counted = (CommittedChanges, usize);

/// Commits that one look at the log has found.
#[derive(Debug)]
struct Piece {
    /// Where the log goes on behind the last of them.
    end: WalPosition,
    commits: Vec<Counted>,
}

/// What was found lately; each who follows has this.
#[derive(Debug, Default)]
pub(super) struct Recent {
    pieces: Mutex<VecDeque<Piece>>,
    /// Held by the one who reads the log: they hear of a commit at the same time.
    reading: Mutex<()>,
}

/// Commits, and where the log goes on: behind them, or somewhere before.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) commits: Vec<Counted>,
    pub(super) position: Option<WalPosition>,
    pub(super) bytes: usize,
}

impl Recent {
    /// That of an open store.
    pub(super) fn of(engine: &Engine) -> Arc<Self> {
        let mut states = engine.model_states.lock();
        let state = Arc::clone(
            states.entry(TypeId::of::<Self>()).or_insert_with(|| Arc::<Self>::default()),
        );
        drop(states);
        // Under its own type, so this never fails.
        state.downcast().unwrap_or_default()
    }

    /// Whether nobody else follows: the store has this, and who asks.
    pub(super) fn is_of_one(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) <= 2
    }

    /// To be held while reading what is not here; those who wait look here again first.
    pub(super) fn read_alone(&self) -> MutexGuard<'_, ()> {
        self.reading.lock()
    }

    /// Lets go of all.
    pub(super) fn clear(&self) {
        let pieces = std::mem::take(&mut *self.pieces.lock());
        // Without the lock: it frees memory.
        drop(pieces);
    }

    /// Commits behind one and through another, about so many bytes; `None` where the next one is not here.
    pub(super) fn between(&self, last: SeqNo, through: SeqNo, bytes_max: usize) -> Option<Found> {
        let pieces = self.pieces.lock();
        let next = last.next();
        let (mut commits, mut position, mut bytes) = (Vec::new(), None, 0);
        for piece in pieces.iter() {
            let skipped = piece.commits.iter().take_while(|(commit, _)| commit.seq < next).count();
            for (commit, size) in piece.commits.iter().skip(skipped) {
                let is_next = commit.seq.0 == next.0 + commits.len() as u64;
                if !is_next || commit.seq > through || bytes >= bytes_max {
                    return (!commits.is_empty()).then_some(Found { commits, position, bytes });
                }
                commits.push((commit.clone(), *size));
                bytes += size;
            }
            position = Some(piece.end);
        }
        (!commits.is_empty()).then_some(Found { commits, position, bytes })
    }

    /// Keeps what was found behind a commit, unless others have found it.
    pub(super) fn keep(&self, last: SeqNo, found: &[Counted], end: WalPosition) {
        let piece = Piece { end, commits: found.to_vec() };
        let Some((newest, _)) = piece.commits.last() else { return };
        let (newest, mut gone) = (newest.seq, Vec::new());
        let mut pieces = self.pieces.lock();
        let known = pieces.back().and_then(|piece| piece.commits.last());
        let known = known.map(|(commit, _)| commit.seq);
        if known.is_some_and(|known| known >= newest) {
            return;
        }
        if known != Some(last) {
            gone.extend(pieces.drain(..));
        }
        pieces.push_back(piece);
        let size = |piece: &Piece| piece.commits.iter().map(|(_, size)| size).sum::<usize>();
        let mut all: usize = pieces.iter().map(size).sum();
        while all > BYTES_MAX
            && let Some(piece) = pieces.pop_front()
        {
            all -= size(&piece);
            gone.push(piece);
        }
        drop(pieces);
        drop(gone);
    }
}
