//! `POST /commit`: what several models are to change, in one commit.
//!
//! ```text
//!   a line of JSON each      by stream, in the order of the lines       one commit
//!   {"table": ...}     ──┐
//!   {"topic": ...}       ├─▶ Parts: opened, or made for the commit ──▶ commit_together
//!   {"topic", "group"} ──┘   (a member's consumer stays locked till then)
//! ```

mod consumed;
mod parts;
mod step;
mod table;

use std::io::Read;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::post;
use serde_json::{Value, json};

use self::parts::Parts;
use self::step::Step;
use crate::auth::Caller;
use crate::body::{Sent, WholeBody};
use crate::content_type;
use crate::endpoint::{Class, Needs, Takes};
use crate::error::{Failure, Result, success};
use crate::json_lines::JsonLines;
use crate::routes::Route;
use crate::routes::asked::Asked;
use crate::state::{AppState, blocking};

pub(super) const ENDPOINTS: &[Route] = &[Route::post(
    "/commit",
    Needs::Token,
    "Makes one commit of what several models are to change: all of it, or nothing",
    || post(commit),
)
.class(Class::Body)
.takes(Takes::Kinds(&["application/x-ndjson", "application/json"]))];

/// A step a line, or a list of them.
async fn commit(
    State(state): State<AppState>,
    caller: Caller,
    asked: Asked,
    headers: HeaderMap,
    sent: Sent,
) -> Result<Response> {
    asked.finish()?;
    let is_document = content_type::is_document(&headers, "steps of a commit")?;
    let body = WholeBody::new(&state, &headers, sent).await?;
    blocking(move || {
        let body = body.read()?;
        let lines = if is_document { lines_of(&body)? } else { body };
        Ok(success(made(&state, &caller, &lines)?))
    })
    .await
}

fn lines_of(document: &[u8]) -> Result<Vec<u8>> {
    let mut lines = Vec::with_capacity(document.len() + 1);
    let read = JsonLines::new(document).read_to_end(&mut lines);
    read.map_err(|error| Failure::bad_request(error.to_string()))?;
    Ok(lines)
}

/// Makes the commit, and tells what became of each step.
fn made(state: &AppState, caller: &Caller, lines: &[u8]) -> Result<Value> {
    let steps = Step::all(lines)?;
    for step in &steps {
        caller.expect(step.right(), Some(&step.name))?;
    }
    let streams = state.store.provisional();
    let mut parts = Parts::new(state, streams.store());
    for step in steps {
        let place = step.place;
        parts.add(step).map_err(|failure| failure.within(&format!("step {place}")))?;
    }
    let (seq, told) = parts.commit()?;
    // The commit is made, whatever becomes of streams that it has not changed.
    let _ = streams.keep();
    Ok(json!({ "seq": seq.0, "steps": told }))
}
