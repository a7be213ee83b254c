//! `timestrata logs`.

mod context;
mod facets;
mod histogram;
mod line;
mod print;
mod search;
mod set;
#[cfg(feature = "sql")]
mod stats;
mod tail;

use std::time::Duration;

use clap::{Args, ValueEnum};
use timestrata::logs::filter::Filter;
use timestrata::logs::{Clock, Query};
use timestrata::{Access, Io};

use super::verbs;
use crate::at::At;
use crate::faces::{LogsFace, StoreArg};
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::ranges::arrivals;
use crate::times;

pub(crate) use print::EntryFormat;
pub(crate) use tail::{TailStart, follow};

/// Search, count and follow the entries of a log.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timestrata logs search ./store app 'level>=warn disk' --since 2h
  timestrata logs count ./store app 'status:5*'
  timestrata logs tail ./store app 'level>=error'
  timestrata logs stats ./store app 'error | stats count by host'
  timestrata logs histogram ./store app error --from 2026-05-01 --step 1h
  timestrata logs facets ./store app --field status,service
  timestrata logs context ./store app 2026-05-01T10:00:00.123456789Z --before 20

'timestrata logs search --help' tells what a FILTER is. Entries come in by \
'timestrata ingest DIR NAME FILE... --as logs'. A store that is being written may be read.")]
pub(crate) struct LogsCommand {
    #[command(subcommand)]
    verb: Verb,
}

verbs! {
    Search: search::SearchArgs => search::run,
    Count: search::CountArgs => search::count,
    Tail: tail::TailArgs => tail::run,
    #[cfg(feature = "sql")]
    Stats: stats::StatsArgs => stats::run,
    Histogram: histogram::HistogramArgs => histogram::run,
    Facets: facets::FacetsArgs => facets::run,
    Context: context::ContextArgs => context::run,
    Set: set::SetArgs => set::run,
}

pub(crate) fn run(arguments: &LogsCommand) -> Result<()> {
    arguments.verb.run()
}

/// A log of a store.
#[derive(Debug, Args)]
struct LogOfStore {
    #[command(flatten)]
    store: StoreArg,
    /// The log.
    name: String,
    #[command(flatten)]
    at: At,
}

impl LogOfStore {
    fn view(&self) -> Result<Box<dyn LogsFace>> {
        self.store.read(&self.at)?.logs(&self.name)
    }
}

/// A log of a store, as it is from now on.
#[derive(Debug, Args)]
struct LogToFollow {
    #[command(flatten)]
    store: StoreArg,
    /// The log.
    name: String,
}

impl LogToFollow {
    fn logs(&self, interrupt: &Interrupt) -> Result<Box<dyn LogsFace>> {
        self.store.open(Access::Read, Some(interrupt))?.logs(&self.name)
    }
}

/// What entries must have.
#[derive(Debug, Args)]
struct Filtered {
    /// What entries must have; several words are joined by blanks. Default: all entries.
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
}

impl Filtered {
    fn filter(&self) -> Result<Filter> {
        self.text().parse().map_err(|error| refused(&error))
    }

    fn text(&self) -> String {
        self.filter.join(" ")
    }
}

fn refused(error: &timestrata::Error) -> Failure {
    let hint = "'timestrata logs search --help' tells what a filter is";
    Failure::usage(error.message().to_owned(), hint)
}

/// Which entries are wanted.
#[derive(Debug, Args)]
struct Wanted {
    #[command(flatten)]
    filtered: Filtered,
    #[command(flatten)]
    range: Range,
}

impl Wanted {
    fn query(&self) -> Result<Query> {
        self.range.query(self.filtered.filter()?)
    }
}

/// Of which times.
#[derive(Debug, Args)]
struct Range {
    /// First time wanted; default: from the oldest entry.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<String>,
    /// First time not wanted any more; default: to the newest entry, inclusive.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    to: Option<String>,
    /// Only what is not older than this: 90s, 15m, 12h, 30d.
    #[arg(long, value_name = "SPAN", conflicts_with = "from", value_parser = times::span)]
    since: Option<Duration>,
    /// The clock that times and the order go by. Default: the log's own, which 'timestrata logs set' sets.
    #[arg(long, value_enum)]
    by: Option<By>,
}

/// The two times of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// When it arrived in the store.
    Timestamp,
    /// When it happened, as its sender says; when it arrived where its sender doesn't say.
    #[value(name = "source_time", alias = "source-time")]
    SourceTime,
}

impl From<By> for Clock {
    fn from(by: By) -> Self {
        match by {
            By::Timestamp => Self::Timestamp,
            By::SourceTime => Self::SourceTime,
        }
    }
}

impl Range {
    fn query(&self, filter: Filter) -> Result<Query> {
        let times = arrivals(self.from.as_deref(), self.to.as_deref())?;
        let since = self.since.map(|since| {
            let since = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
            Io::os().clock.wall_ns().saturating_sub(since)
        });
        Ok(Query { by: self.by.map(Clock::from), from: times.from.or(since), filter, ..times })
    }
}
