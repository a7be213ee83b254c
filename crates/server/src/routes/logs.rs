//! Logs: names, entries in and out, figures of them.

mod figures;
mod ingest;
mod parameters;
mod search;
mod tail;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{delete, get, post};
use serde_json::json;
use timestrata_logs::Logs;

use crate::error::{Result, success};
use crate::moments::Reading;
use crate::routes::named::Named;
use crate::state::{AppState, blocking};

/// Those whose bodies have their own bound, and take the time that they take.
pub(super) fn ingest() -> Router<AppState> {
    Router::new().route("/logs/{name}", post(ingest::ingest))
}

/// Those that answer in their time.
pub(super) fn timed() -> Router<AppState> {
    Router::new()
        .route("/logs", get(list))
        .route("/logs/{name}", delete(drop))
        .route("/logs/{name}/search", get(search::search))
        .route("/logs/{name}/context", get(search::context))
        .route("/logs/{name}/count", get(figures::count))
        .route("/logs/{name}/histogram", get(figures::histogram))
        .route("/logs/{name}/facets", get(figures::facets))
        .route("/logs/{name}/tail", get(tail::tail))
}

/// `GET /logs`.
async fn list(Reading(state): Reading) -> Response {
    success(json!(Logs::names(state.read())))
}

/// `DELETE /logs/{name}`: the log and its entries, durably.
async fn drop(State(state): State<AppState>, Named(name): Named<String>) -> Result<Response> {
    blocking(move || {
        Logs::drop(&state.store, &name)?;
        state.store.sync()?;
        Ok(success(json!({ "dropped": name })))
    })
    .await
}
