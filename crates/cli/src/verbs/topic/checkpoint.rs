//! `timestrata checkpoint`.

use std::path::PathBuf;

use clap::Args;
use timestrata::Access;

use super::super::counted;
use super::TopicOfStore;
use crate::failure::Result;
use crate::message::tell;
use crate::output::print;

/// Sign what partitions of a topic are now, and print the checkpoints.
#[derive(Debug, Args)]
#[command(after_help = "\
A checkpoint is a signed note of the log NAME/TOPIC/PARTITION, NAME being the key's ('timestrata vkey' prints the key of \
that name). It is kept in the store and beside the key; the next one is signed only if the partition still begins with \
it. --all signs those partitions that have records since their last one, and prints the last of each, with a blank line \
between.

Examples:
  timestrata checkpoint ./store payments --key ./signing.key
  timestrata checkpoint ./store payments --key ./signing.key --all")]
pub(crate) struct CheckpointArgs {
    #[command(flatten)]
    of: TopicOfStore,
    /// The file with the private key. A server signs by its own.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The partition.
    #[arg(long, default_value_t = 0)]
    partition: u32,
    /// All partitions.
    #[arg(long, conflicts_with = "partition")]
    all: bool,
}

pub(crate) fn run(arguments: &CheckpointArgs) -> Result<()> {
    let (store, topic) = arguments.of.open(Access::WriteExisting)?;
    if !arguments.all {
        let note = topic.checkpoint(arguments.partition, arguments.key.as_deref())?;
        store.close()?;
        return print(note);
    }
    let all = topic.checkpoint_all(arguments.key.as_deref())?;
    store.close()?;
    let signed = all.iter().filter(|each| each.is_new).count() as u64;
    let notes: Vec<&str> = all.iter().map(|each| each.note.as_str()).collect();
    print(notes.join("\n"))?;
    tell(format_args!("signed {} of {}", counted(signed, "partition"), notes.len()));
    Ok(())
}
