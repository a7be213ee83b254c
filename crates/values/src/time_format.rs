//! Times as people write them, by a format that is said: that of `strftime`.

use std::fmt;

use chrono::format::{Item, Parsed, StrftimeItems, parse};
use timestrata_engine::{Error, ErrorKind, Result};

use super::instant::days_of;

const SECONDS_PER_DAY: i64 = 86_400;

/// How times are written, such as `%d.%m.%Y %H:%M`: `strftime` with the extensions of
/// [`chrono`](https://docs.rs/chrono/latest/chrono/format/strftime/index.html), whose parser reads them.
///
/// ```
/// use timestrata_values::time_format::{TimeFormat, WrittenTime};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let format = TimeFormat::new("%d/%b/%y %I:%M:%S%.f %p")?;
/// let written = format.read("24/Jun/25 02:36:25.5 PM");
/// let half = 500_000_000;
/// assert_eq!(written, Some(WrittenTime::At { seconds: 1_750_775_785, nanoseconds: half }));
/// // Without a year, somebody else has to know it.
/// let format = TimeFormat::new("%b %e %H:%M:%S")?;
/// let day = WrittenTime::InYear { month: 6, day: 24, second_of_day: 52_585, nanoseconds: 0 };
/// assert_eq!(format.read("Jun 24 14:36:25"), Some(day));
/// assert_eq!(format.read("Jun 31 14:36:25"), None);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TimeFormat {
    text: String,
    items: Vec<Item<'static>>,
}

/// What a text says, in a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenTime {
    /// A time, since 1970-01-01 UTC. One without a zone is UTC.
    At {
        /// Whole seconds.
        seconds: i64,
        /// And nanoseconds, fewer than a second has.
        nanoseconds: u32,
    },
    /// A time of a year that is not said, without a zone. February has 29 days.
    InYear {
        /// The month, from 1.
        month: i64,
        /// Its day, from 1.
        day: i64,
        /// The second of the day.
        second_of_day: i64,
        /// And nanoseconds.
        nanoseconds: u32,
    },
}

impl TimeFormat {
    /// A format.
    ///
    /// # Errors
    /// `InvalidArgument` for a text that is no format.
    pub fn new(text: &str) -> Result<Self> {
        let items = StrftimeItems::new(text).parse_to_owned().ok();
        let items = items.filter(|items| items.iter().any(is_of_time));
        let items = items.ok_or_else(|| {
            let message = format!(
                "time format {text:?}: it is none; it is that of strftime, such as \
                 '%d.%m.%Y %H:%M:%S'"
            );
            Error::new(ErrorKind::InvalidArgument, message)
        })?;
        Ok(Self { text: text.to_owned(), items })
    }

    /// What a text says that is written so as a whole; `None` where it isn't, or there is no such time.
    #[must_use]
    pub fn read(&self, text: &str) -> Option<WrittenTime> {
        let mut parts = Parsed::new();
        parse(&mut parts, text, self.items.iter()).ok()?;
        let nanoseconds = parts.nanosecond().unwrap_or(0);
        if let Some(seconds) = parts.timestamp() {
            return Some(WrittenTime::At { seconds, nanoseconds });
        }
        let second_of_day = second_of_day(&parts)?;
        if parts.year().is_none() && parts.year_mod_100().is_none() {
            let (month, day) = (i64::from(parts.month()?), i64::from(parts.day()?));
            // A leap year, which has each day that there is.
            days_of(2_000, month, day)?;
            let is_without_zone = parts.offset().unwrap_or(0) == 0;
            return is_without_zone.then_some(WrittenTime::InYear {
                month,
                day,
                second_of_day,
                nanoseconds,
            });
        }
        let date = parts.to_naive_date().ok()?;
        let midnight = date.and_time(chrono::NaiveTime::MIN).and_utc().timestamp();
        let offset = i64::from(parts.offset().unwrap_or(0));
        Some(WrittenTime::At { seconds: midnight + second_of_day - offset, nanoseconds })
    }
}

/// The second of the day; its first where no hour is said. 60 is a leap second: the first of the next minute.
fn second_of_day(parts: &Parsed) -> Option<i64> {
    let Some(hour) = parts.hour_mod_12() else { return Some(0) };
    let halves = parts.hour_div_12()?;
    let (minute, second) = (parts.minute().unwrap_or(0), parts.second().unwrap_or(0));
    let second = i64::from(halves * 12 + hour) * 3_600 + i64::from(minute) * 60 + i64::from(second);
    (second <= SECONDS_PER_DAY).then_some(second)
}

/// Whether an item is part of a time, and no mere text.
fn is_of_time(item: &Item<'_>) -> bool {
    matches!(item, Item::Numeric(..) | Item::Fixed(_))
}

/// As it was said.
impl fmt::Display for TimeFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for TimeFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimeFormat({:?})", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64, nanoseconds: u32) -> Option<WrittenTime> {
        Some(WrittenTime::At { seconds, nanoseconds })
    }

    #[test]
    fn times_are_read_in_the_format_that_is_said() {
        let second = at(1_750_775_785, 0);
        for (format, text, expected) in [
            ("%Y-%m-%d %H:%M:%S", "2025-06-24 14:36:25", second),
            ("%d.%m.%Y %H:%M:%S", "24.06.2025 14:36:25", second),
            ("%m/%d/%y %I:%M:%S %p", "06/24/25 02:36:25 PM", second),
            ("%m/%d/%Y %I:%M:%S %p", "6/24/2025 2:36:25 pm", second),
            ("%b %e, %Y %T", "Jun 24, 2025 14:36:25", second),
            ("%A, %d %B %Y %T", "Tuesday, 24 June 2025 14:36:25", second),
            ("%y%m%d %H%M%S", "250624 143625", second),
            ("%Y%m%d%H%M%S", "20250624143625", second),
            ("%d/%b/%Y:%H:%M:%S %z", "24/Jun/2025:16:36:25 +0200", second),
            ("%FT%T%:z", "2025-06-24T12:36:25-02:00", second),
            ("%s", "1750775785", second),
            ("%s%.f", "1750775785.25", at(1_750_775_785, 250_000_000)),
            ("%FT%T%.f", "2025-06-24T14:36:25.123456", at(1_750_775_785, 123_456_000)),
            ("%F %T,%3f", "2025-06-24 14:36:25,007", at(1_750_775_785, 7_000_000)),
            ("%F", "2025-06-24", at(1_750_723_200, 0)),
            ("%F %T", "1969-12-31 23:59:59", at(-1, 0)),
            ("%F %T", "2016-12-31 23:59:60", at(1_483_228_800, 0)),
        ] {
            assert_eq!(TimeFormat::new(format).unwrap().read(text), expected, "{format} {text}");
        }
    }

    #[test]
    fn what_is_no_such_time_is_none() {
        for (format, text) in [
            ("%F %T", "2025-06-24 14:36"),
            ("%F %T", "2025-06-24 14:36:25 "),
            ("%F %T", "2025-06-31 14:36:25"),
            ("%F %T", "2025-06-24 24:36:25"),
            ("%a %F", "Mon 2025-06-24"),
            ("%F %I:%M", "2025-06-24 02:36"),
            ("%m-%d %T", "02-30 14:36:25"),
            ("%m-%d %T %z", "02-20 14:36:25 +0200"),
            ("%H:%M", "14:36"),
            ("%F %T", ""),
        ] {
            assert_eq!(TimeFormat::new(format).unwrap().read(text), None, "{format} {text}");
        }
        let leap = TimeFormat::new("%m-%d %T").unwrap().read("02-29 00:00:01");
        let day = WrittenTime::InYear { month: 2, day: 29, second_of_day: 1, nanoseconds: 0 };
        assert_eq!(leap, Some(day));
    }

    #[test]
    fn what_is_no_format_is_refused() {
        for text in ["", "yyyy-mm-dd", "%Y-%Q", "%"] {
            let error = TimeFormat::new(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text}");
            assert!(error.message().contains("strftime"), "{error}");
        }
    }
}
