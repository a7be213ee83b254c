//! `timestrata groups`.

use std::io;

use clap::Args;
use serde_json::json;
use timestrata::Access;
use timestrata::topic::GroupStart;

use super::super::{counted, grouped};
use super::place::place;
use crate::faces::{GroupPlace, Kind, StartPlace, StoreArg, StoreFace, TopicFace};
use crate::failure::{Failure, Result};
use crate::message::tell;
use crate::output::table::Table;
use crate::output::{FormArg, ReportFormat, print};

/// Print where the groups of a topic, or of a store, are; put one elsewhere, or delete it.
#[derive(Debug, Args)]
#[command(after_help = "\
Members are told of a server: those of a store that no server has open are in the program that has.

Examples:
  timestrata groups ./store
  timestrata groups ./store payments
  timestrata groups ./store payments --reset ledger --to 0
  timestrata groups ./store payments --reset ledger --to 2026-01-01T00:00:00Z
  timestrata groups ./store payments --delete ledger")]
pub(crate) struct GroupsArgs {
    #[command(flatten)]
    store: StoreArg,
    /// The topic; default: all of the store.
    topic: Option<String>,
    /// The group that is to be put elsewhere, back too.
    #[arg(long, value_name = "GROUP", requires_all = ["to", "topic"])]
    reset: Option<String>,
    /// Where it goes on: an offset, the last so many ('-5'), a time, 'earliest' or 'latest'.
    #[arg(long, value_name = "PLACE", requires = "reset", allow_hyphen_values = true)]
    to: Option<String>,
    /// The group whose offsets are to be forgotten. It must have no members.
    #[arg(long, value_name = "GROUP", requires = "topic", conflicts_with_all = ["reset", "partition"])]
    delete: Option<String>,
    /// The partition; default all.
    #[arg(long, short)]
    partition: Option<u32>,
    #[command(flatten)]
    form: FormArg<ReportFormat>,
}

impl GroupsArgs {
    fn is_wanted(&self, partition: u32) -> bool {
        self.partition.is_none_or(|only| only == partition)
    }
}

pub(crate) fn run(arguments: &GroupsArgs) -> Result<()> {
    let access = match (&arguments.reset, &arguments.delete) {
        (None, None) => Access::Read,
        _ => Access::WriteExisting,
    };
    let to = arguments.to.as_deref().map(|to| place("--to", to)).transpose()?;
    let store = arguments.store.open(access, None)?;
    if let Some(name) = &arguments.topic {
        let topic = store.topic(name)?;
        if let (Some(group), Some(to)) = (&arguments.reset, to) {
            reset(arguments, topic.as_ref(), group, to)?;
            return store.close();
        }
        if let Some(group) = &arguments.delete {
            let partitions = topic.delete_group(group)?;
            store.close()?;
            tell(format_args!(
                "group '{group}' is gone: {} of topic '{name}'",
                counted(partitions, "offset")
            ));
            return Ok(());
        }
        return list(arguments, store.as_ref(), std::slice::from_ref(name));
    }
    list(arguments, store.as_ref(), &store.names(Kind::Topic)?)
}

fn reset(arguments: &GroupsArgs, topic: &dyn TopicFace, group: &str, to: StartPlace) -> Result<()> {
    let wanted = (0..topic.partitions()?).filter(|partition| arguments.is_wanted(*partition));
    let last = match to {
        StartPlace::Last(_) => Some(topic.offsets_at(to)?),
        _ => None,
    };
    for partition in wanted {
        let start = match (to, &last) {
            (StartPlace::Earliest, _) => GroupStart::Earliest,
            (StartPlace::Latest, _) => GroupStart::Latest,
            (StartPlace::Offset(offset), _) => GroupStart::Offset(offset),
            (StartPlace::Time(time), _) => GroupStart::Time(time),
            (StartPlace::Last(_), last) => {
                let of_partition = last.as_ref().and_then(|last| last.get(&partition));
                of_partition.map_or(GroupStart::Latest, |offset| GroupStart::Offset(*offset))
            }
        };
        let offset = topic.reset_group(group, partition, start)?;
        tell(format_args!("group '{group}' goes on in partition {partition} at {offset}"));
    }
    Ok(())
}

fn list(arguments: &GroupsArgs, store: &dyn StoreFace, topics: &[String]) -> Result<()> {
    let mut out = io::stdout().lock();
    let columns = ["group", "topic", "partition", "committed", "end", "lag", "member"];
    let mut table = Table::new(columns.into_iter());
    for topic in topics {
        for place in store.topic(topic)?.groups()? {
            if place.partition.is_some_and(|partition| !arguments.is_wanted(partition)) {
                continue;
            }
            let GroupPlace { group, partition, committed, end, member } = place;
            let lag = end.zip(committed).map(|(end, committed)| end.saturating_sub(committed));
            if arguments.form.is_json() {
                let line = json!({
                    "group": group,
                    "topic": topic,
                    "partition": partition,
                    "committed": committed,
                    "end": end,
                    "lag": lag,
                    "member": member,
                });
                print(format_args!("{line}\n"))?;
                continue;
            }
            let number = |number: Option<u64>| number.map(grouped).unwrap_or_default();
            let cells = vec![
                group,
                topic.clone(),
                number(partition.map(u64::from)),
                number(committed),
                number(end),
                number(lag),
                member.unwrap_or_default(),
            ];
            table.push(cells, &mut out).map_err(Failure::output)?;
        }
    }
    match arguments.form.is_json() {
        true => Ok(()),
        false => table.finish(&mut out).map(|_| ()).map_err(Failure::output),
    }
}
