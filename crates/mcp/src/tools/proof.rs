//! `verify`: whether a record is what a signed checkpoint of its topic commits to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use timestrata::merkle::{Checkpoint, Hash, Note, TlogProof, Verifier, verify_inclusion};
use timestrata::topic::{ClaimedPlace, OwnedRecord, Topic, verify_record};

use super::arguments;
use super::read::topic;
use crate::asked::Asked;
use crate::failure::{Failure, Result};
use crate::tool::Tool;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct VerifyArguments {
    /// The topic.
    topic: String,
    /// The partition; default 0.
    partition: Option<u32>,
    /// The record's offset.
    offset: u64,
    /// The public key that is trusted, such as 'example.org/events+1a2b3c4d+...'. Without it the signature is not
    /// checked, and only that the record is what the checkpoint commits to.
    vkey: Option<String>,
    /// A record as somebody else has it, as 'read' gives them: is this the one? Default: the stored one. With vkey only.
    record: Option<Value>,
    /// The store as it was: a commit's number, 'pin=NAME' or a time. Default: now.
    at: Option<String>,
}

arguments!(VerifyArguments);

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct VerifyAnswer {
    /// True: the record is in the log that the checkpoint commits to. If it isn't, the call fails.
    proved: bool,
    /// Whether the trusted key signed the checkpoint; false: none was given.
    is_signature_checked: bool,
    /// The log, and how many records of it the checkpoint has.
    origin: String,
    size: u64,
    root: String,
    /// The proof (.tlog-proof), for 'timestrata verify-proof' and other verifiers.
    proof: String,
}

pub(super) struct Verify;

impl Tool for Verify {
    const NAME: &'static str = "verify";
    const TITLE: &'static str = "Verify a record of a topic";
    const DESCRIPTION: &'static str = "\
Prove that the record at an offset of a topic was not changed since the topic's last signed checkpoint: its inclusion \
in the Merkle tree is worked out anew. Example: {\"topic\": \"payments\", \"offset\": 17, \"vkey\": \
\"example.org/events+1a2b3c4d+AbC...\"}";
    type Arguments = VerifyArguments;
    type Answer = VerifyAnswer;

    fn answer(arguments: VerifyArguments, asked: &Asked) -> Result<VerifyAnswer> {
        let topic = topic(&arguments.topic, asked)?;
        let partition = arguments.partition.unwrap_or(0);
        let proof = topic.prove(partition, arguments.offset).map_err(|error| {
            Failure::from(error).hinting(
                "whoever has the key signs one: timestrata checkpoint DIR TOPIC --key FILE; or ask for an earlier offset",
            )
        })?;
        let is_signature_checked = arguments.vkey.is_some();
        let checkpoint = match arguments.vkey.as_deref() {
            Some(key) => by_key(&topic, partition, &proof, key, arguments.record.as_ref())?,
            None if arguments.record.is_some() => {
                return Err(Failure::new(
                    "record: it is held against a key",
                    "give 'vkey' too, or leave 'record' out",
                ));
            }
            None => by_checkpoint(&topic, partition, &proof)?,
        };
        let Checkpoint { origin, size, root, .. } = checkpoint;
        let (root, proof) = (root.to_string(), proof.to_string());
        Ok(VerifyAnswer { proved: true, is_signature_checked, origin, size, root, proof })
    }
}

fn unproved(error: impl std::fmt::Display) -> Failure {
    Failure::new(
        format!("not proved: {error}"),
        "the record, the checkpoint or the key is another than the log's: do not rely on this record",
    )
}

fn by_key(
    topic: &Topic,
    partition: u32,
    proof: &TlogProof,
    key: &str,
    given: Option<&Value>,
) -> Result<Checkpoint> {
    let key: Verifier = key.trim().parse().map_err(|error| {
        Failure::new(format!("vkey: {error}"), "give it as 'timestrata keygen' printed it")
    })?;
    let stored;
    let value = match given {
        Some(given) => given,
        None => {
            stored = stored_record(topic, partition, proof.index)?;
            &stored
        }
    };
    let wrong = |error: timestrata::Error| {
        Failure::from(error).hinting("give the record as 'read' gives it")
    };
    let record = OwnedRecord::of_json(value).map_err(wrong)?;
    let claimed = ClaimedPlace::of_json(value).map_err(wrong)?;
    let proved = verify_record(proof, &record.record(), &key).map_err(unproved)?;
    proved.expect_at(&claimed).map_err(unproved)?;
    let here = ClaimedPlace {
        topic: Some(topic.name().to_owned()),
        partition: Some(partition),
        offset: Some(proof.index),
    };
    proved.expect_at(&here).map_err(unproved)?;
    Ok(proved.checkpoint)
}

fn stored_record(topic: &Topic, partition: u32, offset: u64) -> Result<Value> {
    let found = topic.get(partition, offset)?;
    let shown = found.as_ref().and_then(|records| records.get(0));
    let shown = shown.map(|(offset, record)| record.to_json(topic.name(), partition, offset));
    shown.ok_or_else(|| {
        Failure::new(
            format!(
                "topic '{}' partition {partition} has no record at offset {offset} any more",
                topic.name()
            ),
            "its proof stands, and the record is needed: give it as 'record', if you have it",
        )
    })
}

/// Holds the stored record's leaf against the checkpoint, whoever signed that.
fn by_checkpoint(topic: &Topic, partition: u32, proof: &TlogProof) -> Result<Checkpoint> {
    let note = Note::parse(proof.checkpoint.as_bytes()).map_err(unproved)?;
    let checkpoint: Checkpoint = note.text().parse().map_err(unproved)?;
    let leaf = Hash::of_leaf(&topic.entry(partition, proof.index)?);
    verify_inclusion(leaf, proof.index, checkpoint.size, &proof.hashes, checkpoint.root)
        .map_err(unproved)?;
    Ok(checkpoint)
}
