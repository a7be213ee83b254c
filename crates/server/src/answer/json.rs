//! Rows as JSON objects: arrow-json's writer, with encoders of our own for the types that most
//! answers are made of. Theirs for text, times and numbers take several times as long.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, Float64Array, RecordBatch, StringArray, StructArray};
use arrow_json::writer::{Encoder, EncoderFactory, EncoderOptions, NullableEncoder, make_encoder};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, SchemaRef};
use timestrata_models::table::TimeTexts;

/// Bytes of a cell besides those of its column's name, about.
const CELL_BYTES: usize = 20;

/// Appends batches as an array of objects.
///
/// # Errors
/// For types that JSON can't express.
pub(super) fn write(batches: &[RecordBatch], out: &mut Vec<u8>) -> Result<(), ArrowError> {
    let options = EncoderOptions::default()
        .with_explicit_nulls(true)
        .with_encoder_factory(Arc::new(Encoders));
    out.reserve(batches.iter().map(bytes_of).sum());
    out.push(b'[');
    let mut is_first = true;
    for batch in batches.iter().filter(|batch| batch.num_rows() > 0) {
        let fields = SchemaRef::clone(batch.schema_ref()).fields().clone();
        let row = Arc::new(Field::new_struct("", fields, false));
        let rows = StructArray::from(batch.clone());
        let mut encoder = make_encoder(&row, &rows, &options)?;
        for row in 0..batch.num_rows() {
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            encoder.encode(row, out);
        }
    }
    out.push(b']');
    Ok(())
}

/// About as much as a batch takes.
fn bytes_of(batch: &RecordBatch) -> usize {
    let names = batch.schema_ref().fields().iter().map(|field| field.name().len() + CELL_BYTES);
    batch.num_rows() * names.sum::<usize>()
}

#[derive(Debug)]
struct Encoders;

impl EncoderFactory for Encoders {
    fn make_default_encoder<'a>(
        &self,
        _: &'a FieldRef,
        array: &'a dyn Array,
        _: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let encoder: Box<dyn Encoder + 'a> = match array.data_type() {
            DataType::Utf8 => Box::new(Texts(array.as_string())),
            DataType::Float64 => Box::new(Floats {
                values: array.as_primitive::<Float64Type>(),
                buffer: zmij::Buffer::new(),
            }),
            DataType::Timestamp(_, _) => match TimeTexts::of(array) {
                Some(times) => Box::new(Times(times)),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(encoder, array.nulls().cloned())))
    }
}

struct Texts<'a>(&'a StringArray);

impl Encoder for Texts<'_> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        let text = self.0.value(row);
        let must_escape = |byte: &u8| *byte < b' ' || matches!(byte, b'"' | b'\\');
        if text.as_bytes().iter().any(must_escape) {
            // Writing to memory can't fail.
            let _ = serde_json::to_writer(out, text);
            return;
        }
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    }
}

struct Floats<'a> {
    values: &'a Float64Array,
    buffer: zmij::Buffer,
}

impl Encoder for Floats<'_> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        let value = self.values.value(row);
        match value.is_finite() {
            true => out.extend_from_slice(self.buffer.format_finite(value).as_bytes()),
            // JSON has no other numbers.
            false => out.extend_from_slice(b"null"),
        }
    }
}

struct Times(TimeTexts);

impl Encoder for Times {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        out.push(b'"');
        out.extend_from_slice(self.0.text(row).as_bytes());
        out.push(b'"');
    }
}

#[cfg(test)]
mod tests;
