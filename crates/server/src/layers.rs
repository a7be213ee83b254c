//! What a request passes through before its route, but for [`crate::hosts`] and [`crate::drain`].

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use tokio::time::timeout;

use crate::error::{Failure, Result};
use crate::guarded_body::with_guard;
use crate::state::AppState;

/// Counts a request and its answer.
pub(crate) async fn count(State(state): State<AppState>, request: Request, next: Next) -> Response {
    // The route, not the path: names of tables are nobody's business here, and have no end.
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    let (route, method) = (route.to_owned(), request.method().to_string());
    let begun_ns = state.clock.monotonic_ns();
    state.metrics.under_way.inc();
    let answer = next.run(request).await;
    state.metrics.under_way.dec();
    let took_ns = state.clock.monotonic_ns().saturating_sub(begun_ns);
    let (seconds, status) = (took_ns as f64 / 1e9, answer.status().as_u16());
    tracing::info!(%method, %route, status, ms = seconds * 1e3, "request");
    state.metrics.answered(method, route, status, seconds);
    answer
}

/// Answers also where a handler of ours has a bug.
pub(crate) async fn survive(request: Request, next: Next) -> Response {
    match std::panic::AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(_) => Failure::of_a_bug().into_response(),
    }
}

/// Lets through who brings a token, and everybody where there are none.
pub(crate) async fn authorize(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Result<Response> {
    if state.tokens.is_empty() {
        return Ok(next.run(request).await);
    }
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = given
        .and_then(|given| given.split_once(' '))
        .and_then(|(scheme, token)| scheme.eq_ignore_ascii_case("bearer").then_some(token.trim()));
    match token {
        Some(token) if state.tokens.hold(token) => Ok(next.run(request).await),
        Some(_) => Err(Failure::new(StatusCode::UNAUTHORIZED, "the token is not known here")),
        None => Err(Failure::new(
            StatusCode::UNAUTHORIZED,
            "a token is needed: send 'Authorization: Bearer TOKEN'",
        )),
    }
}

/// Refuses what is more than can be served at once; an answer counts until its end has been sent.
pub(crate) async fn bounded(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    match Arc::clone(&state.requests).try_acquire_owned() {
        Ok(permit) => with_guard(next.run(request).await, permit),
        Err(_) => Failure::for_now("too many requests are under way (requests_max); try again")
            .into_response(),
    }
}

/// Bounds the time until an answer begins.
pub(crate) async fn in_time(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let bound = state.config.request_time_max;
    timeout(bound, next.run(request)).await.unwrap_or_else(|_| {
        Failure::new(
            StatusCode::GATEWAY_TIMEOUT,
            format!("no answer within {} ms (request_time_max)", bound.as_millis()),
        )
        .into_response()
    })
}
