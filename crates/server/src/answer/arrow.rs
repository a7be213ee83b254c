//! Arrow streams as pieces to be sent, of which the large ones are the batches' own memory and no copies of it.

use std::pin::Pin;
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::writer::StreamEncoder;
use arrow_schema::{ArrowError, Schema};
use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

/// Shorter buffers are copied, one behind the other: to send a piece by itself takes longer.
const SHARED_BYTES_MIN: usize = 16 << 10;
/// Of what is mapped from a file the system reads so much at a time, at least.
const PAGE_BYTES: usize = 4 << 10;

/// An Arrow stream that is being put together.
pub(super) struct ArrowPieces {
    encoder: StreamEncoder,
    pieces: Pieces,
}

impl ArrowPieces {
    /// # Errors
    /// A type that has no form in an Arrow stream.
    pub(super) fn new(schema: &Schema) -> Result<Self, ArrowError> {
        Ok(Self { encoder: StreamEncoder::try_new(schema)?, pieces: Pieces::default() })
    }

    /// What is to be sent of a batch. What is mapped from files has been read by then: who sends it must not wait for a disk.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<Vec<Bytes>, ArrowError> {
        self.encoder.encode(batch)?.into_iter().for_each(|buffer| self.pieces.add(buffer));
        Ok(self.pieces.take())
    }

    /// What is to be sent at the end of the stream.
    pub(super) fn finish(self) -> Result<Vec<Bytes>, ArrowError> {
        let Self { encoder, mut pieces } = self;
        encoder.finish()?.into_iter().for_each(|buffer| pieces.add(buffer));
        Ok(pieces.take())
    }
}

struct Shared(Buffer);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[derive(Default)]
struct Pieces {
    done: Vec<Bytes>,
    /// Short ones behind them.
    short: Vec<u8>,
}

impl Pieces {
    fn add(&mut self, buffer: Buffer) {
        if buffer.len() < SHARED_BYTES_MIN {
            self.short.extend_from_slice(&buffer);
            return;
        }
        self.end_short();
        let touched = buffer.iter().step_by(PAGE_BYTES).fold(0_u8, |sum, byte| sum ^ byte);
        std::hint::black_box(touched);
        self.done.push(Bytes::from_owner(Shared(buffer)));
    }

    fn end_short(&mut self) {
        if !self.short.is_empty() {
            self.done.push(std::mem::take(&mut self.short).into());
        }
    }

    fn take(&mut self) -> Vec<Bytes> {
        self.end_short();
        std::mem::take(&mut self.done)
    }
}

/// Batches as one Arrow stream, of a length that is told ahead.
///
/// # Errors
/// What can't be written.
pub(crate) fn whole(
    schema: &Schema,
    batches: impl Iterator<Item = RecordBatch>,
) -> Result<Body, ArrowError> {
    let mut stream = ArrowPieces::new(schema)?;
    let mut pieces = Vec::new();
    for batch in batches {
        pieces.extend(stream.write(&batch)?);
    }
    pieces.extend(stream.finish()?);
    let left = pieces.iter().map(|piece| piece.len() as u64).sum();
    Ok(Body::new(Whole { pieces: pieces.into_iter(), left }))
}

/// Pieces that are all there.
struct Whole {
    pieces: std::vec::IntoIter<Bytes>,
    left: u64,
}

impl HttpBody for Whole {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let next = self.pieces.next();
        self.left -= next.as_ref().map_or(0, |piece| piece.len() as u64).min(self.left);
        Poll::Ready(next.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
