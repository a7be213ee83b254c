//! `/timelogs/{timelog}/entries`: appended, read, deleted and counted.

use std::io::{BufReader, Read};
use std::ops::Bound;

use arrow_schema::DataType;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use timestrata_engine::Durability;
use timestrata_timelog::{Timelog, Unit};
use timestrata_values::lines::NumberedLines;
use timestrata_values::time::parse as parse_time;
use tokio::runtime::Handle;

use super::to_write;
use super::values::{EntryWriter, NewEntries};
use crate::answer::entries::EntriesForm;
use crate::body::{Sent, WholeBody};
use crate::content_type;
use crate::error::{Failure, Result, success};
use crate::json_lines::JsonLines;
use crate::query_task::run_query;
use crate::routes::asked::{Asked, Question, refuse_with};
use crate::state::blocking;

/// Entries of an answer where nobody says how many.
const ENTRIES_DEFAULT: usize = 1_000;
/// Bytes of an answer, which is made at once.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// A range as it stands behind a path: of which unit its whole numbers are, the log says.
#[derive(Debug)]
pub(in crate::routes) struct Range {
    pub(in crate::routes) from: Option<String>,
    pub(in crate::routes) to: Option<String>,
}

impl Range {
    fn of(asked: &mut Asked) -> Result<Self> {
        Ok(Self { from: asked.take("from")?, to: asked.take("to")? })
    }

    /// Its ends in a log's unit.
    ///
    /// # Errors
    /// `400` for what is no time.
    pub(in crate::routes) fn bounds(&self, unit: Unit) -> Result<(Bound<i64>, Bound<i64>)> {
        let kind = DataType::Timestamp(unit.to_arrow(), None);
        let time = |name: &str, text: &Option<String>| {
            let of = |text: &str| text.parse().or_else(|_| parse_time(text, &kind));
            text.as_deref().map(of).transpose().map_err(|error| refuse_with(name, &error))
        };
        let from = time("from", &self.from)?.map_or(Bound::Unbounded, Bound::Included);
        let to = time("to", &self.to)?.map_or(Bound::Unbounded, Bound::Excluded);
        Ok((from, to))
    }
}

/// An entry a line, or a list of them.
pub(super) async fn append(question: Question, sent: Sent) -> Result<Response> {
    let is_document = content_type::is_document(&question.headers, "entries")?;
    let body = WholeBody::new(&question.state, &question.headers, sent).await?;
    let (state, name) = question.named()?;
    blocking(move || {
        let body = body.read()?;
        let log = to_write(&state.store, &name)?;
        let lines: Box<dyn Read + '_> = match is_document {
            true => Box::new(JsonLines::new(body.as_slice())),
            false => Box::new(body.as_slice()),
        };
        let new = entries_of(&log, lines, state.store.wall_ns())?;
        let entries = new.commit(&log, Durability::Synced)?;
        state.metrics.timelog_entries.inc_by(entries);
        Ok(success(json!({ "entries": entries })))
    })
    .await
}

/// The entries that lines of JSON are, for a log.
///
/// # Errors
/// `400` that names the line.
pub(in crate::routes) fn entries_of(
    log: &Timelog,
    lines: impl Read,
    now_ns: i64,
) -> Result<NewEntries> {
    let mut new = NewEntries::of(log, now_ns)?;
    let mut lines = NumberedLines::new(BufReader::new(lines));
    loop {
        let advanced = lines.advance();
        if !advanced.map_err(|error| Failure::bad_request(error.to_string()))? {
            break;
        }
        let Some(row) = lines.row() else { continue };
        let wrong = |why: String| {
            let number = lines.number();
            Failure::bad_request(format!("line {number}: {why}; nothing was appended"))
        };
        new.push(row).map_err(wrong)?;
    }
    Ok(new)
}

pub(super) async fn read(mut question: Question) -> Result<Response> {
    let form = EntriesForm::accepted(&question.headers)?;
    let range = Range::of(&mut question.asked)?;
    let limit = question.asked.limit(ENTRIES_DEFAULT, "entries")?;
    let is_reverse = question.asked.is_reverse()?;
    let is_encoded = question.asked.word("values", &[("json", false), ("encoded", true)])?;
    let (state, name, query) = question.begin()?;
    let asker = query.clone();
    let rows_max = state.config.rows_max;
    run_query(&Handle::current(), &query, move || {
        let log = state.timelog(&name)?;
        let view = log.view_of(log.snapshot()?.snapshot().for_query(&asker));
        let limit = limit.unwrap_or(rows_max + 1);
        let mut selection = view.range(range.bounds(log.unit())?)?.limit(limit);
        if is_reverse {
            selection = selection.reverse();
        }
        let mut writer = EntryWriter::of(&log, form == EntriesForm::Lines, is_encoded)?;
        for block in selection.blocks() {
            let block = block?;
            for row in 0..block.len() {
                writer.write(&block, row);
                if writer.count() > rows_max || writer.bytes() > ANSWER_BYTES_MAX {
                    return Err(Failure::bad_request(format!(
                        "the answer has more than {rows_max} entries (rows_max), or {} MiB: set a \
                         limit, or ask for less at once",
                        ANSWER_BYTES_MAX >> 20
                    )));
                }
            }
        }
        Ok(([(header::CONTENT_TYPE, form.content_type())], writer.finish()).into_response())
    })
    .await
}

pub(super) async fn count(mut question: Question) -> Result<Response> {
    let range = Range::of(&mut question.asked)?;
    let (state, name, query) = question.begin()?;
    let asker = query.clone();
    run_query(&Handle::current(), &query, move || {
        let log = state.timelog(&name)?;
        let view = log.view_of(log.snapshot()?.snapshot().for_query(&asker));
        let count = view.range(range.bounds(log.unit())?)?.count()?;
        Ok(success(json!({ "count": count })))
    })
    .await
}

pub(super) async fn delete_range(mut question: Question) -> Result<Response> {
    let range = Range::of(&mut question.asked)?;
    let (state, name) = question.named()?;
    if range.from.is_none() && range.to.is_none() {
        return Err(Failure::bad_request(
            "say from or to: without them all entries would go, which DELETE of the time log does",
        ));
    }
    blocking(move || {
        let log = state.timelog(&name)?;
        let range = range.bounds(log.unit())?;
        let entries = log.range(range)?.count()?;
        let seq = log.delete_range_with(range, Durability::Synced)?;
        Ok(success(json!({ "entries": entries, "seq": seq.map(|seq| seq.0) })))
    })
    .await
}
