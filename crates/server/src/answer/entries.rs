//! Entries of logs as bodies: JSON, a JSON object a line, or their columns; read as the client takes them.

use std::fmt::Write as _;

use arrow_schema::SchemaRef;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use timestrata_engine::RunningQuery;
use timestrata_logs::{Clock, Entries, EntryRef};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::pieces::{self, PIECE_BYTES, Pieces};
use super::{ARROW, AnswerForm, AnswerRows, JSON, LINES, accepted, of_rows};
use crate::entries::EntryCursor;
use crate::error::Result;
use crate::query_task::run_query;
use crate::state::AppState;

/// The form of an answer of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntriesForm {
    Json,
    /// An object a line.
    Lines,
    /// Columns, for those who know what they are.
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

    /// The same of what can be had in columns as well: entries of logs, and records.
    ///
    /// # Errors
    /// `406` if it accepts none.
    pub(crate) fn accepted_or_columns(headers: &HeaderMap) -> Result<Self> {
        let known = format!("they are {JSON}, {LINES} or {ARROW}");
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

/// Batches of entries, read when they are asked for, the columns that they have, and the clock of their order.
pub(crate) struct Found {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: FoundBatches,
    pub(crate) clock: Clock,
}

type FoundBatches = Box<dyn Iterator<Item = timestrata_engine::Result<Entries>> + Send>;

/// By which clock the entries of an answer are in order.
const CLOCK: &str = "timestrata-clock";

/// An answer of the batches that `begin` gives, in the order of a clock, which a header names. Each entry has its
/// `position` in that order besides, to go on behind it.
///
/// # Errors
/// Those of `begin`, and of a read before anything was sent. One in the middle cuts the connection.
pub(crate) async fn of_entries(
    state: AppState,
    form: EntriesForm,
    query: RunningQuery,
    begin: impl FnOnce() -> Result<Found> + Send + 'static,
) -> Result<Response> {
    let asked = query.clone();
    let (told, found) = oneshot::channel();
    let begin = move || -> Result<Found> {
        let found = begin()?;
        // Who has gone away needs no header.
        let _ = told.send(found.clock);
        Ok(found)
    };
    let mut answer = if form == EntriesForm::Arrow {
        run_query(&Handle::current(), &query, move || {
            let Found { schema, batches, .. } = begin()?;
            let batches = Box::new(batches.map(|entries| Ok(entries?.columns().clone())));
            of_rows(&state, AnswerForm::Arrow, AnswerRows { schema, batches, query: Some(asked) })
        })
        .await?
    } else {
        let body = pieces::body(&query, move || Ok(EntryWriter::new(form, begin()?))).await?;
        ([(header::CONTENT_TYPE, form.content_type())], body).into_response()
    };
    if let Ok(clock) = found.await {
        let name = match clock {
            Clock::Timestamp => "timestamp",
            Clock::SourceTime => "source_time",
        };
        answer.headers_mut().insert(CLOCK, HeaderValue::from_static(name));
    }
    Ok(answer)
}

struct EntryWriter {
    form: EntriesForm,
    by: Clock,
    found: EntryCursor<FoundBatches>,
    is_begun: bool,
    has_entries: bool,
}

impl EntryWriter {
    fn new(form: EntriesForm, found: Found) -> Self {
        let Found { batches, clock: by, .. } = found;
        Self { form, by, found: EntryCursor::new(batches), is_begun: false, has_entries: false }
    }
}

impl Pieces for EntryWriter {
    fn write(&mut self, out: &mut String) -> timestrata_engine::Result<bool> {
        let (begin, between, behind, end) = match self.form {
            EntriesForm::Json => (r#"{"success":true,"data":["#, ",", "", r#"],"error":null}"#),
            _ => ("", "", "\n", ""),
        };
        if !std::mem::replace(&mut self.is_begun, true) {
            out.push_str(begin);
        }
        while out.len() < PIECE_BYTES {
            let Some(entry) = self.found.next()? else {
                out.push_str(end);
                return Ok(true);
            };
            if std::mem::replace(&mut self.has_entries, true) {
                out.push_str(between);
            }
            write_entry(entry, self.by, out);
            out.push_str(behind);
        }
        Ok(false)
    }
}

/// Appends an entry as JSON, with its position.
fn write_entry(entry: EntryRef<'_>, by: Clock, out: &mut String) {
    entry.write_json(out);
    // One member more, before what ends the object. Memory takes what is written to it.
    out.pop();
    let _ = write!(out, r#","position":"{}"}}"#, entry.position(by));
}
