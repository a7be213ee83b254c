//! Half-open ranges of times, as `--from` and `--to` have them.

use timestrata::logs::{Clock, Query};
use timestrata::table::parse_time;
use timestrata::timelog::Unit;
use timestrata::{KeyRange, LeadKey};

use crate::failure::{Failure, Result};
use crate::times::{self, Integers};

/// The half-open range of `--from` and `--to`, in a log's unit.
pub(crate) fn range(from: Option<&str>, to: Option<&str>, unit: Unit) -> Result<TimeRange> {
    let hint = format!("integers are in the log's unit, '{unit}'");
    let range =
        TimeRange::parse((from, to), &hint, |text| times::parse(text, Integers::Of(unit), unit))?;
    if let (Some(from), Some(to)) = (range.from, range.to)
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
    Ok(range)
}

/// The entries of a log that arrived in the half-open range of `--from` and `--to`.
pub(crate) fn arrivals(from: Option<&str>, to: Option<&str>) -> Result<Query> {
    let TimeRange { from, to } = range(from, to, Unit::Nano)?;
    Ok(Query { by: Some(Clock::Timestamp), from, to, ..Query::default() })
}

/// The half-open range of `--from` and `--to`, in the unit of a table's time.
pub(crate) fn table_range(
    view: &timestrata::table::TableView,
    times: (Option<&str>, Option<&str>),
) -> Result<KeyRange> {
    let data_type = view.schema().field(view.stream().lead_column()).data_type();
    let hint = "write it as 2013-07-01 or 2013-07-01T12:00:00Z";
    let TimeRange { from, to } = TimeRange::parse(times, hint, |text| {
        parse_time(text, data_type).map_err(|error| error.message().to_owned())
    })?;
    if from.zip(to).is_some_and(|(from, to)| from > to) {
        return Err(Failure::usage("--from is later than --to", "give the earlier time to --from"));
    }
    Ok(KeyRange::new(from.map(LeadKey::Time), to.map(LeadKey::Time)))
}

/// A half-open range of times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeRange {
    pub(crate) from: Option<i64>,
    pub(crate) to: Option<i64>,
}

impl TimeRange {
    /// The times of `--from` and `--to`, as `parse` reads them; else `hint` says how they are written.
    fn parse(
        (from, to): (Option<&str>, Option<&str>),
        hint: &str,
        parse: impl Fn(&str) -> std::result::Result<i64, String>,
    ) -> Result<Self> {
        let bound = |option: &str, text: Option<&str>| {
            let time = text.map(&parse).transpose();
            time.map_err(|problem| Failure::usage(format!("{option}: {problem}"), hint))
        };
        Ok(Self { from: bound("--from", from)?, to: bound("--to", to)? })
    }

    /// As Rust's own ranges.
    pub(crate) fn bounds(self) -> (std::ops::Bound<i64>, std::ops::Bound<i64>) {
        use std::ops::Bound;
        (
            self.from.map_or(Bound::Unbounded, Bound::Included),
            self.to.map_or(Bound::Unbounded, Bound::Excluded),
        )
    }
}
