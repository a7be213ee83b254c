//! Searching a log: which entries a query wants, in the order in which it wants them.
//!
//! A range of arrivals is cut into pieces of a few blocks. Of each piece, those blocks are left out
//! that tell unread that they have no hit; of the others the columns are read that the filter looks at,
//! and only of hits the rest.

mod clock;
mod entry_filter;
mod event_order;
mod facets;
mod fetch;
mod filtered_scan;
mod histogram;
mod matching;
mod read_columns;
mod results;
mod spread;

use std::fmt;
use std::ops::Bound;
use std::str::FromStr;

pub use clock::Clock;
pub use entry_filter::EntryFilter;
pub use facets::{Facet, FacetsOptions};
pub use histogram::{Bucket, HISTOGRAM_BUCKETS_MAX};
pub use results::Hits;
use timestrata_engine::{Error, ErrorKind, KeyRange, Result};
use timestrata_values::range::key_range;

use super::filter::Filter;

/// An entry's place in an order, to go on behind it.
///
/// ```
/// use timestrata_logs::Position;
///
/// let position: Position = "5:7".parse()?;
/// assert_eq!(position, Position { time: 5, timestamp: 7 });
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Its time by the clock of the query.
    pub time: i64,
    /// When it arrived, which is its own.
    pub timestamp: i64,
}

/// As two whole numbers with a colon between them; one, where both are the same.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.time == self.timestamp {
            true => write!(f, "{}", self.timestamp),
            false => write!(f, "{}:{}", self.time, self.timestamp),
        }
    }
}

impl FromStr for Position {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (time, timestamp) = text.split_once(':').unwrap_or((text, text));
        match (time.parse(), timestamp.parse()) {
            (Ok(time), Ok(timestamp)) => Ok(Self { time, timestamp }),
            _ => {
                let shown: String = text.chars().take(60).collect();
                let message =
                    format!("position {shown:?}: must be one that an earlier answer gave");
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }
        }
    }
}

/// Which entries are wanted. The default: all, oldest first.
///
/// ```
/// use timestrata_logs::Query;
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let query = Query { limit: Some(10), newest_first: true, ..Query::of("level>=warn disk")? };
/// assert!(query.after.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Which clock `from`, `to` and the order go by. `None`: the log's own, see
    /// [`LogsOptions::clock`](super::LogsOptions::clock).
    pub by: Option<Clock>,
    /// The earliest time wanted, in nanoseconds since 1970-01-01 UTC.
    pub from: Option<i64>,
    /// The first time that isn't wanted any more.
    pub to: Option<i64>,
    /// What entries must have.
    pub filter: Filter,
    /// The latest first.
    pub newest_first: bool,
    /// Entries wanted at most.
    pub limit: Option<usize>,
    /// Go on behind this one, in the order wanted.
    pub after: Option<Position>,
}

impl Query {
    /// All entries that a filter lets through.
    ///
    /// # Errors
    /// `InvalidArgument` that points at what is wrong.
    pub fn of(filter: &str) -> Result<Self> {
        Ok(Self { filter: filter.parse()?, ..Self::default() })
    }

    /// The arrivals that may be wanted, where it goes by `by`.
    ///
    /// # Errors
    /// `InvalidArgument` if the range ends before it begins.
    fn arrivals(&self, by: Clock) -> Result<KeyRange> {
        let bound = |time: Option<i64>| time.map_or(Bound::Unbounded, Bound::Included);
        let end = self.to.map_or(Bound::Unbounded, Bound::Excluded);
        let range = key_range(&(bound(self.from), end))?;
        if by == Clock::SourceTime {
            return Ok(KeyRange::ALL);
        }
        let rest = match (self.after, self.newest_first) {
            (None, _) => return Ok(range),
            (Some(after), true) => key_range(&(..after.timestamp))?,
            (Some(after), false) => {
                key_range(&(Bound::Excluded(after.timestamp), Bound::Unbounded))?
            }
        };
        Ok(range.intersect(&rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_read_back() {
        for position in
            [Position { time: 5, timestamp: 5 }, Position { time: -7, timestamp: i64::MAX }]
        {
            assert_eq!(position.to_string().parse::<Position>().unwrap(), position);
        }
        assert!("x".parse::<Position>().unwrap_err().to_string().contains("\"x\""));
        assert_eq!("source_time".parse::<Clock>().unwrap(), Clock::SourceTime);
    }
}
