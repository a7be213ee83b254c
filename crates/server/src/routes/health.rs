//! `GET /health`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::state::AppState;

/// Whether requests are answered and writes taken.
pub(super) async fn health(State(state): State<AppState>) -> Response {
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
