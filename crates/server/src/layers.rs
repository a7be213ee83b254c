//! What a request passes through before its route, but for [`crate::hosts`] and [`crate::drain`].

use std::sync::Arc;

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{MatchedPath, RawPathParams, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use tokio::time::timeout;

use crate::auth::{Caller, Refused};
use crate::endpoint::Needs;
use crate::error::{Failure, Result};
use crate::guarded_body::with_guard;
use crate::request_id;
use crate::state::AppState;
use crate::under_watch;

/// Counts a request and its answer.
pub(crate) async fn count(State(state): State<AppState>, request: Request, next: Next) -> Response {
    // The route, not the path: names of tables are nobody's business here, and have no end.
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    let (route, method) = (route.to_owned(), request.method().clone());
    let counted = Counted::new(state, method, route);
    let answer = next.run(request).await;
    let by = answer.extensions().get::<AskedBy>().map_or("", |AskedBy(caller)| caller.shown());
    counted.ends(answer.status().as_u16(), by);
    answer
}

/// What an answer that nobody waited for any more counts as, as others have it.
const CLIENT_HAS_GONE: u16 = 499;

/// A request under way. Of a client that goes, hyper drops the request, and with it this.
struct Counted {
    state: AppState,
    method: Method,
    route: String,
    begun_ns: u64,
    is_told: bool,
}

impl Counted {
    fn new(state: AppState, method: Method, route: String) -> Self {
        state.metrics.under_way.inc();
        let begun_ns = state.io.clock.monotonic_ns();
        Self { state, method, route, begun_ns, is_told: false }
    }

    fn ends(mut self, status: u16, by: &str) {
        self.tell(status, by);
    }

    fn tell(&mut self, status: u16, token: &str) {
        self.is_told = true;
        let Self { state, method, route, begun_ns, .. } = self;
        let took_ns = state.io.clock.monotonic_ns().saturating_sub(*begun_ns);
        let seconds = took_ns as f64 / 1e9;
        let id = request_id::current().unwrap_or_default();
        tracing::info!(%id, %method, %route, status, ms = seconds * 1e3, token, "request");
        state.metrics.answered(method, route.clone(), status, seconds);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.state.metrics.under_way.dec();
        if !self.is_told {
            self.tell(CLIENT_HAS_GONE, "");
        }
    }
}

/// Answers also where a handler of ours has a bug.
pub(crate) async fn survive(request: Request, next: Next) -> Response {
    match std::panic::AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(_) => Failure::of_a_bug().into_response(),
    }
}

/// Looks which tokens there are by now, where the last look is too long ago.
pub(crate) async fn look(State(state): State<AppState>, request: Request, next: Next) -> Response {
    state.look_at_tokens_if_due().await;
    next.run(request).await
}

/// Lets through who brings a token that gives what the endpoint needs, and everybody where no tokens are asked
/// for. What is no endpoint, and so says of no need, is done for nobody.
pub(crate) async fn authorize(
    State(state): State<AppState>,
    path: std::result::Result<RawPathParams, RawPathParamsRejection>,
    mut request: Request,
    next: Next,
) -> Result<Response> {
    let endpoint = state.endpoints.of(request.method(), request.extensions()).copied();
    let endpoint = endpoint.ok_or_else(Failure::of_a_bug)?;
    if endpoint.needs == Needs::Nothing {
        return Ok(next.run(request).await);
    }
    let caller = caller(&state, bearer(request.headers())).await?;
    let path = path.map_err(|error| Failure::new(error.status(), error.body_text()))?;
    let stream = path.iter().next().map(|(_, stream)| stream);
    match endpoint.needs {
        Needs::Nothing | Needs::Token => {}
        Needs::Stream(right) => caller.expect(right, stream)?,
        Needs::Store(right) => caller.expect(right, None)?,
    }
    request.extensions_mut().insert(caller.clone());
    let mut answer = under_watch::run(&state, &caller, next.run(request)).await?;
    answer.extensions_mut().insert(AskedBy(caller));
    Ok(answer)
}

/// Who was let in, for the line of the log.
#[derive(Debug, Clone)]
struct AskedBy(Caller);

/// The token that a request brings.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = given.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

async fn caller(state: &AppState, token: Option<&str>) -> Result<Caller> {
    let mut admitted = state.door.admit(token);
    if matches!(admitted, Err(Refused::Unknown)) {
        // It may have been made a moment ago.
        state.look_at_tokens().await?;
        admitted = state.door.admit(token);
    }
    Ok(admitted?)
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
