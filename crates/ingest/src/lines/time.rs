//! Times as log lines have them, in nanoseconds since 1970-01-01 UTC. One without a zone is UTC.

use arrow_schema::TimeUnit;

use timestrata_logs::NewEntry;
use timestrata_values::instant::{
    Instant, date_of, days_of, epoch, fraction_of, two_digits, unit_of_magnitude,
};
use timestrata_values::number;

const NS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// No clock is further ahead of UTC.
const SECONDS_AHEAD_MAX: i64 = 14 * 3_600;
/// Two leap days are at most as many years apart.
const LEAP_YEARS_MAX: i64 = 8;
/// Bytes of `13:06:56`.
const CLOCK_BYTES: usize = 8;
/// Where a comma may stand for the point: behind `2016-12-19 20:44:59`.
const POINT_AT: usize = 19;
/// Bytes of the longest time with such a comma.
const COMMA_TEXT_BYTES_MAX: usize = 48;
/// A number of an earlier time is no time, but a duration or the like: 1990, as for columns of tables.
const NUMBER_NS_MIN: i64 = 631_152_000 * NS_PER_SECOND;

/// What has the form of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    /// It is one.
    At(i64),
    /// There is no such day, or 64 bits of nanoseconds don't reach it.
    Nowhere,
}

impl Time {
    /// So many seconds and nanoseconds since 1970-01-01 UTC.
    pub(super) fn of(seconds: Option<i64>, nanoseconds: u32) -> Self {
        let whole = seconds.and_then(|seconds| seconds.checked_mul(NS_PER_SECOND));
        let ns = whole.and_then(|whole| whole.checked_add(i64::from(nanoseconds)));
        ns.map_or(Self::Nowhere, Self::At)
    }

    /// Makes it the time of an entry; where it is none, its text becomes the field `time`.
    pub(super) fn write(self, text: &str, entry: &mut NewEntry) {
        match self {
            Self::At(ns) => entry.source_time = Some(ns),
            Self::Nowhere => {
                entry.fields.text("time", text);
            }
        }
    }
}

/// A text that is a time as a whole: one that [`Instant`] takes and that is no mere day, also with a
/// comma for the point, or the digits of a number.
pub(super) fn of_text(text: &[u8]) -> Option<i64> {
    if text.get(POINT_AT) != Some(&b',') {
        let instant = Instant::parse(text).filter(|instant| !instant.is_date);
        return match instant {
            Some(instant) => instant.to_unit(TimeUnit::Nanosecond).ok(),
            None => of_number(text),
        };
    }
    let mut with_point = [0; COMMA_TEXT_BYTES_MAX];
    let with_point = with_point.get_mut(..text.len())?;
    with_point.copy_from_slice(text);
    *with_point.get_mut(POINT_AT)? = b'.';
    of_text(with_point)
}

/// A decimal number of seconds, milliseconds, microseconds or nanoseconds since 1970: its size
/// tells which.
pub(super) fn of_number(text: &[u8]) -> Option<i64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let unit = unit_of_magnitude(number::unsigned(text.get(..digits)?)?.unsigned_abs());
    epoch(text, unit, TimeUnit::Nanosecond)?.ok().filter(|time| *time >= NUMBER_NS_MIN)
}

/// The number of the month whose English name begins so.
pub(super) fn month_of(name: &[u8]) -> Option<i64> {
    const NAMES: [&[u8; 3]; 12] = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    (1..).zip(NAMES).find(|(_, known)| known.as_slice() == name).map(|(number, _)| number)
}

/// The second of its day that `HH:MM:SS` is. 60 is a leap second: the first of the next minute.
pub(super) fn second_of_day(text: &[u8]) -> Option<i64> {
    let [h0, h1, b':', m0, m1, b':', s0, s1] = text else { return None };
    let (hour, minute) = (two_digits(*h0, *h1)?, two_digits(*m0, *m1)?);
    let second = two_digits(*s0, *s1)?;
    (hour <= 23 && minute <= 59 && second <= 60).then_some(hour * 3_600 + minute * 60 + second)
}

/// The second of its day, and nanoseconds, of `HH:MM:SS` with a fraction or without one.
pub(super) fn clock(text: &str) -> Option<(i64, u32)> {
    let (whole, fraction) = text.split_at_checked(CLOCK_BYTES)?;
    let nanoseconds = match fraction.strip_prefix('.') {
        Some(digits) => {
            let (billionths, is_exact) = fraction_of(digits.as_bytes())?;
            is_exact.then_some(billionths)?
        }
        None if fraction.is_empty() => 0,
        None => return None,
    };
    Some((second_of_day(whole.as_bytes())?, nanoseconds))
}

/// Seconds since 1970 at a second of a day, if there is such a day.
pub(super) fn seconds_at(year: i64, month: i64, day: i64, second_of_day: i64) -> Option<i64> {
    Some(days_of(year, month, day)? * SECONDS_PER_DAY + second_of_day)
}

/// Dates that are written without a year. Those of one log go on from line to line, so that only the first of them is to be found:
///
/// ```text
///   reference time: 2026-06-13                 first: the latest year that leaves it before that
///   Dec 30  2025    Dec 31  2025    Jan 1  2026    Jun 14  2026    all others: the year that is nearest to the line before
/// ```
#[derive(Debug)]
pub(super) struct Calendar {
    /// The year of all of them, if it is known.
    year: Option<i64>,
    /// Else the second that the first of them is not later than, and its year.
    latest: i64,
    latest_year: i64,
    /// Month and day that were asked for last, and the second at which the day begins.
    last: Option<(i64, i64, i64)>,
}

impl Calendar {
    /// Dates of a year; else the first of the latest year that leaves it within the hours that clocks of the world are apart of
    /// `reference_time`.
    pub(super) fn new(year: Option<i32>, reference_time: i64) -> Self {
        let mut calendar =
            Self { year: year.map(i64::from), latest: 0, latest_year: 0, last: None };
        calendar.set_reference_time(reference_time);
        calendar
    }

    /// Sets the time by which the year of a first date is found: the next one is such.
    pub(super) fn set_reference_time(&mut self, reference_time: i64) {
        self.last = None;
        self.latest = reference_time.div_euclid(NS_PER_SECOND) + SECONDS_AHEAD_MAX;
        (self.latest_year, ..) = date_of(self.latest.div_euclid(SECONDS_PER_DAY));
    }

    /// Seconds since 1970 at a second of a day, if there is such a day.
    pub(super) fn seconds_at(&mut self, month: i64, day: i64, second_of_day: i64) -> Option<i64> {
        if let Some((last_month, last_day, midnight)) = self.last
            && (last_month, last_day) == (month, day)
        {
            return Some(midnight + second_of_day);
        }
        let seconds = match (self.year, self.last) {
            (Some(year), _) => seconds_at(year, month, day, second_of_day),
            (None, Some((.., last))) => nearest(last, month, day, second_of_day),
            (None, None) => self.latest_at(month, day, second_of_day),
        }?;
        self.last = Some((month, day, seconds - second_of_day));
        Some(seconds)
    }

    fn latest_at(&self, month: i64, day: i64, second_of_day: i64) -> Option<i64> {
        (self.latest_year - LEAP_YEARS_MAX..=self.latest_year)
            .rev()
            .filter_map(|year| seconds_at(year, month, day, second_of_day))
            .find(|seconds| *seconds <= self.latest)
    }
}

/// The second of a day in the year that is nearest to some other second.
fn nearest(to: i64, month: i64, day: i64, second_of_day: i64) -> Option<i64> {
    let (year, ..) = date_of(to.div_euclid(SECONDS_PER_DAY));
    (year - 1..=year + 1)
        .filter_map(|year| seconds_at(year, month, day, second_of_day))
        .min_by_key(|seconds| seconds.abs_diff(to))
}
