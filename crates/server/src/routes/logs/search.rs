//! `GET /logs/{name}/search` and `/context`: entries that a query wants, entries around one.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use timestrata_logs::{Clock, Position};
use tokio::runtime::Handle;

use super::parameters::LogRequest;
use crate::answer::entries::{EntriesForm, Found, of_entries};
use crate::answer::resting::ForClient;
use crate::error::{Failure, Result};

/// Entries of an answer where nobody says how many.
const LIMIT_DEFAULT: usize = 1000;
/// Entries on each side of one where nobody says how many, and at most: they are read at once.
const AROUND_DEFAULT: usize = 10;
const AROUND_MAX: usize = 1000;

pub(super) async fn search(mut request: LogRequest) -> Result<Response> {
    let form = EntriesForm::accepted_or_columns(&request.headers)?;
    let mut query = request.asked.query()?;
    query.newest_first = request.asked.is_reverse()?;
    query.limit = request.asked.limit(LIMIT_DEFAULT, "entries")?;
    query.after = request.asked.parsed::<Position>("after")?;
    let (state, name, running) = request.begin()?;
    state.metrics.log_searches.inc();
    let (asker, runtime) = (running.clone(), Handle::current());
    let limits = Arc::clone(&state.searches);
    of_entries(state.clone(), form, running, move || {
        let view = state.logs(&name)?.snapshot()?.for_query(&asker);
        let clock = view.clock_of(&query);
        let hits = ForClient::search((&view, &query), limits, runtime)?;
        Ok(Found { schema: view.schema(), clock, batches: Box::new(hits) })
    })
    .await
}

pub(super) async fn context(mut request: LogRequest) -> Result<Response> {
    let form = EntriesForm::accepted_or_columns(&request.headers)?;
    let timestamp = request.asked.arrival("timestamp")?;
    let before = request.asked.number("before", AROUND_DEFAULT, AROUND_MAX)?;
    let after = request.asked.number("after", AROUND_DEFAULT, AROUND_MAX)?;
    let (state, name, running) = request.begin()?;
    let timestamp = timestamp
        .ok_or_else(|| Failure::bad_request("timestamp: say which entry, by when it arrived"))?;
    state.metrics.log_searches.inc();
    let asker = running.clone();
    of_entries(state.clone(), form, running, move || {
        let view = state.logs(&name)?.snapshot()?.for_query(&asker);
        let found = view.context(timestamp, before, after)?;
        if found.is_empty() {
            let message = format!("log '{name}' has no entry that arrived at {timestamp}");
            return Err(Failure::new(StatusCode::NOT_FOUND, message));
        }
        let batches = Box::new(found.into_iter().map(Ok));
        Ok(Found { schema: view.schema(), clock: Clock::Timestamp, batches })
    })
    .await
}
