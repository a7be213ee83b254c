//! Where reading a topic begins and ends, as people write it, those who know kcat among them.

use timestrata::timelog::Unit;

use crate::faces::StartPlace;
use crate::failure::{Failure, Result};
use crate::times::{self, Integers};

/// What may stand there.
const HINT: &str = "give an offset (17), the last so many (-5), a time ('2026-01-01T00:00:00Z', or s@ and milliseconds), \
                    'earliest' or 'latest'";

/// Reads a place; `option` is what it was given for.
pub(super) fn place(option: &str, text: &str) -> Result<StartPlace> {
    match text {
        "earliest" | "beginning" => return Ok(StartPlace::Earliest),
        "latest" | "end" => return Ok(StartPlace::Latest),
        _ => {}
    }
    let wrong = |what: String| Failure::usage(format!("{option}: {what}"), HINT);
    if let Some(time) = text.strip_prefix("s@") {
        // A number is in milliseconds there, and no offset.
        return times::parse(time, Integers::Of(Unit::Milli), Unit::Nano)
            .map(StartPlace::Time)
            .map_err(wrong);
    }
    if let Ok(offset) = text.parse() {
        return Ok(StartPlace::Offset(offset));
    }
    if let Some(last) = text.strip_prefix('-') {
        // Never a time before 1970.
        let last = last.parse().map_err(|_| wrong(format!("'{}'", times::shorten(text))))?;
        return Ok(StartPlace::Last(last));
    }
    times::parse(text, Integers::Of(Unit::Nano), Unit::Nano).map(StartPlace::Time).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_offsets_ends_and_times_and_never_a_time_by_mistake() {
        let is = |text: &str| format!("{:?}", place("--from", text).unwrap());
        for (text, found) in [
            ("beginning", "Earliest"),
            ("end", "Latest"),
            ("17", "Offset(17)"),
            ("-2", "Last(2)"),
            ("s@1500", "Time(1500000000)"),
            ("s@1970-01-01T00:00:02Z", "Time(2000000000)"),
            ("1970-01-01T00:00:01Z", "Time(1000000000)"),
        ] {
            assert_eq!(is(text), found, "{text}");
        }
        for text in ["", "-", "-1.5", "-2x", "soon", "s@", "s@soon"] {
            assert!(place("--from", text).is_err(), "{text}");
        }
    }
}
