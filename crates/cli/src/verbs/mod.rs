//! One file a verb: its arguments, and what it does.

mod at;
pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod completions;
#[cfg(feature = "sql")]
pub(crate) mod config;
pub(crate) mod delete;
pub(crate) mod export;
pub(crate) mod graph;
pub(crate) mod info;
pub(crate) mod ingest;
pub(crate) mod logs;
#[cfg(feature = "sql")]
pub(crate) mod mcp;
pub(crate) mod query;
pub(crate) mod repair;
#[cfg(feature = "sql")]
pub(crate) mod serve;
#[cfg(feature = "sql")]
pub(crate) mod sql;
#[cfg(feature = "sql")]
pub(crate) mod token;
pub(crate) mod topic;
pub(crate) mod version;

/// The verbs of a command: of each, what clap calls it, its arguments, and what runs it.
macro_rules! verbs {
    ($($(#[$attribute:meta])* $name:ident: $arguments:ty => $run:expr,)*) => {
        #[derive(Debug, clap::Subcommand)]
        enum Verb {
            $($(#[$attribute])* $name($arguments),)*
        }

        impl Verb {
            fn run(&self) -> crate::failure::Result<()> {
                match self {
                    $($(#[$attribute])* Self::$name(arguments) => $run(arguments),)*
                }
            }
        }
    };
}
pub(crate) use verbs;

use std::path::Path;

use timestrata::logs::Query;
use timestrata::table::{Table, TableScan, parse_time};
use timestrata::timelog::Unit;
use timestrata::{Access, Io, KeyRange, LeadKey, Scan, Settings, Store};

use crate::failure::{Failure, Result};
use crate::times::{self, Integers};

/// Opens a store, for reading or for writing.
fn open(dir: &Path, access: Access) -> Result<Store> {
    Ok(Store::open_with(Io::os(), dir, access, Settings::default())?)
}

/// The half-open range of `--from` and `--to`, in a log's unit.
fn range(from: Option<&str>, to: Option<&str>, unit: Unit) -> Result<TimeRange> {
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
fn arrivals(from: Option<&str>, to: Option<&str>) -> Result<Query> {
    let TimeRange { from, to } = range(from, to, Unit::Nano)?;
    Ok(Query { from, to, ..Query::default() })
}

/// The rows of a table, from one time to before another.
fn table_rows(
    store: &Store,
    name: &str,
    times: (Option<&str>, Option<&str>),
    columns: Option<Vec<String>>,
) -> Result<Scan> {
    let view = Table::open(store, name)?.view()?;
    let range = table_range(&view, times)?;
    Ok(view.scan(&TableScan { range, columns, ahead: true, ..TableScan::default() })?)
}

/// The half-open range of `--from` and `--to`, in the unit of a table's time.
fn table_range(
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
struct TimeRange {
    from: Option<i64>,
    to: Option<i64>,
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
    indicatif::HumanCount(number).to_string()
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

/// `1 entry`, `2 entries`.
fn counted_entries(number: u64) -> String {
    match number {
        1 => "1 entry".to_owned(),
        _ => format!("{} entries", grouped(number)),
    }
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
