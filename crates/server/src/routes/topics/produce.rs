//! `POST /topics/{topic}/records`: records in one commit, acknowledged once it is synced. Requests that send at
//! the same time share syncs.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::RawValue;
use timestrata_topic::{OwnedRecord, PlainRecord, Receipt, Record, SendOptions};

use crate::body::{Sent, WholeBody};
use crate::content_type;
use crate::endpoint::{Form, Parameter, parameter};
use crate::error::{Failure, Result, success, success_of};
use crate::routes::asked::{Asked, Question, refuse};
use crate::state::{AppState, blocking};

pub(super) const KINDS: &[&str] =
    &["application/json", "application/x-ndjson", "application/octet-stream", "text/plain"];

pub(super) const PARAMETERS: &[Parameter] = &[
    parameter(
        "partition",
        Form::Number(u32::MAX as u64),
        "The partition of all; else the one that each record names, or that of its key",
    ),
    parameter(
        "expected_offset",
        Form::Number(u64::MAX),
        "The offset that the first must get, or nothing is sent",
    ),
    parameter("producer_id", Form::Text, "Who sends: a send that is repeated is stored once"),
    parameter("sequence", Form::Number(u64::MAX), "The first record's number among the producer's"),
    parameter(
        "sequences",
        Form::Text,
        "PARTITION:SEQUENCE of each partition, with commas, where the records are for several",
    ),
    parameter("epoch", Form::Number(u64::MAX), "The epoch that the producer began with"),
    parameter("key", Form::Text, "The key of a record whose value is the body"),
    parameter("timestamp", Form::Time, "The time of such a record; as a number in nanoseconds"),
    parameter("header", Form::Many, "NAME:VALUE, of such a record"),
];

/// What a request says of its records besides the body.
#[derive(Debug)]
struct Sending {
    partition: Option<u32>,
    expected_offset: Option<u64>,
    producer_id: Option<String>,
    sequence: Option<u64>,
    /// Of records for several partitions.
    sequences: Vec<(u32, u64)>,
    epoch: Option<u64>,
    /// Of the one record whose value is the body.
    raw: OwnedRecord,
    form: Body,
}

/// What the body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    /// A record, or a list of records.
    Json,
    /// A record a line.
    Lines,
    /// A value.
    Raw,
}

impl Body {
    fn of(headers: &HeaderMap) -> Result<Self> {
        let kind = content_type::kind(headers);
        match kind.as_str() {
            "application/x-ndjson" | "application/jsonl" => Ok(Self::Lines),
            "" | "application/octet-stream" | "text/plain" => Ok(Self::Raw),
            _ if content_type::is_web_form(&kind) || kind.ends_with("json") => Ok(Self::Json),
            _ => Err(Failure::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!(
                    "Content-Type: {kind:?}: records are application/json or application/x-ndjson; \
                     one whose value is the body is application/octet-stream or text/plain"
                ),
            )),
        }
    }
}

/// Sequences by partition, as a request has them.
fn sequences(text: &str) -> Result<Vec<(u32, u64)>> {
    let each = text.split(',').map(|one| {
        let (partition, sequence) = one.split_once(':')?;
        Some((partition.trim().parse().ok()?, sequence.trim().parse().ok()?))
    });
    each.collect::<Option<_>>().ok_or_else(|| {
        refuse("sequences", text, "it must be PARTITION:SEQUENCE, several with commas between")
    })
}

impl Sending {
    fn of(mut asked: Asked, headers: &HeaderMap) -> Result<Self> {
        let form = Body::of(headers)?;
        let mut raw = OwnedRecord {
            key: asked.take("key")?.map(String::into_bytes),
            timestamp_ns: asked.arrival("timestamp")?,
            ..OwnedRecord::default()
        };
        for header in asked.all("header") {
            let (name, value) = header
                .split_once(':')
                .ok_or_else(|| refuse("header", &header, "it must be NAME:VALUE"))?;
            raw.headers.push((name.to_owned(), value.as_bytes().to_vec()));
        }
        if form != Body::Raw && raw != OwnedRecord::default() {
            return Err(Failure::bad_request(
                "key, timestamp and header are for a record whose value is the body; records in JSON \
                 say their own",
            ));
        }
        let sending = Self {
            partition: asked.maybe_number("partition", u32::MAX)?,
            expected_offset: asked.maybe_number("expected_offset", u64::MAX)?,
            producer_id: asked.take("producer_id")?,
            sequence: asked.maybe_number("sequence", u64::MAX)?,
            sequences: asked.take("sequences")?.map_or(Ok(Vec::new()), |text| sequences(&text))?,
            epoch: asked.maybe_number("epoch", u64::MAX)?,
            raw,
            form,
        };
        asked.finish()?;
        let is_numbered = sending.sequence.is_some() || !sending.sequences.is_empty();
        if sending.producer_id.is_none() && (is_numbered || sending.epoch.is_some()) {
            return Err(Failure::bad_request(
                "sequence, sequences and epoch are a producer's: give its producer_id",
            ));
        }
        Ok(sending)
    }

    fn options(&self) -> SendOptions<'_> {
        SendOptions {
            partition: self.partition,
            expected_offset: self.expected_offset,
            sequence: self.producer_id.as_deref().map(|id| (id, self.sequence)),
            sequences: &self.sequences,
            epoch: self.epoch,
            ..SendOptions::default()
        }
    }

    /// The records of a body, each with the partition that it names.
    fn records(&mut self, body: Vec<u8>) -> Result<NewRecords> {
        match self.form {
            Body::Raw => {
                let raw = std::mem::take(&mut self.raw);
                Ok(vec![(OwnedRecord { value: Some(body), ..raw }, None)])
            }
            Body::Json => records_of_json(&body),
            Body::Lines => {
                let lines = body.split(|byte| *byte == b'\n').enumerate();
                let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
                lines
                    .map(|(place, line)| {
                        if let Ok(plain) = serde_json::from_slice(line) {
                            return Ok(placed(plain));
                        }
                        record(line, "line", place + 1)
                    })
                    .collect()
            }
        }
    }
}

/// The records that JSON is, one or a list of them, each with the partition that it names.
///
/// # Errors
/// `400` that says which is none.
pub(in crate::routes) fn records_of_json(json: &[u8]) -> Result<NewRecords> {
    // A tree of them is made only where they aren't read so, or to tell what is wrong.
    if let Ok(plain) = serde_json::from_slice::<Vec<PlainRecord>>(json) {
        return Ok(plain.into_iter().map(placed).collect());
    }
    if let Ok(each) = serde_json::from_slice::<Vec<&RawValue>>(json) {
        let numbered = each.iter().enumerate();
        return numbered
            .map(|(place, text)| record(text.get().as_bytes(), "record", place))
            .collect();
    }
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(json) {
        return Err(Failure::bad_request(format!(
            "the body is no JSON: {error}; a value by itself is sent as \
             Content-Type: application/octet-stream"
        )));
    }
    Ok(vec![record(json, "record", 0)?])
}

fn placed(plain: PlainRecord) -> (OwnedRecord, Option<u32>) {
    let (record, place) = plain.into_parts();
    (record, place.partition)
}

/// A record in JSON. The partition that it names counts; what else it says of a place, as a record does that
/// was read somewhere, is passed over.
fn record(json: &[u8], what: &str, place: usize) -> Result<(OwnedRecord, Option<u32>)> {
    let wrong =
        |error: &dyn std::fmt::Display| Failure::bad_request(format!("{what} {place}: {error}"));
    let text = std::str::from_utf8(json).map_err(|error| wrong(&format!("no JSON: {error}")))?;
    let (record, place) = OwnedRecord::of_json_text(text).map_err(|error| wrong(&error))?;
    Ok((record, place.partition))
}

/// Where a record that was sent is now.
#[derive(Serialize)]
pub(in crate::routes) struct SentRecord<'a> {
    offset: u64,
    partition: u32,
    timestamp: i64,
    topic: &'a str,
}

impl<'a> SentRecord<'a> {
    pub(in crate::routes) fn new(topic: &'a str, receipt: &Receipt) -> Self {
        let Receipt { partition, offset, timestamp_ns, .. } = *receipt;
        Self { offset, partition, timestamp: timestamp_ns, topic }
    }
}

/// Records, each with the partition that it is for, where one is said.
pub(in crate::routes) type NewRecords = Vec<(OwnedRecord, Option<u32>)>;

pub(super) async fn produce(question: Question, sent: Sent) -> Result<Response> {
    let Question { state, name, asked, headers, .. } = question;
    let mut sending = Sending::of(asked, &headers)?;
    let body = WholeBody::new(&state, &headers, sent).await?;
    if body.is_at_hand() {
        let records = sending.records(body.read()?)?;
        let shared = state.shared_sync.clone();
        let send = move || send(&state, &name, &sending, &records, false);
        return shared.write(send).await;
    }
    blocking(move || {
        let records = sending.records(body.read()?)?;
        send(&state, &name, &sending, &records, true)
    })
    .await
}

/// A record as it is sent.
pub(in crate::routes) fn as_record((owned, partition): &(OwnedRecord, Option<u32>)) -> Record<'_> {
    Record { partition: *partition, ..owned.record() }
}

/// Sends records; without `syncs` the caller has them synced before anybody is told.
fn send(
    state: &AppState,
    name: &str,
    sending: &Sending,
    records: &NewRecords,
    syncs: bool,
) -> Result<Response> {
    let records: Vec<Record<'_>> = records.iter().map(as_record).collect();
    let topic = state.topic(name)?;
    let options = sending.options();
    let receipts = match (records.as_slice(), syncs) {
        ([], _) => return Err(Failure::bad_request("the body has no record")),
        (records, false) => topic.send_leaving_sync(records, &options)?,
        ([record], true) => vec![topic.send(record, &options)?],
        (records, true) => topic.send_batch(records, &options)?,
    };
    state.metrics.records_sent.inc_by(receipts.len() as u64);
    let sent: Vec<_> = receipts.iter().map(|receipt| SentRecord::new(name, receipt)).collect();
    Ok(success_of(sent))
}

/// `POST /topics/{topic}/producers/{producer}`: an epoch that no other producer of that name has.
pub(super) async fn begin(question: Question<(String, String)>) -> Result<Response> {
    let (state, (name, producer)) = question.named()?;
    blocking(move || {
        let epoch = state.topic(&name)?.begin_producer(&producer)?;
        Ok(success(json!({ "producer_id": producer, "epoch": epoch })))
    })
    .await
}

/// `GET /topics/{topic}/producers/{producer}`.
pub(super) async fn next_sequence(mut question: Question<(String, String)>) -> Result<Response> {
    let partition = question.asked.number("partition", 0, u32::MAX)?;
    let (state, (name, producer)) = question.named()?;
    blocking(move || {
        let next = state.topic(&name)?.next_sequence(partition, &producer)?;
        Ok(success(json!({
            "producer_id": producer, "partition": partition, "next_sequence": next,
        })))
    })
    .await
}
