//! Rows as bodies: the form that a client accepts, whole or as a stream.

pub(crate) mod arrow;
pub(crate) mod entries;
mod json;
pub(crate) mod pieces;
mod protobuf;
pub(crate) mod resting;
mod stream;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use timestrata_engine::{Error, ErrorKind, RunningQuery};

pub(crate) use self::json::Nulls;
use crate::error::{Failure, Result};
use crate::state::AppState;

/// Batches of rows with their columns.
pub(crate) struct AnswerRows {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Box<dyn Iterator<Item = timestrata_engine::Result<RecordBatch>> + Send>,
    /// What they answer: it ends when nobody takes them any more.
    pub(crate) query: Option<RunningQuery>,
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerForm {
    Json,
    Csv,
    Arrow,
    Protobuf,
}

pub(crate) const JSON: &str = "application/json";
const CSV: &str = "text/csv";
pub(crate) const ARROW: &str = "application/vnd.apache.arrow.stream";
const PROTOBUF: &str = "application/x-protobuf";
/// An object of JSON a line.
pub(crate) const LINES: &str = "application/x-ndjson";
/// Bytes that only the caller understands.
pub(crate) const OCTETS: &str = "application/octet-stream";

/// The first of the forms in `Accept` that there is; `default` where nothing is asked for.
///
/// # Errors
/// 406 where none is there; it says which are known.
pub(crate) fn accepted<T>(
    headers: &HeaderMap,
    default: T,
    known: &str,
    form: impl Fn(&str) -> Option<T>,
) -> Result<T> {
    let Some(accept) = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()) else {
        return Ok(default);
    };
    let wish = |wish: &str| {
        let kind = wish.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        form(&kind)
    };
    accept.split(',').find_map(wish).ok_or_else(|| {
        Failure::new(StatusCode::NOT_ACCEPTABLE, format!("Accept: {accept}: {known}"))
    })
}

impl AnswerForm {
    /// The first form that a client accepts, in its order; JSON where it has no wish.
    ///
    /// # Errors
    /// `406` if it accepts none.
    pub(crate) fn accepted(headers: &HeaderMap) -> Result<Self> {
        let known = format!("answers are {JSON}, {CSV}, {ARROW} or {PROTOBUF}");
        accepted(headers, Self::Json, &known, |kind| match kind {
            "*/*" | "application/*" | JSON => Some(Self::Json),
            "text/*" | CSV => Some(Self::Csv),
            ARROW | "application/arrow" => Some(Self::Arrow),
            PROTOBUF | "application/protobuf" => Some(Self::Protobuf),
            _ => None,
        })
    }

    /// Whether rows go out as they are read, however many there are.
    pub(crate) fn is_streamed(self) -> bool {
        matches!(self, Self::Csv | Self::Arrow)
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Json => JSON,
            Self::Csv => CSV,
            Self::Arrow => ARROW,
            Self::Protobuf => PROTOBUF,
        }
    }
}

/// Makes a body of rows. To be called on a thread that may block.
pub(crate) fn of_rows(state: &AppState, form: AnswerForm, rows: AnswerRows) -> Result<Response> {
    let rows_max = state.config.rows_max;
    let body = match form {
        AnswerForm::Csv | AnswerForm::Arrow => {
            stream::body(form, rows, state.config.request_time_max / 2)?
        }
        AnswerForm::Json => json_body(&bounded(rows.batches, rows_max)?, Nulls::Told)?,
        AnswerForm::Protobuf => {
            protobuf::encode(&rows.schema, &bounded(rows.batches, rows_max)?)?.into()
        }
    };
    Ok(([(header::CONTENT_TYPE, form.content_type())], body).into_response())
}

/// The same, but for JSON, of which no member is null.
pub(crate) fn of_rows_without_nulls(
    state: &AppState,
    form: AnswerForm,
    rows: AnswerRows,
) -> Result<Response> {
    match form {
        AnswerForm::Json => {
            let body = json_body(&bounded(rows.batches, state.config.rows_max)?, Nulls::LeftOut)?;
            Ok(([(header::CONTENT_TYPE, JSON)], body).into_response())
        }
        form => of_rows(state, form, rows),
    }
}

/// All batches, unless there are more rows than an answer may have.
fn bounded(
    batches: impl Iterator<Item = timestrata_engine::Result<RecordBatch>>,
    rows_max: usize,
) -> Result<Vec<RecordBatch>> {
    let (mut all, mut rows) = (Vec::new(), 0);
    for batch in batches {
        let batch = batch?;
        rows += batch.num_rows();
        if rows > rows_max {
            return Err(Failure::bad_request(format!(
                "the answer has more than {rows_max} rows (rows_max): set a limit, or accept \
                 {CSV} or {ARROW}, which are streamed"
            )));
        }
        all.push(batch);
    }
    Ok(all)
}

fn json_body(batches: &[RecordBatch], nulls: Nulls) -> Result<Body> {
    let mut body = br#"{"success":true,"data":"#.to_vec();
    json::write(batches, nulls, &mut body).map_err(unwritten)?;
    body.extend_from_slice(br#","error":null}"#);
    Ok(body.into())
}

/// Appends rows as an array of JSON objects.
pub(crate) fn json_rows(batches: &[RecordBatch], out: &mut Vec<u8>) -> Result<()> {
    json::write(batches, Nulls::Told, out).map_err(unwritten)
}

/// One row as a JSON value.
pub(crate) fn json_row(row: &RecordBatch, nulls: Nulls) -> Result<serde_json::Value> {
    let mut text = Vec::new();
    json::write(std::slice::from_ref(row), nulls, &mut text).map_err(unwritten)?;
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&text)
        .map_err(|error| Failure::bad_request(format!("the row has no JSON form: {error}")))?;
    Ok(rows.into_iter().next().unwrap_or(serde_json::Value::Null))
}

/// An error for rows that the form can't express.
fn unwritten(error: ArrowError) -> Failure {
    let message = "the rows can't be written in this form; accept Arrow";
    Error::new(ErrorKind::InvalidArgument, message).caused_by(error).into()
}
