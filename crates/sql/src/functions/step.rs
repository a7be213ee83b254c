//! Steps of time: a fixed width, or months.

use datafusion::arrow::array::types::IntervalMonthDayNano;
use datafusion::arrow::compute::kernels::cast_utils::parse_interval_month_day_nano;
use datafusion::arrow::datatypes::TimeUnit;
use datafusion::common::{Result, ScalarValue};
use timestrata_values::instant::{date_of, first_of_month};

use crate::error::refused;
use crate::instant::{DAY_NS, nanoseconds};

/// Monday, the third of January 2000: so that weeks begin on Mondays.
const WIDTH_ORIGIN_NS: i128 = 946_857_600_000_000_000;
/// The first of January 2000, in months since the year 0.
const MONTH_ORIGIN: i64 = 2000 * 12;

/// How far it is from one bucket to the next, in units of a time column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd)]
pub(crate) enum Step {
    /// Always the same width.
    Width(i64),
    /// Months of the calendar, in UTC; a day has so many units.
    Months { months: i64, day: i64 },
}

/// Reads '5 minutes' and the like.
pub(crate) fn parse_interval(text: &str) -> Result<IntervalMonthDayNano> {
    parse_interval_month_day_nano(text)
        .map_err(|cause| refused(format!("'{text}' is no interval like '5 minutes': {cause}")))
}

/// An interval as the literals of SQL have it, or as text.
pub(crate) fn interval_of(value: &ScalarValue) -> Result<IntervalMonthDayNano> {
    match value {
        ScalarValue::IntervalMonthDayNano(Some(interval)) => Ok(*interval),
        ScalarValue::IntervalYearMonth(Some(months)) => {
            Ok(IntervalMonthDayNano::new(*months, 0, 0))
        }
        ScalarValue::IntervalDayTime(Some(parts)) => {
            Ok(IntervalMonthDayNano::new(0, parts.days, i64::from(parts.milliseconds) * 1_000_000))
        }
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text)) => parse_interval(text),
        other => {
            Err(refused(format!("{other} is no interval: give one like INTERVAL '5 minutes'")))
        }
    }
}

/// A width in units of a time column.
///
/// # Errors
/// `InvalidArgument` for months, and where it isn't a whole number of units.
pub(crate) fn width(interval: IntervalMonthDayNano, unit: TimeUnit) -> Result<i64> {
    if interval.months != 0 {
        return Err(refused("months differ in length: give days or less here"));
    }
    let width_ns = i128::from(interval.days) * DAY_NS + i128::from(interval.nanoseconds);
    let unit_ns = nanoseconds(unit);
    if width_ns % unit_ns != 0 {
        return Err(refused(format!(
            "an interval of {width_ns} ns is not a whole number of the column's {unit:?}s"
        )));
    }
    i64::try_from(width_ns / unit_ns).map_err(|_| refused("the interval is too long"))
}

impl Step {
    /// The step of an interval, which must be positive.
    pub(crate) fn new(interval: IntervalMonthDayNano, unit: TimeUnit) -> Result<Self> {
        let step = match interval.months {
            0 => Self::Width(width(interval, unit)?),
            months if interval.days == 0 && interval.nanoseconds == 0 => {
                let day = DAY_NS / nanoseconds(unit);
                Self::Months { months: i64::from(months), day: day as i64 }
            }
            _ => return Err(refused("an interval is of months, or of days and less: not of both")),
        };
        match step {
            Self::Width(1..) | Self::Months { months: 1.., .. } => Ok(step),
            _ => Err(refused("the interval must be longer than nothing")),
        }
    }

    /// Where buckets begin to count, if nothing else is said.
    pub(crate) fn origin(self, unit: TimeUnit) -> i64 {
        match self {
            Self::Width(_) => (WIDTH_ORIGIN_NS / nanoseconds(unit)) as i64,
            Self::Months { day, .. } => days_of_month(MONTH_ORIGIN) * day,
        }
    }

    /// The bucket that `time` is in: its start, and the start of the next, `None` where the column
    /// can't hold it. `None` for a bucket that begins before all times.
    pub(crate) fn bucket(self, time: i64, origin: i64) -> Option<(i64, Option<i64>)> {
        match self {
            Self::Width(width) => {
                // The remainder is that of the difference, which may not fit.
                let past = (time.rem_euclid(width) - origin.rem_euclid(width)).rem_euclid(width);
                let start = time.checked_sub(past)?;
                Some((start, start.checked_add(width)))
            }
            Self::Months { months, day } => {
                let first = month_of(origin.div_euclid(day));
                let offset = origin - days_of_month(first).checked_mul(day)?;
                let shifted = time.checked_sub(offset)?;
                let month = month_of(shifted.div_euclid(day));
                let bucket = first + (month - first).div_euclid(months) * months;
                let at = |month| days_of_month(month).checked_mul(day)?.checked_add(offset);
                Some((at(bucket)?, at(bucket + months)))
            }
        }
    }

    /// The bucket that begins where one ends, as [`Step::bucket`] tells it; `None` where that has to be calculated.
    pub(crate) fn bucket_from(self, start: i64) -> Option<(i64, Option<i64>)> {
        match self {
            Self::Width(width) => Some((start, start.checked_add(width))),
            Self::Months { .. } => None,
        }
    }

    /// The time one step later. `None` beyond what the column can hold.
    pub(crate) fn next(self, time: i64) -> Option<i64> {
        match self {
            Self::Width(width) => time.checked_add(width),
            Self::Months { months, day } => {
                let days = time.div_euclid(day);
                let month = month_of(days);
                let in_month = days - days_of_month(month);
                let target = month.checked_add(months)?;
                // The 31st of a month that has none is its last day.
                let length = days_of_month(target + 1) - days_of_month(target);
                let day_of_target = days_of_month(target) + in_month.min(length - 1);
                day_of_target.checked_mul(day)?.checked_add(time.rem_euclid(day))
            }
        }
    }
}

/// The month that a day (since 1970) is in, in months since the year 0.
fn month_of(days: i64) -> i64 {
    let (year, month, _) = date_of(days);
    year * 12 + month - 1
}

/// The first day (since 1970) of a month (since the year 0).
fn days_of_month(month: i64) -> i64 {
    first_of_month(month.div_euclid(12), month.rem_euclid(12) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_and_days_are_each_others_inverse() {
        assert_eq!(days_of_month(1970 * 12), 0);
        assert_eq!(days_of_month(2000 * 12), 10_957);
        assert_eq!(days_of_month(1969 * 12 + 11), -31);
        for month in -30_000..60_000 {
            let first = days_of_month(month);
            assert_eq!((month_of(first), month_of(first - 1)), (month, month - 1));
        }
    }

    #[test]
    fn a_month_after_the_31st_is_the_last_day() {
        let step = Step::Months { months: 1, day: 86_400 };
        let january = (days_of_month(2023 * 12) + 30) * 86_400 + 5;
        let february = (days_of_month(2023 * 12 + 1) + 27) * 86_400 + 5;
        assert_eq!(step.next(january), Some(february));
    }

    #[test]
    fn buckets_of_months_end_where_the_next_begins() {
        let step = Step::Months { months: 1, day: 1 };
        // The 31st of January: buckets begin 30 days behind the first of a month.
        let origin = days_of_month(2023 * 12) + 30;
        for time in origin - 800..origin + 800 {
            let (start, end) = step.bucket(time, origin).unwrap();
            assert!(start <= time && time < end.unwrap());
            assert_eq!(step.bucket(end.unwrap(), origin).unwrap().0, end.unwrap());
        }
    }

    #[test]
    fn floors_before_1970_and_at_the_ends() {
        let hour = Step::Width(3_600);
        assert_eq!(hour.bucket(-1, 0), Some((-3_600, Some(0))));
        assert_eq!(hour.bucket(-3_600, 0), Some((-3_600, Some(0))));
        assert_eq!(hour.bucket(i64::MAX, 0).map(|(_, end)| end), Some(None));
        assert_eq!(Step::Width(7).bucket(i64::MIN, i64::MAX), None);
        assert_eq!(Step::Width(1).bucket(i64::MIN, i64::MAX), Some((i64::MIN, Some(i64::MIN + 1))));
        let quarter = Step::Months { months: 3, day: 86_400 };
        let origin = quarter.origin(TimeUnit::Second);
        let last = (days_of_month(1969 * 12 + 9) * 86_400, Some(0));
        assert_eq!(quarter.bucket(-1, origin), Some(last));
    }
}
