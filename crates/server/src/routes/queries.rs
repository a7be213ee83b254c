//! `GET /queries` and `DELETE /queries/{id}`: what is worked on, and its end by name.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{delete, get};
use serde_json::{Value, json};
use timestrata_engine::QueryInfo;
use timestrata_table::time_text;

use crate::endpoint::{ADMIN_ALL, Class};
use crate::error::{Failure, Result, success};
use crate::routes::Route;
use crate::routes::named::Named;
use crate::state::AppState;

pub(super) const ENDPOINTS: &[Route] = &[
    Route::get("/queries", ADMIN_ALL, "What is worked on", || get(list)).class(Class::Watching),
    Route::delete(
        "/queries/{id}",
        ADMIN_ALL,
        "Ends that query; whoever asked for it gets 409",
        || delete(cancel),
    )
    .class(Class::Watching),
];

async fn list(State(state): State<AppState>) -> Response {
    success(state.store.queries().iter().map(shown).collect())
}

fn shown(query: &QueryInfo) -> Value {
    json!({
        "id": query.id,
        "query": query.text,
        "state": query.state.name(),
        "begun": time_text(query.begun_wall_ns),
        "worked_ms": query.worked.as_secs_f64() * 1e3,
        "timeout_ms": query.time_max.map(|max| max.as_secs_f64() * 1e3),
        "steps": query.steps,
        "memory_bytes": query.memory_bytes,
    })
}

async fn cancel(State(state): State<AppState>, Named(id): Named<u64>) -> Result<Response> {
    match state.store.cancel_query(id) {
        true => Ok(success(json!({ "cancelled": id }))),
        false => Err(Failure::new(
            StatusCode::NOT_FOUND,
            format!("no query {id} is worked on; GET /queries lists those that are"),
        )),
    }
}
