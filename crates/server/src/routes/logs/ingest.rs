//! `POST /logs/{name}`: a body of log lines, in commits of bounded size.

use std::io::Read;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};
use timestrata_engine::Durability;
use timestrata_ingest::Encoding;
use timestrata_ingest::lines::{Format, LineReader, LogFormats, SourceOptions, SourceReport};
use timestrata_ingest::rows::Compression;
use timestrata_logs::{Clock, Labels, Logs, LogsOptions, NewEntry};
use timestrata_table::time_text;

use crate::body::{BodyReader, Sent, unread};
use crate::content_type;
use crate::error::{Failure, Result, success};
use crate::json_lines::JsonLines;
use crate::retry::retry_while_busy;
use crate::routes::asked::{Asked, refuse, refuse_with};
use crate::routes::named::Named;
use crate::state::{AppState, blocking};
use crate::unpack::unpacked;

/// Entries and bytes of one commit.
const ENTRIES_MAX: usize = 4_096;
const BYTES_MAX: usize = 4 << 20;

/// How curl sends lines, ends and all.
const BY_CURL: &str = "curl -H 'Content-Type: text/plain' --data-binary @FILE sends lines";

/// How the body is read.
#[derive(Debug)]
struct BodyForm {
    format: Option<Format>,
    /// How text is written in bytes, if it is said.
    text_encoding: Option<Encoding>,
    compression: Compression,
    /// Whether it is JSON only if it looks so.
    is_unsaid: bool,
    /// Whether it is one JSON document, over however many lines.
    is_document: bool,
    /// Whether a record may have several lines.
    joins_lines: bool,
    labels: Labels,
}

pub(crate) async fn ingest(
    State(state): State<AppState>,
    Named(name): Named<String>,
    asked: Asked,
    headers: HeaderMap,
    sent: Sent,
) -> Result<Response> {
    let begun_ns = state.io.clock.monotonic_ns();
    let form = BodyForm::of(asked, &headers, &state.log_formats)?;
    let config = &state.config;
    let (bytes_max, idle) = (config.body_bytes_max, config.body_idle_max);
    let reader = BodyReader::new(sent, "body_bytes_max", bytes_max, idle).await;
    blocking(move || {
        // Lines were written somewhere else before: they have happened when they say.
        let options = LogsOptions { clock: Some(Clock::SourceTime), ..LogsOptions::default() };
        let logs = state.logs_to_write(&name, &options)?;
        let mut ingest = Ingest::new(&state, &logs, form.labels.clone());
        let read = ingest.all(reader, &form);
        // What was taken before something went wrong stays, once it is synced.
        let synced = state.store.sync();
        let kept = synced.as_ref().map_or(0, |_| ingest.written);
        let done = read.map_err(|failure| failure.behind(kept))?;
        synced?;
        let took_ns = state.io.clock.monotonic_ns().saturating_sub(begun_ns);
        Ok(success(ingest.answer(&done, took_ns)))
    })
    .await
}

impl BodyForm {
    fn of(mut asked: Asked, headers: &HeaderMap, formats: &LogFormats) -> Result<Self> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let unsupported =
            |message: String| Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
        let kind = content_type::kind(headers);
        let asked_format = asked.take("format")?.map(|name| formats.find(&name)).transpose();
        let asked_format = asked_format.map_err(|error| refuse_with("format", &error))?;
        let text_encoding = asked.parsed("encoding")?;
        let is_unsaid = content_type::is_web_form(&kind) && asked_format.is_none();
        let by_kind = match kind.as_str() {
            _ if is_unsaid => Some(Format::Json),
            _ if content_type::is_web_form(&kind) => None,
            "application/json" | "application/x-ndjson" | "application/jsonl" => Some(Format::Json),
            "" | "text/plain" | "application/octet-stream" => None,
            _ => {
                return Err(unsupported(format!(
                    "Content-Type: {kind:?}: bodies are application/x-ndjson, application/json or \
                     text/plain"
                )));
            }
        };
        let encoding = text(header::CONTENT_ENCODING).unwrap_or_default();
        let compression = Compression::of_encoding(encoding).ok_or_else(|| {
            unsupported(format!("Content-Encoding: {encoding}: it must be gzip or zstd"))
        })?;
        let format = asked_format.or(by_kind);
        let joins_lines = !asked.truth("each_line")?.unwrap_or(false);
        let mut labels = Labels::default();
        for label in asked.all("label") {
            let (key, value) = label
                .split_once(':')
                .ok_or_else(|| refuse("label", &label, "it must be key:value"))?;
            labels.set(key, value)?;
        }
        asked.finish()?;
        let is_document = format == Some(Format::Json) && (is_unsaid || kind == "application/json");
        Ok(Self { format, text_encoding, compression, is_unsaid, is_document, joins_lines, labels })
    }
}

/// What a body was.
#[derive(Debug)]
struct Done {
    format: Format,
    why: String,
    report: SourceReport,
}

/// Entries on their way into a log.
struct Ingest<'a> {
    state: &'a AppState,
    logs: &'a Logs,
    labels: Labels,
    /// Those of the next commit, and behind them memory for more.
    entries: Vec<NewEntry>,
    count: usize,
    bytes: usize,
    written: u64,
    /// When the first and the last of them arrived.
    span: Option<(i64, i64)>,
}

impl<'a> Ingest<'a> {
    fn new(state: &'a AppState, logs: &'a Logs, labels: Labels) -> Self {
        let entries = Vec::new();
        Self { state, logs, labels, entries, count: 0, bytes: 0, written: 0, span: None }
    }

    /// Writes all entries of a body.
    fn all(&mut self, body: BodyReader, form: &BodyForm) -> Result<Done> {
        let body: Box<dyn Read + Send> = match form.is_unsaid {
            true => Box::new(content_type::json_only(body, BY_CURL)?),
            false => Box::new(body),
        };
        let body = unpacked(body, form.compression).map_err(|error| {
            Failure::bad_request(format!("the body could not be unpacked: {error}"))
        })?;
        let body: Box<dyn Read> = match form.is_document {
            true => Box::new(JsonLines::new(body)),
            false => body,
        };
        let options = SourceOptions {
            format: form.format.clone(),
            encoding: form.text_encoding,
            formats: self.state.log_formats.clone(),
            joins_lines: form.joins_lines,
            message_bytes_max: self.logs.message_bytes_max(),
            ..SourceOptions::new(self.state.store.wall_ns())
        };
        // A body may go on for days.
        let clock = Arc::clone(&self.state.io.clock);
        let mut lines = LineReader::new(body, options).with_clock(clock);
        let guess = lines.format().map_err(unread)?.clone();
        loop {
            if self.count == self.entries.len() {
                self.entries.push(NewEntry::default());
            }
            let Some(entry) = self.entries.get_mut(self.count) else { break };
            if lines.next(entry).map_err(unread)?.is_none() {
                break;
            }
            entry.labels.clone_from(&self.labels);
            self.count += 1;
            self.bytes += entry.message.len() + entry.fields.bytes();
            if self.count == ENTRIES_MAX || self.bytes >= BYTES_MAX {
                self.commit()?;
            }
        }
        self.commit()?;
        Ok(Done { format: guess.format, why: guess.why, report: lines.report().clone() })
    }

    /// Writes what was gathered, all or none. It is synced with the rest of the body.
    fn commit(&mut self) -> Result<()> {
        let entries = self.entries.get(..self.count).unwrap_or_default();
        let first = retry_while_busy(&self.state.store, || {
            self.logs.write_many(entries, Durability::Written)
        })?;
        let count = entries.len();
        if let Some(first) = first {
            let last = first.saturating_add(count as i64 - 1);
            self.span = Some((self.span.map_or(first, |(first, _)| first), last));
        }
        self.written += count as u64;
        self.state.metrics.log_entries.inc_by(count as u64);
        if self.bytes >= BYTES_MAX {
            // Long entries would keep their memory.
            self.entries.clear();
        }
        (self.count, self.bytes) = (0, 0);
        Ok(())
    }

    fn answer(&self, done: &Done, took_ns: u64) -> Value {
        let listed = done.report.first_errors.iter();
        let listed: Vec<_> = listed.map(|(line, why)| format!("line {line}: {why}")).collect();
        json!({
            "entries": self.written,
            "format": done.format.name(),
            "why": done.why,
            "parse_errors": { "count": done.report.parse_errors, "first": listed },
            "first_timestamp": self.span.map(|(first, _)| time_text(first)),
            "last_timestamp": self.span.map(|(_, last)| time_text(last)),
            "processing_time_ms": took_ns as f64 / 1e6,
        })
    }
}
