//! `GET /metrics`: what is counted, for Prometheus.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::endpoint::Class;
use crate::routes::Route;
use crate::state::AppState;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) const ENDPOINTS: &[Route] =
    &[Route::get("/metrics", "Figures in the form that Prometheus reads", || get(metrics))
        .class(Class::Watching)
        .gives(&[OPEN_METRICS])];

async fn metrics(State(state): State<AppState>) -> Response {
    drop(state.members.remove_silent(&state.metrics));
    let text = state.metrics.text(&state.store.stats());
    ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response()
}
