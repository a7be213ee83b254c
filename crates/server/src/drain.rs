//! Bodies that nobody has read to their end are read on, if that is near: a connection that is closed with bytes
//! unread is cut, and its client may never see the answer.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use futures::StreamExt;
use futures::stream::unfold;
use tokio::sync::Mutex;

/// Bytes and time that the rest of a body may take.
const REST_BYTES_MAX: usize = 1 << 20;
const REST_TIME_MAX: Duration = Duration::from_secs(1);

/// How long a body is at most, as whoever sends it has announced: once it is lent, it no longer says so
/// itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Announced(pub(crate) u64);

/// A middleware: lends the body to whoever answers, and reads what that left of it: a refusal, or who needs no
/// body. Where more is left the answer says that the connection ends with it.
pub(crate) async fn drain(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    // A client that waits to be asked for its body sends none where nobody asks.
    let waits = request.headers().contains_key(header::EXPECT);
    let (mut parts, body) = request.into_parts();
    if let Some(bytes) = body.size_hint().upper() {
        parts.extensions.insert(Announced(bytes));
    }
    let shared = Arc::new(Mutex::new(body.into_data_stream()));
    let lent = unfold(Arc::clone(&shared), |shared| async move {
        let piece = shared.lock().await.next().await?;
        Some((piece, shared))
    });
    let mut answer = next.run(Request::from_parts(parts, Body::from_stream(lent))).await;
    let ends =
        async { matches!(tokio::time::timeout(REST_TIME_MAX, ends(&shared)).await, Ok(true)) };
    if waits || !ends.await {
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}

/// Reads on, and tells whether the end came.
async fn ends(body: &Mutex<BodyDataStream>) -> bool {
    let mut rest = REST_BYTES_MAX;
    while let Some(piece) = body.lock().await.next().await {
        match piece.ok().and_then(|piece| rest.checked_sub(piece.len())) {
            Some(left) => rest = left,
            None => return false,
        }
    }
    true
}
