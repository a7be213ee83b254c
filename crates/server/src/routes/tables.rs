//! Tables: names, schemas, counts, single rows.

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use axum::routing::{delete, get, post};
use serde_json::json;
use timestrata_engine::{Cell, KeyRange};
use timestrata_table::{Table, TableView, time_text};
use tokio::runtime::Handle;

use crate::answer::{Nulls, json_row};
use crate::auth::Caller;
use crate::endpoint::{ADMIN, Class, Needs, READ, Takes, WRITE};
use crate::error::{Failure, Result, success};
use crate::moments::Reading;
use crate::query_task::run_query;
use crate::routes::Route;
use crate::routes::named::Named;
use crate::routes::{ingest, query};
use crate::state::{AppState, blocking};

pub(super) const ENDPOINTS: &[Route] = &[
    Route::get("/tables", Needs::Token, "The names of the tables", || get(list)),
    Route::post(
        "/tables/{table}/ingest",
        WRITE,
        "Takes in a body of rows as one commit; makes the table if it is missing",
        || post(ingest::ingest),
    )
    .class(Class::Body)
    .asks(ingest::PARAMETERS)
    .takes(Takes::Kinds(&[
        "text/csv",
        "application/x-ndjson",
        "application/vnd.apache.arrow.stream",
        "application/x-protobuf",
        "application/vnd.apache.parquet",
    ])),
    Route::get("/tables/{table}/query", READ, "Rows in time order", || get(query::query))
        .asks(query::PARAMETERS)
        .gives(ROWS),
    Route::get("/tables/{table}/count", READ, "How many rows there are", || get(count)),
    Route::get("/tables/{table}/schema", READ, "The table's columns and key", || get(schema)),
    Route::get("/tables/{table}/rows/{id}", READ, "The row of that upsert key, or null", || {
        get(row)
    }),
    Route::delete("/tables/{table}", ADMIN, "Removes the table and its rows, durably", || {
        delete(drop)
    }),
];

/// The forms that rows can be had in.
pub(super) const ROWS: &[&str] = &[
    "application/json",
    "text/csv",
    "application/vnd.apache.arrow.stream",
    "application/x-protobuf",
];

/// `GET /tables`.
pub(super) async fn list(caller: Caller, Reading(state): Reading) -> Response {
    success(json!(caller.known(Table::names(state.read()))))
}

/// `DELETE /tables/{table}`.
pub(super) async fn drop(
    State(state): State<AppState>,
    Named(name): Named<String>,
) -> Result<Response> {
    blocking(move || {
        Table::drop(&state.store, &name)?;
        state.store.sync()?;
        Ok(success(json!({ "dropped": name })))
    })
    .await
}

/// `GET /tables/{table}/count`.
pub(super) async fn count(
    Reading(state): Reading,
    Named(name): Named<String>,
    uri: Uri,
) -> Result<Response> {
    let query = state.begin(&format!("GET {uri}"), None)?;
    let asker = query.clone();
    run_query(&Handle::current(), &query, move || {
        let count = state.table(&name)?.view()?.for_query(&asker).count(&KeyRange::ALL)?;
        Ok(success(json!({ "count": count })))
    })
    .await
}

/// `GET /tables/{table}/schema`.
pub(super) async fn schema(
    Reading(state): Reading,
    Named(name): Named<String>,
) -> Result<Response> {
    let table = state.table(&name)?;
    let schema = table.schema()?;
    let column = |field: &std::sync::Arc<arrow_schema::Field>| {
        json!({
            "name": field.name(),
            "data_type": field.data_type().to_string(),
            "nullable": field.is_nullable(),
        })
    };
    let columns: Vec<_> = schema.fields().iter().map(column).collect();
    Ok(success(json!({
        "table_name": name,
        "columns": columns,
        "timestamp_column": table.time_column()?,
        "key": table.key()?,
        "tags": table.tags()?,
        "created_at": table.created_ns()?.map(time_text),
    })))
}

/// `GET /tables/{table}/rows/{id}`: the row of that upsert key, or null.
pub(super) async fn row(
    Reading(state): Reading,
    Named((name, id)): Named<(String, String)>,
) -> Result<Response> {
    blocking(move || {
        let view = state.table(&name)?.view()?;
        let found = view.row(&[key_cell(&view, &id)?])?;
        let row = match found {
            Some(row) => json_row(&row.batch.slice(row.index, 1), Nulls::Told)?,
            None => serde_json::Value::Null,
        };
        Ok(success(row))
    })
    .await
}

/// A key as it stands in a path.
pub(super) fn key_cell<'a>(view: &TableView, text: &'a str) -> Result<Cell<'a>> {
    let [column] = view.key() else {
        return Err(Failure::bad_request(format!(
            "table '{}' has {} key columns; rows are found by tables' only one",
            view.name(),
            view.key().len()
        )));
    };
    let data_type = view.schema().field(view.column(column)?).data_type();
    let wrong = || Failure::bad_request(format!("column '{column}': {text:?} is no {data_type}"));
    if data_type.is_unsigned_integer() {
        return text.parse().map(Cell::UInt).map_err(|_| wrong());
    }
    if data_type.is_signed_integer() {
        return text.parse().map(Cell::Int).map_err(|_| wrong());
    }
    match data_type {
        arrow_schema::DataType::Utf8 | arrow_schema::DataType::LargeUtf8 => Ok(Cell::Text(text)),
        _ => Err(wrong()),
    }
}
