//! Clocks of time zones: what one reads at a time, and when it first reads so.

use chrono::{DateTime, LocalResult, NaiveDateTime, Offset, TimeZone};
use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::datatypes::TimeUnit;
use datafusion::common::Result;

use crate::error::refused;
use crate::instant::nanoseconds;

const SECOND_NS: i64 = 1_000_000_000;
/// Longer than any clock is ahead of UTC or behind it, and than any is put forward: a day, where a zone crosses the date line.
const FURTHEST_SECONDS: i64 = 40 * 3_600;

/// The clock of a zone. Times and readings are in units of a column; a reading is the time at which a clock in UTC shows
/// the same.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    zone: Tz,
    /// So many units as a second has.
    second: i64,
}

impl Clock {
    pub(crate) fn new(zone: Tz, unit: TimeUnit) -> Self {
        Self { zone, second: SECOND_NS / nanoseconds(unit) as i64 }
    }

    /// The clock of a zone by its name, as `Europe/Berlin` or `+02:00`.
    ///
    /// # Errors
    /// `InvalidArgument` for a name of none.
    pub(crate) fn named(zone: &str, unit: TimeUnit) -> Result<Self> {
        match zone.parse() {
            Ok(zone) => Ok(Self::new(zone, unit)),
            Err(_) => Err(refused(format!(
                "there is no time zone '{zone}': give one as 'Europe/Berlin' or '+02:00'"
            ))),
        }
    }

    pub(super) fn second(&self) -> i64 {
        self.second
    }

    /// How far it is ahead of UTC at a time. `None` for a time beyond those of the calendar.
    pub(super) fn ahead(&self, time: i64) -> Option<i64> {
        let offset = self.zone.offset_from_utc_datetime(&self.parts(time)?).fix();
        Some(i64::from(offset.local_minus_utc()) * self.second)
    }

    /// What it reads at a time.
    pub(super) fn reading(&self, time: i64) -> Option<i64> {
        time.checked_add(self.ahead(time)?)
    }

    /// The first time at which it reads so or, where it is put forward over that, at which it is.
    pub(super) fn first(&self, reading: i64) -> Option<i64> {
        self.when(reading, None)
    }

    /// The same; but of two times at which it reads so the one at which it is so far ahead of UTC.
    pub(super) fn when(&self, reading: i64, ahead: Option<i64>) -> Option<i64> {
        let units = |offset: &<Tz as TimeZone>::Offset| {
            i64::from(offset.fix().local_minus_utc()) * self.second
        };
        let chosen = match self.zone.offset_from_local_datetime(&self.parts(reading)?) {
            LocalResult::Single(only) => units(&only),
            LocalResult::Ambiguous(one, other) => {
                let (one, other) = (units(&one), units(&other));
                // Where it is further ahead it reads so earlier.
                ahead.filter(|ahead| [one, other].contains(ahead)).unwrap_or(one.max(other))
            }
            LocalResult::None => return self.put_forward_over(reading),
        };
        reading.checked_sub(chosen)
    }

    /// When it is put forward over what it never reads.
    fn put_forward_over(&self, reading: i64) -> Option<i64> {
        let furthest = FURTHEST_SECONDS * self.second;
        let (mut before, mut behind) =
            (reading.checked_sub(furthest)?, reading.checked_add(furthest)?);
        while behind - before > 1 {
            let middle = before + (behind - before) / 2;
            match self.reading(middle)? < reading {
                true => before = middle,
                false => behind = middle,
            }
        }
        Some(behind)
    }

    /// A time, or what a clock reads, by its parts.
    fn parts(&self, time: i64) -> Option<NaiveDateTime> {
        let nanoseconds = time.rem_euclid(self.second) * (SECOND_NS / self.second);
        let time = DateTime::from_timestamp(time.div_euclid(self.second), nanoseconds as u32);
        time.map(|time| time.naive_utc())
    }
}
