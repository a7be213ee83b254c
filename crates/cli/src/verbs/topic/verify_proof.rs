//! `timestrata verify-proof`.

use std::path::PathBuf;

use clap::Args;
use timestrata::merkle::TlogProof;
use timestrata::topic::{ClaimedPlace, OwnedRecord, verify_record};

use super::vkey;
use crate::failure::{Failure, Result};
use crate::input::read_text;
use crate::message::tell;

/// Verify the proof that a record is in a topic. Needs no store.
#[derive(Debug, Args)]
#[command(after_help = "\
The record is JSON as 'consume --format json' prints it, with its time. Where it says its topic, \
partition or offset, these must be those that are proved. The exit code is 1 if the proof doesn't \
show it.

Example:
  timestrata verify-proof 17.tlog-proof --record 17.json --vkey 'example.org/events+1a2b3c4d+...'")]
pub(crate) struct VerifyProofArgs {
    /// The file with the proof.
    proof: PathBuf,
    /// The file with the record.
    #[arg(long, value_name = "FILE")]
    record: PathBuf,
    /// The public key that is trusted: the log's own, or the one that signs for several.
    #[arg(long, value_name = "KEY")]
    vkey: String,
}

pub(crate) fn run(arguments: &VerifyProofArgs) -> Result<()> {
    let key = vkey::trusted(&arguments.vkey)?;
    let text = read_text(&arguments.proof, "the proof")?;
    let proof = TlogProof::parse(text.as_bytes()).map_err(|error| {
        Failure::failed(
            format!("{}: {error}", arguments.proof.display()),
            "give the file as 'prove' printed it",
        )
    })?;
    let text = read_text(&arguments.record, "the record")?;
    let wrong = |error: String| {
        Failure::failed(
            format!("{}: {error}", arguments.record.display()),
            "give the record as 'consume --format json' prints it",
        )
    };
    let value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let record = OwnedRecord::of_json(&value).map_err(|error| wrong(error.to_string()))?;
    let claimed = ClaimedPlace::of_json(&value).map_err(|error| wrong(error.to_string()))?;
    let proved = verify_record(&proof, &record.record(), &key);
    let proved = proved.and_then(|proved| proved.expect_at(&claimed).map(|()| proved));
    let proved = proved.map_err(|error| {
        Failure::failed(
            format!("not proved: {error}"),
            "the record, the proof or the key is another than the log's",
        )
    })?;
    tell(format_args!(
        "proved: topic '{}' partition {} has this record at offset {}, by the checkpoint of {} records",
        proved.topic, proved.partition, proved.offset, proved.checkpoint.size
    ));
    Ok(())
}
