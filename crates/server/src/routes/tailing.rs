//! What the routes that follow something have in common: threads that wait for entries, and what a client hears meanwhile.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::Stream;
use futures::future::BoxFuture;
use timestrata_engine::{ErrorKind, Result};

use crate::state::AppState;

/// How long a thread waits for entries before it looks whether anybody still does.
pub(super) const WAIT: Duration = Duration::from_millis(500);
/// A client hears something at least after so many waits without an entry.
const WAITS_MAX: u32 = 30;
/// Bytes that go out at once.
pub(super) const PIECE_BYTES: usize = 64 << 10;
/// A comment: it keeps up the connection, and tells that the client isn't there any more.
pub(super) const HEARTBEAT: &str = ":\n\n";
/// The header by which a client that comes back says what it has seen last.
pub(super) const LAST_EVENT_ID: &str = "last-event-id";
/// The form for pages of the web.
pub(super) const EVENTS: &str = "text/event-stream";

/// A look for something new, which waits a while. `None`: it has died.
type Looking<'a, T> = BoxFuture<'a, Option<Result<Option<T>>>>;

/// What a client is sent next.
pub(super) enum Awaited<T> {
    Found(T),
    /// That there still is nothing.
    Heartbeat,
    /// Nothing any more: the server stops, or what is followed is gone.
    End,
    Failed(timestrata_engine::Error),
}

/// What comes of looks that each wait a while, until there is something or a client must hear that there isn't.
pub(super) async fn awaited<F, T>(
    (state, what): (&AppState, &'static str),
    following: &mut F,
    look: for<'a> fn(&'a mut F) -> Looking<'a, T>,
) -> Awaited<T> {
    for _ in 0..WAITS_MAX {
        if *state.stopping.borrow() {
            return Awaited::End;
        }
        match look(following).await {
            None => return Awaited::End,
            Some(Ok(Some(found))) => return Awaited::Found(found),
            Some(Ok(None)) => {}
            // Whoever removes a log ends what follows it.
            Some(Err(error)) if error.kind() == ErrorKind::NotFound => return Awaited::End,
            Some(Err(error)) => {
                tracing::error!(%error, "following {what} ended early");
                return Awaited::Failed(error);
            }
        }
    }
    Awaited::Heartbeat
}

/// Has a thread do something with a tail, which it gives back. `None` where there is none, as the last thread died.
pub(super) async fn on_thread<T: Send + 'static, R: Send + 'static>(
    tail: &mut Option<T>,
    what: &'static str,
    work: impl FnOnce(&mut T) -> R + Send + 'static,
) -> Option<R> {
    let mut taken = tail.take()?;
    match tokio::task::spawn_blocking(move || (work(&mut taken), taken)).await {
        Ok((done, given_back)) => {
            *tail = Some(given_back);
            Some(done)
        }
        Err(error) => {
            tracing::error!(%error, "following {what} died");
            None
        }
    }
}

/// An answer that goes on with what comes.
pub(super) fn events(pieces: impl Stream<Item = Result<Bytes>> + Send + 'static) -> Response {
    let head = [(header::CONTENT_TYPE, EVENTS), (header::CACHE_CONTROL, "no-store")];
    (head, Body::from_stream(pieces)).into_response()
}
