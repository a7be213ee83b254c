//! Times of columns: as text, as numbers, and as arrays of a time type.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, make_array};
use arrow_schema::{DataType, TimeUnit};
use timestrata_engine::{Error, ErrorKind, Result};

use crate::instant::{
    Instant, Unfit, date_of, digits, epoch, per_second, rescale, unit_of_magnitude,
};
use crate::number;

/// Seconds of a day.
pub const SECONDS_PER_DAY: i64 = 86_400;
/// From the first day of the year 0 to the last of 9999, since 1970.
pub const YEARS_DAYS: std::ops::Range<i64> = -719_528..2_932_897;
/// Names that a time column usually has, in any case, the likeliest first.
pub const NAMES: [&str; 5] = ["timestamp", "time", "ts", "datetime", "date"];

/// Whether values of a type name an instant or a day.
pub fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(..) | DataType::Date32 | DataType::Date64)
}

/// The time that a text names, in the unit of a time column's type: a date or an instant (UTC
/// where no zone is given), or a number of seconds, milliseconds, microseconds or nanoseconds
/// since 1970, as its magnitude tells.
///
/// ```
/// use arrow_schema::{DataType, TimeUnit};
/// use timestrata_values::time::parse;
///
/// let milliseconds = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
/// assert_eq!(parse("2024-05-01T10:00:00+02:00", &milliseconds)?, 1_714_550_400_000);
/// assert_eq!(parse("2024-05-01 08:00", &milliseconds)?, 1_714_550_400_000);
/// assert_eq!(parse("1714550400", &milliseconds)?, 1_714_550_400_000);
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
///
/// # Errors
/// `InvalidArgument` for text that is no time, and for one that the type can't hold exactly.
pub fn parse(text: &str, data_type: &DataType) -> Result<i64> {
    let DataType::Timestamp(unit, _) = data_type else {
        return text.parse().map_err(|_| not_a_time(text, "a whole number is expected"));
    };
    match in_unit(text, None, *unit) {
        None => Err(not_a_time(text, "write it as 2024-05-01T10:00:00Z")),
        Some(Ok(time)) => Ok(time),
        Some(Err(Unfit::TooFine)) => {
            Err(not_a_time(text, "it is finer than the time column can hold"))
        }
        Some(Err(Unfit::OutOfRange)) => {
            Err(not_a_time(text, "it is outside of what the time column can hold"))
        }
    }
}

/// As [`parse`], for callers with words of their own for what is wrong. A number counts units of
/// `from`, or of what its magnitude tells. `None` for text that is no time.
pub fn in_unit(
    text: &str,
    from: Option<TimeUnit>,
    unit: TimeUnit,
) -> Option<std::result::Result<i64, Unfit>> {
    let text = text.trim().as_bytes();
    if let Some(instant) = Instant::parse(text) {
        return Some(instant.to_unit(unit));
    }
    let from = from.or_else(|| {
        let whole = text.split(|byte| *byte == b'.').next().and_then(number::integer);
        whole.map(|number| unit_of_magnitude(number.unsigned_abs()))
    });
    epoch(text, from?, unit)
}

/// A time as RFC 3339 in UTC, with all digits of its unit: `2013-01-01T06:00:00.005Z`. `None` outside of
/// the years 0 to 9999, which have no such form.
pub fn format(time: i64, unit: TimeUnit) -> Option<String> {
    let digits = digits(unit);
    let per_second = per_second(unit);
    let (second, part) = (time.div_euclid(per_second), time.rem_euclid(per_second));
    let (day, second) = (second.div_euclid(SECONDS_PER_DAY), second.rem_euclid(SECONDS_PER_DAY));
    let (year, month, day) = YEARS_DAYS.contains(&day).then(|| date_of(day))?;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let whole = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    Some(match digits {
        0 => format!("{whole}Z"),
        _ => format!("{whole}.{part:0digits$}Z"),
    })
}

/// An instant, in nanoseconds since 1970, as RFC 3339 with no more digits than it needs, three at a time.
pub fn text(ns: i64) -> String {
    let shortest = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond];
    let exact =
        |unit| rescale(ns, TimeUnit::Nanosecond, unit).ok().and_then(|time| format(time, unit));
    let found = shortest.into_iter().find_map(exact);
    found.or_else(|| format(ns, TimeUnit::Nanosecond)).unwrap_or_else(|| ns.to_string())
}

/// Times of a time column's type.
///
/// # Errors
/// `InvalidData` if the type is not one of times.
pub fn array(data_type: &DataType, times: Vec<i64>) -> Result<ArrayRef> {
    relabeled(&(Arc::new(Int64Array::from(times)) as ArrayRef), data_type)
}

/// The same 64-bit numbers as another type of the same width.
///
/// # Errors
/// `InvalidData` for types of other widths.
pub fn relabeled(column: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    let data = column.to_data().into_builder().data_type(data_type.clone());
    data.build().map(make_array).map_err(|error| {
        let message = format!("{} can't be {data_type}", column.data_type());
        Error::new(ErrorKind::InvalidData, message).caused_by(error)
    })
}

fn not_a_time(text: &str, why: &str) -> Error {
    let shown: String = text.chars().take(60).collect();
    Error::new(ErrorKind::InvalidArgument, format!("{shown:?} is no time here: {why}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_shown_with_the_digits_of_their_unit_or_with_as_many_as_they_need() {
        let at = 1_357_020_000;
        assert_eq!(format(at, TimeUnit::Second).unwrap(), "2013-01-01T06:00:00Z");
        assert_eq!(
            format(at * 1_000 + 5, TimeUnit::Millisecond).unwrap(),
            "2013-01-01T06:00:00.005Z"
        );
        assert_eq!(format(-1, TimeUnit::Nanosecond).unwrap(), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(format(i64::MAX, TimeUnit::Second), None);
        assert_eq!(format(-62_167_219_201, TimeUnit::Second), None);
        assert_eq!(format(-62_167_219_200, TimeUnit::Second).unwrap(), "0000-01-01T00:00:00Z");
        assert_eq!(format(253_402_300_799, TimeUnit::Second).unwrap(), "9999-12-31T23:59:59Z");
        assert_eq!(format(253_402_300_800, TimeUnit::Second), None);
        let at = at * 1_000_000_000;
        for (part, shown) in
            [(0, "00Z"), (5_000_000, "00.005Z"), (7_000, "00.000007Z"), (1, "00.000000001Z")]
        {
            assert_eq!(text(at + part), format!("2013-01-01T06:00:{shown}"));
        }
        assert_eq!(text(i64::MIN), "1677-09-21T00:12:43.145224192Z");
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(ns in any::<i64>(), ms in -62_167_219_200_000i64..253_402_300_800_000) {
            prop_assert_eq!(in_unit(&text(ns), None, TimeUnit::Nanosecond), Some(Ok(ns)));
            let shown = format(ms, TimeUnit::Millisecond).unwrap();
            prop_assert_eq!(in_unit(&shown, None, TimeUnit::Millisecond), Some(Ok(ms)));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}", number in "-?[0-9]{0,25}(\\.[0-9]{0,25})?") {
            let _ = in_unit(&text, None, TimeUnit::Nanosecond);
            let _ = in_unit(&number, Some(TimeUnit::Second), TimeUnit::Nanosecond);
        }
    }
}
