//! `read`: records of a topic by their offsets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use timestrata::topic::{Records, Topic};

use super::arguments;
use crate::asked::Asked;
use crate::failure::{Failure, Result};
use crate::room::Cut;
use crate::tool::Tool;

/// Records of an answer where nobody says how many.
const RECORDS_DEFAULT: usize = 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadArguments {
    /// The topic.
    topic: String,
    /// The partition; default 0.
    partition: Option<u32>,
    /// The first record's offset. Negative counts from the end: -10, the default, is the last ten.
    offset: Option<i64>,
    /// Records wanted at most; default 20.
    limit: Option<u32>,
    /// The store as it was: a commit's number, 'pin=NAME' or a time. Default: now.
    at: Option<String>,
}

arguments!(ReadArguments);

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ReadAnswer {
    /// The first offset that the partition has.
    start: u64,
    /// Behind its last offset.
    end: u64,
    /// Each with topic, partition, offset, timestamp (nanoseconds since 1970), key, value, headers. Bytes that are
    /// no text are {"base64": "..."}.
    records: Vec<Value>,
    /// For 'offset', if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
    /// What was left out, and how to get it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<Cut>,
}

pub(super) struct Read;

/// A topic that is there.
pub(super) fn topic(name: &str, asked: &Asked) -> Result<Topic> {
    let topic = Topic::open(asked.store(), name);
    topic.map_err(|error| Failure::of_name(error, "topics", &Topic::names(asked.store())))
}

impl Tool for Read {
    const NAME: &'static str = "read";
    const TITLE: &'static str = "Read records of a topic";
    const DESCRIPTION: &'static str = "\
Read the records of a topic's partition by offset, in order. Nothing is consumed, and no group is touched. To look \
for something in them ask 'sql', where a topic is a table. Example: {\"topic\": \"payments\", \"offset\": 17, \
\"limit\": 5}";
    type Arguments = ReadArguments;
    type Answer = ReadAnswer;

    fn answer(arguments: ReadArguments, asked: &Asked) -> Result<ReadAnswer> {
        let topic = topic(&arguments.topic, asked)?;
        let partition = arguments.partition.unwrap_or(0);
        let offsets = topic.offsets(partition)?;
        let first = match arguments.offset.unwrap_or(-10) {
            offset if offset < 0 => offsets.end.saturating_sub(offset.unsigned_abs()),
            offset => offset.unsigned_abs(),
        };
        let first = first.max(offsets.start);
        if first > offsets.end {
            return Err(Failure::new(
                format!(
                    "topic '{}' partition {partition} has no offset {first}: it ends before {}",
                    arguments.topic, offsets.end
                ),
                "ask for an earlier one; a negative offset counts from the end",
            ));
        }
        let mut room = asked.room(arguments.limit, RECORDS_DEFAULT);
        let (mut records, mut behind) = (Vec::new(), first);
        // One too many is asked for, to know whether there are more.
        let most = Some(room.items_max().saturating_add(1));
        'records: for batch in topic.scan(partition, first..offsets.end, most)? {
            for (offset, record) in Records::of(&batch?)?.iter() {
                let mut shown = record.to_json(topic.name(), partition, offset);
                if !room.takes(&mut shown) {
                    break 'records;
                }
                behind = offset + 1;
                records.push(shown);
            }
            asked.check()?;
        }
        let more = "call again with 'offset' as 'next' says";
        let cut = room.cuts(
            "records",
            more,
            "in SQL, SELECT substr(value, 2000, 8000) of this partition and offset",
        );
        let next = room.is_full().then_some(behind);
        Ok(ReadAnswer { start: offsets.start, end: offsets.end, records, next, cut })
    }
}
