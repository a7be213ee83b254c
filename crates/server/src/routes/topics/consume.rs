//! `GET /topics/{topic}/records`: records of a partition from an offset on, waited for where there are none.

use std::time::Duration;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use timestrata_engine::{Error, ErrorKind};
use timestrata_topic::{
    Consumer, ConsumerOptions, PollLimits, Polled, Record, Reset, Topic, TopicPartition,
    record_schema,
};

use super::{BYTES_DEFAULT, BYTES_MAX, RECORDS_DEFAULT};
use crate::answer::entries::EntriesForm;
use crate::answer::{OCTETS, accepted, arrow};
use crate::error::{Failure, Result, success_of};
use crate::routes::asked::{Asked, Question, nanoseconds};
use crate::state::{AppState, blocking};
use crate::waiting::Waiter;

/// Where to go on behind an answer of lines or columns, which have no place for it.
const NEXT: &str = "timestrata-next";

/// Where reading begins.
#[derive(Debug, Clone, Copy)]
enum Start {
    Earliest,
    Latest,
    Offset(u64),
    Time(i64),
}

impl Start {
    fn of(asked: &mut Asked) -> Result<Self> {
        let Some(text) = asked.take("from")? else { return Ok(Self::Earliest) };
        match text.as_str() {
            "earliest" => return Ok(Self::Earliest),
            "latest" => return Ok(Self::Latest),
            _ => {}
        }
        match text.parse() {
            Ok(offset) => Ok(Self::Offset(offset)),
            Err(_) => nanoseconds("from", &text).map(Self::Time),
        }
    }

    fn offset(self, topic: &Topic, partition: u32) -> Result<u64> {
        let offsets = topic.offsets(partition)?;
        Ok(match self {
            Self::Earliest => offsets.start,
            Self::Latest => offsets.end,
            Self::Offset(offset) => offset,
            Self::Time(time) => topic.offset_at_time(partition, time)?.unwrap_or(offsets.end),
        })
    }
}

/// `limit` and `bytes`.
pub(super) fn poll_limits(asked: &mut Asked) -> Result<PollLimits> {
    let records = asked.limit(RECORDS_DEFAULT, "records")?.unwrap_or(usize::MAX);
    Ok(PollLimits { records, bytes: asked.number("bytes", BYTES_DEFAULT, BYTES_MAX)? })
}

/// `wait`; not at all where nobody says so.
pub(super) fn wait(asked: &mut Asked, state: &AppState) -> Result<Duration> {
    Ok(asked.duration("wait", state.config.wait_max)?.unwrap_or_default())
}

/// What JSON puts around a record, mostly: names, numbers and marks.
const RECORD_MARKS_BYTES: usize = 160;

/// What has no form in JSON, which no record is.
pub(super) fn no_json(error: serde_json::Error) -> Failure {
    Failure::new(StatusCode::INTERNAL_SERVER_ERROR, format!("records as JSON: {error}"))
}

/// Records as JSON objects, with `between` between them.
pub(super) fn write_records(
    polled: &[Polled],
    between: u8,
    out: &mut Vec<u8>,
) -> serde_json::Result<()> {
    let bytes: u64 = polled.iter().map(|polled| polled.records.bytes()).sum();
    let count: usize = polled.iter().map(|polled| polled.records.len()).sum();
    out.reserve(usize::try_from(bytes).unwrap_or(0) + count * RECORD_MARKS_BYTES);
    let mut is_first = true;
    for Polled { place, records } in polled {
        for (offset, record) in records.iter() {
            if !std::mem::take(&mut is_first) {
                out.push(between);
            }
            let json = record.in_json(&place.topic, place.partition, offset);
            serde_json::to_writer(&mut *out, &json)?;
        }
    }
    Ok(())
}

/// Records as an Arrow stream.
fn columns(polled: &[Polled]) -> Result<Body> {
    let batches = polled.iter().map(|polled| polled.records.to_batch());
    arrow::whole(&record_schema(), batches).map_err(|error| {
        let message = "the records can't be written as an Arrow stream";
        Error::new(ErrorKind::InvalidData, message).caused_by(error).into()
    })
}

/// One who reads on in a partition.
struct Reader {
    consumer: Consumer,
    topic: Topic,
    place: TopicPartition,
    to: u64,
}

impl Reader {
    fn new(state: &AppState, place: TopicPartition, start: Start, to: Option<u64>) -> Result<Self> {
        let options = ConsumerOptions { reset: Reset::Error, ..ConsumerOptions::default() };
        let mut consumer = Consumer::new(state.read(), options)?;
        let topic = state.topic(&place.topic)?;
        consumer.assign([place.clone()])?;
        consumer.seek_or_wait(&place, start.offset(&topic, place.partition)?)?;
        Ok(Self { consumer, topic, place, to: to.unwrap_or(u64::MAX) })
    }

    /// The offset that comes next.
    fn next(&self) -> u64 {
        self.consumer.position(&self.place).unwrap_or_default()
    }

    /// What there is.
    fn look(&mut self, limits: PollLimits) -> Result<Vec<Polled>> {
        let (mut found, mut left) = (Vec::new(), limits);
        while left.records > 0 && left.bytes > 0 && self.next() < self.to {
            let most = usize::try_from(self.to - self.next()).unwrap_or(usize::MAX);
            let of = PollLimits { records: left.records.min(most), ..left };
            let polled = match self.consumer.try_poll(of) {
                Ok((polled, _)) => polled,
                // What was found first is given first; who asks on is told what is wrong.
                Err(_) if !found.is_empty() => break,
                Err(error) => return Err(error.into()),
            };
            let Some(mut one) = polled.into_iter().next() else { break };
            let Some((first, _)) = one.records.get(0) else { break };
            let is_too_much = one.records.bytes() > left.bytes && !found.is_empty();
            // Where records are gone, those behind them may be behind the end.
            if first >= self.to || is_too_much {
                self.consumer.seek_or_wait(&self.place, first.min(self.to))?;
                break;
            }
            let last = one.records.get(one.records.len() - 1);
            if last.is_none_or(|(last, _)| last >= self.to) {
                let within = one.records.iter().take_while(|(offset, _)| *offset < self.to).count();
                self.consumer.seek_or_wait(&self.place, self.to)?;
                one.records = one.records.first(within);
            }
            left.records -= one.records.len().min(left.records);
            left.bytes = left.bytes.saturating_sub(one.records.bytes());
            found.push(one);
        }
        Ok(found)
    }

    /// Looks once; gives itself back too where it is worth to wait for more.
    fn ask(
        mut self,
        state: &AppState,
        form: EntriesForm,
        limits: PollLimits,
    ) -> Result<(Response, Option<Self>)> {
        let found = self.look(limits)?;
        let is_done = !found.is_empty() || self.next() >= self.to;
        Ok((self.answer(state, form, &found)?, (!is_done).then_some(self)))
    }

    /// What was found, as an answer.
    fn answer(&self, state: &AppState, form: EntriesForm, found: &[Polled]) -> Result<Response> {
        let count: usize = found.iter().map(|polled| polled.records.len()).sum();
        state.metrics.records_given.inc_by(count as u64);
        let (next, offsets) = (self.next(), self.topic.offsets(self.place.partition)?);
        let head = [(header::CONTENT_TYPE, form.content_type())];
        let place = [(NEXT, next.to_string())];
        if form == EntriesForm::Arrow {
            return Ok((head, place, columns(found)?).into_response());
        }
        let mut out = Vec::new();
        if form == EntriesForm::Lines {
            write_records(found, b'\n', &mut out).map_err(no_json)?;
            if count > 0 {
                out.push(b'\n');
            }
            return Ok((head, place, out).into_response());
        }
        out.extend_from_slice(br#"{"success":true,"data":{"records":["#);
        write_records(found, b',', &mut out).map_err(no_json)?;
        let end = format!(
            r#"],"next":{next},"first":{},"end":{}}},"error":null}}"#,
            offsets.start, offsets.end
        );
        out.extend_from_slice(end.as_bytes());
        Ok((head, out).into_response())
    }
}

pub(super) async fn consume(mut question: Question) -> Result<Response> {
    let form = EntriesForm::accepted_or_columns(&question.headers)?;
    let partition = question.asked.number("partition", 0, u32::MAX)?;
    let start = Start::of(&mut question.asked)?;
    let to = question.asked.maybe_number("to", u64::MAX)?;
    let limits = poll_limits(&mut question.asked)?;
    let wait = wait(&mut question.asked, &question.state)?;
    let (state, topic) = question.named()?;
    if state.then.is_some() && !wait.is_zero() {
        return Err(Failure::bad_request("wait: what was does not go on; leave out wait or at"));
    }
    let place = TopicPartition { topic, partition };
    let mut waiter = Waiter::new(&state, wait);
    waiter.begin_look();
    let asked = state.clone();
    let (mut answer, mut again) =
        blocking(move || Reader::new(&asked, place, start, to)?.ask(&asked, form, limits)).await?;
    while let Some(reader) = again
        && waiter.wait().await?
    {
        waiter.begin_look();
        let asked = state.clone();
        (answer, again) = blocking(move || reader.ask(&asked, form, limits)).await?;
    }
    Ok(answer)
}

/// `GET /topics/{topic}/records/{offset}`.
pub(super) async fn one(mut question: Question<(String, u64)>) -> Result<Response> {
    let known = format!("a record is application/json, its value alone {OCTETS}");
    let is_json = accepted(&question.headers, true, &known, |kind| match kind {
        "*/*" | "application/*" | "application/json" => Some(true),
        OCTETS => Some(false),
        _ => None,
    })?;
    let partition = question.asked.number("partition", 0, u32::MAX)?;
    let (state, (name, offset)) = question.named()?;
    blocking(move || {
        let topic = state.topic(&name)?;
        let records = topic.get(partition, offset)?;
        let Some((_, record)) = records.as_ref().and_then(|records| records.get(0)) else {
            let offsets = topic.offsets(partition)?;
            return Err(Failure::new(
                StatusCode::NOT_FOUND,
                format!(
                    "topic '{name}' partition {partition} has no record at offset {offset}: it has \
                     offsets {} to {}",
                    offsets.start, offsets.end
                ),
            ));
        };
        Ok(match is_json {
            true => success_of(record.in_json(&name, partition, offset)),
            false => value_alone(&record),
        })
    })
    .await
}

/// A value as it is; where it is null there is nothing.
fn value_alone(record: &Record<'_>) -> Response {
    match record.value {
        Some(value) => ([(header::CONTENT_TYPE, OCTETS)], value.to_vec()).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    }
}
