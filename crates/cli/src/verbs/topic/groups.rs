//! `timestrata groups`.

use std::io;

use clap::Args;
use serde_json::json;
use timestrata::Access;

use super::super::grouped;
use super::TopicOfStore;
use crate::faces::GroupPlace;
use crate::failure::{Failure, Result};
use crate::output::table::Table;
use crate::output::{FormArg, ReportFormat, print};

/// Print where the groups of a topic are, or put one elsewhere.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timestrata groups ./store payments
  timestrata groups ./store payments --reset ledger --to 0")]
pub(crate) struct GroupsArgs {
    #[command(flatten)]
    of: TopicOfStore,
    /// The group whose offset is to be set, back too.
    #[arg(long, value_name = "GROUP", requires = "to")]
    reset: Option<String>,
    /// The offset that it goes on with.
    #[arg(long, value_name = "OFFSET", requires = "reset")]
    to: Option<u64>,
    /// The partition; default all.
    #[arg(long)]
    partition: Option<u32>,
    #[command(flatten)]
    form: FormArg<ReportFormat>,
}

pub(crate) fn run(arguments: &GroupsArgs) -> Result<()> {
    let is_wanted = |partition: u32| arguments.partition.is_none_or(|only| only == partition);
    if let (Some(group), Some(offset)) = (&arguments.reset, arguments.to) {
        let (store, topic) = arguments.of.open(Access::WriteExisting)?;
        for partition in (0..topic.partitions()?).filter(|partition| is_wanted(*partition)) {
            topic.reset_group(group, partition, offset)?;
        }
        return store.close();
    }
    let (_store, topic) = arguments.of.open(Access::Read)?;
    let mut out = io::stdout().lock();
    let mut table = Table::new(["group", "partition", "committed", "end", "lag"].into_iter());
    let places = topic.groups()?;
    for GroupPlace { group, partition, committed, end } in places {
        if !is_wanted(partition) {
            continue;
        }
        let lag = end.saturating_sub(committed);
        if arguments.form.is_json() {
            let line = json!({
                "group": group,
                "partition": partition,
                "committed": committed,
                "end": end,
                "lag": lag,
            });
            print(format_args!("{line}\n"))?;
            continue;
        }
        let cells =
            vec![group, partition.to_string(), grouped(committed), grouped(end), grouped(lag)];
        table.push(cells, &mut out).map_err(Failure::output)?;
    }
    match arguments.form.is_json() {
        true => Ok(()),
        false => table.finish(&mut out).map(|_| ()).map_err(Failure::output),
    }
}
