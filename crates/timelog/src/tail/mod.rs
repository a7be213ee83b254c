//! Following a time log: entries as they come, by time or in the order of commits.
//!
//! A tail holds its place and nothing else, so that one which isn't read costs nothing; a place is text, and outlives
//! the process ([`cursor`]). By time it gives what there is behind its place whenever it looks: an entry that comes late,
//! before one that was given already, has been passed. With late entries it gives all that commits add, one after the
//! other, which the store's history tells ([`late`]).
//!
//! Invariant: no entry is given twice, and none is left out that comes behind the place, by whoever it was written.

mod cursor;
mod late;

use std::ops::Bound;
use std::time::Duration;

use timestrata_engine::{Error, ErrorKind, LeadKey, Result, SeqNo};

use self::cursor::{AtTime, Place};
use self::late::Late;
use super::{EntryBlock, Timelog, TimelogView};

pub use self::cursor::TailCursor;

/// Entries that are handed out at once.
const BLOCK_ROWS: usize = 1_024;
/// How often somebody looks who follows another process, unless he says it.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// For so long entries are let come together, for who was woken as short a time ago.
const GATHER_NS: u64 = 2_000_000;

/// Where a [`Tail`] begins, and what it gives.
///
/// ```
/// use timestrata_timelog::TailOptions;
///
/// let all = TailOptions { since: Some(0), ..TailOptions::default() };
/// assert!(all.after.is_none() && !all.late);
/// ```
#[derive(Debug, Clone, Default)]
pub struct TailOptions {
    /// It begins with the entries from this time on. `None`: with what comes from now on.
    pub since: Option<i64>,
    /// It goes on behind a place that a tail has told, in place of `since`.
    pub after: Option<TailCursor>,
    /// Entries that come late are given too, all in the order of their commits.
    pub late: bool,
    /// How often it looks at a store that another process writes. `None`: each 20 ms.
    pub look_every: Option<Duration>,
}

/// Follows a time log from a place on. Made by [`Timelog::tail`].
///
/// ```
/// # use std::time::Duration;
/// # use timestrata_engine::{Settings, Store};
/// # use timestrata_timelog::{TailOptions, Timelog, TimelogOptions};
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let log = Timelog::create(&store, "door", TimelogOptions::default())?;
/// let mut tail = log.tail(&TailOptions::default())?;
/// let place = tail.cursor();
/// assert!(tail.next(Duration::ZERO)?.is_none());
/// assert!(!place.has_late());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Tail {
    log: Timelog,
    state: State,
    look_every: Duration,
    /// The last commit that it has looked at, and when that woke it.
    seen: SeqNo,
    woken_ns: u64,
}

#[derive(Debug)]
enum State {
    /// By time, of the log as it was behind a commit.
    Time(AtTime, SeqNo),
    /// All there was, and then what commits have added.
    Before(Box<(TimelogView, AtTime)>),
    Behind(Box<Late>),
}

/// Entries that a [`Tail`] gives at once: at least one.
///
/// ```
/// # use timestrata_timelog::TailBlock;
/// fn places(found: &TailBlock) -> Vec<String> {
///     let mut place = found.begin;
///     let behind = found.block.times().iter().map(|time| {
///         place.advance(*time);
///         place.to_string()
///     });
///     behind.collect()
/// }
/// ```
#[derive(Debug, Clone)]
pub struct TailBlock {
    /// The entries, in their order.
    pub block: EntryBlock,
    /// The place before the first of them, which [`TailCursor::advance`] moves on, entry by entry.
    pub begin: TailCursor,
    /// The place behind the last of them.
    pub end: TailCursor,
}

impl Timelog {
    /// Follows the log: entries as they come, whoever writes them, also of a store that another process writes.
    ///
    /// By time, a place never grows too old: what was deleted or has expired meanwhile is not given, and the rest is. With late
    /// entries it is as far back as the store keeps its history, or as a follower by name
    /// ([`Store::follow`](timestrata_engine::Store::follow)) has it kept; entries that were deleted since are given too.
    ///
    /// ```
    /// # use std::time::Duration;
    /// use timestrata_engine::{Settings, Store};
    /// use timestrata_timelog::{TailOptions, Timelog, TimelogOptions};
    ///
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// let log = Timelog::create(&store, "door", TimelogOptions::default())?;
    /// let mut tail = log.tail(&TailOptions::default())?;
    /// log.extend(&[2, 5], &["opened", "closed"])?;
    /// let found = tail.next(Duration::ZERO)?.map(|found| (found.block.times().to_vec(), found.end));
    /// let Some((times, place)) = found else { panic!("nothing came") };
    /// assert_eq!(times, [2, 5]);
    ///
    /// log.append(5, b"opened")?;
    /// let mut later = log.tail(&TailOptions { after: Some(place), ..TailOptions::default() })?;
    /// assert_eq!(later.next(Duration::ZERO)?.map(|found| found.block.len()), Some(1));
    /// assert!(later.next(Duration::ZERO)?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` for both `since` and `after`, for a place of the other kind, and for late entries of a store in memory, which
    /// keeps no history; `HistoryLost` where what comes behind a place is not kept any more; those of a read.
    pub fn tail(&self, options: &TailOptions) -> Result<Tail> {
        let view = self.snapshot()?;
        let seen = view.seq();
        let state = match options.after {
            Some(_) if options.since.is_some() => {
                return Err(invalid("a tail begins since a time or after a place, not both"));
            }
            Some(cursor) if cursor.has_late() != options.late => {
                return Err(invalid(match options.late {
                    true => {
                        "a place by time does not say which entries came late: begin without late entries"
                    }
                    false => "this is the place of a tail with late entries: ask for them",
                }));
            }
            Some(TailCursor(place)) => self.state_at(place)?,
            None => match (options.late, options.since) {
                (false, None) => State::Time(end_of(&view)?, seen),
                (false, time) => State::Time(AtTime { time, given: 0 }, seen),
                (true, None) => State::Behind(Box::new(Late::behind(self, seen, 0)?)),
                (true, time) => {
                    // That the history is there, is said at once.
                    Late::behind(self, seen, 0)?;
                    State::Before(Box::new((view, AtTime { time, given: 0 })))
                }
            },
        };
        let look_every = options.look_every.unwrap_or(LOOK_EVERY);
        Ok(Tail { log: self.clone(), state, look_every, seen, woken_ns: 0 })
    }

    fn state_at(&self, place: Place) -> Result<State> {
        Ok(match place {
            Place::Time(at, seq) => State::Time(at, seq),
            Place::Before(seq, at) => {
                let then = late::log_at(self, seq)?;
                State::Before(Box::new((then.snapshot()?, at)))
            }
            Place::Behind(seq, rows) => State::Behind(Box::new(Late::behind(self, seq, rows)?)),
        })
    }
}

impl Tail {
    /// What comes next; waits for it up to `timeout`. `None`: nothing came until then.
    ///
    /// # Errors
    /// `Closed` where the store was closed, `NotFound` where the log was dropped, `HistoryLost` where late entries are not kept any
    /// more; those of a read.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<TailBlock>> {
        let store = self.log.store().clone();
        let nanos = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let until = store.monotonic_ns().saturating_add(nanos);
        loop {
            if store.is_read_only() {
                store.refresh()?;
            }
            if let Some(found) = self.look()? {
                return Ok(Some(found));
            }
            let left = until.saturating_sub(store.monotonic_ns());
            if left == 0 {
                return Ok(None);
            }
            self.wait(Duration::from_nanos(left))?;
        }
    }

    /// Its place, behind the last entry that [`next`](Self::next) gave.
    #[must_use]
    pub fn cursor(&self) -> TailCursor {
        TailCursor(match &self.state {
            State::Time(at, seq) => Place::Time(*at, *seq),
            State::Before(before) => Place::Before(before.0.seq(), before.1),
            State::Behind(late) => late.place(),
        })
    }

    /// The log that it follows.
    #[must_use]
    pub fn log(&self) -> &Timelog {
        &self.log
    }

    /// Waits until something may have come.
    fn wait(&mut self, left: Duration) -> Result<()> {
        let store = self.log.store();
        let last = store.wait_behind(self.seen, left, self.look_every)?;
        if last > self.seen {
            // Where commits come one soon after the other, some come together: who writes doesn't wake each follower for each.
            let now = store.monotonic_ns();
            if now.saturating_sub(self.woken_ns) < 2 * GATHER_NS {
                std::thread::sleep(Duration::from_nanos(GATHER_NS).min(left));
            }
            self.woken_ns = store.monotonic_ns();
        }
        Ok(())
    }

    fn look(&mut self) -> Result<Option<TailBlock>> {
        let begin = self.cursor();
        match &mut self.state {
            State::Time(at, seq) => {
                let view = self.log.snapshot()?;
                self.seen = view.seq();
                settle(&view, at, *seq)?;
                *seq = view.seq();
                let begin = TailCursor(Place::Time(*at, *seq));
                let found = behind(&view, at)?;
                Ok(found.map(|block| TailBlock { block, begin, end: self.cursor() }))
            }
            State::Before(before) => {
                let (view, at) = &mut **before;
                if let Some(block) = behind(view, at)? {
                    return Ok(Some(TailBlock { block, begin, end: self.cursor() }));
                }
                self.state = State::Behind(Box::new(Late::behind(&self.log, view.seq(), 0)?));
                self.look()
            }
            State::Behind(late) => {
                // Before it looks: what comes meanwhile is looked for once more.
                self.seen = self.log.store().snapshot_of_streams(&[])?.seq();
                let Some((begin, block)) = late.next(&self.log)? else { return Ok(None) };
                let (begin, end) = (TailCursor(begin), TailCursor(late.place()));
                Ok(Some(TailBlock { block, begin, end }))
            }
        }
    }
}

/// The end of a log: what comes from now on is behind it.
fn end_of(view: &TimelogView) -> Result<AtTime> {
    let Some(time) = view.max_time()? else { return Ok(AtTime::default()) };
    Ok(AtTime { time: Some(time), given: view.range(time..=time)?.count()? })
}

/// Sees to what has become, since commit `seq`, of the entries that were given of the last time: those that are there keep their order,
/// and so are the first; where they have been deleted, what is there is new.
fn settle(view: &TimelogView, at: &mut AtTime, seq: SeqNo) -> Result<()> {
    let Some(time) = at.time.filter(|_| at.given > 0) else { return Ok(()) };
    let (snapshot, stream) = (view.snapshot(), view.stream().id());
    let is_gone = snapshot.is_deleted_behind(stream, LeadKey::Time(time), seq)?;
    if is_gone || view.range(time..=time)?.count()? < at.given {
        at.given = 0;
    }
    Ok(())
}

/// The entries behind a place by time, about so many as are handed out at once, and moves the place behind them.
fn behind(view: &TimelogView, at: &mut AtTime) -> Result<Option<EntryBlock>> {
    let Some(newest) = view.max_time()? else { return Ok(None) };
    if let Some(time) = at.time {
        let has_more =
            newest > time || (newest == time && view.range(time..=time)?.count()? > at.given);
        if !has_more {
            return Ok(None);
        }
    }
    let from = at.time.map_or(Bound::Unbounded, Bound::Included);
    let mut skip = usize::try_from(at.given).unwrap_or(usize::MAX);
    let selection = view.range((from, Bound::Unbounded))?;
    for block in selection.limit(skip.saturating_add(BLOCK_ROWS)).blocks() {
        let block = block?;
        let known = skip.min(block.len());
        skip -= known;
        if known < block.len() {
            let block = block.slice(known, block.len() - known);
            block.times().iter().for_each(|time| at.advance(*time));
            return Ok(Some(block));
        }
    }
    Ok(None)
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, what)
}
