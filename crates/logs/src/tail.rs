//! Following a log: entries as they arrive, none left out.

use std::time::Duration;

use timestrata_engine::Result;

use super::filter::Filter;
use super::search::Position;
use super::{Clock, Entries, Logs, Query};

/// Entries that are handed out at once.
const BATCH_ROWS: usize = 1_000;
/// How often somebody looks who follows another process.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Follows a log from a position: each entry that arrives behind it, once and in order. It holds
/// nothing but its position, so that one which isn't read costs nothing, and goes on where it was.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use std::time::Duration;
///
/// use timestrata_logs::{Logs, LogsOptions, NewEntry, Query};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let app = Logs::create(&store, "app", &LogsOptions::default())?;
/// let mut tail = app.tail("level>=error".parse()?, None)?;
/// app.write(&NewEntry::new("all is well"))?;
/// assert!(tail.next(Duration::ZERO)?.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Tail {
    logs: Logs,
    filter: Filter,
    /// The last arrival that it has looked at.
    position: i64,
}

impl Logs {
    /// Follows the log: entries that pass `filter` and arrive behind `after`, a timestamp; `None`:
    /// those that arrive from now on.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use timestrata_engine::{Settings, Store};
    /// # use timestrata_logs::{Logs, LogsOptions, NewEntry};
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// let logs = Logs::create(&store, "app", &LogsOptions::default())?;
    /// let mut tail = logs.tail("disk".parse()?, None)?;
    /// logs.write(&NewEntry::new("all is well"))?;
    /// logs.write(&NewEntry::new("disk is full"))?;
    /// let new = tail.next(Duration::ZERO)?;
    /// assert_eq!(new.and_then(|new| Some(new.get(0)?.message().to_owned())).as_deref(), Some("disk is full"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn tail(&self, filter: Filter, after: Option<i64>) -> Result<Tail> {
        let position = match after {
            Some(after) => after,
            None => self.snapshot()?.last_timestamp()?.unwrap_or(i64::MIN),
        };
        Ok(Tail { logs: self.clone(), filter, position })
    }
}

impl Tail {
    /// The next entries, a thousand at most; waits for them up to `timeout`. `None`: there were none
    /// until then.
    ///
    /// # Errors
    /// Those of a read; `Closed` where the store was closed.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Entries>> {
        let store = &self.logs.store;
        let until = store.monotonic_ns().saturating_add(timeout.as_nanos() as u64);
        loop {
            if let Some(entries) = self.look()? {
                return Ok(Some(entries));
            }
            let left = until.saturating_sub(self.logs.store.monotonic_ns());
            if left == 0 {
                return Ok(None);
            }
            let left = Duration::from_nanos(left);
            match self.logs.store.is_read_only() {
                true => {
                    std::thread::sleep(left.min(LOOK_EVERY));
                    self.logs.store.refresh()?;
                }
                false => self.logs.shared.wait(left, |last| last > self.position),
            }
        }
    }

    /// The last arrival that it has looked at: who goes on behind it misses nothing.
    pub fn position(&self) -> i64 {
        self.position
    }

    /// What there is by now.
    fn look(&mut self) -> Result<Option<Entries>> {
        let view = self.logs.snapshot()?;
        let Some(newest) = view.last_timestamp()?.filter(|newest| *newest > self.position) else {
            return Ok(None);
        };
        let query = Query {
            by: Some(Clock::Timestamp),
            filter: self.filter.clone(),
            limit: Some(BATCH_ROWS),
            after: Some(Position { time: self.position, timestamp: self.position }),
            ..Query::default()
        };
        let found = view.search(&query)?.next().transpose()?;
        let last = found.as_ref().and_then(|entries| entries.iter().next_back());
        // Without a hit, all that there is has been looked at.
        self.position = last.map_or(newest, |entry| entry.timestamp());
        Ok(found)
    }
}
