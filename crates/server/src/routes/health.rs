//! `GET /health`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;

use crate::endpoint::{Class, Needs};
use crate::routes::Route;
use crate::state::AppState;

/// Whoever watches over processes has no token.
pub(super) const ENDPOINTS: &[Route] = &[Route::get(
    "/health",
    Needs::Nothing,
    "Whether requests are answered and writes taken",
    || get(health),
)
.class(Class::Watching)];

/// Whether requests are answered and writes taken.
async fn health(State(state): State<AppState>) -> Response {
    let failure = state.store.failure();
    let (status, word) = match &failure {
        None => (StatusCode::OK, "healthy"),
        Some(_) => (StatusCode::SERVICE_UNAVAILABLE, "failing"),
    };
    let body = json!({
        "status": word,
        "version": env!("CARGO_PKG_VERSION"),
        "error": failure,
    });
    (status, Json(body)).into_response()
}
