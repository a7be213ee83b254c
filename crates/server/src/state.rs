//! What all handlers share.

use std::sync::Arc;

use timestrata_engine::{Clock, Store};
use timestrata_models::table::Table;
use timestrata_sql::Sql;

use crate::auth::Tokens;
use crate::config::Config;
use crate::error::{Failure, Result};
use crate::metrics::Metrics;

/// Cheap to clone: one for all.
#[derive(Debug, Clone)]
pub(crate) struct AppState {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) sql: Sql,
    pub(crate) config: Config,
    pub(crate) tokens: Tokens,
    pub(crate) metrics: Metrics,
    pub(crate) clock: Arc<dyn Clock>,
    /// One permit a request under way.
    pub(crate) requests: Arc<tokio::sync::Semaphore>,
}

impl std::ops::Deref for AppState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl AppState {
    /// A table that exists.
    pub(crate) fn table(&self, name: &str) -> Result<Table> {
        Ok(Table::open(&self.store, name)?)
    }
}

/// Does what may wait on a thread that may.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => {
            tracing::error!(%error, "a handler died");
            Err(Failure::new(
                axum::http::StatusCode::INTERNAL_SERVER_ERROR,
                "the server failed to answer; its log says more",
            ))
        }
    }
}
