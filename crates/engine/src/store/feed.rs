//! Following what commits change.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use timestrata_format::SeqNo;

use super::Store;
use super::handle::Handle;
use crate::feed::{CommittedChanges, Feed};
use crate::{Error, ErrorKind, Result};

/// How often a store that another process writes is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// For so long commits are let come together, for who was woken as short a time ago.
const GATHER: Duration = Duration::from_millis(2);

/// What commits change, in their order, each once: see [`Store::changes_since`].
///
/// ```
/// # use std::sync::Arc;
/// # use std::time::Duration;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// # let temporary = tempfile::tempdir()?;
/// # let dir = temporary.path().join("store");
/// let settings = Settings { history_min: Duration::from_secs(600), ..Settings::default() };
/// let store = Store::open(&dir, settings)?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(schema)))?;
/// # let mut appender = store.appender(kitchen)?;
/// let first = appender.append(&[Cell::Int(1_000), Cell::Float(20.5)], Durability::Written)?;
/// appender.append(&[Cell::Int(2_000), Cell::Float(21.5)], Durability::Written)?;
/// store.commit(Changes::new().delete_range(kitchen, KeyRange::times(0, 1_500)), Durability::Written)?;
///
/// let mut feed = store.changes_since(first)?;
/// let commits = feed.poll(1 << 20)?;
/// let kinds: Vec<ChangeKind> = commits.iter().flat_map(|commit| &commit.changes).map(|change| change.kind()).collect();
/// assert_eq!(kinds, [ChangeKind::Inserted, ChangeKind::DeletedRange]);
/// for batch in commits[0].changes[0].batches()? {
///     assert_eq!(batch?.num_rows(), 1);
/// }
/// assert!(!feed.wait(Duration::ZERO)?); // nothing new has come
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ChangeFeed {
    handle: Arc<Handle>,
    feed: Feed,
    name: Option<String>,
    /// When it last heard of something new, by the clock that never goes back.
    woken_ns: AtomicU64,
}

impl Store {
    /// What commits change behind a commit: all of them, and each once. How far back they are kept the setting `history_min` says.
    ///
    /// Deletes are told of as they were asked for. What compaction does is no change. What no commit did, because rows have expired
    /// or a stream was dropped, is told of between commits.
    ///
    /// A commit is told of as soon as it is in the log: one that is [`crate::Durability::Written`] before it would survive a power
    /// cut, which may take it, and its number is given again then.
    ///
    /// # Errors
    /// `HistoryLost` where not all is kept that comes behind `since`, with the oldest commit from which on it is;
    /// `InvalidArgument` for a commit that has not been made, and where the store is in memory.
    pub fn changes_since(&self, since: SeqNo) -> Result<ChangeFeed> {
        let engine = self.engine();
        engine.check_open()?;
        let feed = Feed::behind(engine, since)?;
        let woken_ns = AtomicU64::new(0);
        Ok(ChangeFeed { handle: Arc::clone(&self.handle), feed, name: None, woken_ns })
    }

    /// As [`Store::changes_since`], for a follower with a name: one that is known goes on behind the last commit that it has
    /// [saved](ChangeFeed::save), and one that is not begins behind `since`, or behind the last commit. What it has not seen yet stays, however
    /// old it is, within `followed_bytes_max` bytes and as long as the disk has room.
    ///
    /// ```
    /// # use timestrata_engine::*;
    /// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    /// # let temporary = tempfile::tempdir()?;
    /// # let dir = temporary.path().join("store");
    /// let settings = Settings { history_min: std::time::Duration::from_secs(600), ..Settings::default() };
    /// let store = Store::open(&dir, settings)?;
    /// let feed = store.follow("search index", None)?;
    /// feed.save(feed.last_seq())?;
    /// assert_eq!(store.followers()?["search index"], store.stats().last_seq);
    /// store.remove_follower("search index")?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::changes_since`]. A follower that has lost what it has not seen is to be [removed](Store::remove_follower), and begins anew.
    pub fn follow(&self, name: &str, since: Option<SeqNo>) -> Result<ChangeFeed> {
        let engine = self.engine();
        let known = self.followers()?.get(name).copied();
        // What is in memory only is refused for that.
        if known.is_none() && self.path().is_some() {
            engine.telling(engine.check_can_follow(name))?;
        }
        let since = match (known, since) {
            (Some(known), _) => known,
            (None, Some(since)) => since,
            (None, None) => engine.core.lock().last_seq,
        };
        let feed = self.changes_since(since)?;
        if known.is_none() {
            engine.telling(engine.save_follower(name, since))?;
        }
        Ok(ChangeFeed { name: Some(name.to_owned()), ..feed })
    }

    /// Followers by name, with the last commit that each has saved.
    pub fn followers(&self) -> Result<BTreeMap<String, SeqNo>> {
        let engine = self.engine();
        engine.check_open()?;
        engine.followers()
    }

    /// Forgets a follower, and lets go of what only that one needed.
    ///
    /// # Errors
    /// `NotFound` if there is none of that name.
    pub fn remove_follower(&self, name: &str) -> Result<()> {
        self.engine().telling(self.engine().remove_follower(name))
    }

    /// Notes durably that a follower has done all commits up to this one: see [`ChangeFeed::save`].
    ///
    /// # Errors
    /// As [`ChangeFeed::save`]; `NotFound` if there is none of that name.
    pub fn save_follower(&self, name: &str, seq: SeqNo) -> Result<SeqNo> {
        if !self.followers()?.contains_key(name) {
            let message = format!("there is no follower '{name}'");
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        self.engine().telling(self.engine().save_follower(name, seq))
    }
}

impl ChangeFeed {
    /// The last commit that was given; the one to go on from.
    pub fn last_seq(&self) -> SeqNo {
        self.feed.last()
    }

    /// Notes durably that all commits up to this one are done: after a restart, a follower by name goes on behind it. A later one that
    /// was saved stays; gives how far it is.
    ///
    /// # Errors
    /// `InvalidArgument` for a follower without a name, and a commit that has not been given; `ReadOnly` beside the writer; `HistoryLost` where
    /// what comes behind is not kept any more.
    pub fn save(&self, seq: SeqNo) -> Result<SeqNo> {
        let invalid = |what: String| Err(Error::new(ErrorKind::InvalidArgument, what));
        let Some(name) = &self.name else {
            return invalid("a follower without a name has no place to save".to_owned());
        };
        if seq > self.last_seq() {
            let last = self.last_seq();
            return invalid(format!("commit {seq} has not been given: the last one is {last}"));
        }
        self.handle.engine.telling(self.handle.engine.save_follower(name, seq))
    }

    /// What comes next: about `bytes_max` bytes of it, and one commit at least where there is one. Nothing if there is nothing new.
    ///
    /// # Errors
    /// `HistoryLost` where the next commit is not kept any more: this reader has fallen too far behind. `Corruption` where the log
    /// can't be read. After an error the next call tries again from the same commit.
    pub fn poll(&mut self, bytes_max: usize) -> Result<Vec<CommittedChanges>> {
        self.feed.poll(&self.handle.engine, bytes_max)
    }

    /// What comes next, waited for where there is nothing new: what to call again and again to follow. As [`poll`](Self::poll), and nothing where
    /// time is up. Where commits come within 4 ms of one another they are given as they have come together for 2 ms.
    ///
    /// # Errors
    /// As [`poll`](Self::poll); `Closed` where the store was closed meanwhile.
    pub fn follow(&mut self, bytes_max: usize, timeout: Duration) -> Result<Vec<CommittedChanges>> {
        if self.feed.is_cut() {
            // Whoever catches up doesn't wait for what is there.
            let found = self.poll(bytes_max)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        self.wait(timeout)?;
        // Also where time is up: what no commit did wakes nobody.
        self.poll(bytes_max)
    }

    /// Waits until there may be something new, or time is up: whether there may be. Where commits come within 4 ms of one another it
    /// waits for up to 2 ms more, so that some come together.
    ///
    /// # Errors
    /// `Closed` where the store was closed meanwhile.
    pub fn wait(&self, timeout: Duration) -> Result<bool> {
        let engine = &self.handle.engine;
        engine.check_open()?;
        if engine.wal.is_none() {
            engine.committed.pause(timeout.min(LOOK_EVERY));
            engine.check_open()?;
            return Ok(true);
        }
        let is_new =
            engine.committed.wait_behind(self.feed.last(), timeout, || engine.core.lock().last_seq);
        if is_new {
            self.gather(timeout);
        }
        engine.check_open()?;
        Ok(is_new)
    }

    /// Where commits come one soon after the other: lets some come together, so that who writes doesn't wake each follower for each.
    fn gather(&self, timeout: Duration) {
        let clock = &self.handle.engine.io.clock;
        let since = clock.monotonic_ns().saturating_sub(self.woken_ns.load(Ordering::Relaxed));
        if u128::from(since) < 2 * GATHER.as_nanos() {
            std::thread::sleep(GATHER.min(timeout));
        }
        self.woken_ns.store(clock.monotonic_ns(), Ordering::Relaxed);
    }
}
