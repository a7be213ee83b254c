//! `GET /metrics`: what is counted, for Prometheus.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::endpoint::{Class, Needs};
use crate::error::{Failure, Result};
use crate::metrics::StoreFigures;
use crate::routes::Route;
use crate::state::{AppState, blocking};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) const ENDPOINTS: &[Route] =
    &[Route::get("/metrics", Needs::Token, "Figures in the form that Prometheus reads", || {
        get(metrics)
    })
    .class(Class::Watching)
    .gives(&[OPEN_METRICS])];

async fn metrics(State(state): State<AppState>) -> Result<Response> {
    blocking(move || {
        drop(state.members.remove_silent(&state.metrics));
        let figures = StoreFigures::of(&state.store, state.sql.memory_bytes());
        let text = state.metrics.text(figures).map_err(|error| {
            tracing::error!(%error, "the figures can't be written");
            Failure::of_a_bug()
        })?;
        Ok(([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response())
    })
    .await
}
