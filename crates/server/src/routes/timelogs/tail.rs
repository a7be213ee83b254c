//! `GET /timelogs/{timelog}/tail`: entries as they come, as server-sent events; or those that there are by now, waited for a
//! while, as lines or in columns, with the place behind which to ask on.
//!
//! Invariant: what waits for a client is one piece of text and the block of entries that it was made of; all else that is
//! known of it is its place, which each entry is told with.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use axum::body::Bytes;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use futures::stream::unfold;
use timestrata_engine::ErrorKind;
use timestrata_timelog::{Codec, Tail, TailBlock, TailCursor, TailOptions, Timelog};
use tokio::sync::OwnedSemaphorePermit;

use super::entries::Range;
use super::pickled;
use super::values::EntryWriter;
use crate::answer::{self, ARROW, AnswerForm, AnswerRows, JSON, LINES, accepted};
use crate::error::{Failure, Result};
use crate::routes::asked::Question;
use crate::routes::tailing::{self, Awaited, EVENTS, HEARTBEAT, LAST_EVENT_ID, PIECE_BYTES, WAIT};
use crate::state::{AppState, blocking};

/// What is followed.
const WHAT: &str = "a time log";
/// How long an answer that ends waits for entries where nobody says it.
const WAIT_OF_A_LOOK: Duration = Duration::from_secs(5);
/// The column with the place behind each entry.
const CURSOR: &str = "tail cursor";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TailForm {
    Events,
    Lines,
    Columns,
}

pub(super) async fn tail(mut question: Question) -> Result<Response> {
    let known = format!("entries as they come are {EVENTS}, {LINES} or {ARROW}");
    let form = accepted(&question.headers, TailForm::Events, &known, |kind| match kind {
        "*/*" | "text/*" | EVENTS | JSON => Some(TailForm::Events),
        LINES => Some(TailForm::Lines),
        ARROW => Some(TailForm::Columns),
        _ => None,
    })?;
    let asked = &mut question.asked;
    let is_encoded = asked.word("values", &[("json", false), ("encoded", true)])?;
    let since = Range { from: asked.take("since")?, to: None };
    let after = asked.parsed::<TailCursor>("after")?;
    let late = asked.truth("late")?.unwrap_or_default();
    let wait = asked.duration("wait", question.state.config.wait_max)?.unwrap_or(WAIT_OF_A_LOOK);
    // A browser that comes back asks with the address that it asked with at first.
    let seen = question.headers.get(LAST_EVENT_ID).map(|value| value.to_str().unwrap_or_default());
    let seen = seen
        .map(str::parse::<TailCursor>)
        .transpose()
        .map_err(|error| Failure::bad_request(format!("Last-Event-ID: {error}")))?;
    let (state, name) = question.named()?;
    let permit = state
        .tails
        .clone()
        .try_acquire_owned()
        .map_err(|_| Failure::for_now("too many logs are followed (tails_max); try again"))?;
    let opened = state.clone();
    let is_new = since.from.is_none() && after.is_none() && seen.is_none();
    let tail = blocking(move || {
        let log = opened.timelog(&name)?;
        if log.codec() == Codec::Pickle {
            return Err(pickled(&log));
        }
        let (from, _) = since.bounds(log.unit())?;
        let since = match from {
            std::ops::Bound::Included(time) if seen.is_none() => Some(time),
            _ => None,
        };
        Ok(log.tail(&TailOptions { since, after: seen.or(after), late, look_every: None })?)
    })
    .await?;
    let following = Following::new(state, tail, permit, is_encoded);
    if form != TailForm::Events {
        // From now on nothing is there yet: who does not wait is told the place.
        let wait = (!is_new || !wait.is_zero()).then_some(wait);
        return following.one_look(form, wait).await;
    }
    let events = unfold(following, |mut following| async move {
        let piece = following.next().await?;
        Some((piece, following))
    });
    Ok(tailing::events(events))
}

/// A time log that a client follows.
struct Following {
    state: AppState,
    log: Timelog,
    /// `None` while a thread has it, and at the end.
    tail: Option<Tail>,
    /// Entries that were read, how many of them were sent, and the place behind those.
    found: Option<(TailBlock, usize, TailCursor)>,
    is_encoded: bool,
    is_begun: bool,
    _permit: OwnedSemaphorePermit,
}

type Looked = timestrata_engine::Result<Option<TailBlock>>;

impl Following {
    fn new(state: AppState, tail: Tail, permit: OwnedSemaphorePermit, is_encoded: bool) -> Self {
        state.metrics.log_tails.inc();
        let log = tail.log().clone();
        let tail = Some(tail);
        Self { state, log, tail, found: None, is_encoded, is_begun: false, _permit: permit }
    }

    /// The next piece; waits until there is one. `None`: the server stops.
    async fn next(&mut self) -> Option<timestrata_engine::Result<Bytes>> {
        if !std::mem::replace(&mut self.is_begun, true) {
            // The client knows at once that it is heard.
            return Some(Ok(HEARTBEAT.into()));
        }
        if self.found.is_none() {
            let state = self.state.clone();
            match tailing::awaited((&state, WHAT), self, |of| of.look(WAIT).boxed()).await {
                Awaited::Found(found) => {
                    let begin = found.begin;
                    self.found = Some((found, 0, begin));
                }
                Awaited::Heartbeat => return Some(Ok(HEARTBEAT.into())),
                Awaited::End => return None,
                Awaited::Failed(error) => return Some(Err(error)),
            }
        }
        self.piece().map_err(Failure::into_error).transpose()
    }

    /// New entries, waited for a while.
    async fn look(&mut self, wait: Duration) -> Option<Looked> {
        tailing::on_thread(&mut self.tail, WHAT, move |tail| tail.next(wait)).await
    }

    /// Events of entries that were read.
    fn piece(&mut self) -> Result<Option<Bytes>> {
        let mut writer = EntryWriter::of(&self.log, true, self.is_encoded)?;
        let Some((found, next, cursor)) = &mut self.found else { return Ok(None) };
        while let Some(time) = found.block.times().get(*next) {
            cursor.advance(*time);
            writer.push_text(&format!("id: {cursor}\ndata: "));
            writer.write(&found.block, *next);
            writer.push_text("\n");
            *next += 1;
            if writer.bytes() >= PIECE_BYTES {
                break;
            }
        }
        if *next >= found.block.len() {
            self.found = None;
        }
        Ok(Some(writer.finish().into()))
    }

    /// The entries of one look, as soon as there are some, and the place behind which to ask on.
    async fn one_look(mut self, form: TailForm, wait: Option<Duration>) -> Result<Response> {
        let mut found = None;
        let mut left = wait;
        while let Some(wait) = left
            && found.is_none()
        {
            let now = wait.min(WAIT);
            found = self.look(now).await.ok_or_else(Failure::of_a_bug)??;
            let is_over = wait == now || *self.state.stopping.borrow();
            left = (!is_over).then(|| wait - now);
        }
        let end = self.tail.as_ref().map(Tail::cursor).ok_or_else(Failure::of_a_bug)?;
        if form == TailForm::Columns {
            let schema = answer_schema(&self.log);
            let found = found.map(|found| in_columns(&found, &schema)).transpose()?;
            let batches: Vec<_> =
                found.into_iter().chain([last_row(end, &schema)?]).map(Ok).collect();
            let rows = AnswerRows { schema, batches: Box::new(batches.into_iter()), query: None };
            return answer::of_rows(&self.state, AnswerForm::Arrow, rows);
        }
        let mut writer = EntryWriter::of(&self.log, true, self.is_encoded)?;
        if let Some(found) = &found {
            let mut cursor = found.begin;
            for (row, time) in found.block.times().iter().enumerate() {
                cursor.advance(*time);
                writer.write_at(&found.block, row, Some(&cursor.to_string()));
            }
        }
        writer.push_text(&format!("{{\"cursor\":\"{end}\"}}\n"));
        Ok(([(header::CONTENT_TYPE, LINES)], writer.finish()).into_response())
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.state.metrics.log_tails.dec();
    }
}

/// Entries with the place behind each.
fn in_columns(found: &TailBlock, schema: &SchemaRef) -> Result<RecordBatch> {
    let mut cursor = found.begin;
    let cursors = found.block.times().iter().map(|time| {
        cursor.advance(*time);
        cursor.to_string()
    });
    let mut columns: Vec<ArrayRef> = vec![Arc::new(StringArray::from_iter_values(cursors))];
    columns.push(Arc::new(Int64Array::new(found.block.times_buffer().clone(), None)));
    columns.extend(found.block.columns().iter().cloned());
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(unmade)
}

/// A row with nothing but the place behind which to ask on.
fn last_row(end: TailCursor, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = schema.fields().iter().map(|field| match field.name().as_str() {
        CURSOR => Arc::new(StringArray::from(vec![end.to_string()])) as ArrayRef,
        _ => new_null_array(field.data_type(), 1),
    });
    RecordBatch::try_new(Arc::clone(schema), columns.collect()).map_err(unmade)
}

/// The columns of an answer: the place behind each entry, its time in the log's unit, and its values.
fn answer_schema(log: &Timelog) -> SchemaRef {
    let cursor = Field::new(CURSOR, DataType::Utf8, false);
    let time = Field::new("time", DataType::Int64, true);
    let values = log.stream().schema().fields().iter().skip(1);
    let values = values.map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(Schema::new([cursor, time].into_iter().chain(values).collect::<Vec<_>>()))
}

fn unmade(error: arrow_schema::ArrowError) -> Failure {
    let message = format!("the entries have no form in Arrow: {error}");
    timestrata_engine::Error::new(ErrorKind::InvalidData, message).into()
}
