//! One client: what it sends is read, worked off and answered, in turn.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use timestrata_engine::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::lines::Lines;
use super::reading::Reading;
use super::refusal::Refusal;
use super::round::{Desk, Range, Round};
use super::seats::Seat;
use crate::patience::Patient;
use crate::state::AppState;

/// What a client may still send after its last answer: a connection that is closed with bytes unread
/// is cut, and the client may never see its answers.
const REST_BYTES_MAX: usize = 1 << 20;
const REST_TIME_MAX: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Client {
    socket: Patient<TcpStream>,
    seat: Seat,
    desk: Arc<Desk>,
    lines: Lines,
}

/// How waiting for a client's bytes ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrival {
    Bytes,
    /// It sends no more.
    End,
    /// The server stops, or another client has its place.
    Leave,
}

impl Client {
    pub(super) fn new(socket: Patient<TcpStream>, seat: Seat, desk: Arc<Desk>) -> Self {
        Self { socket, seat, desk, lines: Lines::default() }
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
            self.seat.heard(false);
            let is_end = arrival == Arrival::End;
            while self.lines.has_next() || (is_end && !self.lines.is_empty()) {
                let round = self.work(is_end).await?;
                self.socket.write_all(&round.answers).await?;
                if let Some(range) = round.reading {
                    self.read(range).await?;
                }
            }
            match arrival {
                Arrival::Bytes => self.seat.heard(true),
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
            () = self.seat.lost() => return Ok(Arrival::Leave),
            read = self.socket.read_buf(self.lines.room()) => read?,
        };
        self.lines.arrived(read);
        Ok(if read == 0 { Arrival::End } else { Arrival::Bytes })
    }

    /// Works off what has arrived, where that may block.
    async fn work(&mut self, is_end: bool) -> io::Result<Round> {
        let (desk, mut lines) = (Arc::clone(&self.desk), std::mem::take(&mut self.lines));
        let (lines, round) = spawn_blocking(move || {
            let round = desk.work(&mut lines, is_end);
            (lines, round)
        })
        .await?;
        self.lines = lines;
        Ok(round)
    }

    /// Answers with the entries of a range. No thread waits for the client to take them.
    async fn read(&mut self, range: Range) -> io::Result<()> {
        let desk = Arc::clone(&self.desk);
        let begin = move || next_piece(desk.read(range)?);
        let (mut reading, mut piece) = match spawn_blocking(begin).await? {
            Ok(begun) => begun,
            Err(error) => {
                tracing::error!(%error, "a read failed");
                let mut answer = Vec::new();
                Refusal::ReadError.write(&mut answer);
                return self.socket.write_all(&answer).await;
            }
        };
        self.desk.state().metrics.log_searches.inc();
        loop {
            self.socket.write_all(piece.as_bytes()).await?;
            if reading.is_done() {
                return Ok(());
            }
            // Half of an answer can't be taken back: the connection is cut, so that no client takes it for
            // the whole.
            (reading, piece) = spawn_blocking(|| next_piece(reading)).await?.map_err(|error| {
                tracing::error!(%error, "an answer ended early");
                io::Error::other(error.to_string())
            })?;
        }
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
