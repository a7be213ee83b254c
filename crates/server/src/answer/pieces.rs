//! Bodies that are written piece by piece, as the client takes them. No thread waits for it.

use std::io;

use axum::body::{Body, Bytes};
use futures::stream::unfold;
use timestrata_engine::RunningQuery;
use tokio::runtime::Handle;

use crate::error::Result;
use crate::query_task::run_query;

/// Bytes that go out at once.
pub(crate) const PIECE_BYTES: usize = 64 << 10;

/// What a body is written from.
pub(crate) trait Pieces: Send + 'static {
    /// Appends a piece of [`PIECE_BYTES`], about. Tells whether it was the last one.
    fn write(&mut self, out: &mut String) -> timestrata_engine::Result<bool>;
}

/// A body of the pieces that `begin` gives.
///
/// # Errors
/// Those of `begin`, and of a read before anything was sent. One in the middle cuts the connection, so
/// that no client takes a part for the whole.
pub(crate) async fn body<P: Pieces>(
    query: &RunningQuery,
    begin: impl FnOnce() -> Result<P> + Send + 'static,
) -> Result<Body> {
    let asked = query.clone();
    let (first, rest) = run_query(&Handle::current(), query, move || {
        let mut writer = Writer { query: asked, pieces: begin()?, is_done: false };
        Ok((writer.piece()?, writer))
    })
    .await?;
    if rest.is_done {
        return Ok(Body::from(first));
    }
    // When nobody takes the body any more it is dropped, and with it this.
    let asker = query.given_up_on_drop();
    Ok(Body::from_stream(unfold((Some((Some(first), rest)), asker), |state| async {
        let (state, asker) = state;
        let (first, writer) = state?;
        let (piece, rest) = match first {
            Some(first) => (Ok(first), Some((None, writer))),
            None => next(writer).await?,
        };
        Some((piece, (rest, asker)))
    })))
}

/// The next piece, and what comes behind it.
async fn next<P: Pieces>(
    mut writer: Writer<P>,
) -> Option<(io::Result<Bytes>, Option<(Option<Bytes>, Writer<P>)>)> {
    if writer.is_done {
        return None;
    }
    let written = tokio::task::spawn_blocking(move || (writer.piece(), writer)).await;
    match written {
        Ok((Ok(piece), writer)) => Some((Ok(piece), Some((None, writer)))),
        Ok((Err(error), _)) => {
            tracing::error!(%error, "an answer ended early");
            Some((Err(io::Error::other(error.to_string())), None))
        }
        Err(error) => {
            tracing::error!(%error, "writing an answer died");
            Some((Err(io::Error::other(error)), None))
        }
    }
}

struct Writer<P> {
    query: RunningQuery,
    pieces: P,
    is_done: bool,
}

impl<P: Pieces> Writer<P> {
    /// The next piece. The time until the client takes it is the client's.
    fn piece(&mut self) -> timestrata_engine::Result<Bytes> {
        self.query.resume();
        let mut out = String::new();
        let written = self.pieces.write(&mut out);
        self.query.rest();
        self.is_done = written?;
        Ok(out.into())
    }
}
