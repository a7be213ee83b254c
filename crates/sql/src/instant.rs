//! The instants that constants name, whatever their type.

use std::sync::Arc;

use chrono::Utc;
use datafusion::arrow::compute::kernels::cast_utils::string_to_datetime;
use datafusion::arrow::datatypes::TimeUnit;
use datafusion::common::ScalarValue;
use timestrata_values::instant::{Instant, per_second};

/// A day in nanoseconds.
pub(crate) const DAY_NS: i128 = 86_400_000_000_000;

/// A unit in nanoseconds.
pub(crate) fn nanoseconds(unit: TimeUnit) -> i128 {
    1_000_000_000 / i128::from(per_second(unit))
}

/// Whether a zone is another name of UTC.
pub(crate) fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "+00:00" | "Z" | "utc")
}

/// A time that is so many units from 1970.
pub(crate) fn timestamp(time: i64, unit: TimeUnit, zone: Option<Arc<str>>) -> ScalarValue {
    let time = Some(time);
    match unit {
        TimeUnit::Second => ScalarValue::TimestampSecond(time, zone),
        TimeUnit::Millisecond => ScalarValue::TimestampMillisecond(time, zone),
        TimeUnit::Microsecond => ScalarValue::TimestampMicrosecond(time, zone),
        TimeUnit::Nanosecond => ScalarValue::TimestampNanosecond(time, zone),
    }
}

/// How many of its units a time is from 1970; `None` for what is no time, or null.
pub(crate) fn units_of(value: &ScalarValue) -> Option<i64> {
    match value {
        ScalarValue::TimestampSecond(time, _)
        | ScalarValue::TimestampMillisecond(time, _)
        | ScalarValue::TimestampMicrosecond(time, _)
        | ScalarValue::TimestampNanosecond(time, _) => *time,
        _ => None,
    }
}

/// Nanoseconds since 1970 of a time, a day, or a text that names one; without a zone it is one of UTC.
pub(crate) fn instant(value: &ScalarValue) -> Option<i128> {
    let times = |count: &Option<i64>, unit| count.map(|n| i128::from(n) * nanoseconds(unit));
    match value {
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text)) => {
            let (seconds, nanoseconds) = match Instant::parse(text.trim().as_bytes()) {
                Some(instant) => (instant.seconds, instant.nanoseconds),
                // A few forms more that DataFusion knows.
                None => {
                    let time = string_to_datetime(&Utc, text).ok()?;
                    (time.timestamp(), time.timestamp_subsec_nanos())
                }
            };
            Some(i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds))
        }
        ScalarValue::TimestampSecond(time, _) => times(time, TimeUnit::Second),
        ScalarValue::TimestampMillisecond(time, _) | ScalarValue::Date64(time) => {
            times(time, TimeUnit::Millisecond)
        }
        ScalarValue::TimestampMicrosecond(time, _) => times(time, TimeUnit::Microsecond),
        ScalarValue::TimestampNanosecond(time, _) => times(time, TimeUnit::Nanosecond),
        ScalarValue::Date32(day) => day.map(|day| i128::from(day) * DAY_NS),
        _ => None,
    }
}
