//! Log levels: six of them, and the names and numbers that others have for them.

use std::fmt;
use std::str::FromStr;

use timestrata_engine::{Error, ErrorKind};

/// The level of an entry. Ordered: `Trace` is the least, `Fatal` the greatest.
///
/// ```
/// use timestrata_logs::Level;
///
/// assert!(Level::Error > Level::Warn);
/// assert_eq!("WARNING".parse::<Level>()?, Level::Warn);
/// assert_eq!(Level::of_python(40), Level::Error);
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Each step.
    Trace,
    /// For who looks for a fault.
    Debug,
    /// As it should be.
    Info,
    /// Not as it should be.
    Warn,
    /// Something was not done.
    Error,
    /// Nothing more will be done.
    Fatal,
}

impl Level {
    /// All of them, the least first.
    pub const ALL: [Self; 6] =
        [Self::Trace, Self::Debug, Self::Info, Self::Warn, Self::Error, Self::Fatal];

    /// Its name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
            Self::Fatal => "fatal",
        }
    }

    /// Its severity number, as OpenTelemetry's log data model has them: 1, 5, 9, 13, 17, 21. What
    /// the column `level` of a stream holds.
    pub const fn severity(self) -> i8 {
        1 + 4 * self as i8
    }

    /// The level of an OpenTelemetry severity number; `None` outside 1 to 24.
    pub fn of_severity(severity: i8) -> Option<Self> {
        let below = usize::try_from(severity.checked_sub(1)?).ok()?;
        Self::ALL.get(below / 4).copied()
    }

    /// The level of a syslog severity (RFC 5424, 6.2.1): 0 to 2 are `Fatal`, 3 `Error`, 4 `Warn`, 5
    /// and 6 `Info`, 7 `Debug`.
    pub const fn of_syslog(severity: u64) -> Option<Self> {
        Some(match severity {
            0..=2 => Self::Fatal,
            3 => Self::Error,
            4 => Self::Warn,
            5 | 6 => Self::Info,
            7 => Self::Debug,
            _ => return None,
        })
    }

    /// The level of a number of Python's `logging`, where 10 is debug and 50 critical: those in
    /// between belong to the one below.
    pub const fn of_python(number: i64) -> Self {
        match number {
            ..10 => Self::Trace,
            10..20 => Self::Debug,
            20..30 => Self::Info,
            30..40 => Self::Warn,
            40..50 => Self::Error,
            50.. => Self::Fatal,
        }
    }

    /// The level of a number that somebody sent as one: 0 to 7 as syslog has them, 10 to 60 as Python's
    /// `logging` has them. (Those of pino and bunyan are other ones: 30 is info there. Who knows that a
    /// number is theirs takes off ten.)
    pub const fn of_number(number: i64) -> Option<Self> {
        match number {
            0..=7 => Self::of_syslog(number as u64),
            10..=60 => Some(Self::of_python(number)),
            _ => None,
        }
    }

    /// The level of a name in any case, also those of syslog, Python, Java and glog.
    pub fn of_name(name: &[u8]) -> Option<Self> {
        const NAMES: [(&str, Level); 26] = [
            ("info", Level::Info),
            ("error", Level::Error),
            ("warn", Level::Warn),
            ("debug", Level::Debug),
            ("trace", Level::Trace),
            ("fatal", Level::Fatal),
            ("warning", Level::Warn),
            ("err", Level::Error),
            ("notice", Level::Info),
            ("critical", Level::Fatal),
            ("crit", Level::Fatal),
            ("alert", Level::Fatal),
            ("emerg", Level::Fatal),
            ("emergency", Level::Fatal),
            ("panic", Level::Fatal),
            ("information", Level::Info),
            ("informational", Level::Info),
            ("severe", Level::Error),
            ("verbose", Level::Trace),
            ("fine", Level::Debug),
            ("finer", Level::Trace),
            ("finest", Level::Trace),
            ("config", Level::Debug),
            ("dbg", Level::Debug),
            ("inf", Level::Info),
            ("wrn", Level::Warn),
        ];
        NAMES
            .iter()
            .find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name))
            .map(|(_, level)| *level)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Level {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::of_name(text.as_bytes()).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            let message = format!(
                "level {shown:?}: must be one of trace, debug, info, warn, error, fatal, or a \
                 name that syslog or Python's logging has for one of them"
            );
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_parsed_in_any_case() {
        for level in Level::ALL {
            assert_eq!(level.name().to_uppercase().parse::<Level>().unwrap(), level);
            assert_eq!(Level::of_severity(level.severity()), Some(level));
        }
        assert_eq!("Warning".parse::<Level>().unwrap(), Level::Warn);
        assert!("loud".parse::<Level>().unwrap_err().to_string().contains("\"loud\""));
    }

    #[test]
    fn numbers_of_syslog_and_of_python_are_mapped() {
        let syslog: Vec<_> = (0..9).map(Level::of_syslog).collect();
        use Level::{Debug, Error, Fatal, Info, Warn};
        let expected = [Fatal, Fatal, Fatal, Error, Warn, Info, Info, Debug].map(Some);
        assert_eq!(syslog[..8], expected);
        assert_eq!(syslog[8], None);
        let python: Vec<_> = [5, 10, 20, 25, 30, 40, 50].map(Level::of_python).into();
        assert_eq!(python, [Level::Trace, Debug, Info, Info, Warn, Error, Fatal]);
        assert_eq!((Level::of_number(3), Level::of_number(40)), (Some(Error), Some(Error)));
        assert_eq!(Level::of_number(8), None);
    }
}
