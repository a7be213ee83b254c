//! `timestrata logs stats`, and `search` where a filter has stages behind it.

use clap::Args;
use timestrata::logs::filter::Question;
use timestrata::logs::{AskedLog, Clock};

use super::{Range, refused};
use crate::at::At;
use crate::faces::StoreArg;
use crate::failure::{Failure, Result};
use crate::output::{FormArg, Format};
use crate::verbs::sql;

/// Print figures of the entries that a filter lets through: how many, sums, percentiles, group by group.
#[derive(Debug, Args)]
#[command(after_help = "\
Behind the filter stand a bar and one of
  stats count, p95(took) as slow by host, time(5m)
                       figures, group by group: count, count(F), distinct(F), sum(F), avg(F), min(F),
                       max(F), median(F), p95(F); groups are fields, labels, 'level', 'log', time(SPAN)
  top 10 path          the most frequent values of a field or of several
  rate 1m by level     how many in each stretch of time, and how many a second
then, if wished,
  sort -count          what rows are sorted by: '-' or 'desc' has the greatest first
  limit 20             so many rows

Without a filter the question begins with the bar. Several logs are asked at once: 'app,web'. Percentiles \
are approximate. 'timestrata logs search --help' tells what a FILTER is.

Examples:
  timestrata logs stats ./store app 'level>=error | stats count by host' --since 24h
  timestrata logs stats ./store app,web '| rate 1m by log' --since 1h --format csv
  timestrata logs stats ./store web 'status:5* | top 5 path'")]
pub(super) struct StatsArgs {
    #[command(flatten)]
    store: StoreArg,
    /// The log, or several with commas between.
    #[arg(value_name = "NAME", value_delimiter = ',', num_args = 1, required = true)]
    names: Vec<String>,
    /// A filter with what is asked of it; several words are joined by blanks.
    #[arg(value_name = "QUESTION", required = true)]
    question: Vec<String>,
    #[command(flatten)]
    range: Range,
    #[command(flatten)]
    at: At,
    #[command(flatten)]
    form: FormArg<Format>,
}

pub(super) fn run(arguments: &StatsArgs) -> Result<()> {
    let StatsArgs { store, at, names, range, form, .. } = arguments;
    answer(store, at, names, &arguments.question.join(" "), range, form.get())
}

/// Answers a question of some logs.
pub(super) fn answer(
    store: &StoreArg,
    at: &At,
    names: &[String],
    question: &str,
    range: &Range,
    format: Format,
) -> Result<()> {
    let question: Question = question.parse().map_err(|error| refused(&error))?;
    let query = range.query(question.filter().clone())?;
    let opened = store.read(at)?;
    let clock = |name: &String| match query.by {
        Some(by) => Ok(by),
        None => opened.logs(name)?.clock(),
    };
    let clocks = names.iter().map(clock).collect::<Result<Vec<Clock>>>()?;
    opened.close()?;
    let logs: Vec<AskedLog<'_>> =
        names.iter().zip(clocks).map(|(name, clock)| AskedLog { name, clock }).collect();
    let asked = question.statement(&logs, &query);
    sql::answer(store, at, &asked, format)
}

/// Says that what a search takes says nothing of figures.
pub(super) fn not_with_figures(option: &str) -> Failure {
    let hint = "leave it out; '| sort' and '| limit' say which rows, and --format text or json how they look";
    Failure::usage(format!("{option} is for entries, and the filter asks for figures"), hint)
}
