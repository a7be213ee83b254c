//! Bodies that keep something until they have been sent, or nobody takes them any more.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

struct GuardedBody<T> {
    body: Body,
    _kept: T,
}

/// The same answer, whose body keeps `kept`.
pub(crate) fn with_guard<T: Send + Unpin + 'static>(answer: Response, kept: T) -> Response {
    answer.map(|body| Body::new(GuardedBody { body, _kept: kept }))
}

impl<T: Unpin> HttpBody for GuardedBody<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
