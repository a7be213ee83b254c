//! `timestrata prove`.

use std::path::PathBuf;

use clap::Args;
use timestrata::Access;

use super::TopicOfStore;
use crate::failure::Result;
use crate::output::print;

/// Print the proof that a record is in a topic, which others can verify without the store.
#[derive(Debug, Args)]
#[command(after_help = "\
The proof is a .tlog-proof by the last checkpoint; with --key, a new one is signed if that doesn't have \
the record yet. Give whoever verifies it the record too, with its time, as 'consume --format json' \
prints it.

Examples:
  timestrata prove ./store payments 17 --key ./signing.key > 17.tlog-proof
  timestrata consume ./store payments --from 17 --limit 1 --format json > 17.json
  timestrata verify-proof 17.tlog-proof --record 17.json --vkey 'example.org/events+1a2b3c4d+...'")]
pub(crate) struct ProveArgs {
    #[command(flatten)]
    of: TopicOfStore,
    /// The record's offset.
    offset: u64,
    /// The partition.
    #[arg(long, default_value_t = 0)]
    partition: u32,
    /// The file with the private key, to sign a checkpoint if one is needed.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

pub(crate) fn run(arguments: &ProveArgs) -> Result<()> {
    let access = match arguments.key {
        Some(_) => Access::WriteExisting,
        None => Access::Read,
    };
    let (store, topic) = arguments.of.open(access)?;
    let proof = topic.prove(arguments.partition, arguments.offset, arguments.key.as_deref())?;
    store.close()?;
    print(proof)
}
