//! Times as people and files write them, and as a log keeps them.

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use timestrata::timelog::Unit;

const NS_PER_SECOND: i128 = 1_000_000_000;
const SHAPES: &str = "RFC 3339 with a zone ('2013-01-01T06:00:00Z'), a date with or without a \
                      time of day ('2013-01-01 06:00:00.5': UTC), or a number";

/// How an integer is read as a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Integers {
    /// In this unit since 1970-01-01 UTC.
    Of(Unit),
    /// In the unit that its magnitude suggests: below 10^11 seconds (the year 5138), below
    /// 10^14 milliseconds, below 10^17 microseconds, else nanoseconds.
    ByMagnitude,
}

/// Reads a time, in `unit` since 1970-01-01 UTC. Errors say what is wrong with `text`.
pub(crate) fn parse(text: &str, integers: Integers, unit: Unit) -> Result<i64, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("no time".to_owned());
    }
    if let Some((whole, fraction)) = split_number(text) {
        return parse_number(text, whole, fraction, integers, unit);
    }
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return to_unit(text, timestamp.as_nanosecond(), unit);
    }
    // A zone that can't be read must not be taken for UTC.
    let civil = if text.contains('[') { None } else { text.parse::<DateTime>().ok() };
    let timestamp = civil.and_then(|civil| TimeZone::UTC.to_timestamp(civil).ok());
    match timestamp {
        Some(timestamp) => to_unit(text, timestamp.as_nanosecond(), unit),
        None => Err(format!("'{}' is not a time: it may be {SHAPES}", shorten(text))),
    }
}

/// The two parts of a plain decimal number, sign with the first.
fn split_number(text: &str) -> Option<(&str, &str)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let plain = !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && fraction.bytes().all(|byte| byte.is_ascii_digit());
    plain.then_some((whole, fraction))
}

fn parse_number(
    text: &str,
    whole: &str,
    fraction: &str,
    integers: Integers,
    unit: Unit,
) -> Result<i64, String> {
    let number: i64 =
        whole.parse().map_err(|_| format!("'{}' is too large for a time", shorten(text)))?;
    let from = match integers {
        Integers::Of(unit) => unit,
        Integers::ByMagnitude => match number.unsigned_abs() {
            0..100_000_000_000 => Unit::Second,
            100_000_000_000..100_000_000_000_000 => Unit::Milli,
            100_000_000_000_000..100_000_000_000_000_000 => Unit::Micro,
            _ => Unit::Nano,
        },
    };
    let step = NS_PER_SECOND / i128::from(from.per_second());
    let fraction = fraction.trim_end_matches('0');
    // 10^9 steps of a fraction reach a nanosecond from every unit.
    let scaled = match fraction.len() {
        0 => Some(0),
        digits @ 1..=9 => {
            let parts = step * i128::from(fraction.parse::<u32>().unwrap_or(0));
            let divisor = 10i128.pow(u32::try_from(digits).unwrap_or(9));
            (parts % divisor == 0).then_some(parts / divisor)
        }
        _ => None,
    };
    let Some(scaled) = scaled else {
        return Err(format!("'{}' is finer than a nanosecond", shorten(text)));
    };
    let signed = if whole.starts_with('-') { -scaled } else { scaled };
    to_unit(text, i128::from(number) * step + signed, unit)
}

/// Nanoseconds as `unit`; only where that is exact.
fn to_unit(text: &str, nanoseconds: i128, unit: Unit) -> Result<i64, String> {
    let step = NS_PER_SECOND / i128::from(unit.per_second());
    if nanoseconds % step != 0 {
        return Err(format!(
            "'{}' is finer than the log's unit '{unit}' can keep; a log made with a finer \
             --log-unit can",
            shorten(text)
        ));
    }
    i64::try_from(nanoseconds / step)
        .map_err(|_| format!("'{}' is outside what a log in '{unit}' can keep", shorten(text)))
}

/// A time of a log as RFC 3339 in UTC, with the digits of its unit; as the bare integer where
/// the calendar doesn't reach (beyond the year 9999).
pub(crate) fn format(time: i64, unit: Unit) -> String {
    let nanoseconds = i128::from(time) * (NS_PER_SECOND / i128::from(unit.per_second()));
    let digits = match unit {
        Unit::Second => 0,
        Unit::Milli => 3,
        Unit::Micro => 6,
        Unit::Nano => 9,
    };
    match Timestamp::from_nanosecond(nanoseconds) {
        Ok(timestamp) => format!("{timestamp:.digits$}"),
        Err(_) => time.to_string(),
    }
}

/// A span of time: a whole number and its unit.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let wrong =
        || format!("'{}' is no span of time: write 100ms, 90s, 15m, 12h or 30d", shorten(text));
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits).ok_or_else(wrong)?;
    let unit_ns = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60 * 1_000_000_000,
        "h" => 3_600 * 1_000_000_000,
        "d" => 86_400 * 1_000_000_000,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(unit_ns).map(Duration::from_nanos).ok_or_else(wrong)
}

/// The beginning of a text, short enough for a message.
pub(crate) fn shorten(text: &str) -> String {
    const CHARACTERS_MAX: usize = 60;
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIX: i64 = 1_357_020_000;

    fn guess(text: &str, unit: Unit) -> Result<i64, String> {
        parse(text, Integers::ByMagnitude, unit)
    }

    #[test]
    fn the_same_instant_reads_the_same_however_it_is_written() {
        for text in [
            "2013-01-01T06:00:00Z",
            "2013-01-01T06:00:00.000Z",
            "2013-01-01T07:00:00+01:00",
            "2013-01-01 06:00:00",
            " 2013-01-01T06:00 ",
            "1357020000",
            "1357020000.0",
            "1357020000000",
            "1357020000000000",
            "1357020000000000000",
        ] {
            assert_eq!(guess(text, Unit::Second), Ok(SIX), "{text}");
            assert_eq!(guess(text, Unit::Nano), Ok(SIX * 1_000_000_000), "{text}");
        }
        assert_eq!(guess("2013-01-01", Unit::Second), Ok(SIX - 6 * 3600));
    }

    #[test]
    fn a_unit_that_is_given_is_heeded() {
        assert_eq!(parse("1357020000", Integers::Of(Unit::Milli), Unit::Milli), Ok(1_357_020_000));
        assert_eq!(parse("-1", Integers::Of(Unit::Second), Unit::Milli), Ok(-1000));
        assert_eq!(parse("-1.5", Integers::Of(Unit::Second), Unit::Milli), Ok(-1500));
        let least = i64::MIN.to_string();
        assert_eq!(parse(&least, Integers::Of(Unit::Nano), Unit::Nano), Ok(i64::MIN));
    }

    #[test]
    fn no_digit_is_dropped_in_silence() {
        let error = guess("2013-01-01T06:00:00.1234Z", Unit::Milli).unwrap_err();
        assert!(error.contains("finer than the log's unit 'ms'"), "{error}");
        assert_eq!(guess("1357020000.1234", Unit::Micro), Ok(SIX * 1_000_000 + 123_400));
        assert!(guess("1357020000.12345678901", Unit::Nano).is_err());
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "  ",
            "NA",
            "06:00",
            "2013-13-01",
            "2013-02-30 00:00:00",
            "2013-01-01T06:00:00[Europe/Berlin]",
            "99999999999999999999",
            "1e9",
            "+5",
            "-",
            ".",
        ] {
            assert!(guess(text, Unit::Milli).is_err(), "{text}");
        }
        let error = guess("2500-01-01", Unit::Nano).unwrap_err();
        assert!(error.contains("outside"), "{error}");
    }

    #[test]
    fn times_are_shown_with_the_digits_of_their_unit() {
        assert_eq!(format(SIX, Unit::Second), "2013-01-01T06:00:00Z");
        assert_eq!(format(SIX * 1000 + 5, Unit::Milli), "2013-01-01T06:00:00.005Z");
        assert_eq!(format(i64::MAX, Unit::Second), i64::MAX.to_string());
    }

    #[test]
    fn spans_have_a_unit() {
        assert_eq!(span("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(span("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(span("30d"), Ok(Duration::from_secs(30 * 86_400)));
        for text in ["", "5", "m", "-1m", "1.5h", "1 h", "1y", "99999999999d", "1ä"] {
            assert!(span(text).is_err_and(|error| error.contains("no span of time")), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(time in -62_135_596_800_000i64..253_370_764_800_000) {
            prop_assert_eq!(guess(&format(time, Unit::Milli), Unit::Milli), Ok(time));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}", number in "-?[0-9]{0,25}(\\.[0-9]{0,25})?") {
            let _ = guess(&text, Unit::Nano);
            let _ = guess(&number, Unit::Nano);
        }
    }
}
