//! A request's body as a reader on another thread, counted and bounded.

use std::io::{self, Read};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures::StreamExt;
use timestrata_engine::Error;
use tokio::sync::mpsc::{Receiver, channel};

/// Pieces of a body that wait to be read.
const PIECES_WAITING: usize = 8;

/// Why a body could not be read to its end.
#[derive(Debug)]
struct LimitPassed(String);

impl std::fmt::Display for LimitPassed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LimitPassed {}

/// The message, if a body was longer than allowed.
pub(crate) fn limit_passed(error: &Error) -> Option<String> {
    let mut source: Option<&(dyn std::error::Error + 'static)> = std::error::Error::source(error);
    while let Some(cause) = source {
        if let Some(limit) = cause.downcast_ref::<LimitPassed>() {
            return Some(limit.0.clone());
        }
        // An error of the operating system's kind keeps its own cause apart.
        if let Some(limit) = cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
            .and_then(|inner| inner.downcast_ref::<LimitPassed>())
        {
            return Some(limit.0.clone());
        }
        source = cause.source();
    }
    None
}

/// Reads a body that arrives meanwhile. To be read on a thread that may block.
#[derive(Debug)]
pub(crate) struct BodyReader {
    pieces: Receiver<io::Result<Bytes>>,
    piece: Bytes,
}

impl BodyReader {
    /// Takes in `body`, of at most `bytes_max` bytes, as long as something arrives every `idle`.
    pub(crate) fn new(body: Body, bytes_max: u64, idle: Duration) -> Self {
        let (sender, pieces) = channel(PIECES_WAITING);
        let mut arriving = body.into_data_stream();
        tokio::spawn(async move {
            let mut bytes = 0_u64;
            loop {
                let piece = match tokio::time::timeout(idle, arriving.next()).await {
                    Ok(None) => return,
                    Ok(Some(Ok(piece))) => {
                        bytes += piece.len() as u64;
                        match bytes > bytes_max {
                            true => Err(io::Error::other(LimitPassed(format!(
                                "the body is longer than {bytes_max} bytes (body_bytes_max); send \
                                 it in parts, or raise the limit"
                            )))),
                            false => Ok(piece),
                        }
                    }
                    Ok(Some(Err(error))) => Err(io::Error::new(
                        io::ErrorKind::ConnectionAborted,
                        format!("the client went away after {bytes} bytes: {error}"),
                    )),
                    Err(_) => Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        format!("nothing arrived for {} s, after {bytes} bytes", idle.as_secs()),
                    )),
                };
                let has_failed = piece.is_err();
                // Nobody reads any more: the request has been answered.
                if sender.send(piece).await.is_err() || has_failed {
                    return;
                }
            }
        });
        Self { pieces, piece: Bytes::new() }
    }
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.pieces.blocking_recv() {
                None => return Ok(0),
                Some(piece) => self.piece = piece?,
            }
        }
        let taken = self.piece.split_to(self.piece.len().min(buffer.len()));
        buffer[..taken.len()].copy_from_slice(&taken);
        Ok(taken.len())
    }
}
