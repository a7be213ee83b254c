//! `GET /metrics`: what is counted, for Prometheus.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::state::AppState;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) async fn metrics(State(state): State<AppState>) -> Response {
    let text = state.metrics.text(&state.store.stats());
    ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response()
}
