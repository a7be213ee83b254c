//! `at=MOMENT` behind a path: the store as it was.

use axum::extract::{FromRequestParts, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{Uri, uri};
use axum::middleware::Next;
use axum::response::Response;
use timestrata_engine::Store;
use timestrata_values::moment_of_text;

use crate::endpoint::expect_known;
use crate::error::{Failure, Result};
use crate::state::{AppState, blocking};

/// The store that a request reads, where it is not that of now.
#[derive(Debug, Clone)]
struct Then(Store);

/// What a handler that only reads works with: the store as the request asks for it.
#[derive(Debug)]
pub(crate) struct Reading(pub(crate) AppState);

impl FromRequestParts<AppState> for Reading {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self> {
        let then = parts.extensions.get::<Then>().map(|Then(store)| store.clone());
        Ok(Self(AppState { then, ..state.clone() }))
    }
}

/// What stands behind a path.
type Given = Vec<(String, String)>;

/// Refuses a request that says what its endpoint doesn't know, and has it read the store as it was, if it asks
/// for that.
pub(crate) async fn read_at(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Result<Response> {
    let endpoint = state.endpoints.of(request.method(), request.extensions()).copied();
    if endpoint.is_some_and(|endpoint| endpoint.takes_any) {
        return Ok(next.run(request).await);
    }
    let given = Query::<Given>::try_from_uri(request.uri());
    let Query(given) = given.map_err(|error| {
        Failure::bad_request(format!("what stands behind the path: {}", error.body_text()))
    })?;
    let (at, others): (Given, Given) = given.into_iter().partition(|(name, _)| name == "at");
    let known = endpoint.map_or(&[][..], |endpoint| endpoint.parameters);
    expect_known("parameter", others.iter().map(|(name, _)| name.as_str()), known)?;
    let at = match at.as_slice() {
        [] => return Ok(next.run(request).await),
        [(_, at)] => at,
        several => {
            return Err(Failure::bad_request(format!("at is given {} times", several.len())));
        }
    };
    if !endpoint.is_some_and(|endpoint| endpoint.only_reads) {
        return Err(Failure::bad_request(
            "at: what was can be read, and neither changed nor followed: leave it out here",
        ));
    }
    let moment = moment_of_text(at)?;
    let then = blocking(move || Ok(state.store.at(&moment)?)).await?;
    request.extensions_mut().insert(Then(then));
    *request.uri_mut() = without_at(request.uri())?;
    Ok(next.run(request).await)
}

/// The rest is for the route, which refuses what it does not know.
fn without_at(uri: &Uri) -> Result<Uri> {
    let rest = uri.query().unwrap_or_default().split('&');
    let rest: Vec<&str> = rest.filter(|part| part.split('=').next() != Some("at")).collect();
    let target = match rest.is_empty() {
        true => uri.path().to_owned(),
        false => format!("{}?{}", uri.path(), rest.join("&")),
    };
    let mut parts = uri.clone().into_parts();
    let wrong = |error: uri::InvalidUri| Failure::bad_request(error.to_string());
    parts.path_and_query = Some(target.parse().map_err(wrong)?);
    Uri::from_parts(parts).map_err(|error| Failure::bad_request(error.to_string()))
}
