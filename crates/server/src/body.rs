//! A request's body as a reader on another thread, counted and bounded.

use std::convert::Infallible;
use std::io::{self, Read};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use futures::StreamExt;
use timestrata_engine::{Error, ErrorKind};
use tokio::sync::mpsc::{Receiver, channel};

use crate::drain::Announced;
use crate::error::Failure;
use crate::fault::Fault;

/// Pieces of a body that wait to be read.
const PIECES_WAITING: usize = 8;
/// A body of at most so many bytes is waited for, and then read: to hand each piece to another thread as it
/// comes takes longer.
const SHORT_BYTES: u64 = 1 << 20;

/// What to answer where a body could not be read, or unpacked; errors of the store stay what they are.
pub(crate) fn unread(error: Error) -> Failure {
    let is_of_a_file = error.kind() != ErrorKind::Io || error.path().is_some();
    match is_of_a_file || Fault::of(&error).is_some() {
        true => error.into(),
        false => Failure::bad_request(format!("the body can't be read: {error}")),
    }
}

/// A body that nobody has read from.
#[derive(Debug)]
pub(crate) struct Sent {
    body: Body,
    announced: Option<Announced>,
}

impl<S: Send + Sync> FromRequest<S> for Sent {
    type Rejection = Infallible;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Infallible> {
        let announced = request.extensions().get::<Announced>().copied();
        Ok(Self { body: request.into_body(), announced })
    }
}

/// A body as it arrives: bounded in bytes and in how long it may be silent.
struct Arriving {
    pieces: BodyDataStream,
    bytes: u64,
    bytes_max: u64,
    idle: Duration,
}

impl Arriving {
    /// The next piece, or why there is none. Behind an error comes nothing.
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        let failed = match tokio::time::timeout(self.idle, self.pieces.next()).await {
            Ok(None) => return None,
            Ok(Some(Ok(piece))) => {
                self.bytes += piece.len() as u64;
                if self.bytes <= self.bytes_max {
                    return Some(Ok(piece));
                }
                let bytes_max = self.bytes_max;
                let why = format!(
                    "the body is longer than {bytes_max} bytes (body_bytes_max); send it in parts, \
                     or raise the limit"
                );
                Fault(StatusCode::PAYLOAD_TOO_LARGE, why).io(io::ErrorKind::Other)
            }
            Ok(Some(Err(error))) => {
                let why = format!(
                    "the body ended early, or is not framed as its head says, after {} bytes: {}; \
                     send it again, whole",
                    self.bytes,
                    innermost(&error)
                );
                Fault(StatusCode::BAD_REQUEST, why).io(io::ErrorKind::ConnectionAborted)
            }
            Err(_) => {
                let (seconds, bytes) = (self.idle.as_secs(), self.bytes);
                let why = format!(
                    "nothing arrived for {seconds} s (body_idle_max), after {bytes} bytes; send the \
                     body again, without long pauses"
                );
                Fault(StatusCode::REQUEST_TIMEOUT, why).io(io::ErrorKind::TimedOut)
            }
        };
        Some(Err(failed))
    }
}

/// What was found wrong at first.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// Reads a body. To be read on a thread that may block.
#[derive(Debug)]
pub(crate) struct BodyReader {
    pieces: BodyPieces,
    piece: Bytes,
}

#[derive(Debug)]
enum BodyPieces {
    /// Of a long body, which arrives meanwhile.
    Arriving(Receiver<io::Result<Bytes>>),
    /// Of a short one, which has.
    Here(std::vec::IntoIter<io::Result<Bytes>>),
}

impl BodyReader {
    /// Takes in a body of at most `bytes_max` bytes, as long as something arrives every `idle`.
    pub(crate) async fn new(sent: Sent, bytes_max: u64, idle: Duration) -> Self {
        let is_short = sent.announced.is_some_and(|Announced(bytes)| bytes <= SHORT_BYTES);
        let pieces = sent.body.into_data_stream();
        let mut arriving = Arriving { pieces, bytes: 0, bytes_max, idle };
        let pieces = match is_short {
            true => {
                let mut all = Vec::new();
                while let Some(piece) = arriving.next().await {
                    let has_failed = piece.is_err();
                    all.push(piece);
                    if has_failed {
                        break;
                    }
                }
                BodyPieces::Here(all.into_iter())
            }
            false => {
                let (sender, receiver) = channel(PIECES_WAITING);
                tokio::spawn(async move {
                    while let Some(piece) = arriving.next().await {
                        let has_failed = piece.is_err();
                        // Nobody reads any more: the request has been answered.
                        if sender.send(piece).await.is_err() || has_failed {
                            return;
                        }
                    }
                });
                BodyPieces::Arriving(receiver)
            }
        };
        Self { pieces, piece: Bytes::new() }
    }
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            let next = match &mut self.pieces {
                BodyPieces::Arriving(pieces) => pieces.blocking_recv(),
                BodyPieces::Here(pieces) => pieces.next(),
            };
            match next {
                None => return Ok(0),
                Some(piece) => self.piece = piece?,
            }
        }
        let taken = self.piece.split_to(self.piece.len().min(buffer.len()));
        buffer[..taken.len()].copy_from_slice(&taken);
        Ok(taken.len())
    }
}

#[cfg(test)]
mod tests;
