//! `POST /tables/{table}/ingest`: a body of rows, as one commit.

use std::io::Read;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};
use timestrata_engine::{Durability, RunCompression};
use timestrata_ingest::rows::{
    Compression, Format, Input, Load, OnError, Plan, ReadReport, Spelling,
};
use timestrata_table::{Commits, IngestOptions, OnMismatch, TableOptions, WriteOptions};

use crate::body::{BodyReader, Sent, unread};
use crate::content_type;
use crate::endpoint::{Form, Parameter, parameter};
use crate::error::{Failure, Result, success};
use crate::json_lines::JsonLines;
use crate::routes::asked::Asked;
use crate::routes::named::Named;
use crate::state::{AppState, blocking};

/// How curl sends a table, lines and all.
const BY_CURL: &str = "curl -H 'Content-Type: text/csv' --data-binary @FILE sends CSV";

/// What messages call what was sent.
const BODY: &str = "the body";

/// What may stand behind the path.
pub(super) const PARAMETERS: &[Parameter] = &[
    parameter("time", Form::Text, "The time column"),
    parameter("key", Form::Names, "Columns of the upsert key, with commas between"),
    parameter("tags", Form::Names, "Columns that are tags, with commas between"),
    parameter(
        "delimiter",
        Form::Text,
        "What separates the fields of CSV: up to eight bytes of text, tab or blanks",
    ),
    parameter("header", Form::Truth, "false: CSV without a line of names"),
    parameter("quote", Form::Text, "What encloses fields of CSV that hold delimiters"),
    parameter("comment", Form::Text, "What lines of CSV begin with that are left out"),
    parameter("skip_lines", Form::Number(u64::MAX), "Lines at the beginning that are left out"),
    parameter("decimal", Form::Text, "What stands before a fraction: a point or a comma"),
    parameter("thousands", Form::Text, "What stands between thousands; nothing unless given"),
    parameter("null_text", Form::Many, "What stands for no value, in every column"),
    parameter("fill_short_rows", Form::Truth, "Whether short rows of CSV end with nulls"),
    parameter(
        "encoding",
        Form::Text,
        "How text is encoded, such as windows-1252; UTF-8 unless given",
    ),
    parameter("sample_rows", Form::Text, "Rows from which types are found, or all"),
    parameter("time_format", Form::Text, "How times are written, as strftime has it"),
    parameter("time_of_load", Form::Truth, "Whether each row is given the time of this request"),
    parameter(
        "dry_run",
        Form::Truth,
        "Whether to tell what would be made of the body, and write nothing",
    ),
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
    load: Load,
    is_dry: bool,
    time: Option<String>,
    key: Vec<String>,
    tags: Vec<String>,
    ids: Option<bool>,
    compression: Option<RunCompression>,
    on_error: OnError,
    on_mismatch: OnMismatch,
    batch_rows: Option<usize>,
}

impl IngestParameters {
    fn of(mut asked: Asked) -> Result<Self> {
        let mut load = Load::default();
        load.read.spelling = Spelling::Parameter;
        let of_reading =
            PARAMETERS.iter().filter(|parameter| Load::OPTIONS.contains(&parameter.name));
        for Parameter { name, form, .. } in of_reading {
            let values = match form {
                Form::Many => asked.all(name),
                _ => asked.take(name)?.into_iter().collect(),
            };
            for value in values {
                load.set(name, &value).map_err(|error| Failure::bad_request(error.message()))?;
            }
        }
        let of = Self {
            load,
            is_dry: asked.truth("dry_run")?.unwrap_or(false),
            time: asked.take("time")?,
            key: asked.names("key")?,
            tags: asked.names("tags")?,
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

    /// How a body with these headers is taken in.
    fn load(&self, headers: &HeaderMap) -> Result<Load> {
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
        let mut load = self.load.clone();
        load.read.format = Some(format);
        load.read.compression = compression;
        load.read.time = self.time.clone();
        load.read.on_error = self.on_error;
        load.ingest = self.ingest_options();
        Ok(load)
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
    let load = asked.load(&headers)?;
    let config = &state.config;
    let (bytes_max, idle) = (config.body_bytes_max, config.body_idle_max);
    let reader = BodyReader::new(sent, "body_bytes_max", bytes_max, idle).await;
    let is_unsaid = content_type::is_web_form(&content_type::kind(&headers));
    let metrics = state.clone();
    let (rows, mut told) = blocking(move || {
        let reader: Box<dyn Read + Send> = match is_unsaid {
            // Of a file curl's -d leaves the line ends out.
            true => Box::new(JsonLines::new(content_type::json_only(reader, BY_CURL)?)),
            false => Box::new(reader),
        };
        let (store, input) = (&state.store, Input::Reader(reader));
        if asked.is_dry {
            let plan = load.plan(store, &name, input, BODY, &mut |_| {}).map_err(unread)?;
            return Ok((0, told_of(&plan)));
        }
        let loaded = load.take(store, &name, input, BODY, &mut |_| {}).map_err(unread)?;
        let report = loaded.report;
        // Nothing that was told apart goes without a word.
        let notes: serde_json::Map<String, Value> =
            loaded.notes.into_iter().map(|(column, note)| (column, Value::String(note))).collect();
        let told = json!({
            "rows_inserted": report.rows,
            "skipped": skipped(&report),
            "notes": notes,
        });
        Ok((report.rows, told))
    })
    .await?;
    metrics.metrics.rows_ingested.inc_by(rows);
    let took_ns = metrics.io.clock.monotonic_ns().saturating_sub(begun_ns);
    told["processing_time_ms"] = json!(took_ns as f64 / 1e6);
    Ok(success(told))
}

fn skipped(report: &ReadReport) -> Value {
    let listed: Vec<_> = report.skips.iter().map(ToString::to_string).collect();
    json!({ "count": report.skipped, "first": listed })
}

/// What would be made of a body.
fn told_of(plan: &Plan) -> Value {
    let columns = plan.columns.fields().iter().map(|field| {
        let name = field.name();
        let note = plan.notes.iter().find(|(noted, _)| noted == name).map(|(_, note)| note);
        json!({
            "name": name,
            "data_type": field.data_type().to_string(),
            "is_new": plan.added.contains(name),
            "is_widened": plan.widened.iter().any(|(widened, _)| widened == name),
            "note": note,
        })
    });
    json!({
        "format": plan.format.to_string(),
        "delimiter": plan.delimiter.map(|delimiter| delimiter.to_string()),
        "columns": columns.collect::<Vec<_>>(),
        "timestamp_column": plan.time,
        "rows": plan.report.rows,
        "skipped": skipped(&plan.report),
        "refusal": plan.refusal,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_reading_is_a_parameter() {
        for option in Load::OPTIONS {
            assert!(PARAMETERS.iter().any(|parameter| parameter.name == option), "{option}");
        }
    }
}
