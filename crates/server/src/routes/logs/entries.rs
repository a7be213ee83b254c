//! `POST /logs/{name}/entries`: entries of which every part is named, in one commit.

use std::io::{BufReader, Read};

use axum::response::Response;
use serde_json::json;
use timestrata_engine::Durability;
use timestrata_ingest::lines::{Members, read_entry};
use timestrata_logs::{LogsOptions, NewEntry};
use timestrata_table::time_text;
use timestrata_values::lines::NumberedLines;

use crate::body::{Sent, WholeBody};
use crate::content_type;
use crate::error::{Failure, Result, success};
use crate::json_lines::JsonLines;
use crate::retry::retry_while_busy;
use crate::routes::asked::Question;
use crate::state::blocking;

/// An entry a line, or a list of them.
pub(super) async fn write(question: Question, sent: Sent) -> Result<Response> {
    let is_document = content_type::is_document(&question.headers, "entries")?;
    let body = WholeBody::new(&question.state, &question.headers, sent).await?;
    let (state, name) = question.named()?;
    blocking(move || {
        let body = body.read()?;
        let lines: Box<dyn Read + '_> = match is_document {
            true => Box::new(JsonLines::new(body.as_slice())),
            false => Box::new(body.as_slice()),
        };
        let entries = entries_of(lines)?;
        let logs = state.logs_to_write(&name, &LogsOptions::default())?;
        let first =
            retry_while_busy(&state.store, || logs.write_many(&entries, Durability::Synced))?;
        state.metrics.log_entries.inc_by(entries.len() as u64);
        let last = first.map(|first| first.saturating_add(entries.len() as i64 - 1));
        Ok(success(json!({
            "entries": entries.len(),
            "first_timestamp": first.map(time_text),
            "last_timestamp": last.map(time_text),
        })))
    })
    .await
}

/// The entries that lines of JSON are.
///
/// # Errors
/// `400` that names the line.
pub(in crate::routes) fn entries_of(lines: impl Read) -> Result<Vec<NewEntry>> {
    let mut lines = NumberedLines::new(BufReader::new(lines));
    let (mut entries, mut members) = (Vec::new(), Members::default());
    while lines.advance().map_err(|error| Failure::bad_request(error.to_string()))? {
        let Some(row) = lines.row() else { continue };
        let mut entry = NewEntry::default();
        read_entry(row, &mut entry, &mut members).map_err(|why| {
            let number = lines.number();
            Failure::bad_request(format!("line {number}: {why}; nothing was written"))
        })?;
        entries.push(entry);
    }
    Ok(entries)
}
