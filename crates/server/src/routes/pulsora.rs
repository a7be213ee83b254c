//! The endpoints of Pulsora, a server of tables, for its clients (`server.compat`): its answers, kinds of columns and
//! times, over the same tables as all else.
//!
//! They have paths of their own, to which requests of these clients are led: ours, who ask at the same paths, count on
//! what stands there.
//!
//! `docs/migrating/pulsora.md` says what is the same and what is not. Of a table that clients of that server have made
//! rows are told apart by `id`, and one whose rows bring no time has that of their arrival, in a column that is not shown
//! to them. Whole numbers that are the time are kept as milliseconds, and times that came as text in another unit:
//! by that the two are told apart when they are shown.

mod arrow;
mod intake;
mod kind;
mod refusal;
mod shown;
mod times;
mod typed;

use arrow_schema::TimeUnit;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Request, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Serialize;
use serde_json::{Value, json};
use timestrata_engine::{Error, ErrorKind, KeyRange, LeadKey};
use timestrata_table::{Table, TableScan, TableView, time_text, without_first};
use tokio::runtime::Handle;

use self::refusal::Refusal;
use self::shown::Shown;
use crate::answer::{self, AnswerForm, AnswerRows, Nulls, json_row};
use crate::auth::Caller;
use crate::body::{BodyReader, Sent};
use crate::endpoint::{Class, Form, Needs, Parameter, READ, Takes, WRITE, parameter};
use crate::error::{Failure, Result};
use crate::moments::Reading;
use crate::query_task::run_query;
use crate::routes::Route;
use crate::routes::asked::Asked;
use crate::routes::named::Named;
use crate::routes::tables::{ROWS, key_cell};
use crate::state::{AppState, blocking};

/// The time column of tables whose rows bring no time.
const ARRIVAL: &str = "_ingested_at";
/// Rows of an answer where nobody says how many.
const ROWS_DEFAULT: usize = 1000;

const QUERY: &[Parameter] = &[
    parameter("start", Form::Time, "The first time of the range"),
    parameter("end", Form::Time, "The last time of the range, which is in it"),
    parameter("limit", Form::Number(u64::MAX), "How many rows at most; 1000 unless given"),
    parameter("offset", Form::Number(u64::MAX), "How many rows to leave out first"),
];

pub(super) const ENDPOINTS: &[Route] = &[
    Route::get(
        "/pulsora/health",
        Needs::Nothing,
        "Whether requests are answered and writes taken",
        || get(health),
    )
    .class(Class::Watching)
    .takes_any(),
    Route::get("/pulsora/tables", Needs::Token, "The names of the tables", || get(list))
        .takes_any(),
    Route::post(
        "/pulsora/tables/{table}/ingest",
        WRITE,
        "Takes in a body of rows as one commit; makes the table if it is missing",
        || post(ingest),
    )
    .class(Class::Body)
    .takes_any()
    .takes(Takes::Kinds(&[
        "text/csv",
        "application/vnd.apache.arrow.stream",
        "application/x-protobuf",
    ])),
    Route::get("/pulsora/tables/{table}/query", READ, "Rows in time order", || get(query))
        .asks(QUERY)
        .takes_any()
        .gives(ROWS),
    Route::get("/pulsora/tables/{table}/schema", READ, "The table's columns", || get(schema))
        .takes_any(),
    Route::get("/pulsora/tables/{table}/count", READ, "How many rows there are", || get(count))
        .takes_any(),
    Route::get("/pulsora/tables/{table}/row/{id}", READ, "The row of that id, or null", || {
        get(row)
    })
    .takes_any(),
    Route::get("/pulsora/tables/{table}/rows/{id}", READ, "The same", || get(row)).takes_any(),
];

/// Where its paths begin here.
const PREFIX: &str = "/pulsora";
/// How our own clients begin to say who they are.
const OURS: &str = "timestrata/";

/// Leads a request to its endpoint above, if it is one of that server's clients.
pub(super) fn lead<B>(request: &mut Request<B>) {
    let agent = request.headers().get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    if !is_theirs(request.uri().path()) || agent.is_some_and(|agent| agent.starts_with(OURS)) {
        return;
    }
    let target = request.uri().path_and_query().map(|target| format!("{PREFIX}{target}").parse());
    if let Some(Ok(target)) = target {
        let mut parts = request.uri().clone().into_parts();
        parts.path_and_query = Some(target);
        if let Ok(uri) = Uri::from_parts(parts) {
            *request.uri_mut() = uri;
        }
    }
}

/// Whether that server has something at a path.
fn is_theirs(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match parts[..] {
        ["health" | "tables"] => true,
        ["tables", _, what] => matches!(what, "ingest" | "query" | "schema" | "count"),
        ["tables", _, what, _] => matches!(what, "row" | "rows"),
        _ => false,
    }
}

type Answered = std::result::Result<Response, Refusal>;

/// What an answer that is no rows in another form is.
#[derive(Debug, Serialize)]
struct Envelope<'a, T> {
    success: bool,
    data: Option<T>,
    error: Option<&'a str>,
}

fn success(data: impl Serialize) -> Response {
    Json(Envelope { success: true, data: Some(data), error: None }).into_response()
}

async fn health(State(state): State<AppState>) -> Response {
    match state.store.failure() {
        None => success(json!({ "status": "healthy", "version": env!("CARGO_PKG_VERSION") })),
        Some(failure) => {
            let error = failure.to_string();
            let body = Envelope::<()> { success: false, data: None, error: Some(&error) };
            (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
        }
    }
}

async fn list(caller: Caller, Reading(state): Reading) -> Response {
    success(caller.known(Table::names(state.read())))
}

async fn ingest(
    State(state): State<AppState>,
    name: Result<Named<String>>,
    headers: HeaderMap,
    sent: Sent,
) -> Answered {
    let begun_ns = state.io.clock.monotonic_ns();
    let Named(name) = name?;
    let packing = intake::Packing::of(&headers)?;
    let config = &state.config;
    let (bytes_max, idle) = (config.body_bytes_max, config.body_idle_max);
    let reader = BodyReader::new(sent, "body_bytes_max", bytes_max, idle).await;
    let taking = state.clone();
    let rows = blocking(move || intake::take(&taking, &name, packing, reader)).await?;
    state.metrics.rows_ingested.inc_by(rows);
    let took_ns = state.io.clock.monotonic_ns().saturating_sub(begun_ns);
    Ok(success(json!({ "rows_inserted": rows, "processing_time_ms": took_ns / 1_000_000 })))
}

/// The form that rows are wanted in: one that `Accept` names, in whatever words, else JSON.
fn wanted(headers: &HeaderMap) -> AnswerForm {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let names = |kind: &str| accept.is_some_and(|accept| accept.contains(kind));
    if names("text/csv") {
        AnswerForm::Csv
    } else if names("application/arrow") || names("application/vnd.apache.arrow.stream") {
        AnswerForm::Arrow
    } else if names("application/protobuf") || names("application/x-protobuf") {
        AnswerForm::Protobuf
    } else {
        AnswerForm::Json
    }
}

struct Query {
    /// Milliseconds since 1970.
    start: Option<i64>,
    end: Option<i64>,
    limit: usize,
    offset: usize,
}

impl Query {
    fn of(mut asked: Asked) -> Result<Self> {
        let (start, end) = (asked.take("start")?, asked.take("end")?);
        let limit = asked.maybe_number("limit", usize::MAX)?.unwrap_or(ROWS_DEFAULT);
        let offset = asked.number("offset", 0, usize::MAX)?;
        asked.finish()?;
        let ms = |text: Option<String>| text.map(|text| times::asked_ms(&text)).transpose();
        Ok(Self { start: ms(start)?, end: ms(end)?, limit, offset })
    }

    /// Both ends are in it, to the millisecond.
    fn range(&self, view: &TableView) -> KeyRange {
        let data_type = view.schema().field(view.stream().lead_column()).data_type();
        let unit = times::unit_of(data_type).unwrap_or(TimeUnit::Millisecond);
        let behind = self.end.and_then(|end| end.checked_add(1));
        KeyRange::new(
            self.start.map(|start| LeadKey::Time(times::from_ms(start, unit))),
            behind.map(|behind| LeadKey::Time(times::from_ms(behind, unit))),
        )
    }
}

async fn query(
    Reading(state): Reading,
    name: Result<Named<String>>,
    asked: Result<Asked>,
    uri: Uri,
    headers: HeaderMap,
) -> Answered {
    let Named(name) = name?;
    let form = wanted(&headers);
    let asked = Query::of(asked?)?;
    let query = state.begin(&format!("GET {uri}"), None)?;
    let asker = query.clone();
    let threads = Handle::current();
    let answered = run_query(&threads, &query, move || {
        let view = there(&state, &name)?.view()?.for_query(&asker);
        let shown = Shown::of(&view).for_form(form);
        let range = asked.range(&view);
        let limit = match range.is_empty() {
            true => 0,
            false => asked.limit.saturating_add(asked.offset),
        };
        let range = if limit == 0 { KeyRange::ALL } else { range };
        let (columns, limit) = (Some(shown.names()), Some(limit));
        let scan = view.scan(&TableScan { range, columns, limit, ..TableScan::default() })?;
        let schema = shown.schema(form);
        let rows = without_first(scan, asked.offset);
        let batches = Box::new(rows.map(move |rows| shown.rows(form, &rows?)));
        let rows = AnswerRows { schema, batches, query: Some(asker) };
        answer::of_rows_without_nulls(&state, form, rows)
    });
    Ok(answered.await?)
}

async fn count(Reading(state): Reading, name: Result<Named<String>>, uri: Uri) -> Answered {
    let Named(name) = name?;
    let query = state.begin(&format!("GET {uri}"), None)?;
    let asker = query.clone();
    let threads = Handle::current();
    let counted = run_query(&threads, &query, move || {
        match Table::open(state.read(), &name) {
            // This alone is no error of the request.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let error = not_found(&name);
                let body = Envelope::<()> { success: false, data: None, error: Some(&error) };
                Ok(Json(body).into_response())
            }
            table => {
                let count = table?.view()?.for_query(&asker).count(&KeyRange::ALL)?;
                Ok(success(json!({ "count": count })))
            }
        }
    });
    Ok(counted.await?)
}

async fn schema(Reading(state): Reading, name: Result<Named<String>>) -> Answered {
    let Named(name) = name?;
    let described = blocking(move || {
        let table = there(&state, &name)?;
        let view = table.view()?;
        let shown = Shown::of(&view);
        let columns = shown.columns().iter().map(|(name, kind)| {
            json!({
                "name": name,
                "data_type": kind.word(),
                "nullable": shown.id() != Some(name),
            })
        });
        Ok(success(json!({
            "table_name": name,
            "columns": columns.collect::<Vec<Value>>(),
            "column_order": shown.names(),
            "timestamp_column": shown.time(),
            "id_column": shown.id(),
            "created_at": table.created_ns()?.map(time_text),
        })))
    });
    Ok(described.await?)
}

async fn row(Reading(state): Reading, named: Result<Named<(String, u64)>>) -> Answered {
    let Named((name, id)) = named?;
    let found = blocking(move || {
        let view = there(&state, &name)?.view()?;
        let id = id.to_string();
        let row = match view.row(&[key_cell(&view, &id)?])? {
            None => Value::Null,
            Some(row) => {
                let shown = Shown::of(&view);
                let row = shown.rows(AnswerForm::Json, &row.batch.slice(row.index, 1))?;
                json_row(&row, Nulls::LeftOut)?
            }
        };
        Ok(success(row))
    });
    Ok(found.await?)
}

/// A table that exists.
fn there(state: &AppState, name: &str) -> Result<Table> {
    Table::open(state.read(), name).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::new(ErrorKind::NotFound, not_found(name)).into(),
        _ => Failure::from(error),
    })
}

fn not_found(name: &str) -> String {
    format!("Query error: Table '{name}' not found")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn led(target: &str, agent: &str) -> String {
        let mut request = Request::get(target).header("user-agent", agent).body(()).unwrap();
        lead(&mut request);
        request.uri().to_string()
    }

    #[test]
    fn only_paths_of_that_server_are_led_elsewhere_and_only_for_others_than_our_clients() {
        for (path, is_led) in [
            ("/health", true),
            ("/tables", true),
            ("/tables/a%2Fb/query?start=1&end=2", true),
            ("/tables/t/row/1", true),
            ("/tables/t/rows/1", true),
            ("/tables/t", false),
            ("/tables/t/row/1/2", false),
            ("/tables/t/elsewhere", false),
            ("/logs", false),
            ("/", false),
        ] {
            let expected = if is_led { format!("/pulsora{path}") } else { path.to_owned() };
            assert_eq!(led(path, "curl/8"), expected);
            assert_eq!(led(path, "timestrata/0.1.0"), path);
        }
    }
}
