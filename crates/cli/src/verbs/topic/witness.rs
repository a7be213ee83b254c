//! `timestrata witness`.

use std::path::PathBuf;

use clap::Args;
use timestrata::Access;
use timestrata::merkle::Witness;
use timestrata_client::{Server, ServerOptions};

use super::TopicOfStore;
use crate::faces::TopicFace;
use crate::failure::{Failure, Result};
use crate::message::tell;

/// Have a witness cosign the last checkpoints of a topic.
#[derive(Debug, Args)]
#[command(after_help = "\
A witness (C2SP tlog-witness) holds each checkpoint against the one that it saw before, and signs that the log was only \
appended to. Its operator has to know the log: its origin and its key, as 'timestrata vkey' prints it. The cosignatures are \
kept with the checkpoint, and are in proofs that are made from then on. With --key, partitions that have records since \
their last checkpoint are signed first.

Example:
  timestrata witness ./store payments --url https://witness.example --vkey 'witness.example+1a2b3c4d+...' --key ./signing.key")]
pub(crate) struct WitnessArgs {
    #[command(flatten)]
    of: TopicOfStore,
    /// Where the witness takes checkpoints: what stands before /add-checkpoint.
    #[arg(long, value_name = "URL")]
    url: String,
    /// The witness's public key; may be given several times.
    #[arg(long, value_name = "KEY", required = true)]
    vkey: Vec<String>,
    /// The file with the private key, to sign what is new, and to keep the cosignatures beside it.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The partition; default all.
    #[arg(long, short)]
    partition: Option<u32>,
}

pub(crate) fn run(arguments: &WitnessArgs) -> Result<()> {
    let keys = arguments.vkey.iter().map(|text| text.trim().parse::<Witness>());
    let witnesses = keys.collect::<std::result::Result<Vec<_>, _>>().map_err(|error| {
        Failure::usage(format!("--vkey: {error}"), "give it as the witness's operator does")
    })?;
    let server = Server::new(&arguments.url, &ServerOptions::default())?;
    let (store, topic) = arguments.of.open(Access::WriteExisting)?;
    if arguments.key.is_some() {
        topic.checkpoint_all(arguments.key.as_deref())?;
    }
    let partitions = match arguments.partition {
        Some(partition) => partition..partition.saturating_add(1),
        None => 0..topic.partitions()?,
    };
    let mut failed = None;
    for partition in partitions {
        // One that isn't cosigned holds up no other.
        match cosigned(arguments, topic.as_ref(), &server, partition, &witnesses) {
            Ok(names) => tell(format_args!("partition {partition}: cosigned by {names}")),
            Err(failure) => drop(failed.get_or_insert(failure)),
        }
    }
    store.close()?;
    failed.map_or(Ok(()), Err)
}

/// Has one partition cosigned, and says by whom.
fn cosigned(
    arguments: &WitnessArgs,
    topic: &dyn TopicFace,
    server: &Server,
    partition: u32,
    witnesses: &[Witness],
) -> Result<String> {
    let log = format!("partition {partition}");
    let (asked, answer) = server.cosign(&log, |old| topic.cosignature_request(partition, old))?;
    let names =
        topic.add_cosignatures(partition, &asked, &answer, witnesses, arguments.key.as_deref())?;
    match names.is_empty() {
        false => Ok(names.join(", ")),
        true => Err(Failure::failed(
            format!("{log}: no signature of the answer is by a key that was given"),
            "ask the witness's operator for its key",
        )),
    }
}
