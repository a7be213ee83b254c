//! The two clocks of a log: when entries arrived, and when they happened.

use std::fmt;
use std::str::FromStr;

use timestrata_engine::{Error, ErrorKind, Result};

/// Which of its two times places an entry.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_logs::{Clock, Logs, LogsOptions, NewEntry, Query};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let app = Logs::create(&store, "app", &LogsOptions::default())?;
/// let mut entry = NewEntry::new("sent a second after 1970 began");
/// entry.source_time = Some(1_000_000_000);
/// app.write(&entry)?;
/// let then = Query { by: Some(Clock::SourceTime), to: Some(2_000_000_000), ..Query::default() };
/// assert_eq!(app.count(&then)?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Clock {
    /// When it arrived.
    #[default]
    Timestamp,
    /// When it happened, as its sender says; of an entry whose sender doesn't say, when it arrived.
    SourceTime,
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timestamp => "timestamp",
            Self::SourceTime => "source_time",
        })
    }
}

impl FromStr for Clock {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "timestamp" => Ok(Self::Timestamp),
            "source_time" => Ok(Self::SourceTime),
            _ => {
                let shown: String = text.chars().take(40).collect();
                let message = format!("by {shown:?}: must be 'timestamp' or 'source_time'");
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }
        }
    }
}

impl Clock {
    /// The time of an entry.
    pub(super) fn time(self, arrived: i64, happened: Option<i64>) -> i64 {
        match self {
            Self::Timestamp => arrived,
            Self::SourceTime => happened.unwrap_or(arrived),
        }
    }
}
