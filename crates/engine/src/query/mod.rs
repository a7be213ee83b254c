//! What is being asked of a store: each question with its text, how long it has been worked on, and
//! whether it is still wanted.
//!
//! Owns the list of a store's queries. A [`RunningQuery`] is handed to whatever works for it: views
//! ([`Snapshot::for_query`](crate::Snapshot::for_query)), operators, threads. Each of them asks it
//! now and then ([`RunningQuery::check`]) and stops with its error. It is on the list until the last
//! of them has let go of it, so an empty list says that nothing is worked on any more.

mod list;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use timestrata_io::Clock;

use self::list::Listed;
pub(crate) use self::list::Queries;
use crate::{Error, ErrorKind, Result};

/// Characters of a query's text that are kept.
const TEXT_CHARS_MAX: usize = 1_000;
/// How often whoever asked is listened to.
const LISTEN_EVERY_NS: u64 = 50_000_000;

const WANTED: u8 = 0;
const CANCELLED: u8 = 1;
const GIVEN_UP: u8 = 2;
const TIMED_OUT: u8 = 3;
/// Nobody takes what is still worked out, as it is enough or no longer wanted.
const LET_GO: u8 = 4;

/// How a query stands.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let query = store.begin_query("rows of today", None);
/// println!("{:?}", store.queries()[0].state);
/// # drop(query);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueryState {
    /// It is worked on.
    Running,
    /// It waits until whoever asked takes more of its answer; its time doesn't run.
    Waiting,
    /// It was cancelled, given up, or has run out of time; what works for it is coming to its end.
    Ending,
}

impl QueryState {
    /// Its name: `running`, `waiting` or `ending`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Ending => "ending",
        }
    }
}

/// A query as listed.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let query = store.begin_query("rows of today", None);
/// assert_eq!(store.queries()[0].text, "rows of today");
/// store.cancel_query(store.queries()[0].id);
/// assert_eq!(query.check().unwrap_err().kind(), ErrorKind::Cancelled);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryInfo {
    /// Its number. It is no other query's until the store is opened again.
    pub id: u64,
    /// What was asked, its first 1,000 characters.
    pub text: String,
    /// How it stands.
    pub state: QueryState,
    /// Wall clock when it began, in nanoseconds since 1970-01-01 UTC.
    pub begun_wall_ns: i64,
    /// How long it has been worked on, without the time that it waited for whoever asked.
    pub worked: Duration,
    /// How long it may be worked on.
    pub time_max: Option<Duration>,
    /// Steps done for it: batches of rows that went from one operator to the next, and the like.
    pub steps: u64,
    /// Memory that operators have set aside for it, in bytes.
    pub memory_bytes: u64,
}

type Ear = dyn Fn() -> bool + Send + Sync;

/// One question, while it is worked on. Cheap to clone; all clones are the same query.
///
/// ```
/// use std::time::Duration;
/// use timestrata_engine::{ErrorKind, Settings, Store};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let query = store.begin_query("all of it", Some(Duration::from_secs(30)));
/// let snapshot = store.snapshot()?.for_query(&query);
/// assert!(store.cancel_query(store.queries()[0].id));
/// assert_eq!(query.check().unwrap_err().kind(), ErrorKind::Cancelled);
/// drop((query, snapshot));
/// assert!(store.queries().is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RunningQuery {
    shared: Arc<SharedQuery>,
}

struct SharedQuery {
    text: String,
    begun_wall_ns: i64,
    time_max: Option<Duration>,
    clock: Arc<dyn Clock>,
    begun_ns: u64,
    /// How long it has waited since then.
    waited_ns: AtomicU64,
    /// Since when it waits; 0: it doesn't.
    waiting_since_ns: AtomicU64,
    end: AtomicU8,
    steps: AtomicU64,
    memory_bytes: AtomicU64,
    ear: Option<Box<Ear>>,
    listened_ns: AtomicU64,
    listed: Listed,
}

impl fmt::Debug for RunningQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RunningQuery").field(&self.info()).finish()
    }
}

/// The same query, whatever is known of it meanwhile.
impl PartialEq for RunningQuery {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Eq for RunningQuery {}

impl RunningQuery {
    fn new(
        clock: &Arc<dyn Clock>,
        text: &str,
        time_max: Option<Duration>,
        ear: Option<Box<Ear>>,
        listed: Listed,
    ) -> Self {
        let now_ns = clock.monotonic_ns();
        let shared = SharedQuery {
            text: text.chars().take(TEXT_CHARS_MAX).collect(),
            begun_wall_ns: clock.wall_ns(),
            time_max,
            clock: Arc::clone(clock),
            begun_ns: now_ns,
            waited_ns: AtomicU64::new(0),
            waiting_since_ns: AtomicU64::new(0),
            end: AtomicU8::new(WANTED),
            steps: AtomicU64::new(0),
            memory_bytes: AtomicU64::new(0),
            ear,
            listened_ns: AtomicU64::new(now_ns),
            listed,
        };
        Self { shared: Arc::new(shared) }
    }

    /// Its number.
    pub fn id(&self) -> u64 {
        self.shared.listed.id
    }

    /// Counts a step, and says whether to go on.
    ///
    /// # Errors
    /// `Cancelled` where it was cancelled or whoever asked has gone, `TimedOut` where it has taken
    /// longer than it may.
    pub fn check(&self) -> Result<()> {
        let shared = &*self.shared;
        shared.steps.fetch_add(1, Ordering::Relaxed);
        if self.is_wanted() && (shared.time_max.is_some() || shared.ear.is_some()) {
            let now_ns = shared.clock.monotonic_ns();
            let is_over = shared
                .time_max
                .is_some_and(|time_max| u128::from(self.worked_ns(now_ns)) > time_max.as_nanos());
            if is_over {
                self.end(TIMED_OUT);
            } else if !self.is_heard(now_ns) {
                self.end(GIVEN_UP);
            }
        }
        self.outcome()
    }

    /// Listens to whoever asked, and says whether to go on. For the thread that waits for the answer, where
    /// only that one can hear: [`check`](Self::check) listens now and then only, in whichever thread calls it.
    /// That the rows of a query are let go of ends what works for them, and not who waits: a statement that
    /// writes has taken them all by then, and its commit is still to come.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn listen(&self) -> Result<()> {
        if self.is_wanted() && self.shared.ear.as_ref().is_some_and(|hears| !hears()) {
            self.end(GIVEN_UP);
        }
        match self.check() {
            Err(_) if self.shared.end.load(Ordering::Relaxed) == LET_GO => Ok(()),
            checked => checked,
        }
    }

    /// Whether nobody has ended it.
    fn is_wanted(&self) -> bool {
        self.shared.end.load(Ordering::Relaxed) == WANTED
    }

    /// Listens to whoever asked, if that is due. `false`: has given it up.
    fn is_heard(&self, now_ns: u64) -> bool {
        let Some(ear) = &self.shared.ear else { return true };
        let last_ns = self.shared.listened_ns.load(Ordering::Relaxed);
        let is_due = now_ns.saturating_sub(last_ns) >= LISTEN_EVERY_NS
            && self
                .shared
                .listened_ns
                .compare_exchange(last_ns, now_ns, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        !is_due || ear()
    }

    /// The error that it ends with, if it has ended; counts no step.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn outcome(&self) -> Result<()> {
        let id = self.id();
        match self.shared.end.load(Ordering::Relaxed) {
            WANTED => Ok(()),
            TIMED_OUT => {
                let max_ms = self.shared.time_max.map_or(0, |max| max.as_millis());
                let message =
                    format!("query {id} took longer than {max_ms} ms, which is its limit");
                Err(Error::new(ErrorKind::TimedOut, message))
            }
            GIVEN_UP | LET_GO => {
                let message = format!("query {id} was given up by whoever asked");
                Err(Error::new(ErrorKind::Cancelled, message))
            }
            _ => Err(Error::new(ErrorKind::Cancelled, format!("query {id} was cancelled"))),
        }
    }

    /// Ends it by its name.
    pub fn cancel(&self) {
        self.end(CANCELLED);
    }

    /// Ends it because whoever asked has gone.
    pub fn give_up(&self) {
        self.end(LET_GO);
    }

    /// Ends it because its time is over: for who waits by a clock of their own.
    pub fn time_out(&self) {
        self.end(TIMED_OUT);
    }

    /// The first reason counts.
    fn end(&self, why: u8) {
        let _ = self.shared.end.compare_exchange(WANTED, why, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Says that it waits for whoever asked, until [`resume`](Self::resume): meanwhile its time doesn't
    /// run. To be called by the one thread that hands out the answer.
    pub fn rest(&self) {
        let now_ns = self.shared.clock.monotonic_ns().max(1);
        let waiting = &self.shared.waiting_since_ns;
        let _ = waiting.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Says that it is worked on again.
    pub fn resume(&self) {
        let shared = &*self.shared;
        let since_ns = shared.waiting_since_ns.load(Ordering::Relaxed);
        if since_ns != 0 {
            let waited_ns = shared.clock.monotonic_ns().saturating_sub(since_ns);
            shared.waited_ns.fetch_add(waited_ns, Ordering::Relaxed);
            shared.waiting_since_ns.store(0, Ordering::Relaxed);
        }
    }

    fn worked_ns(&self, now_ns: u64) -> u64 {
        let shared = &*self.shared;
        let until_ns = match shared.waiting_since_ns.load(Ordering::Relaxed) {
            0 => now_ns,
            since_ns => since_ns,
        };
        let waited_ns = shared.waited_ns.load(Ordering::Relaxed);
        until_ns.saturating_sub(shared.begun_ns).saturating_sub(waited_ns)
    }

    /// How long it may still be worked on.
    pub fn time_left(&self) -> Option<Duration> {
        let worked = Duration::from_nanos(self.worked_ns(self.shared.clock.monotonic_ns()));
        self.shared.time_max.map(|time_max| time_max.saturating_sub(worked))
    }

    /// Notes memory that is set aside for it.
    pub fn grow(&self, bytes: u64) {
        self.shared.memory_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Notes memory that was set aside for it, and is free again.
    pub fn shrink(&self, bytes: u64) {
        self.shared.memory_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// What a list says of it.
    pub fn info(&self) -> QueryInfo {
        let shared = &*self.shared;
        let state = match shared.waiting_since_ns.load(Ordering::Relaxed) {
            _ if !self.is_wanted() => QueryState::Ending,
            0 => QueryState::Running,
            _ => QueryState::Waiting,
        };
        QueryInfo {
            id: self.id(),
            text: shared.text.clone(),
            state,
            begun_wall_ns: shared.begun_wall_ns,
            worked: Duration::from_nanos(self.worked_ns(shared.clock.monotonic_ns())),
            time_max: shared.time_max,
            steps: shared.steps.load(Ordering::Relaxed),
            memory_bytes: shared.memory_bytes.load(Ordering::Relaxed),
        }
    }

    /// A guard that gives the query up when it is dropped: for who would have taken the answer.
    pub fn given_up_on_drop(&self) -> GiveUpOnDrop {
        GiveUpOnDrop(Some(self.clone()))
    }
}

/// Gives a query up when it is dropped. What has been answered whole is not changed by that.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let query = store.begin_query("rows of today", None);
/// drop(query.given_up_on_drop());
/// assert!(query.check().is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct GiveUpOnDrop(Option<RunningQuery>);

impl GiveUpOnDrop {
    /// Lets the query go on: somebody else takes its answer.
    pub fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for GiveUpOnDrop {
    fn drop(&mut self) {
        if let Some(query) = &self.0 {
            query.give_up();
        }
    }
}
