//! `timestrata checkpoint`.

use std::path::PathBuf;

use clap::Args;
use timestrata::Access;

use super::TopicOfStore;
use crate::failure::Result;
use crate::output::print;

/// Sign what a partition of a topic is now, and print the checkpoint.
#[derive(Debug, Args)]
#[command(after_help = "\
The checkpoint is a signed note of the log NAME/TOPIC/PARTITION, NAME being the key's. It is kept in \
the store and beside the key; the next one is signed only if the partition still begins with it.

Example:
  timestrata checkpoint ./store payments --key ./signing.key")]
pub(crate) struct CheckpointArgs {
    #[command(flatten)]
    of: TopicOfStore,
    /// The file with the private key. A server signs by its own.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The partition.
    #[arg(long, default_value_t = 0)]
    partition: u32,
}

pub(crate) fn run(arguments: &CheckpointArgs) -> Result<()> {
    let (store, topic) = arguments.of.open(Access::WriteExisting)?;
    let note = topic.checkpoint(arguments.partition, arguments.key.as_deref())?;
    store.close()?;
    print(note)
}
