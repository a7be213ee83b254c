//! Going along with the changes of a store, commit by commit.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::AtomicBool;

use timestrata_engine::locks::Mutex;
use timestrata_engine::{
    ChangeFeed, CommittedChanges, Error, ErrorKind, Result, SeqNo, Store, StreamId,
};
use timestrata_table::follower_of;

use super::gathering::Gathering;

/// What is read of the changes at once, in bytes.
const POLL_BYTES: usize = 8 << 20;
/// How often a place in the changes is saved, which takes a sync, in nanoseconds.
const SAVE_EVERY_NS: u64 = 5_000_000_000;

/// What one session folds.
#[derive(Debug, Default)]
pub(crate) struct Folding {
    pub(crate) has_begun: AtomicBool,
    pub(crate) followers: Mutex<HashMap<StreamId, Follower>>,
    /// The commit up to which there was nothing more to do.
    pub(crate) seen: Mutex<SeqNo>,
}

/// A place in the changes.
#[derive(Debug)]
pub(crate) struct Follower {
    feed: ChangeFeed,
    /// The commit behind which it goes along.
    pub(crate) folded: SeqNo,
    /// What has been given and is not asked for yet.
    waiting: VecDeque<CommittedChanges>,
    saved_ns: u64,
}

impl Follower {
    /// From behind a commit on, for once.
    ///
    /// # Errors
    /// `HistoryLost` where not all is kept that comes behind it, `InvalidArgument` where the store keeps no changes.
    pub(crate) fn behind(store: &Store, folded: SeqNo) -> Result<Self> {
        Ok(Self::of(store.changes_since(folded)?, folded, store))
    }

    /// The same for a view, whose changes stay until they are folded.
    ///
    /// # Errors
    /// As [`Follower::behind`].
    pub(crate) fn named(store: &Store, view: &str, folded: SeqNo) -> Result<Self> {
        let name = follower_of(view);
        match store.follow(&name, Some(folded)) {
            Ok(feed) if feed.last_seq() <= folded => return Ok(Self::of(feed, folded, store)),
            Err(error) if error.kind() != ErrorKind::HistoryLost => return Err(error),
            // Its place is another than the view's, or what comes behind it is lost: it begins anew, at the view's.
            _ => {}
        }
        match store.remove_follower(&name) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        Ok(Self::of(store.follow(&name, Some(folded))?, folded, store))
    }

    fn of(feed: ChangeFeed, folded: SeqNo, store: &Store) -> Self {
        Self { feed, folded, waiting: VecDeque::new(), saved_ns: store.monotonic_ns() }
    }

    /// Gives all commits up to one to somebody who gathers them.
    ///
    /// # Errors
    /// `HistoryLost` where some of them are not kept any more.
    pub(crate) fn gather(
        &mut self,
        gathering: &mut Gathering<'_>,
        through: SeqNo,
        own: StreamId,
    ) -> Result<()> {
        loop {
            while let Some(commit) = self.waiting.pop_front() {
                if commit.seq > through {
                    self.waiting.push_front(commit);
                    return Ok(());
                }
                if commit.seq > self.folded {
                    gathering.take(&commit, own)?;
                }
            }
            if self.feed.last_seq() >= through {
                return Ok(());
            }
            let next = self.feed.poll(POLL_BYTES)?;
            if next.is_empty() {
                let message = format!(
                    "the changes end with commit {}, and not with {through}",
                    self.feed.last_seq()
                );
                return Err(Error::new(ErrorKind::HistoryLost, message));
            }
            self.waiting.extend(next);
        }
    }

    /// Whether it is time to save the place.
    pub(crate) fn is_due(&self, store: &Store) -> bool {
        store.monotonic_ns().saturating_sub(self.saved_ns) >= SAVE_EVERY_NS
    }

    /// Lets go of what has been folded.
    ///
    /// # Errors
    /// What an edit of the manifest may fail with.
    pub(crate) fn save(&mut self, store: &Store) -> Result<()> {
        self.saved_ns = store.monotonic_ns();
        self.feed.save(self.folded.min(self.feed.last_seq())).map(drop)
    }
}
