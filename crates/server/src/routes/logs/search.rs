//! `GET /logs/{name}/search` and `/context`: entries that a query wants, entries around one.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use timestrata_logs::{Clock, Position};

use super::parameters::{LogParameters, refuse};
use crate::answer::entries::{EntriesForm, Found, of_entries};
use crate::error::{Failure, Result};
use crate::routes::named::Named;
use crate::state::AppState;

/// Entries of an answer where nobody says how many.
const LIMIT_DEFAULT: usize = 1000;
/// Entries on each side of one where nobody says how many, and at most: they are read at once.
const AROUND_DEFAULT: usize = 10;
const AROUND_MAX: usize = 1000;

pub(super) async fn search(
    State(state): State<AppState>,
    Named(name): Named<String>,
    mut asked: LogParameters,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response> {
    let form = EntriesForm::accepted(&headers)?;
    let mut query = asked.query()?;
    query.newest_first = match asked.take("order")?.as_deref() {
        None | Some("asc") => false,
        Some("desc") => true,
        Some(other) => return Err(refuse("order", other, "it must be asc or desc")),
    };
    query.limit = match asked.take("limit")?.as_deref() {
        None => Some(LIMIT_DEFAULT),
        Some("none") => None,
        Some(text) => Some(
            text.parse()
                .map_err(|_| refuse("limit", text, "it must be a number of entries, or 'none'"))?,
        ),
    };
    query.after = asked.parsed::<Position>("after")?;
    let running = asked.begin(&state, &uri)?;
    state.metrics.log_searches.inc();
    let (by, asker) = (query.by, running.clone());
    of_entries(form, by, running, move || {
        let hits = state.logs(&name)?.snapshot()?.for_query(&asker).search(&query)?;
        Ok(Box::new(hits) as Found)
    })
    .await
}

pub(super) async fn context(
    State(state): State<AppState>,
    Named(name): Named<String>,
    mut asked: LogParameters,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response> {
    let form = EntriesForm::accepted(&headers)?;
    let timestamp = asked.arrival("timestamp")?;
    let before = asked.number("before", AROUND_DEFAULT, AROUND_MAX)?;
    let after = asked.number("after", AROUND_DEFAULT, AROUND_MAX)?;
    let running = asked.begin(&state, &uri)?;
    let timestamp = timestamp
        .ok_or_else(|| Failure::bad_request("timestamp: say which entry, by when it arrived"))?;
    state.metrics.log_searches.inc();
    let asker = running.clone();
    of_entries(form, Clock::Timestamp, running, move || {
        let view = state.logs(&name)?.snapshot()?.for_query(&asker);
        let found = view.context(timestamp, before, after)?;
        if found.is_empty() {
            let message = format!("log '{name}' has no entry that arrived at {timestamp}");
            return Err(Failure::new(StatusCode::NOT_FOUND, message));
        }
        Ok(Box::new(found.into_iter().map(Ok)) as Found)
    })
    .await
}
