//! Answers without end: rows are read as the client takes them.

use std::io::{self, Write};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};
use axum::body::{Body, Bytes};
use timestrata_engine::RunningQuery;
use timestrata_table::times_as_text;
use tokio::sync::mpsc::{Sender, channel};
use tokio_util::bytes::BytesMut;

use super::arrow::ArrowPieces;
use super::{AnswerForm, AnswerRows, unwritten};
use crate::error::Result;

/// Bytes that go out at once.
const PIECE_BYTES: usize = 64 << 10;
/// Pieces that wait for the client.
const PIECES_WAITING: usize = 4;

/// A body whose rows are read on a thread of their own.
///
/// What goes wrong before there is a row is told as such, if that comes within `patience`. An error later on cuts the
/// connection, so that no client takes a part for the whole.
///
/// # Errors
/// What can't be written in the form; what the first batch fails with.
pub(super) fn body(form: AnswerForm, rows: AnswerRows, patience: Duration) -> Result<Body> {
    let (sender, receiver) = channel::<io::Result<Bytes>>(PIECES_WAITING);
    let query = rows.query.clone();
    let pipe = Pipe { sender: sender.clone(), piece: BytesMut::new(), query };
    // When nobody takes the body any more it is dropped, and with it this.
    let asker = rows.query.as_ref().map(RunningQuery::given_up_on_drop);
    // What can't be written at all is told before anything is sent.
    let mut writer = Writer::new(form, pipe, &rows.schema).map_err(unwritten)?;
    let mut batches = rows.batches;
    let (first, began) = std::sync::mpsc::channel();
    tokio::task::spawn_blocking(move || {
        let mut next = batches.next();
        let cut = |error: io::Error, is_told: bool| {
            if !is_told && !sender.is_closed() {
                tracing::error!(%error, "an answer ended early");
            }
            let _ = sender.blocking_send(Err(error));
        };
        if let Some(Err(error)) = next {
            let shown = io::Error::other(error.to_string());
            // Nobody waits for it any more where it came too late.
            let is_told = first.send(Some(error)).is_ok();
            return cut(shown, is_told);
        }
        let _ = first.send(None);
        let mut write = || {
            while let Some(batch) = next.take() {
                let batch = batch.map_err(|error| io::Error::other(error.to_string()))?;
                writer.write(&batch).map_err(io::Error::other)?;
                next = batches.next();
            }
            Ok(())
        };
        let finished = write().and_then(|()| writer.finish().map_err(io::Error::other));
        if let Err(error) = finished {
            cut(error, false);
        }
    });
    if let Ok(Some(error)) = began.recv_timeout(patience) {
        return Err(error.into());
    }
    let pieces = futures::stream::unfold((receiver, asker), |(mut receiver, asker)| async move {
        receiver.recv().await.map(|piece| (piece, (receiver, asker)))
    });
    Ok(Body::from_stream(pieces))
}

enum Writer {
    Csv(Box<arrow_csv::Writer<Pipe>>),
    Arrow(Box<ArrowPieces>, Pipe),
}

impl Writer {
    fn new(form: AnswerForm, pipe: Pipe, schema: &Schema) -> std::result::Result<Self, ArrowError> {
        if form == AnswerForm::Arrow {
            return Ok(Self::Arrow(Box::new(ArrowPieces::new(schema)?), pipe));
        }
        let mut writer = arrow_csv::Writer::new(pipe);
        // The header line, also of no rows; and the error of a type that CSV can't express.
        writer.write(&RecordBatch::new_empty(schema.clone().into()))?;
        Ok(Self::Csv(Box::new(writer)))
    }

    fn write(&mut self, batch: &RecordBatch) -> std::result::Result<(), ArrowError> {
        match self {
            Self::Csv(writer) => writer.write(&times_as_text(batch)),
            Self::Arrow(stream, pipe) => pipe.send_all(stream.write(batch)?),
        }
    }

    fn finish(self) -> std::result::Result<(), ArrowError> {
        match self {
            Self::Csv(writer) => Ok(writer.into_inner().flush()?),
            Self::Arrow(stream, mut pipe) => pipe.send_all(stream.finish()?),
        }
    }
}

/// Hands on what is written to it, in pieces.
#[derive(Debug)]
struct Pipe {
    sender: Sender<io::Result<Bytes>>,
    piece: BytesMut,
    query: Option<RunningQuery>,
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}

impl Pipe {
    fn send(&mut self) -> io::Result<()> {
        match self.piece.split().freeze() {
            piece if piece.is_empty() => Ok(()),
            piece => self.send_piece(piece),
        }
    }

    /// Sends pieces, the large ones bit by bit: those that wait for the client keep all of the memory that they are of, and so
    /// there are none of many batches.
    fn send_all(&mut self, pieces: Vec<Bytes>) -> std::result::Result<(), ArrowError> {
        for mut piece in pieces {
            while piece.len() > PIECE_BYTES {
                self.send_piece(piece.split_to(PIECE_BYTES))?;
            }
            self.send_piece(piece)?;
        }
        Ok(())
    }

    fn send_piece(&mut self, piece: Bytes) -> io::Result<()> {
        // The time until the client takes it is the client's.
        self.query.as_ref().inspect(|query| query.rest());
        let sent = self.sender.blocking_send(Ok(piece));
        self.query.as_ref().inspect(|query| query.resume());
        sent.map_err(|_| io::Error::new(io::ErrorKind::BrokenPipe, "the client went away"))
    }
}
