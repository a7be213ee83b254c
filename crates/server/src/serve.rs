//! The server itself: listening, bounds that hold for all requests, stopping.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use futures::FutureExt;
use timestrata_engine::{Error, ErrorKind, Io, Result, Store};
use timestrata_sql::{Sql, SqlOptions};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::auth::Tokens;
use crate::config::Config;
use crate::error::Failure;
use crate::metrics::Metrics;
use crate::routes::router;
use crate::state::{AppState, Shared};

/// A server that listens, and answers once it runs.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    state: AppState,
}

impl Server {
    /// Listens for requests to a store. To be called in a Tokio runtime. `tokens` is the text of
    /// the file that [`Config::token_file`] names.
    ///
    /// # Errors
    /// `InvalidArgument` for an address that other machines reach, without tokens; `Io` for one
    /// that can't be listened on.
    pub async fn bind(store: Store, config: Config, tokens: Option<&str>) -> Result<Self> {
        let tokens = match tokens {
            Some(text) => Tokens::parse(text, "the token file")?,
            None if config.listen.ip().is_loopback() || config.is_open_to_all => Tokens::default(),
            None => {
                return Err(Error::new(
                    ErrorKind::InvalidArgument,
                    format!(
                        "{} can be reached from other machines: give a token file \
                         (server.token_file), or say server.open_to_all = true",
                        config.listen
                    ),
                ));
            }
        };
        let listener = TcpListener::bind(config.listen).await.map_err(|error| {
            let message = format!("can't listen on {}: {error}", config.listen);
            Error::new(ErrorKind::Io, message).caused_by(error)
        })?;
        let options = SqlOptions {
            memory_bytes_max: usize::try_from(config.sql_memory_bytes_max).unwrap_or(usize::MAX),
            read_only: !config.sql_may_write,
            ..SqlOptions::default()
        };
        let sql = Sql::open(&store, options)?;
        let requests = Arc::new(Semaphore::new(config.requests_max));
        let metrics = Metrics::new();
        let shared =
            Shared { store, sql, config, tokens, metrics, requests, clock: Io::os().clock };
        Ok(Self { listener, state: AppState { shared: Arc::new(shared) } })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// `Io` if the system doesn't say.
    pub fn address(&self) -> Result<SocketAddr> {
        self.listener.local_addr().map_err(|error| {
            Error::new(ErrorKind::Io, "the listener has no address").caused_by(error)
        })
    }

    /// Answers requests until `stop` is done; then takes no new ones, gives those under way their
    /// time, syncs and closes the store.
    ///
    /// # Errors
    /// What closing the store may fail with.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let (state, grace) = (self.state.clone(), self.state.config.stop_grace);
        let (told, mut hears) = tokio::sync::watch::channel(false);
        let stopping = async move {
            stop.await;
            tracing::info!("stopping");
            let _ = told.send(true);
        };
        // An answer in pieces must not wait for the client to confirm the one before.
        let listener = self.listener.tap_io(|stream| {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "a connection that delays small packets");
            }
        });
        let serving = axum::serve(listener, router(&state)).with_graceful_shutdown(stopping);
        let overdue = async move {
            let _ = hears.wait_for(|told| *told).await;
            tokio::time::sleep(grace).await;
        };
        tokio::select! {
            served = serving => if let Err(error) = served {
                return Err(Error::new(ErrorKind::Io, "the server failed").caused_by(error));
            },
            () = overdue => tracing::warn!("requests were cut off: they took longer than stop_grace"),
        }
        let store = state.store.clone();
        tokio::task::spawn_blocking(move || store.close())
            .await
            .map_err(|error| Error::new(ErrorKind::Io, "closing died").caused_by(error))?
    }
}

/// Has lines of the log go to stderr.
pub fn init_logs(config: &Config) {
    let builder = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(config.log_level)
        .with_target(false);
    // Somebody may have set it up already; theirs stays.
    let _ = match config.log_is_json {
        true => builder.json().flatten_event(true).try_init(),
        false => builder.try_init(),
    };
}

/// Refuses what is more than can be served at once.
pub(crate) async fn bounded(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    match state.requests.try_acquire() {
        Ok(_permit) => next.run(request).await,
        Err(_) => Failure::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many requests are under way (requests_max); try again",
        )
        .into_response(),
    }
}

/// Bounds the time until an answer begins.
pub(crate) async fn in_time(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let bound = state.config.request_time_max;
    timeout(bound, next.run(request)).await.unwrap_or_else(|_| {
        Failure::new(
            StatusCode::GATEWAY_TIMEOUT,
            format!("no answer within {} ms (request_time_max)", bound.as_millis()),
        )
        .into_response()
    })
}

/// Answers also where a handler of ours has a bug.
pub(crate) async fn survive(request: Request, next: Next) -> Response {
    match std::panic::AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(_) => Failure::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the server failed to answer; its log says more",
        )
        .into_response(),
    }
}
