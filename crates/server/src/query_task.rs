//! Work for a query, on threads apart from those that answer requests: it is given up when whoever
//! asked has gone, and answered at its limit of time, whatever its thread does then.

use std::time::Duration;

use timestrata_engine::RunningQuery;
use tokio::runtime::Handle;

use crate::error::Result;
use crate::state::done;

/// A query ends itself at its limit; who waits for it gives it so much longer to say so.
const GRACE: Duration = Duration::from_millis(500);

/// Does `work`, which may block, on one of these threads. What it gives is the caller's: a query whose
/// answer is still to be sent goes on.
pub(crate) async fn run_query<T: Send + 'static>(
    threads: &Handle,
    query: &RunningQuery,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    // Of a client that goes, hyper drops the request, and with it this.
    let asker = query.given_up_on_drop();
    tokio::select! {
        ended = threads.spawn_blocking(work) => {
            asker.keep();
            done(ended)
        }
        () = overdue(query) => {
            query.time_out();
            query.outcome()?;
            Err(crate::error::Failure::bad_request("the query has ended"))
        }
    }
}

/// Waits until a query should have ended long ago.
async fn overdue(query: &RunningQuery) {
    loop {
        match query.time_left() {
            None => return std::future::pending().await,
            Some(Duration::ZERO) => {
                tokio::time::sleep(GRACE).await;
                if query.time_left() == Some(Duration::ZERO) {
                    return;
                }
            }
            Some(left) => tokio::time::sleep(left).await,
        }
    }
}
