//! One file a verb: its arguments, and what it does.

pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod completions;
pub(crate) mod delete;
pub(crate) mod info;
pub(crate) mod ingest;
pub(crate) mod query;
pub(crate) mod version;

use std::path::Path;

use timestrata::timelog::Unit;
use timestrata::{Access, Io, Settings, Store};

use crate::failure::{Failure, Result};
use crate::times::{self, Integers};

/// Opens a store, for reading or for writing.
fn open(dir: &Path, access: Access) -> Result<Store> {
    Ok(Store::open_with(Io::os(), dir, access, Settings::default())?)
}

/// The half-open range of `--from` and `--to`, in a log's unit.
fn range(from: Option<&str>, to: Option<&str>, unit: Unit) -> Result<TimeRange> {
    let bound = |option: &str, text: Option<&str>| {
        text.map(|text| {
            times::parse(text, Integers::Of(unit), unit).map_err(|problem| {
                Failure::usage(
                    format!("{option}: {problem}"),
                    format!("integers are in the log's unit, '{unit}'"),
                )
            })
        })
        .transpose()
    };
    let (from, to) = (bound("--from", from)?, bound("--to", to)?);
    if let (Some(from), Some(to)) = (from, to)
        && from > to
    {
        return Err(Failure::usage(
            format!(
                "--from {} is later than --to {}",
                times::format(from, unit),
                times::format(to, unit)
            ),
            "give the earlier time to --from",
        ));
    }
    Ok(TimeRange { from, to })
}

/// A half-open range of times.
#[derive(Debug, Clone, Copy)]
struct TimeRange {
    from: Option<i64>,
    to: Option<i64>,
}

impl TimeRange {
    /// As Rust's own ranges.
    fn bounds(self) -> (std::ops::Bound<i64>, std::ops::Bound<i64>) {
        use std::ops::Bound;
        (
            self.from.map_or(Bound::Unbounded, Bound::Included),
            self.to.map_or(Bound::Unbounded, Bound::Excluded),
        )
    }
}

/// A number with its thousands set apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes as people read them.
fn bytes_shown(bytes: u64) -> String {
    indicatif::BinaryBytes(bytes).to_string()
}

/// `1 row`, `2 rows`.
fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (336_776, "336,776")];
        for (number, shown) in cases {
            assert_eq!(grouped(number), shown);
        }
        assert_eq!(counted(1, "row"), "1 row");
        assert_eq!(counted(2000, "row"), "2,000 rows");
    }
}
