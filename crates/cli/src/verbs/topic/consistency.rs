//! `timestrata consistency`.

use clap::Args;
use timestrata::Access;

use super::TopicOfStore;
use crate::failure::Result;
use crate::output::print;

/// Print the proof that a partition was only appended to since it had a number of records.
#[derive(Debug, Args)]
#[command(after_help = "\
The proof (RFC 6962) is hashes in base64, one a line: none where both numbers are the same. Numbers are those of two \
checkpoints, whose second lines say them; 'verify-consistency' holds the checkpoints against each other by it.

Example:
  timestrata consistency ./store payments --old 1000 --new 2000 > 1000-2000.proof")]
pub(crate) struct ConsistencyArgs {
    #[command(flatten)]
    of: TopicOfStore,
    /// How many records the earlier checkpoint has.
    #[arg(long, value_name = "RECORDS")]
    old: u64,
    /// How many the later one has; default: all of now.
    #[arg(long, value_name = "RECORDS")]
    new: Option<u64>,
    /// The partition.
    #[arg(long, default_value_t = 0)]
    partition: u32,
}

pub(crate) fn run(arguments: &ConsistencyArgs) -> Result<()> {
    let (_store, topic) = arguments.of.open(Access::Read)?;
    print(topic.consistency(arguments.partition, arguments.old, arguments.new)?)
}
