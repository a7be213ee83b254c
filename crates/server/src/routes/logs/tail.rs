//! `GET /logs/{name}/tail`: entries as they arrive, as server-sent events; or those that there are by now, waited for a
//! while, in columns.
//!
//! Invariant: what waits for a client is one piece of text and the batch of entries that it was made of;
//! all else that is known of it is how far it has come.

use std::fmt::Write as _;

use arrow_schema::SchemaRef;
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::response::Response;
use futures::FutureExt;
use futures::stream::unfold;
use timestrata_logs::{Entries, Tail};
use tokio::sync::OwnedSemaphorePermit;

use super::parameters::LogRequest;
use crate::answer::{self, ARROW, AnswerForm, AnswerRows, JSON, accepted};
use crate::entries::Batch;
use crate::error::{Failure, Result};
use crate::routes::tailing::{self, Awaited, EVENTS, HEARTBEAT, LAST_EVENT_ID, PIECE_BYTES, WAIT};
use crate::state::{AppState, blocking};

/// What is followed.
const WHAT: &str = "a log";
/// So many waits an answer in columns takes that has no entries.
const WAITS_OF_COLUMNS: u32 = 10;
/// Behind which arrival to ask on, where an answer is in columns.
const NEXT: &str = "timestrata-next";

pub(super) async fn tail(request: LogRequest) -> Result<Response> {
    let LogRequest { state, name, mut asked, headers, .. } = request;
    let known = format!("entries as they arrive are {EVENTS} or {ARROW}");
    let has_columns = accepted(&headers, false, &known, |kind| match kind {
        // Clients that ask for JSON wherever they ask have always been given events, whose data is JSON.
        "*/*" | "text/*" | EVENTS | JSON => Some(false),
        ARROW => Some(true),
        _ => None,
    })?;
    let filter = asked.filter()?;
    let after = asked.arrival("after")?;
    asked.finish()?;
    // A browser that comes back asks with the address that it asked with at first.
    let after = last_seen(&headers)?.or(after);
    let permit = state
        .tails
        .clone()
        .try_acquire_owned()
        .map_err(|_| Failure::for_now("too many logs are followed (tails_max); try again"))?;
    let opened = state.clone();
    let (tail, schema) = blocking(move || {
        let logs = opened.logs(&name)?;
        Ok((logs.tail(filter, after)?, logs.snapshot()?.schema()))
    })
    .await?;
    let following = Following::new(state, tail, permit);
    if has_columns {
        return in_columns(following, schema).await;
    }
    let events = unfold(following, |mut following| async move {
        let piece = following.next().await?;
        Some((piece, following))
    });
    Ok(tailing::events(events))
}

/// The entries of one look, as soon as there are some, and behind which arrival to ask on; where none come for a while,
/// no entries with the columns of `schema`.
async fn in_columns(mut following: Following, schema: SchemaRef) -> Result<Response> {
    let mut entries = None;
    for _ in 0..WAITS_OF_COLUMNS {
        if *following.state.stopping.borrow() {
            break;
        }
        entries = following.look().await.ok_or_else(Failure::of_a_bug)??;
        if entries.is_some() {
            break;
        }
    }
    let next = following.tail.as_ref().map_or(i64::MIN, Tail::position);
    let batches: Vec<_> = entries.iter().map(|entries| Ok(entries.columns().clone())).collect();
    let schema = entries.map_or(schema, |entries| entries.columns().schema());
    let rows = AnswerRows { schema, batches: Box::new(batches.into_iter()), query: None };
    let mut answer = answer::of_rows(&following.state, AnswerForm::Arrow, rows)?;
    answer.headers_mut().insert(NEXT, next.into());
    Ok(answer)
}

fn last_seen(headers: &HeaderMap) -> Result<Option<i64>> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.map(Some).ok_or_else(|| {
        Failure::bad_request("Last-Event-ID: it must be the id of an event that this route sent")
    })
}

/// A log that a client follows.
struct Following {
    state: AppState,
    /// `None` while a thread has it, and at the end.
    tail: Option<Tail>,
    /// Entries that were read, and not all sent.
    batch: Option<Batch>,
    is_begun: bool,
    _permit: OwnedSemaphorePermit,
}

impl Following {
    fn new(state: AppState, tail: Tail, permit: OwnedSemaphorePermit) -> Self {
        state.metrics.log_tails.inc();
        Self { state, tail: Some(tail), batch: None, is_begun: false, _permit: permit }
    }

    /// The next piece; waits until there is one. `None`: the server stops.
    async fn next(&mut self) -> Option<timestrata_engine::Result<Bytes>> {
        if !std::mem::replace(&mut self.is_begun, true) {
            // The client knows at once that it is heard.
            return Some(Ok(HEARTBEAT.into()));
        }
        if self.batch.is_none() {
            let state = self.state.clone();
            match tailing::awaited((&state, WHAT), self, |of| of.look().boxed()).await {
                Awaited::Found(entries) => self.batch = Some(Batch::new(entries)),
                Awaited::Heartbeat => return Some(Ok(HEARTBEAT.into())),
                Awaited::End => return None,
                Awaited::Failed(error) => return Some(Err(error)),
            }
        }
        Some(Ok(self.piece()))
    }

    /// New entries, waited for a while.
    async fn look(&mut self) -> Option<timestrata_engine::Result<Option<Entries>>> {
        tailing::on_thread(&mut self.tail, WHAT, |tail| tail.next(WAIT)).await
    }

    /// Events of entries that were read.
    fn piece(&mut self) -> Bytes {
        let mut out = String::new();
        while let Some(entry) = self.batch.as_mut().and_then(Batch::next) {
            // Memory takes what is written to it. An entry's JSON is one line.
            let _ = write!(out, "id: {}\ndata: ", entry.timestamp());
            entry.write_json(&mut out);
            out.push_str("\n\n");
            if out.len() >= PIECE_BYTES {
                break;
            }
        }
        self.batch.take_if(|batch| batch.is_done());
        out.into()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.state.metrics.log_tails.dec();
    }
}
