//! Times as people and files write them, and as a log keeps them.

use std::time::Duration;

use timestrata::duration_of_text;
use timestrata::timelog::Unit;
use timestrata::values::instant::Unfit;
use timestrata::values::time::{self, in_unit};

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
    let from = match integers {
        Integers::Of(unit) => Some(unit.to_arrow()),
        Integers::ByMagnitude => None,
    };
    let shown = shorten(text);
    match in_unit(text, from, unit.to_arrow()) {
        None => Err(format!("'{shown}' is not a time: it may be {SHAPES}")),
        Some(Err(Unfit::TooFine)) => Err(format!(
            "'{shown}' is finer than the log's unit '{unit}' can keep; a log made with a finer \
             --log-unit can"
        )),
        Some(Err(Unfit::OutOfRange)) => {
            Err(format!("'{shown}' is outside what a log in '{unit}' can keep"))
        }
        Some(Ok(time)) => Ok(time),
    }
}

/// A time of a log as RFC 3339 in UTC, with the digits of its unit; as the bare integer beyond the year
/// 9999.
pub(crate) fn format(time: i64, unit: Unit) -> String {
    time::format(time, unit.to_arrow()).unwrap_or_else(|| time.to_string())
}

/// A span of time: a number and its unit.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    duration_of_text(text).ok_or_else(|| {
        format!("'{}' is no span of time: write 100ms, 90s, 15m, 12h or 30d", shorten(text))
    })
}

/// A span in nanoseconds, as long as they can tell.
pub(crate) fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
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
        assert_eq!(span("1.5h"), Ok(Duration::from_secs(5_400)));
        for text in ["", "5", "m", "-1m", "1y", "99999999999d", "1ä"] {
            assert!(span(text).is_err_and(|error| error.contains("no span of time")), "{text}");
        }
    }
}
