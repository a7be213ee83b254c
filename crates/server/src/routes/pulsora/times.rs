//! The times that these clients write, and as they read them: milliseconds since 1970, or RFC 3339 with `+00:00`.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_cast::cast;
use arrow_schema::{DataType, TimeUnit};
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_table::TimeTexts;
use timestrata_values::Instant;
use timestrata_values::instant::per_second;
use timestrata_values::time::relabeled;

const ZONE: &str = "UTC";
const MS_PER_SECOND: i64 = 1_000;
const NS_PER_MS: u32 = 1_000_000;
/// Bytes of a time with nine digits behind the point.
const TEXT_BYTES: usize = 35;
/// Bytes of `YYYY-MM-DD`, and of that with a time of day.
const DAY_BYTES: usize = 10;
const SECOND_BYTES: usize = 19;

/// Times of a unit, in UTC.
pub(super) fn data_type(unit: TimeUnit) -> DataType {
    DataType::Timestamp(unit, Some(ZONE.into()))
}

/// A point in time as text: a day, or a day and a time of day to the second or finer, with `Z`, an offset or
/// nothing for UTC.
fn written(text: &str) -> Option<Instant> {
    let bytes = text.as_bytes();
    let has_form = match bytes.get(SECOND_BYTES..) {
        None => bytes.len() == DAY_BYTES,
        Some(rest) => {
            let fraction = rest.strip_prefix(b".").unwrap_or(rest);
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let zone = fraction.get(digits..).unwrap_or_default();
            matches!(zone, [] | [b'Z' | b'z'] | [b'+' | b'-', _, _, b':', _, _])
        }
    };
    let has_dashes = bytes.get(4) == Some(&b'-');
    if !(has_form && has_dashes) {
        return None;
    }
    // A small letter is one too.
    match bytes.last() {
        Some(b'z') => Instant::parse(text.to_ascii_uppercase().as_bytes()),
        _ => Instant::parse(bytes),
    }
}

fn of_ms(ms: i64) -> Instant {
    let part = u32::try_from(ms.rem_euclid(MS_PER_SECOND)).unwrap_or_default();
    Instant { seconds: ms.div_euclid(MS_PER_SECOND), nanoseconds: part * NS_PER_MS, is_date: false }
}

/// A whole number as a time: ten digits are seconds since 1970, thirteen milliseconds.
pub(super) fn instant_of_number(number: i64) -> Option<Instant> {
    const SECONDS: std::ops::Range<i64> = 1_000_000_001..10_000_000_000;
    const MILLISECONDS: std::ops::Range<i64> = 1_000_000_000_001..10_000_000_000_000;
    if SECONDS.contains(&number) {
        return Some(Instant { seconds: number, nanoseconds: 0, is_date: false });
    }
    MILLISECONDS.contains(&number).then(|| of_ms(number))
}

/// A time in a body.
pub(super) fn instant(text: &str) -> Option<Instant> {
    match text.parse() {
        Ok(number) => instant_of_number(number),
        Err(_) => written(text),
    }
}

/// Whether a value is a time whatever its column is called: of numbers, seconds of the years 2001 to 2096.
pub(super) fn is_timestamp(text: &str) -> bool {
    match text.parse::<i64>() {
        Ok(number) => (1_000_000_001..4_000_000_000).contains(&number),
        Err(_) => written(text).is_some(),
    }
}

/// An end of a range, in milliseconds since 1970, rounded down.
///
/// # Errors
/// `InvalidArgument` for what is no time.
pub(super) fn asked_ms(text: &str) -> Result<i64> {
    let ms = match text.parse::<i64>() {
        Ok(number) if (1_000_000_001..4_000_000_000).contains(&number) => {
            Some(number * MS_PER_SECOND)
        }
        Ok(number) => (number > 1_000_000_000_000).then_some(number),
        Err(_) => written(text)
            .map(|at| at.seconds * MS_PER_SECOND + i64::from(at.nanoseconds / NS_PER_MS)),
    };
    ms.ok_or_else(|| {
        let shown: String = text.chars().take(60).collect();
        let message = format!(
            "Query error: Invalid timestamp format: {shown}; a time is 2024-01-01T10:00:00Z, 2024-01-01 10:00:00, \
             2024-01-01, or seconds or milliseconds since 1970"
        );
        Error::new(ErrorKind::InvalidArgument, message)
    })
}

/// The first time of a unit that is not before one in milliseconds.
pub(super) fn from_ms(ms: i64, unit: TimeUnit) -> i64 {
    let a_second = per_second(unit);
    match a_second >= MS_PER_SECOND {
        true => ms.saturating_mul(a_second / MS_PER_SECOND),
        // Rounded up.
        false => -(-ms).div_euclid(MS_PER_SECOND),
    }
}

/// The unit of a column of times; `None` for another.
pub(super) fn unit_of(data_type: &DataType) -> Option<TimeUnit> {
    match data_type {
        DataType::Timestamp(unit, _) => Some(*unit),
        _ => None,
    }
}

/// A column of times or days as numbers of its unit.
fn numbers(column: &ArrayRef) -> Result<(Int64Array, TimeUnit)> {
    let (column, unit) = match unit_of(column.data_type()) {
        Some(unit) => (ArrayRef::clone(column), unit),
        None => {
            let unit = TimeUnit::Millisecond;
            (cast(column, &DataType::Timestamp(unit, None)).map_err(unmade)?, unit)
        }
    };
    let numbers = relabeled(&column, &DataType::Int64)?;
    let numbers = numbers.as_primitive_opt::<Int64Type>().cloned();
    numbers.map(|numbers| (numbers, unit)).ok_or_else(|| {
        Error::new(ErrorKind::InvalidData, format!("{} is no type of times", column.data_type()))
    })
}

/// A column of times or days as milliseconds since 1970, rounded down.
pub(super) fn milliseconds(column: &ArrayRef) -> Result<ArrayRef> {
    let (numbers, unit) = numbers(column)?;
    let a_second = per_second(unit);
    let in_ms = |time: i64| match a_second > MS_PER_SECOND {
        true => time.div_euclid(a_second / MS_PER_SECOND),
        false => time.saturating_mul(MS_PER_SECOND / a_second),
    };
    Ok(Arc::new(numbers.unary::<_, Int64Type>(in_ms)))
}

/// A column of times or days as text. Years of more than four digits have no such form, and stay numbers.
pub(super) fn texts(column: &ArrayRef) -> Result<ArrayRef> {
    let (numbers, unit) = numbers(column)?;
    let times = relabeled(&(Arc::new(numbers.clone()) as ArrayRef), &data_type(unit))?;
    let mut written = TimeTexts::of(times.as_ref());
    let mut out = StringBuilder::with_capacity(numbers.len(), numbers.len() * TEXT_BYTES);
    for row in 0..numbers.len() {
        match (numbers.is_null(row), &mut written) {
            (true, _) => out.append_null(),
            (false, Some(written)) => {
                let text = written.text(row);
                out.append_value(format!("{}+00:00", text.trim_end_matches('Z')));
            }
            (false, None) => out.append_value(numbers.value(row).to_string()),
        }
    }
    Ok(Arc::new(out.finish()))
}

fn unmade(error: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, "the days can't be shown as times").caused_by(error)
}

#[cfg(test)]
mod tests {
    use arrow_array::{Date32Array, TimestampMicrosecondArray, TimestampSecondArray};

    use super::*;

    #[test]
    fn times_are_read_in_the_forms_that_clients_write_and_in_no_others() {
        let second = 1_704_103_200;
        for text in [
            "2024-01-01T10:00:00Z",
            "2024-01-01t10:00:00z",
            "2024-01-01T12:00:00+02:00",
            "2024-01-01 10:00:00",
            "2024-01-01T10:00:00",
            "1704103200",
            "1704103200000",
        ] {
            assert_eq!(instant(text).unwrap().seconds, second, "{text}");
        }
        assert_eq!(instant("2024-01-01 10:00:00.123").unwrap().nanoseconds, 123_000_000);
        assert_eq!(instant("2024-01-01").unwrap().seconds, 1_704_067_200);
        for text in [
            "2024/01/01",
            "2024-01-01 10:00",
            "2024-01-01 10:00:00 UTC",
            "2024-01-01T10:00:00+02",
            "01.02.2024",
            "5",
            "1704103200000000",
            "",
        ] {
            assert!(instant(text).is_none(), "{text}");
        }
    }

    #[test]
    fn ends_of_ranges_are_milliseconds() {
        assert_eq!(asked_ms("1704103200").unwrap(), 1_704_103_200_000);
        assert_eq!(asked_ms("1704103200001").unwrap(), 1_704_103_200_001);
        assert_eq!(asked_ms("2024-01-01T10:00:00.0019Z").unwrap(), 1_704_103_200_001);
        assert_eq!(asked_ms("1969-12-31T23:59:59.5Z").unwrap(), -500);
        for text in ["5", "-1704103200000", "yesterday", ""] {
            assert!(asked_ms(text).unwrap_err().to_string().contains("Invalid timestamp format"));
        }
        assert_eq!(from_ms(1_500, TimeUnit::Second), 2);
        assert_eq!(from_ms(-1_500, TimeUnit::Second), -1);
        assert_eq!(from_ms(1_500, TimeUnit::Microsecond), 1_500_000);
        assert_eq!(from_ms(i64::MAX, TimeUnit::Nanosecond), i64::MAX);
    }

    #[test]
    fn times_are_shown_as_text_or_milliseconds_whatever_their_column_is() {
        let micros: ArrayRef =
            Arc::new(TimestampMicrosecondArray::from(vec![Some(1_704_103_200_250_000), None]));
        let seconds: ArrayRef = Arc::new(
            TimestampSecondArray::from(vec![1_704_103_200]).with_timezone("Europe/Berlin"),
        );
        let days: ArrayRef = Arc::new(Date32Array::from(vec![19_723]));
        let far: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MAX]));
        let text = |column| texts(column).unwrap().as_string::<i32>().value(0).to_owned();
        assert_eq!(text(&micros), "2024-01-01T10:00:00.250+00:00");
        assert!(texts(&micros).unwrap().is_null(1));
        assert_eq!(text(&seconds), "2024-01-01T10:00:00+00:00");
        assert_eq!(text(&days), "2024-01-01T00:00:00+00:00");
        assert_eq!(text(&far), i64::MAX.to_string());
        let ms = |column| milliseconds(column).unwrap().as_primitive::<Int64Type>().value(0);
        assert_eq!(ms(&micros), 1_704_103_200_250);
        assert_eq!(ms(&seconds), 1_704_103_200_000);
        assert_eq!(ms(&days), 1_704_067_200_000);
    }
}
