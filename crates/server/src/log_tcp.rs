//! The line protocol of logs: a JSON object a line asks, another one a line answers, over TCP.
//! `docs/reference/logs-tcp.md` has the protocol.
//!
//! Owns its listener and its clients. A client's requests are answered in their order; those that
//! arrived together are one commit, and commits of several clients share syncs. What is held for a
//! client is bounded: the line that it is sending, the answers to what it sent last.

mod client;
mod connection_limit;
mod lines;
mod metadata;
mod reading;
mod refusal;
mod request;
mod service;
mod unread;

use std::net::SocketAddr;
use std::sync::Arc;

use timestrata_engine::{Error, ErrorKind, Result};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use self::client::Client;
use self::connection_limit::ConnectionLimit;
use self::refusal::Refusal;
use self::service::Service;
use crate::config::LogTcpConfig;
use crate::connections::accept_all;
use crate::state::AppState;
use crate::write_timeout::{Listener, WriteTimeout};

/// Listens for clients of the line protocol, and serves them once it is told to.
#[derive(Debug)]
pub(crate) struct LogTcp {
    listener: Listener,
    service: Arc<Service>,
    limit: Arc<ConnectionLimit>,
    state: AppState,
}

impl LogTcp {
    /// Listens, and makes the log if it isn't there.
    ///
    /// # Errors
    /// `InvalidArgument` for an address that other machines reach, unless everything is open to all:
    /// the protocol has no place for a token. What making the log, and listening, may fail with.
    pub(crate) async fn bind(state: AppState, config: &LogTcpConfig) -> Result<Self> {
        let address = config.listen;
        if !address.ip().is_loopback() && !state.config.is_open_to_all {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "logs.tcp_listen: {address} can be reached from other machines, and this protocol \
                     knows no tokens: listen on loopback, or say server.open_to_all = true"
                ),
            ));
        }
        let service = Service::new(state.clone(), config)?;
        let listener = Listener::bind(address, state.config.answer_idle_max).await?;
        let limit = ConnectionLimit::new(
            config.clients_max,
            config.idle_grace,
            Arc::clone(&state.io.clock),
        );
        Ok(Self { listener, service: Arc::new(service), limit: Arc::new(limit), state })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// `Io` if the system doesn't say.
    pub(crate) fn address(&self) -> Result<SocketAddr> {
        self.listener.address()
    }

    /// Serves clients until the server is told to stop, and then until their writes are acknowledged.
    pub(crate) async fn serve(self) {
        let Self { listener, service, limit, state } = self;
        let begin = |socket, peer, clients: &mut JoinSet<()>| match limit.take() {
            Some(slot) => {
                let client = Client::new(socket, slot, Arc::clone(&service));
                clients.spawn(client.serve(state.clone()));
            }
            None => {
                tracing::warn!(%peer, "a client was refused: tcp_clients_max are connected");
                clients.spawn(send_away(socket, limit.max));
            }
        };
        accept_all(listener, &state, "the line protocol", begin).await;
    }
}

/// Tells a client that there is no place for it.
async fn send_away(mut socket: WriteTimeout<TcpStream>, clients_max: usize) {
    let mut answer = Vec::new();
    Refusal::TooManyClients { clients_max }.write(&mut answer);
    // A client that has gone away needs no answer.
    let _ = socket.write_all(&answer).await;
    let _ = socket.shutdown().await;
}
