//! `POST /sql`: one statement over all models.

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use futures::StreamExt;
use serde::Deserialize;
use serde_json::Value;
use timestrata_sql::{Params, QueryResult, ScalarValue};
use tokio::runtime::Handle;

use crate::answer::{self, Form, Rows};
use crate::error::{Failure, Result};
use crate::state::{AppState, blocking};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    query: String,
    /// A list for `$1`, `$2`, ...; an object for `$name`.
    #[serde(default)]
    params: Value,
}

pub(super) async fn sql(
    State(state): State<AppState>,
    headers: HeaderMap,
    asked: std::result::Result<Json<Asked>, JsonRejection>,
) -> Result<Response> {
    let form = Form::accepted(&headers)?;
    let Json(asked) = asked.map_err(|error| Failure::new(error.status(), error.body_text()))?;
    let params = params_of(asked.params)?;
    let result = state.sql.query(&asked.query, params).await?;
    answered(state, form, result).await
}

/// The rows of a result, in a form.
pub(super) async fn answered(state: AppState, form: Form, result: QueryResult) -> Result<Response> {
    let schema = result.schema().clone();
    let mut result = result;
    let runtime = Handle::current();
    let batches = std::iter::from_fn(move || runtime.block_on(result.next()));
    let rows = Rows { schema, batches: Box::new(batches) };
    blocking(move || answer::of_rows(&state, form, rows)).await
}

fn params_of(params: Value) -> Result<Params> {
    match params {
        Value::Null => Ok(Params::none()),
        Value::Array(values) => {
            let values = values.into_iter().map(scalar).collect::<Result<Vec<_>>>()?;
            Ok(Params::from(values))
        }
        Value::Object(values) => {
            let values = values.into_iter().map(|(name, value)| Ok((name, scalar(value)?)));
            Ok(Params::named(values.collect::<Result<Vec<_>>>()?))
        }
        other => Err(Failure::bad_request(format!(
            "params: {other} is neither a list nor an object of values"
        ))),
    }
}

fn scalar(value: Value) -> Result<ScalarValue> {
    Ok(match value {
        Value::Null => ScalarValue::Null,
        Value::Bool(value) => value.into(),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(value), ..) => value.into(),
            (_, Some(value), _) => value.into(),
            (_, _, Some(value)) => value.into(),
            _ => return Err(Failure::bad_request(format!("params: {number} is out of range"))),
        },
        Value::String(text) => ScalarValue::Utf8(Some(text)),
        other => return Err(Failure::bad_request(format!("params: {other} is no single value"))),
    })
}
