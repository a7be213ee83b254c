//! `GET /info` and `POST /purge`: the store as a whole.

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::json;
use timestrata::{purge_by_name_for, store_info};
use tokio::runtime::Handle;

use crate::endpoint::{ADMIN_ALL, Class, Form, READ_ALL, Takes, parameter};
use crate::error::{Failure, Result, success};
use crate::moments::Reading;
use crate::query_task::run_query;
use crate::routes::Route;
use crate::routes::asked::Asked;
use crate::routes::parameters::Members;
use crate::state::AppState;

pub(super) const ENDPOINTS: &[Route] = &[
    Route::get("/info", READ_ALL, "What the store holds, and what that takes", || get(info)).asks(
        &[
            parameter("name", Form::Text, "Only this stream; all unless given"),
            parameter("timeout", Form::Duration, "The longest time that it may be worked on"),
        ],
    ),
    Route::post(
        "/purge",
        ADMIN_ALL,
        "Erases what was deleted or replaced from all files of the store",
        || post(purge),
    )
    // It is given up when whoever asked goes, and takes the time that it takes.
    .class(Class::Waiting)
    .takes(Takes::Members(&[parameter(
        "names",
        Form::Many,
        "Only these tables, logs, topics, graphs and time logs; all unless given",
    )])),
];

async fn info(Reading(state): Reading, mut asked: Asked, uri: Uri) -> Result<Response> {
    let (name, timeout) = (asked.take("name")?, asked.take("timeout")?);
    asked.finish()?;
    let query = state.begin(&format!("GET {uri}"), timeout.as_deref())?;
    let asker = query.clone();
    run_query(&Handle::current(), &query, move || {
        let store = state.read();
        let snapshot = store.snapshot()?.for_query(&asker);
        Ok(success(store_info(store, &snapshot, name.as_deref())?))
    })
    .await
}

async fn purge(
    State(state): State<AppState>,
    asked: Asked,
    mut members: Members,
) -> Result<Response> {
    asked.finish()?;
    let names: Vec<String> = match members.take("names") {
        None => Vec::new(),
        Some(list) => serde_json::from_value(list).map_err(|_| {
            Failure::bad_request("names must be a list of texts, such as [\"weather\"]")
        })?,
    };
    let query = state.store.begin_query(&format!("POST /purge {}", json!(names)), None);
    let asker = query.clone();
    run_query(&Handle::current(), &query, move || {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let report = purge_by_name_for(&state.store, &names, &asker)?;
        Ok(success(json!({
            "seq": report.seq.0,
            "files": report.files,
            "bytes": report.bytes,
            "still_read": report.still_read.len(),
        })))
    })
    .await
}
