//! Connections: so many at once, each with the time that it has for the head of a request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::routes;
use crate::state::AppState;
use crate::tls::Tls;
use crate::write_timeout::{Listener, WriteTimeout};

/// What a connection hears for which there is no place.
const SENT_AWAY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\n\
    content-length: 258\r\nretry-after: 1\r\nconnection: close\r\n\r\n\
    {\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,\
    \"detail\":\"too many connections are open (limits.connections_max); try again later\",\
    \"success\":false,\"data\":null,\"error\":\"too many connections are open (limits.connections_max); try again later\"}";
/// How long that may take, and what of its request is read meanwhile: a connection that is closed with
/// bytes unread is cut.
const SENT_AWAY_TIME_MAX: Duration = Duration::from_millis(500);
const SENT_AWAY_BYTES_MAX: u64 = 64 << 10;

/// Accepts connections and has `begin` serve each, until the server is told to stop; then waits until what is
/// under way has been answered. `of` is what they are connections of, for the log.
pub(crate) async fn accept_all(
    mut listener: Listener,
    state: &AppState,
    of: &'static str,
    mut begin: impl FnMut(WriteTimeout<TcpStream>, SocketAddr, &mut JoinSet<()>),
) {
    let mut connections = JoinSet::new();
    let mut stopped = std::pin::pin!(state.stopped());
    loop {
        tokio::select! {
            () = &mut stopped => break,
            Some(ended) = connections.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, of, "serving a connection died");
                }
            }
            (stream, peer) = axum::serve::Listener::accept(&mut listener) => {
                begin(stream, peer, &mut connections);
            }
        }
    }
    // Nobody waits in vain to be accepted.
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Serves connections over HTTP, within TLS where there is a certificate.
pub(crate) async fn serve(
    listener: Listener,
    tls: Option<Arc<Tls>>,
    router: Router,
    state: &AppState,
) {
    let places = Arc::new(Semaphore::new(state.config.connections_max));
    let begin =
        |stream, peer, connections: &mut JoinSet<()>| match places.clone().try_acquire_owned() {
            Ok(place) => {
                let (router, state) = (router.clone(), state.clone());
                let acceptor = tls.as_deref().map(Tls::acceptor);
                state.metrics.connections_accepted.inc();
                let counted = OpenConnection::new(&state);
                connections.spawn(async move {
                    match acceptor {
                        None => converse(stream, router, state).await,
                        Some(acceptor) => converse_in_secret(acceptor, stream, router, state).await,
                    }
                    drop((place, counted));
                });
            }
            Err(_) => {
                state.metrics.connections_refused.inc();
                tracing::warn!(%peer, "a connection was refused: connections_max are open");
                // Without a word where that would take a handshake.
                if tls.is_none() {
                    connections.spawn(send_away(stream));
                }
            }
        };
    accept_all(listener, state, "HTTP", begin).await;
}

/// A connection, as long as it is open.
struct OpenConnection(Gauge);

impl OpenConnection {
    fn new(state: &AppState) -> Self {
        let open = state.metrics.connections.clone();
        open.inc();
        Self(open)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Agrees on keys with the client first, for which it has the time that a head has.
async fn converse_in_secret(
    acceptor: TlsAcceptor,
    stream: WriteTimeout<TcpStream>,
    router: Router,
    state: AppState,
) {
    let agreed = timeout(state.config.head_time_max, acceptor.accept(stream));
    let agreed = tokio::select! {
        agreed = agreed => agreed,
        () = state.stopped() => return,
    };
    match agreed {
        Ok(Ok(stream)) => converse(stream, router, state).await,
        Ok(Err(error)) => {
            state.metrics.tls_failures.inc();
            tracing::debug!(%error, "a client and the server don't agree on TLS");
        }
        Err(_) => {
            state.metrics.tls_failures.inc();
            tracing::debug!("a client began no TLS in time");
        }
    }
}

async fn converse<S>(stream: S, router: Router, state: AppState)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = TowerToHyperService::new(router.into_service::<Incoming>());
    let compat = state.config.compat;
    let service = service_fn(move |mut request| {
        // Before there is a route, as it says which.
        routes::lead(compat, &mut request);
        service.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(state.config.head_time_max)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let mut stopped = std::pin::pin!(state.stopped());
    let mut is_stopping = false;
    loop {
        tokio::select! {
            served = connection.as_mut() => {
                if let Err(error) = served {
                    tracing::debug!(%error, "a connection ended early");
                }
                return;
            }
            () = &mut stopped, if !is_stopping => {
                is_stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

async fn send_away(mut stream: WriteTimeout<TcpStream>) {
    let told = async {
        stream.write_all(SENT_AWAY).await?;
        stream.shutdown().await?;
        let mut rest = (&mut stream).take(SENT_AWAY_BYTES_MAX);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
    };
    // Who has gone away needs no answer.
    let _ = timeout(SENT_AWAY_TIME_MAX, told).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_for_which_nobody_is_asked_is_well_formed() {
        let text = std::str::from_utf8(SENT_AWAY).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        assert_eq!(length.unwrap().parse::<usize>().unwrap(), body.len());
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert!(body["error"].as_str().unwrap().contains("limits.connections_max"));
    }
}
