//! What is answered, by path.

mod health;
mod ingest;
mod logs;
mod metrics;
mod named;
mod parameters;
mod queries;
mod query;
mod sql;
mod tables;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{delete, get, post};

use crate::error::Failure;
use crate::state::AppState;
use crate::{drain, hosts, layers, moments};

/// Longest body of a request that is read whole: a query's.
const SMALL_BODY_BYTES_MAX: usize = 4 << 20;

/// All routes.
pub(crate) fn router(state: &AppState) -> Router {
    // Bodies of ingests have their own bound, and take the time that they take.
    let ingest =
        Router::new().route("/tables/{table}/ingest", post(ingest::ingest)).merge(logs::ingest());
    let ingest = ingest.route_layer(from_fn_with_state(state.clone(), moments::read_at));
    let timed = Router::new()
        .route("/tables", get(tables::list))
        .route("/tables/{table}", delete(tables::drop))
        .route("/tables/{table}/query", get(query::query))
        .route("/tables/{table}/count", get(tables::count))
        .route("/tables/{table}/rows/{id}", get(tables::row))
        .route("/tables/{table}/schema", get(tables::schema))
        .route("/sql", post(sql::sql))
        .merge(logs::timed())
        .route_layer(from_fn_with_state(state.clone(), moments::read_at))
        .layer(DefaultBodyLimit::max(SMALL_BODY_BYTES_MAX))
        .layer(from_fn_with_state(state.clone(), layers::in_time));
    // Who looks after the server must be heard when it is busy.
    let watching = queries::queries().route("/metrics", get(metrics::metrics));
    ingest
        .merge(timed)
        .layer(from_fn_with_state(state.clone(), layers::bounded))
        .merge(watching)
        .route_layer(from_fn_with_state(state.clone(), layers::authorize))
        // Whoever watches over processes has no token.
        .route("/health", get(health::health))
        .fallback(async || Failure::new(StatusCode::NOT_FOUND, "there is nothing at this path"))
        .method_not_allowed_fallback(async || {
            Failure::new(StatusCode::METHOD_NOT_ALLOWED, "this path has other methods")
        })
        .layer(from_fn(layers::survive))
        .layer(from_fn_with_state(state.clone(), hosts::check))
        .layer(from_fn(drain::drain))
        .layer(from_fn_with_state(state.clone(), layers::count))
        .with_state(state.clone())
}
