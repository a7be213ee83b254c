//! `POST /sql`: one statement over all models.

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use serde::Deserialize;
use serde_json::Value;
use timestrata_engine::RunningQuery;
use timestrata_sql::{BlockingResult, Params, ScalarValue, Sql, is_query};

use crate::answer::{self, AnswerForm, AnswerRows};
use crate::auth::{Caller, Right};
use crate::content_type;
use crate::endpoint::{READ_ALL, Takes};
use crate::error::{Failure, Result};
use crate::moments::Reading;
use crate::query_task::run_query;
use crate::routes::Route;
use crate::routes::parameters::JsonBody;
use crate::routes::tables::ROWS;
use crate::state::AppState;

pub(super) const ENDPOINTS: &[Route] =
    &[Route::post("/sql", READ_ALL, "The rows of one statement over all models", || post(sql))
        .only_reads(true)
        .takes(Takes::Kinds(&["application/json", "application/sql"]))
        .gives(ROWS)];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SqlRequest {
    query: String,
    /// A list for `$1`, `$2`, ...; an object for `$name`. A value may be a list itself, for `IN ($1)`.
    #[serde(default)]
    params: Value,
    /// How long it may be worked on, where that is less than the server gives.
    timeout: Option<String>,
}

impl<S: Send + Sync> FromRequest<S> for SqlRequest {
    type Rejection = Failure;

    /// JSON, or the statement by itself; where nobody said which, as it looks.
    async fn from_request(request: Request, state: &S) -> Result<Self> {
        let kind = content_type::kind(request.headers());
        if kind == "application/json" || kind.ends_with("+json") {
            return JsonBody::from_request(request, state).await.map(|JsonBody(read)| read);
        }
        let is_unsaid = kind.is_empty() || content_type::is_web_form(&kind);
        if !is_unsaid && kind != "application/sql" {
            return Err(Failure::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!(
                    "Content-Type: {kind:?}: what is asked is a statement as application/sql, or \
                     {{\"query\": ...}} as application/json"
                ),
            ));
        }
        let text = String::from_request(request, state)
            .await
            .map_err(|error| Failure::new(error.status(), error.body_text()))?;
        if is_unsaid && content_type::begins_json(text.as_bytes()) {
            return serde_json::from_str(&text).map_err(|error| {
                Failure::bad_request(format!("the body is no statement: {error}"))
            });
        }
        Ok(Self { query: text, params: Value::Null, timeout: None })
    }
}

pub(super) async fn sql(
    caller: Caller,
    Reading(state): Reading,
    headers: HeaderMap,
    asked: SqlRequest,
) -> Result<Response> {
    // Who may do everything needn't be looked at; of the others those may who do no more than read.
    if !caller.may(Right::Admin, None) && !is_query(&asked.query)? {
        caller.expect(Right::Admin, None)?;
    }
    let form = AnswerForm::accepted(&headers)?;
    let params = params_of(asked.params)?;
    let query = state.begin(&asked.query, asked.timeout.as_deref())?;
    answered(state, form, query, move |sql| sql.query_blocking(&asked.query, params)).await
}

/// The rows of a query, in a form. It is planned and worked out on the threads of SQL.
pub(super) async fn answered(
    state: AppState,
    form: AnswerForm,
    query: RunningQuery,
    ask: impl FnOnce(&Sql) -> timestrata_engine::Result<BlockingResult> + Send + 'static,
) -> Result<Response> {
    let threads = state.sql.threads()?;
    let sql = state.sql()?.for_query(&query);
    let asked = query.clone();
    run_query(&threads, &query, move || {
        let rows = ask(&sql)?;
        let rows =
            AnswerRows { schema: rows.schema(), batches: Box::new(rows), query: Some(asked) };
        answer::of_rows(&state, form, rows)
    })
    .await
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
        Value::Array(values) => {
            Params::list(values.into_iter().map(scalar).collect::<Result<Vec<_>>>()?)?
        }
        other @ Value::Object(_) => {
            return Err(Failure::bad_request(format!(
                "params: {other} is no value, and no list of values"
            )));
        }
    })
}
