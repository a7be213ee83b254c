//! Arrow batches in the log: an encapsulated IPC record batch message, without its schema.
//!
//! Encoding shares the batch's own buffers, and decoding shares the log's: a row of a batch
//! is copied once on its way to the disk, and not at all on its way back if the segment is
//! mapped. What is decoded is untrusted: the message's numbers are checked against the
//! schema and the body before arrow sees them, and arrow validates offsets and text.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_data::{BufferSpec, layout};
use arrow_ipc::reader::RecordBatchDecoder;
use arrow_ipc::writer::StreamEncoder;
use arrow_ipc::{MetadataVersion, root_as_message};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use timestrata_format::DecodeError;
use timestrata_io::Bytes;

use crate::run::children;
use crate::{Error, ErrorKind, Result};

/// Rows that one batch may have.
const ROWS_MAX: i64 = 1 << 40;

/// Refuses a schema with a type that batches in the log can't have.
pub(crate) fn check_loggable(schema: &Schema) -> Result<()> {
    match schema.fields().iter().find(|field| !is_loggable(field.data_type())) {
        None => Ok(()),
        Some(field) => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!(
                "column '{}' has type {}: dictionaries, unions and run-end encoding can't be \
                 stored; use the type of the values",
                field.name(),
                field.data_type()
            ),
        )),
    }
}

fn is_loggable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, _) | DataType::Union(_, _) | DataType::RunEndEncoded(_, _) => false,
        nested => children(nested).iter().all(|field| is_loggable(field.data_type())),
    }
}

/// The message of a batch, in pieces that follow each other. Large ones are the batch's own.
pub(crate) fn encode_batch(batch: &RecordBatch) -> Result<Vec<Buffer>> {
    check_loggable(&batch.schema())?;
    let failed = |error: ArrowError| {
        Error::new(ErrorKind::InvalidData, format!("the batch can't be encoded: {error}"))
            .caused_by(error)
    };
    let mut encoder = StreamEncoder::try_new(&batch.schema()).map_err(failed)?;
    let mut pieces = encoder.encode(batch).map_err(failed)?;
    // The first message is the schema, which the manifest has already.
    let mut schema_bytes = message_prefix(&pieces).ok_or_else(|| {
        Error::new(ErrorKind::InvalidData, "the batch can't be encoded: no schema message")
    })?;
    let schema_pieces = pieces.iter().take_while(|piece| {
        let belongs = schema_bytes > 0;
        schema_bytes = schema_bytes.saturating_sub(piece.len());
        belongs
    });
    let schema_pieces = schema_pieces.count();
    pieces.drain(..schema_pieces);
    Ok(pieces)
}

/// Length of the first message, which has no body, with its prefix.
fn message_prefix(pieces: &[Buffer]) -> Option<usize> {
    let prefix: Vec<u8> =
        pieces.iter().flat_map(|piece| piece.as_slice()).take(8).copied().collect();
    let (_, length) = prefix.split_first_chunk::<4>()?;
    Some(8 + u32::from_le_bytes(*length.first_chunk()?) as usize)
}

/// Reads what [`encode_batch`] wrote, for a batch with that schema. Buffers are shared with
/// `body` where their alignment allows it.
pub(crate) fn decode_batch(
    body: &Bytes,
    schema: &SchemaRef,
) -> std::result::Result<RecordBatch, DecodeError> {
    let what = "batch message";
    let bad =
        |expected: &str, found: &dyn std::fmt::Display| DecodeError::new(0, what, expected, found);
    let (prefix, rest) =
        body.split_first_chunk::<8>().ok_or_else(|| bad("8 bytes or more", &body.len()))?;
    let [a, b, c, d, length @ ..] = *prefix;
    if [a, b, c, d] != [0xFF; 4] {
        return Err(bad("ffffffff", &format_args!("{a:02x}{b:02x}{c:02x}{d:02x}")));
    }
    let metadata_bytes = u32::from_le_bytes(length) as usize;
    let metadata = rest
        .get(..metadata_bytes)
        .ok_or_else(|| bad("metadata within the entry", &metadata_bytes))?;
    let message = root_as_message(metadata).map_err(|error| bad("IPC metadata", &error))?;
    let header = message
        .header_as_record_batch()
        .ok_or_else(|| bad("a record batch", &format_args!("{:?}", message.header_type())))?;
    let data = Buffer::from(body.slice(8 + metadata_bytes..));
    if !is_loggable(&DataType::Struct(schema.fields().clone())) {
        return Err(bad("a schema of plain types", &"another"));
    }
    Shape { message: &header, data_bytes: data.len() as u64 }.check(message.version(), schema)?;
    let dictionaries = HashMap::new();
    let version = message.version();
    RecordBatchDecoder::try_new(&data, header, schema.clone(), &dictionaries, &version)
        .and_then(RecordBatchDecoder::read_record_batch)
        .map_err(|error| bad("a batch of the stream's schema", &error))
}

/// What a message says of its arrays, held against the schema: arrow takes much of it on
/// trust, and panics where it is wrong.
struct Shape<'a> {
    message: &'a arrow_ipc::RecordBatch<'a>,
    data_bytes: u64,
}

/// Where the walk along the schema is.
#[derive(Default)]
struct SchemaPosition {
    node: usize,
    buffer: usize,
    variadic: usize,
}

impl Shape<'_> {
    fn check(
        &self,
        version: MetadataVersion,
        schema: &Schema,
    ) -> std::result::Result<(), DecodeError> {
        let wrong = |what: &'static str, expected: &str, found: &dyn std::fmt::Display| {
            Err(DecodeError::new(0, what, expected, found))
        };
        if version != MetadataVersion::V5 {
            return wrong("IPC version", "V5", &format_args!("{version:?}"));
        }
        if self.message.compression().is_some() {
            return wrong("batch message", "no compression", &"some");
        }
        let rows = self.message.length();
        if !(0..=ROWS_MAX).contains(&rows) {
            return wrong("rows of a batch", "a sane number", &rows);
        }
        for buffer in self.message.buffers().iter().flatten() {
            let (start, length) = (buffer.offset(), buffer.length());
            let end = u64::try_from(start).ok().zip(u64::try_from(length).ok());
            let end = end.and_then(|(start, length)| start.checked_add(length));
            if end.is_none_or(|end| end > self.data_bytes) {
                return wrong(
                    "buffer of a batch",
                    "bytes within the entry",
                    &format_args!("{length} at {start} of {}", self.data_bytes),
                );
            }
        }
        let mut place = SchemaPosition::default();
        for field in schema.fields() {
            self.walk(field.data_type(), Some(rows), &mut place)?;
        }
        let variadic = self.message.variadicBufferCounts().map_or(0, |counts| counts.len());
        if variadic != place.variadic {
            return wrong("number of view columns", &place.variadic.to_string(), &variadic);
        }
        Ok(())
    }

    fn walk(
        &self,
        data_type: &DataType,
        rows: Option<i64>,
        place: &mut SchemaPosition,
    ) -> std::result::Result<(), DecodeError> {
        let wrong = |what: &'static str, expected: &str, found: &dyn std::fmt::Display| {
            Err(DecodeError::new(0, what, expected, found))
        };
        let nodes = self.message.nodes();
        let Some(node) =
            nodes.filter(|nodes| place.node < nodes.len()).map(|nodes| nodes.get(place.node))
        else {
            return wrong("column of a batch", "one more", &"none");
        };
        place.node += 1;
        let (length, nulls) = (node.length(), node.null_count());
        if !(0..=ROWS_MAX).contains(&length) || rows.is_some_and(|rows| rows != length) {
            return wrong("length of a column", "that of the batch", &length);
        }
        if !(0..=length).contains(&nulls) {
            return wrong("nulls of a column", "at most its length", &nulls);
        }
        if matches!(data_type, DataType::Null) {
            return Ok(());
        }
        let validity_bytes = self.buffer_bytes(place)?;
        if nulls > 0 && validity_bytes < length.div_euclid(8) + i64::from(length % 8 > 0) {
            return wrong("null bitmap", "one bit a row", &format_args!("{validity_bytes} bytes"));
        }
        let layout = layout(data_type);
        for spec in &layout.buffers {
            let bytes = self.buffer_bytes(place)?;
            // Arrow reads such a buffer as whole numbers, and panics over a rest.
            if let BufferSpec::FixedWidth { byte_width, .. } = spec
                && bytes.checked_rem(*byte_width as i64).unwrap_or(0) != 0
            {
                return wrong("buffer of a batch", "whole values", &format_args!("{bytes} bytes"));
            }
        }
        if layout.variadic {
            self.skip_variadic(place)?;
        }
        // Lists have as many items as they like.
        let rows = matches!(data_type, DataType::Struct(_)).then_some(length);
        children(data_type).iter().try_for_each(|field| self.walk(field.data_type(), rows, place))
    }

    /// Goes past the data buffers of a view column.
    fn skip_variadic(&self, place: &mut SchemaPosition) -> std::result::Result<(), DecodeError> {
        let counts = self.message.variadicBufferCounts();
        let count = counts
            .filter(|counts| place.variadic < counts.len())
            .map(|counts| counts.get(place.variadic));
        let left = self.buffers_left(place);
        let count = count.and_then(|count| usize::try_from(count).ok());
        let Some(count) = count.filter(|count| *count <= left) else {
            return Err(DecodeError::new(
                0,
                "number of buffers of a view column",
                format_args!("at most {left}"),
                format_args!("{count:?}"),
            ));
        };
        place.variadic += 1;
        place.buffer += count;
        Ok(())
    }

    fn buffers_left(&self, place: &SchemaPosition) -> usize {
        self.message.buffers().map_or(0, |buffers| buffers.len()).saturating_sub(place.buffer)
    }

    /// Length of the next buffer, which is gone past.
    fn buffer_bytes(&self, place: &mut SchemaPosition) -> std::result::Result<i64, DecodeError> {
        match self.message.buffers().filter(|buffers| place.buffer < buffers.len()) {
            Some(buffers) => {
                let length = buffers.get(place.buffer).length();
                place.buffer += 1;
                Ok(length)
            }
            None => Err(DecodeError::new(0, "buffer of a batch", "one more", "none")),
        }
    }
}

#[cfg(test)]
mod tests;
