//! `POST /tables/{table}/ingest`: a body of rows, as one commit.

use std::io::Read;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use timestrata_engine::Durability;
use timestrata_ingest::rows::{Compression, Format, OnError, ReadOptions, open_reader};
use timestrata_table::{
    Commits, IngestOptions, OnMismatch, Table, TableOptions, WriteOptions, ingest as ingest_rows,
};

use crate::body::{BodyReader, Sent, unread};
use crate::content_type;
use crate::error::{Failure, Result, success};
use crate::json_lines::JsonLines;
use crate::routes::named::Named;
use crate::routes::parameters::Parameters;
use crate::state::{AppState, blocking};

/// How curl sends a table, lines and all.
const BY_CURL: &str = "curl -H 'Content-Type: text/csv' --data-binary @FILE sends CSV";

/// What may stand behind the path.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IngestParameters {
    /// The time column.
    time: Option<String>,
    /// Columns of the upsert key, with commas between.
    key: Option<String>,
    /// Columns that are tags, with commas between.
    tags: Option<String>,
    /// What separates the fields of CSV.
    delimiter: Option<char>,
    /// `false`: CSV without a line of names.
    header: Option<bool>,
    /// `fail` or `skip`.
    on_error: Option<String>,
    /// `error` or `widen`.
    on_mismatch: Option<String>,
    /// Rows of one commit; without it the body is one.
    batch_rows: Option<usize>,
}

fn names(list: Option<&str>) -> Vec<String> {
    let names = list.unwrap_or_default().split(',').map(str::trim);
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

impl IngestParameters {
    fn read_options(&self, headers: &HeaderMap) -> Result<ReadOptions> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let unsupported =
            |message: String| Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
        let kind = content_type::kind(headers);
        let format = match content_type::is_web_form(&kind) {
            true => Some(Format::JsonLines),
            false => Format::of_mime(&kind),
        };
        let format = format.ok_or_else(|| {
            unsupported(format!(
                "Content-Type: {kind:?}: bodies are text/csv, application/x-ndjson, \
                 application/vnd.apache.arrow.stream, application/x-protobuf or \
                 application/vnd.apache.parquet"
            ))
        })?;
        let compression = match text(header::CONTENT_ENCODING) {
            None => None,
            Some(encoding) => Some(Compression::of_encoding(encoding).ok_or_else(|| {
                unsupported(format!("Content-Encoding: {encoding}: it must be gzip or zstd"))
            })?),
        };
        let delimiter = match self.delimiter {
            None => None,
            Some(delimiter) => Some(u8::try_from(delimiter).map_err(|_| {
                Failure::bad_request(format!("delimiter={delimiter}: it must be ASCII"))
            })?),
        };
        Ok(ReadOptions {
            format: Some(format),
            compression,
            delimiter,
            has_header: self.header.unwrap_or(true),
            time: self.time.clone(),
            on_error: word(
                "on_error",
                self.on_error.as_deref(),
                [("fail", OnError::Fail), ("skip", OnError::Skip)],
            )?,
            ..ReadOptions::default()
        })
    }

    fn ingest_options(&self) -> Result<IngestOptions> {
        let key = names(self.key.as_deref());
        let on_mismatch = word(
            "on_mismatch",
            self.on_mismatch.as_deref(),
            [("error", OnMismatch::Error), ("widen", OnMismatch::Widen)],
        )?;
        Ok(IngestOptions {
            write: WriteOptions { durability: Durability::Synced, on_mismatch },
            commits: self.batch_rows.map_or(Commits::One, Commits::Every),
            table: TableOptions {
                time: self.time.clone(),
                hand_out_ids: key.is_empty(),
                key,
                tags: names(self.tags.as_deref()),
                ..TableOptions::default()
            },
            ..IngestOptions::default()
        })
    }
}

/// One of two words; the first where none is given.
fn word<T: Copy>(name: &str, given: Option<&str>, words: [(&str, T); 2]) -> Result<T> {
    let [(first, _), (second, _)] = words;
    let given = given.unwrap_or(first);
    words.iter().find(|(word, _)| *word == given).map(|(_, value)| *value).ok_or_else(|| {
        Failure::bad_request(format!("{name}={given}: it must be {first} or {second}"))
    })
}

pub(super) async fn ingest(
    State(state): State<AppState>,
    Named(name): Named<String>,
    Parameters(asked): Parameters<IngestParameters>,
    headers: HeaderMap,
    sent: Sent,
) -> Result<Response> {
    let begun_ns = state.clock.monotonic_ns();
    let mut read = asked.read_options(&headers)?;
    let mut options = asked.ingest_options()?;
    let config = &state.config;
    let reader = BodyReader::new(sent, config.body_bytes_max, config.body_idle_max).await;
    let is_unsaid = content_type::is_web_form(&content_type::kind(&headers));
    let metrics = state.clone();
    let (rows, skipped) = blocking(move || {
        let reader: Box<dyn Read + Send> = match is_unsaid {
            // Of a file curl's -d leaves the line ends out.
            true => Box::new(JsonLines::new(content_type::json_only(reader, BY_CURL)?)),
            false => Box::new(reader),
        };
        if let Some(stream) = state.store.stream(&name) {
            let declared = read.time.take();
            let table = Table::open(&state.store, stream.name())?;
            read.expect_of(&table, options.write.on_mismatch)?;
            read.time = declared.or(read.time);
        }
        let mut source = open_reader(reader, "the body", &read).map_err(unread)?;
        options.widened = source.widened();
        options.spoils_time = source.spoils_time();
        let rows = ingest_rows(&state.store, &name, &mut source, &options).map_err(unread)?.rows;
        let report = source.report();
        let listed: Vec<_> = report.skips.iter().map(ToString::to_string).collect();
        Ok((rows, json!({ "count": report.skipped, "first": listed })))
    })
    .await?;
    metrics.metrics.rows_ingested.inc_by(rows);
    let took_ns = metrics.clock.monotonic_ns().saturating_sub(begun_ns);
    let ms = took_ns as f64 / 1e6;
    Ok(success(json!({ "rows_inserted": rows, "processing_time_ms": ms, "skipped": skipped })))
}
