//! How far somebody has followed a log: a line of text that outlives the process.
//!
//! ```text
//!    t.1700000000000.2.57     by time: two entries of that time were given, as the log was behind commit 57
//!    t..0.57                  the same of a log that had no entry then
//!    b.57.1700000000000.2     with late entries: the same of what was there behind commit 57
//!    c.57.3                   with late entries: three of those that came behind commit 57
//! ```

use std::fmt;
use std::str::FromStr;

use timestrata_engine::{Error, ErrorKind, SeqNo};

/// A place of a [`Tail`](crate::Tail): what follows a log from here on misses nothing. It is text of letters, digits,
/// dots and signs.
///
/// ```
/// use timestrata_timelog::TailCursor;
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let cursor: TailCursor = "t.1700000000000.2.57".parse()?;
/// assert_eq!(cursor.to_string(), "t.1700000000000.2.57");
/// assert!(!cursor.has_late());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TailCursor(pub(super) Place);

/// A place in a log by time, and how much of that time was given; without a time nothing was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct AtTime {
    pub(super) time: Option<i64>,
    pub(super) given: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// By time; of the log as it was behind this commit.
    Time(AtTime, SeqNo),
    /// Of what was there behind this commit.
    Before(SeqNo, AtTime),
    /// So many rows of those that came behind this commit.
    Behind(SeqNo, u64),
}

impl AtTime {
    pub(super) fn advance(&mut self, time: i64) {
        match self.time == Some(time) {
            true => self.given += 1,
            false => *self = Self { time: Some(time), given: 1 },
        }
    }
}

impl TailCursor {
    /// Whether it is one of a tail that gives late entries too.
    #[must_use]
    pub fn has_late(&self) -> bool {
        !matches!(self.0, Place::Time(..))
    }

    /// The place behind one more entry of a [`TailBlock`](crate::TailBlock), whose time this is.
    ///
    /// ```
    /// # use timestrata_timelog::TailCursor;
    /// # fn main() -> timestrata_engine::Result<()> {
    /// let mut cursor: TailCursor = "t.5.1.57".parse()?;
    /// cursor.advance(5);
    /// assert_eq!(cursor.to_string(), "t.5.2.57");
    /// cursor.advance(9);
    /// assert_eq!(cursor.to_string(), "t.9.1.57");
    /// # Ok(())
    /// # }
    /// ```
    pub fn advance(&mut self, time: i64) {
        match &mut self.0 {
            Place::Time(at, _) | Place::Before(_, at) => at.advance(time),
            Place::Behind(_, rows) => *rows += 1,
        }
    }

    /// The place of a tail with late entries that was given all up to a commit, and nothing behind it.
    ///
    /// ```
    /// # use timestrata_engine::SeqNo;
    /// # use timestrata_timelog::TailCursor;
    /// assert_eq!(TailCursor::behind(SeqNo(57)).to_string(), "c.57.0");
    /// ```
    #[must_use]
    pub fn behind(seq: SeqNo) -> Self {
        Self(Place::Behind(seq, 0))
    }

    /// The last time of which entries were given, and how many, of a tail by time that has come so far.
    #[must_use]
    pub fn time_place(&self) -> Option<(i64, u64)> {
        match self.0 {
            Place::Time(AtTime { time: Some(time), given }, _) => Some((time, given)),
            _ => None,
        }
    }

    /// The last commit of which all was given, of a tail that gives late entries and has come so far.
    #[must_use]
    pub fn commit(&self) -> Option<SeqNo> {
        match self.0 {
            Place::Behind(seq, _) => Some(seq),
            _ => None,
        }
    }
}

impl fmt::Display for TailCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |time: Option<i64>| time.map_or_else(String::new, |time| time.to_string());
        match self.0 {
            Place::Time(AtTime { time, given }, seq) => write!(f, "t.{}.{given}.{seq}", text(time)),
            Place::Before(seq, AtTime { time, given }) => {
                write!(f, "b.{seq}.{}.{given}", text(time))
            }
            Place::Behind(seq, rows) => write!(f, "c.{seq}.{rows}"),
        }
    }
}

impl FromStr for TailCursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        place_of(text).map(Self).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            let what = format!(
                "{shown:?} is no place of a tail: give one that a tail of this log has told, such as \
                 't.1700000000000.2.57'"
            );
            Error::new(ErrorKind::InvalidArgument, what)
        })
    }
}

fn place_of(text: &str) -> Option<Place> {
    let number = |text: &str| text.parse::<u64>().ok();
    let at = |time: &str, given: &str| {
        let given = number(given)?;
        Some(match time {
            "" => AtTime { time: None, given: (given == 0).then_some(0)? },
            time => AtTime { time: Some(time.parse().ok()?), given },
        })
    };
    let parts: Vec<&str> = text.trim().split('.').collect();
    match *parts.as_slice() {
        ["t", time, given, seq] => Some(Place::Time(at(time, given)?, SeqNo(number(seq)?))),
        ["b", seq, time, given] => Some(Place::Before(SeqNo(number(seq)?), at(time, given)?)),
        ["c", seq, rows] => Some(Place::Behind(SeqNo(number(seq)?), number(rows)?)),
        _ => None,
    }
}
