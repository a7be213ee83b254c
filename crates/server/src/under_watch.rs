//! Requests under way whose token is no longer good: they end, and what they are being answered too.
//!
//! Invariant: within [`LOOK_INTERVAL`] and a look at the folder nothing more goes to whoever brought the token. A body that
//! was cut so is never taken for the whole: the connection is closed in the middle of it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::StatusCode;
use axum::response::Response;
use futures::FutureExt;
use futures::future::BoxFuture;
use hyper::body::{Frame, SizeHint};
use tokio::time::sleep;

use crate::auth::{Caller, Refused};
use crate::error::{Failure, Result};
use crate::state::AppState;

/// How often the token of a request under way is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// What `request` is answered, as long as who asks may ask.
///
/// # Errors
/// `401` where they may no longer before the answer begins.
pub(crate) async fn run(
    state: &AppState,
    caller: &Caller,
    request: impl Future<Output = Response>,
) -> Result<Response> {
    if matches!(caller, Caller::Trusted) {
        return Ok(request.await);
    }
    let answer = tokio::select! {
        // What is answered at once needs no watch.
        biased;
        answer = request => answer,
        refused = no_longer(state.clone(), caller.clone()) => return Err(ended(refused)),
    };
    if answer.body().size_hint().exact().is_some() {
        return Ok(answer);
    }
    let watch = no_longer(state.clone(), caller.clone()).boxed();
    Ok(answer.map(|body| Body::new(WatchedBody { body: Some(body), watch })))
}

/// Waits until somebody may no longer do what they were let in for.
async fn no_longer(state: AppState, caller: Caller) -> Refused {
    loop {
        sleep(LOOK_INTERVAL).await;
        state.look_at_tokens_if_due().await;
        if let Err(refused) = state.door.check(&caller) {
            return refused;
        }
    }
}

fn ended(refused: Refused) -> Failure {
    let why = match refused {
        Refused::Expired => "has expired",
        Refused::Nameless | Refused::Unknown => "was revoked",
    };
    let message =
        format!("the token {why} while the request was under way; what it had written stays");
    Failure::of_token(StatusCode::UNAUTHORIZED, message, r#"Bearer error="invalid_token""#)
}

/// The body of an answer to the holder of a token.
struct WatchedBody {
    /// `None`: it was cut.
    body: Option<Body>,
    watch: BoxFuture<'static, Refused>,
}

impl HttpBody for WatchedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        if let Poll::Ready(refused) = this.watch.as_mut().poll(context) {
            // Whatever works for it ends with it.
            this.body = None;
            tracing::info!(?refused, "an answer was cut: its token is no longer good");
            let error = io::Error::other("the token is no longer good");
            return Poll::Ready(Some(Err(axum::Error::new(error))));
        }
        Poll::Ready(ready!(Pin::new(body).poll_frame(context)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_some_and(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}
