//! One client: what it sends is read, worked off and answered, in turn.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use timestrata_engine::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::connection_limit::Slot;
use super::lines::Lines;
use super::reading::{Progress, Reading};
use super::refusal::Refusal;
use super::service::{Range, Service, Turn};
use crate::state::AppState;
use crate::write_timeout::WriteTimeout;

/// What a client may still send after its last answer: a connection that is closed with bytes unread
/// is cut, and the client may never see its answers.
const REST_BYTES_MAX: usize = 1 << 20;
const REST_TIME_MAX: Duration = Duration::from_secs(1);
/// A client that takes nothing for so long has no rows kept for it.
const STALL_TIME_MAX: Duration = Duration::from_millis(100);
/// Bytes after which the turn to have rows in memory is another client's, if one waits.
const TURN_BYTES: usize = 16 << 20;

#[derive(Debug)]
pub(super) struct Client {
    socket: WriteTimeout<TcpStream>,
    slot: Slot,
    service: Arc<Service>,
    lines: Lines,
    is_begun: bool,
}

/// How waiting for a client's bytes ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrival {
    Bytes,
    /// It sends no more.
    End,
    /// The server stops, or another client has its slot; or it is none of this protocol.
    Leave,
}

impl Client {
    pub(super) fn new(socket: WriteTimeout<TcpStream>, slot: Slot, service: Arc<Service>) -> Self {
        Self { socket, slot, service, lines: Lines::default(), is_begun: false }
    }

    /// Serves it until it, or the server, ends that.
    pub(super) async fn serve(mut self, state: AppState) {
        state.metrics.log_tcp_clients.inc();
        if let Err(error) = self.converse(&state).await {
            tracing::debug!(%error, "a client of the line protocol was lost");
        }
        state.metrics.log_tcp_clients.dec();
    }

    async fn converse(&mut self, state: &AppState) -> io::Result<()> {
        loop {
            let arrival = self.receive(state).await?;
            self.slot.heard(false);
            let is_end = arrival == Arrival::End;
            while self.lines.has_next() || (is_end && !self.lines.is_empty()) {
                let turn = self.work(is_end).await?;
                self.socket.write_all(&turn.answers).await?;
                if let Some(range) = turn.reading {
                    self.read(range).await?;
                }
            }
            match arrival {
                Arrival::Bytes => self.slot.heard(true),
                Arrival::End => return self.socket.shutdown().await,
                Arrival::Leave => return self.leave().await,
            }
        }
    }

    /// Waits for bytes.
    async fn receive(&mut self, state: &AppState) -> io::Result<Arrival> {
        let read = tokio::select! {
            biased;
            () = state.stopped() => return Ok(Arrival::Leave),
            () = self.slot.lost() => return Ok(Arrival::Leave),
            read = self.socket.read_buf(self.lines.room()) => read?,
        };
        self.lines.arrived(read);
        if !std::mem::replace(&mut self.is_begun, true) && self.lines.are_http() {
            // A page in a browser may send what it likes to this port, in the body of a request.
            tracing::warn!("a client was sent away: it speaks HTTP, and this is the line protocol");
            self.lines = Lines::default();
            return Ok(Arrival::Leave);
        }
        Ok(if read == 0 { Arrival::End } else { Arrival::Bytes })
    }

    /// Works off what has arrived, where that may block.
    async fn work(&mut self, is_end: bool) -> io::Result<Turn> {
        let (service, mut lines) = (Arc::clone(&self.service), std::mem::take(&mut self.lines));
        let (lines, turn) = spawn_blocking(move || {
            let turn = service.work(&mut lines, is_end);
            (lines, turn)
        })
        .await?;
        self.lines = lines;
        Ok(turn)
    }

    /// Answers with the entries of a range. No thread waits for the client to take them; and where it takes
    /// nothing, no rows do either: they are read again once it does.
    async fn read(&mut self, range: Range) -> io::Result<()> {
        let service = Arc::clone(&self.service);
        let query = service.begin(range);
        let _asker = query.given_up_on_drop();
        let mut permit = service.read_permit().await?;
        let (begins, asked) = (Arc::clone(&service), query.clone());
        let begin = move || next_piece(begins.read(range, &asked)?);
        let (mut reading, mut piece) = match spawn_blocking(begin).await? {
            Ok(begun) => begun,
            Err(error) => {
                tracing::error!(%error, "a read failed");
                let mut answer = Vec::new();
                Refusal::ReadError.write(&mut answer);
                return self.socket.write_all(&answer).await;
            }
        };
        service.state.metrics.log_searches.inc();
        let (mut progress, mut sent, mut sent_in_turn) = (Progress::default(), 0, 0);
        loop {
            let taken = self.send(piece.as_bytes().get(sent..).unwrap_or_default()).await?;
            sent += taken;
            sent_in_turn += taken;
            let is_sent = sent == piece.len();
            if is_sent {
                if reading.is_done() {
                    return Ok(());
                }
                (progress, sent) = (reading.progress(), 0);
            }
            if !is_sent || (sent_in_turn > TURN_BYTES && service.is_waited_for()) {
                drop(piece);
                reading.rest_at(progress);
                drop(permit);
                if !is_sent {
                    self.wait_until_it_takes_more().await?;
                }
                (permit, sent_in_turn) = (service.read_permit().await?, 0);
            }
            // Half of an answer can't be taken back: the connection is cut, so that no client takes it for
            // the whole.
            (reading, piece) = spawn_blocking(|| next_piece(reading)).await?.map_err(|error| {
                tracing::error!(%error, "an answer ended early");
                io::Error::other(error.to_string())
            })?;
        }
    }

    /// Sends bytes, as long as the client takes some now and then; how many it took.
    async fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut sent = 0;
        while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
            match timeout(STALL_TIME_MAX, self.socket.write(rest)).await {
                Ok(taken) => sent += taken?,
                Err(_) => break,
            }
        }
        Ok(sent)
    }

    /// Waits for a client that takes nothing. Its slot may be another's meanwhile.
    async fn wait_until_it_takes_more(&mut self) -> io::Result<()> {
        self.slot.heard(true);
        let waited = tokio::select! {
            writable = self.socket.writable() => writable,
            () = self.slot.lost() => {
                Err(io::Error::other("its place was needed for a client that takes its answers"))
            }
        };
        self.slot.heard(false);
        waited
    }

    /// Ends the conversation, with everything answered that was worked off.
    async fn leave(&mut self) -> io::Result<()> {
        self.socket.shutdown().await?;
        let mut rest = (&mut self.socket).take(REST_BYTES_MAX as u64);
        let _ = timeout(REST_TIME_MAX, tokio::io::copy(&mut rest, &mut tokio::io::sink())).await;
        Ok(())
    }
}

fn next_piece(mut reading: Reading) -> Result<(Reading, String)> {
    let piece = reading.piece()?;
    Ok((reading, piece))
}
