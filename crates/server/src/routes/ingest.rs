//! `POST /tables/{table}/ingest`: a body of rows, as one commit.

use std::io::Read;

use arrow_schema::TimeUnit;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde_json::json;
use timestrata_engine::{Durability, RunCompression};
use timestrata_ingest::rows::{Compression, Format, OnError, ReadOptions, open_reader};
use timestrata_table::{
    Commits, IngestOptions, OnMismatch, Table, TableOptions, WriteOptions, ingest as ingest_rows,
};

use crate::body::{BodyReader, Sent, unread};
use crate::content_type;
use crate::endpoint::{Form, Parameter, parameter};
use crate::error::{Failure, Result, success};
use crate::json_lines::JsonLines;
use crate::routes::asked::{Asked, refuse};
use crate::routes::named::Named;
use crate::state::{AppState, blocking};

/// How curl sends a table, lines and all.
const BY_CURL: &str = "curl -H 'Content-Type: text/csv' --data-binary @FILE sends CSV";

/// What may stand behind the path.
pub(super) const PARAMETERS: &[Parameter] = &[
    parameter("time", Form::Text, "The time column"),
    parameter("key", Form::Names, "Columns of the upsert key, with commas between"),
    parameter("tags", Form::Names, "Columns that are tags, with commas between"),
    parameter("delimiter", Form::Text, "What separates the fields of CSV"),
    parameter("header", Form::Truth, "false: CSV without a line of names"),
    parameter("on_error", Form::OneOf(&["fail", "skip"]), "What to do with a bad row"),
    parameter(
        "time_unit",
        Form::OneOf(&["s", "ms", "us", "ns"]),
        "The unit of whole numbers in the time column; by their size unless given",
    ),
    parameter(
        "ids",
        Form::Truth,
        "Whether a new table tells its rows apart by a column `id`; if it has no key unless given",
    ),
    parameter(
        "compression",
        Form::Text,
        "How compacted rows are packed: zstd, zstd:LEVEL, lz4 or none",
    ),
    parameter(
        "on_mismatch",
        Form::OneOf(&["error", "widen"]),
        "What to do with values of another type than their column's",
    ),
    parameter(
        "batch_rows",
        Form::Number(u64::MAX),
        "Rows of one commit; without it the body is one",
    ),
];

#[derive(Debug)]
struct IngestParameters {
    time: Option<String>,
    key: Vec<String>,
    tags: Vec<String>,
    delimiter: Option<u8>,
    has_header: bool,
    time_unit: Option<TimeUnit>,
    ids: Option<bool>,
    compression: Option<RunCompression>,
    on_error: OnError,
    on_mismatch: OnMismatch,
    batch_rows: Option<usize>,
}

impl IngestParameters {
    fn of(mut asked: Asked) -> Result<Self> {
        let delimiter = match asked.take("delimiter")? {
            None => None,
            Some(text) => match text.as_bytes() {
                [byte] if byte.is_ascii() => Some(*byte),
                _ => return Err(refuse("delimiter", &text, "it must be one ASCII character")),
            },
        };
        let of = Self {
            time: asked.take("time")?,
            key: asked.names("key")?,
            tags: asked.names("tags")?,
            delimiter,
            has_header: asked.truth("header")?.unwrap_or(true),
            time_unit: asked.word(
                "time_unit",
                &[
                    ("", None),
                    ("s", Some(TimeUnit::Second)),
                    ("ms", Some(TimeUnit::Millisecond)),
                    ("us", Some(TimeUnit::Microsecond)),
                    ("ns", Some(TimeUnit::Nanosecond)),
                ],
            )?,
            ids: asked.truth("ids")?,
            compression: asked.parsed("compression")?,
            on_error: asked
                .word("on_error", &[("fail", OnError::Fail), ("skip", OnError::Skip)])?,
            on_mismatch: asked.word(
                "on_mismatch",
                &[("error", OnMismatch::Error), ("widen", OnMismatch::Widen)],
            )?,
            batch_rows: asked.maybe_number("batch_rows", usize::MAX)?,
        };
        asked.finish()?;
        Ok(of)
    }

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
        Ok(ReadOptions {
            format: Some(format),
            compression,
            delimiter: self.delimiter,
            has_header: self.has_header,
            time: self.time.clone(),
            time_unit: self.time_unit,
            on_error: self.on_error,
            ..ReadOptions::default()
        })
    }

    fn ingest_options(&self) -> IngestOptions {
        IngestOptions {
            write: WriteOptions { durability: Durability::Synced, on_mismatch: self.on_mismatch },
            commits: self.batch_rows.map_or(Commits::One, Commits::Every),
            table: TableOptions {
                time: self.time.clone(),
                hand_out_ids: self.ids.unwrap_or(self.key.is_empty()),
                compression: self.compression,
                key: self.key.clone(),
                tags: self.tags.clone(),
                ..TableOptions::default()
            },
            ..IngestOptions::default()
        }
    }
}

pub(super) async fn ingest(
    State(state): State<AppState>,
    Named(name): Named<String>,
    asked: Asked,
    headers: HeaderMap,
    sent: Sent,
) -> Result<Response> {
    let begun_ns = state.io.clock.monotonic_ns();
    let asked = IngestParameters::of(asked)?;
    let mut read = asked.read_options(&headers)?;
    let mut options = asked.ingest_options();
    let config = &state.config;
    let (bytes_max, idle) = (config.body_bytes_max, config.body_idle_max);
    let reader = BodyReader::new(sent, "body_bytes_max", bytes_max, idle).await;
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
    let took_ns = metrics.io.clock.monotonic_ns().saturating_sub(begun_ns);
    let ms = took_ns as f64 / 1e6;
    Ok(success(json!({ "rows_inserted": rows, "processing_time_ms": ms, "skipped": skipped })))
}
