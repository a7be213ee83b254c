//! Entries of logs as bodies: JSON, a JSON object a line, or their columns; read as the client takes them.

use std::fmt::Write as _;
use std::io;

use arrow_schema::SchemaRef;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use futures::stream::unfold;
use timestrata_engine::RunningQuery;
use timestrata_logs::{Clock, Entries, EntryRef};
use tokio::runtime::Handle;

use super::{ARROW, AnswerForm, AnswerRows, JSON, accepted, of_rows};
use crate::entries::EntryCursor;
use crate::error::Result;
use crate::query_task::run_query;
use crate::state::AppState;

const LINES: &str = "application/x-ndjson";
/// Bytes that go out at once.
const PIECE_BYTES: usize = 64 << 10;

/// The form of an answer of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntriesForm {
    Json,
    /// An object a line.
    Lines,
    /// The columns that the stream of the log has, for those who know what a log is.
    Arrow,
}

impl EntriesForm {
    /// The first form that a client accepts, in its order; JSON where it has no wish.
    ///
    /// # Errors
    /// `406` if it accepts none.
    pub(crate) fn accepted(headers: &HeaderMap) -> Result<Self> {
        let known = format!("entries are {JSON} or {LINES}");
        accepted(headers, Self::Json, &known, Self::of_kind)
    }

    /// The same of entries of logs, which can be had in columns as well.
    ///
    /// # Errors
    /// `406` if it accepts none.
    pub(crate) fn accepted_of_logs(headers: &HeaderMap) -> Result<Self> {
        let known = format!("entries are {JSON}, {LINES} or {ARROW}");
        accepted(headers, Self::Json, &known, |kind| match kind {
            ARROW => Some(Self::Arrow),
            kind => Self::of_kind(kind),
        })
    }

    fn of_kind(kind: &str) -> Option<Self> {
        match kind {
            "*/*" | "application/*" | JSON => Some(Self::Json),
            LINES | "application/jsonl" => Some(Self::Lines),
            _ => None,
        }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Json => JSON,
            Self::Lines => LINES,
            Self::Arrow => ARROW,
        }
    }
}

/// Batches of entries, read when they are asked for, and the columns that they have.
pub(crate) struct Found {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: FoundBatches,
}

type FoundBatches = Box<dyn Iterator<Item = timestrata_engine::Result<Entries>> + Send>;

/// An answer of the batches that `begin` gives, in the order of a clock. Each entry has its `position`
/// in that order besides, to go on behind it.
///
/// # Errors
/// Those of `begin`, and of a read before anything was sent. One in the middle cuts the connection, so
/// that no client takes a part for the whole.
pub(crate) async fn of_entries(
    state: AppState,
    form: EntriesForm,
    by: Clock,
    query: RunningQuery,
    begin: impl FnOnce() -> Result<Found> + Send + 'static,
) -> Result<Response> {
    let asked = query.clone();
    if form == EntriesForm::Arrow {
        return run_query(&Handle::current(), &query, move || {
            let Found { schema, batches } = begin()?;
            let batches = Box::new(batches.map(|entries| Ok(entries?.columns().clone())));
            of_rows(&state, AnswerForm::Arrow, AnswerRows { schema, batches, query: Some(asked) })
        })
        .await;
    }
    let (first, rest) = run_query(&Handle::current(), &query, move || {
        let mut writer = EntryWriter::new(form, by, asked, begin()?.batches);
        Ok((writer.piece()?, writer))
    })
    .await?;
    // When nobody takes the body any more it is dropped, and with it this.
    let asker = query.given_up_on_drop();
    let body = match rest.is_done {
        true => Body::from(first),
        false => Body::from_stream(unfold((Some((Some(first), rest)), asker), |state| async {
            let (state, asker) = state;
            let (first, writer) = state?;
            let (piece, rest) = match first {
                Some(first) => (Ok(first), Some((None, writer))),
                None => next(writer).await?,
            };
            Some((piece, (rest, asker)))
        })),
    };
    Ok(([(header::CONTENT_TYPE, form.content_type())], body).into_response())
}

/// The next piece, and what comes behind it. No thread waits for the client to take it.
async fn next(
    mut writer: EntryWriter,
) -> Option<(io::Result<Bytes>, Option<(Option<Bytes>, EntryWriter)>)> {
    if writer.is_done {
        return None;
    }
    let written = tokio::task::spawn_blocking(move || (writer.piece(), writer)).await;
    match written {
        Ok((Ok(piece), writer)) => Some((Ok(piece), Some((None, writer)))),
        Ok((Err(error), _)) => {
            tracing::error!(%error, "an answer ended early");
            Some((Err(io::Error::other(error.to_string())), None))
        }
        Err(error) => {
            tracing::error!(%error, "writing an answer died");
            Some((Err(io::Error::other(error)), None))
        }
    }
}

struct EntryWriter {
    form: EntriesForm,
    by: Clock,
    query: RunningQuery,
    found: EntryCursor<FoundBatches>,
    is_begun: bool,
    has_entries: bool,
    is_done: bool,
}

impl EntryWriter {
    fn new(form: EntriesForm, by: Clock, query: RunningQuery, found: FoundBatches) -> Self {
        let (is_begun, has_entries, is_done) = (false, false, false);
        Self { form, by, query, found: EntryCursor::new(found), is_begun, has_entries, is_done }
    }

    /// The next piece. The time until the client takes it is the client's.
    fn piece(&mut self) -> timestrata_engine::Result<Bytes> {
        self.query.resume();
        let piece = self.write();
        self.query.rest();
        piece
    }

    fn write(&mut self) -> timestrata_engine::Result<Bytes> {
        let (begin, between, behind, end) = match self.form {
            EntriesForm::Json => (r#"{"success":true,"data":["#, ",", "", r#"],"error":null}"#),
            _ => ("", "", "\n", ""),
        };
        let mut out = String::new();
        if !std::mem::replace(&mut self.is_begun, true) {
            out.push_str(begin);
        }
        while out.len() < PIECE_BYTES {
            let Some(entry) = self.found.next()? else {
                out.push_str(end);
                self.is_done = true;
                break;
            };
            if std::mem::replace(&mut self.has_entries, true) {
                out.push_str(between);
            }
            write_entry(entry, self.by, &mut out);
            out.push_str(behind);
        }
        Ok(out.into())
    }
}

/// Appends an entry as JSON, with its position.
fn write_entry(entry: EntryRef<'_>, by: Clock, out: &mut String) {
    entry.write_json(out);
    if let Some(position) = entry.position(by) {
        // One member more, before what ends the object. Memory takes what is written to it.
        out.pop();
        let _ = write!(out, r#","position":"{position}"}}"#);
    }
}
