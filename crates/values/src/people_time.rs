//! Times as people write them, beyond what [`Instant`] reads: `31.01.2024`, `Jan 1, 2000`, `1-Jan-2003 10:15 PM`,
//! `Mon, 01 Jan 2024 10:00:00 +0100`, `2024-01-31 10:00 Europe/Berlin`.
//!
//! Where numbers alone don't tell the day from the month, the text is read in each order that is possible; which one
//! it is, is for whoever has more texts of the same kind to tell. Nothing is guessed here.

mod reader;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use arrow_array::timezone::Tz;
use chrono::{DateTime, Offset, TimeZone};

use self::reader::{Date, Parts, Year};
use crate::instant::{Instant, days_of};

const SECONDS_PER_DAY: i64 = 86_400;
/// Years that people write in such forms: other numbers of four digits are something else.
const YEARS: std::ops::Range<i64> = 1_000..3_000;
/// Years of two digits from here on are of the 20th century, as in POSIX; those below of the 21st.
const PIVOT: i64 = 69;

/// What comes first in a date, where that has to be known to read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    /// The day: `31/01/2024`, `31-Jan-24`.
    DayFirst,
    /// The month: `01/31/2024`.
    MonthFirst,
    /// A year of two digits: `24-Jan-31`.
    YearFirst,
    /// Eight digits without anything between, which could be a number: `20240131`.
    Digits,
}

impl DateOrder {
    const ALL: [Self; 4] = [Self::DayFirst, Self::MonthFirst, Self::YearFirst, Self::Digits];

    /// In words, for messages.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::DayFirst => "day before month",
            Self::MonthFirst => "month before day",
            Self::YearFirst => "year, month, day",
            Self::Digits => "days of eight digits",
        }
    }
}

/// The orders in which texts can be read.
///
/// ```
/// use timestrata_values::people_time::{DateOrder, DateOrders};
///
/// let either = DateOrders::of("01/02/2024").unwrap();
/// assert_eq!(either.only(), None);
/// // One text in which a number is none of a month tells it for all.
/// let all = either.and(DateOrders::of("13/02/2024").unwrap());
/// assert_eq!(all.only(), Some(DateOrder::DayFirst));
/// assert_eq!(DateOrders::of("1.2.3"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateOrders(u8);

impl DateOrders {
    /// Each of them: for texts that are read in one way only.
    pub const ANY: Self = Self(0b1111);

    /// Not one: for texts that are no times, or are so in different ones.
    pub const NONE: Self = Self(0);

    /// Those in which a text is a time; `None` if it is none in any.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let parts = reader::parts(text)?;
        let possible = DateOrder::ALL.iter().filter(|order| parts.instant(**order).is_some());
        let all = possible.fold(0, |all, order| all | 1 << (*order as u8));
        (all != 0).then_some(Self(all))
    }

    /// Those that are of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The order, where it is known or makes no difference.
    #[must_use]
    pub fn only(self) -> Option<DateOrder> {
        let possible =
            || DateOrder::ALL.into_iter().filter(|order| self.0 & 1 << (*order as u8) != 0);
        match (self == Self::ANY, possible().count()) {
            (true, _) | (_, 1) => possible().next(),
            _ => None,
        }
    }

    /// Each of them.
    pub fn each(self) -> impl Iterator<Item = DateOrder> {
        DateOrder::ALL.into_iter().filter(move |order| self.0 & 1 << (*order as u8) != 0)
    }
}

/// The time that a text names, in an order; `None` if it names none. Without a zone it is UTC.
///
/// ```
/// use timestrata_values::Instant;
/// use timestrata_values::people_time::{DateOrder, read};
///
/// let at = read("Jan 31, 2024 10:15 PM Europe/Berlin", DateOrder::DayFirst);
/// assert_eq!(at, Instant::parse(b"2024-01-31T21:15:00Z"));
/// assert_eq!(read("31/01/2024", DateOrder::DayFirst), Instant::parse(b"2024-01-31"));
/// assert_eq!(read("31/01/2024", DateOrder::MonthFirst), None);
/// ```
#[must_use]
pub fn read(text: &str, order: DateOrder) -> Option<Instant> {
    reader::parts(text)?.instant(order)
}

/// The format, as of `strftime`, in which a text of three numbers is read in an order.
///
/// ```
/// use timestrata_values::people_time::{DateOrder, format_of};
///
/// let format = format_of("1/2/2024 10:15 PM", DateOrder::MonthFirst);
/// assert_eq!(format.as_deref(), Some("%m/%d/%Y %I:%M %p"));
/// ```
#[must_use]
pub fn format_of(text: &str, order: DateOrder) -> Option<String> {
    let parts = reader::parts(text)?;
    let Date::Numbers { separator, .. } = parts.date else { return None };
    let (first, second) = match order {
        DateOrder::DayFirst => ("%d", "%m"),
        DateOrder::MonthFirst => ("%m", "%d"),
        DateOrder::YearFirst | DateOrder::Digits => return None,
    };
    let clock = parts.clock.map(|clock| clock.format()).unwrap_or_default();
    Some(format!("{first}{separator}{second}{separator}%Y{}{clock}", parts.gap))
}

impl Parts<'_> {
    fn instant(&self, order: DateOrder) -> Option<Instant> {
        let (year, month, day) = self.date.in_order(order)?;
        if !YEARS.contains(&year) {
            return None;
        }
        let midnight = days_of(year, month, day)? * SECONDS_PER_DAY;
        let Some(clock) = self.clock else {
            return Some(Instant { seconds: midnight, nanoseconds: 0, is_date: true });
        };
        let local = midnight + clock.seconds;
        let seconds = match self.zone {
            Some(zone) => local - zone_ahead(zone, local)?,
            None => local,
        };
        Some(Instant { seconds, nanoseconds: clock.nanoseconds, is_date: false })
    }
}

impl Date {
    /// Year, month and day.
    fn in_order(self, order: DateOrder) -> Option<(i64, i64, i64)> {
        match (self, order) {
            (Self::Numbers { first, second, year, .. }, DateOrder::DayFirst) => {
                Some((year, second, first))
            }
            (Self::Numbers { first, second, year, .. }, DateOrder::MonthFirst) => {
                Some((year, first, second))
            }
            (Self::Known { year, month, day }, _) => Some((year, month, day)),
            (Self::Digits { year, month, day }, DateOrder::Digits) => Some((year, month, day)),
            (Self::Named { before, month, behind }, order) => named(before, month, behind, order),
            _ => None,
        }
    }
}

/// A date with the name of a month between two numbers.
fn named(before: Year, month: i64, behind: Year, order: DateOrder) -> Option<(i64, i64, i64)> {
    match (before, behind, order) {
        (Year::Short(day), Year::Long(year), _) | (Year::Long(year), Year::Short(day), _) => {
            Some((year, month, day))
        }
        (Year::Short(day), Year::Short(year), DateOrder::DayFirst)
        | (Year::Short(year), Year::Short(day), DateOrder::YearFirst) => {
            Some((of_two_digits(year), month, day))
        }
        _ => None,
    }
}

fn of_two_digits(year: i64) -> i64 {
    if year < PIVOT { 2_000 + year } else { 1_900 + year }
}

/// Seconds that a zone is ahead of UTC at a local time: an offset, or a name of the database of zones. `None` for
/// a time that the zone's clocks show twice or never.
fn zone_ahead(zone: &str, local: i64) -> Option<i64> {
    if let Some(ahead) = crate::instant::offset_of(zone.as_bytes()) {
        return Some(ahead);
    }
    if zone == "GMT" {
        return Some(0);
    }
    // Short names stand for several zones each: IST is one of India, of Israel and of Ireland.
    let zone = zone.strip_prefix('[').and_then(|zone| zone.strip_suffix(']')).unwrap_or(zone);
    let zone = Tz::from_str(zone).ok().filter(|_| zone.contains('/'))?;
    let local = DateTime::from_timestamp(local, 0)?.naive_utc();
    let ahead = zone.offset_from_local_datetime(&local).single()?;
    Some(i64::from(ahead.fix().local_minus_utc()))
}
