//! A request's body as a reader on another thread, counted and bounded.

use std::convert::Infallible;
use std::io::{self, Read};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use futures::StreamExt;
use timestrata_engine::{Error, ErrorKind};
use timestrata_ingest::rows::Compression;
use tokio::sync::mpsc::{Receiver, channel};

use crate::drain::Announced;
use crate::error::Failure;
use crate::fault::Fault;
use crate::state::AppState;
use crate::unpack::unpacked;

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
    /// The setting that bounds them.
    limit: &'static str,
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
                let why = too_long(self.limit, self.bytes_max);
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
    /// `limit` is the setting that says so.
    pub(crate) async fn new(
        sent: Sent,
        limit: &'static str,
        bytes_max: u64,
        idle: Duration,
    ) -> Self {
        let is_short = sent.announced.is_some_and(|Announced(bytes)| bytes <= SHORT_BYTES);
        let pieces = sent.body.into_data_stream();
        let mut arriving = Arriving { pieces, bytes: 0, limit, bytes_max, idle };
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

/// A body that is read whole, and so is bounded by what one commit may be.
pub(crate) struct WholeBody {
    reader: BodyReader,
    compression: Compression,
    bytes_max: u64,
}

impl WholeBody {
    /// Takes in a body that may be packed, as its headers say.
    ///
    /// # Errors
    /// `415` for a packing that isn't known.
    pub(crate) async fn new(
        state: &AppState,
        headers: &HeaderMap,
        sent: Sent,
    ) -> crate::error::Result<Self> {
        let encoding = headers.get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok());
        let encoding = encoding.unwrap_or_default();
        let compression = Compression::of_encoding(encoding).ok_or_else(|| {
            let why = format!("Content-Encoding: {encoding}: it must be gzip or zstd");
            Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why)
        })?;
        let bytes_max = state.config.batch_bytes_max;
        let idle = state.config.body_idle_max;
        let reader = BodyReader::new(sent, "batch_bytes_max", bytes_max, idle).await;
        Ok(Self { reader, compression, bytes_max })
    }

    /// Whether it has come, and is so short that to read it takes no time.
    pub(crate) fn is_at_hand(&self) -> bool {
        const BYTES_MAX: usize = 64 << 10;
        let BodyPieces::Here(pieces) = &self.reader.pieces else { return false };
        let bytes = pieces.as_slice().iter().flatten().map(Bytes::len).sum::<usize>();
        self.compression == Compression::None && bytes <= BYTES_MAX
    }

    /// All of it, unpacked. To be called on a thread that may block, unless it is at hand.
    ///
    /// # Errors
    /// `413` for more bytes than one commit may have, `400` and `408` for a body that doesn't come whole.
    pub(crate) fn read(self) -> crate::error::Result<Vec<u8>> {
        let failed = |cause: io::Error| {
            unread(Error::new(ErrorKind::Io, "the body could not be read").caused_by(cause))
        };
        let bytes_max = self.bytes_max;
        let mut whole = Vec::new();
        let unpacked = unpacked(self.reader, self.compression).map_err(failed)?;
        unpacked.take(bytes_max.saturating_add(1)).read_to_end(&mut whole).map_err(failed)?;
        if whole.len() as u64 > bytes_max {
            return Err(Failure::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                too_long("batch_bytes_max", bytes_max),
            ));
        }
        Ok(whole)
    }
}

fn too_long(limit: &str, bytes_max: u64) -> String {
    format!(
        "the body is longer than {bytes_max} bytes ({limit}); send it in parts, or raise the limit"
    )
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
