//! Rows as JSON objects. Text, times and numbers, of which most answers are made, are written here,
//! straight behind their names; what else there is, by arrow-json's encoders.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_buffer::NullBuffer;
use arrow_json::writer::{EncoderOptions, NullableEncoder, make_encoder};
use arrow_schema::{ArrowError, DataType, FieldRef};
use timestrata_table::TimeTexts;

/// Bytes of a cell besides those of its column's name, about.
const CELL_BYTES: usize = 20;
/// Names of columns up to this length, with what is around them, are appended as fast as can be.
const SHORT_BYTES: usize = 32;

/// What becomes of a member whose value is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    Told,
    LeftOut,
}

/// Appends batches as an array of objects.
///
/// # Errors
/// For types that JSON can't express.
pub(super) fn write(
    batches: &[RecordBatch],
    nulls: Nulls,
    out: &mut Vec<u8>,
) -> Result<(), ArrowError> {
    let options = EncoderOptions::default().with_explicit_nulls(true);
    out.reserve(batches.iter().map(bytes_of).sum());
    out.push(b'[');
    let mut is_first = true;
    for batch in batches.iter().filter(|batch| batch.num_rows() > 0) {
        let fields = batch.schema_ref().fields().iter().zip(batch.columns());
        let columns = fields
            .enumerate()
            .map(|(place, (field, array))| JsonColumn::new(place, field, array.as_ref(), &options));
        let mut columns: Vec<JsonColumn<'_>> = columns.collect::<Result<_, _>>()?;
        for row in 0..batch.num_rows() {
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            out.push(b'{');
            match nulls {
                Nulls::Told => columns.iter_mut().for_each(|column| column.write(row, out)),
                Nulls::LeftOut => write_known(&mut columns, row, out),
            }
            out.push(b'}');
        }
    }
    out.push(b']');
    Ok(())
}

/// Writes the members of a row that have a value.
fn write_known(columns: &mut [JsonColumn<'_>], row: usize, out: &mut Vec<u8>) {
    let begun = out.len();
    let known = columns.iter_mut().filter(|column| !column.is_null(row));
    known.for_each(|column| column.write(row, out));
    // Before its name a column parts itself from the one before, which may have been left out.
    if out.get(begun) == Some(&b',') {
        out.remove(begun);
    }
}

/// About as much as a batch takes.
fn bytes_of(batch: &RecordBatch) -> usize {
    let names = batch.schema_ref().fields().iter().map(|field| field.name().len() + CELL_BYTES);
    batch.num_rows() * names.sum::<usize>()
}

struct JsonColumn<'a> {
    /// What stands before each value: the name, and what parts it from the column before.
    name: Short,
    nulls: Option<&'a NullBuffer>,
    values: JsonValues<'a>,
}

enum JsonValues<'a> {
    Text(&'a StringArray),
    Floats(&'a Float64Array, zmij::Buffer),
    Integers(&'a Int64Array, itoa::Buffer),
    Times(TimeTexts),
    Others(NullableEncoder<'a>),
}

impl<'a> JsonColumn<'a> {
    fn new(
        place: usize,
        field: &'a FieldRef,
        array: &'a dyn Array,
        options: &'a EncoderOptions,
    ) -> Result<Self, ArrowError> {
        let mut name = if place > 0 { b",".to_vec() } else { Vec::new() };
        quote(field.name(), &mut name);
        name.push(b':');
        let others = || make_encoder(field, array, options).map(JsonValues::Others);
        let values = match array.data_type() {
            DataType::Utf8 => JsonValues::Text(array.as_string()),
            DataType::Float64 => {
                JsonValues::Floats(array.as_primitive::<Float64Type>(), zmij::Buffer::new())
            }
            DataType::Int64 => {
                JsonValues::Integers(array.as_primitive::<Int64Type>(), itoa::Buffer::new())
            }
            DataType::Timestamp(_, _) => match TimeTexts::of(array) {
                Some(times) => JsonValues::Times(times),
                None => others()?,
            },
            _ => others()?,
        };
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        Ok(Self { name: Short::new(name), nulls, values })
    }

    fn is_null(&self, row: usize) -> bool {
        let of_values = match &self.values {
            JsonValues::Others(encoder) => encoder.is_null(row),
            // JSON has no other numbers.
            JsonValues::Floats(values, _) => !values.value(row).is_finite(),
            _ => false,
        };
        of_values || self.nulls.is_some_and(|nulls| nulls.is_null(row))
    }

    fn write(&mut self, row: usize, out: &mut Vec<u8>) {
        self.name.append(out);
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            out.extend_from_slice(b"null");
            return;
        }
        match &mut self.values {
            JsonValues::Text(texts) => quote(texts.value(row), out),
            JsonValues::Floats(values, buffer) => match values.value(row) {
                value if value.is_finite() => {
                    out.extend_from_slice(buffer.format_finite(value).as_bytes());
                }
                // JSON has no other numbers.
                _ => out.extend_from_slice(b"null"),
            },
            JsonValues::Integers(values, buffer) => {
                out.extend_from_slice(buffer.format(values.value(row)).as_bytes());
            }
            JsonValues::Times(times) => {
                out.push(b'"');
                times.append(row, out);
                out.push(b'"');
            }
            // Columns without a validity map may have nulls of their own.
            JsonValues::Others(encoder) => match encoder.is_null(row) {
                true => out.extend_from_slice(b"null"),
                false => encoder.encode(row, out),
            },
        }
    }
}

/// Bytes that are appended again and again.
enum Short {
    /// The first so many of these: to copy all of them takes no call.
    Padded([u8; SHORT_BYTES], usize),
    Long(Vec<u8>),
}

impl Short {
    fn new(bytes: Vec<u8>) -> Self {
        let mut padded = [0; SHORT_BYTES];
        match padded.get_mut(..bytes.len()) {
            Some(place) => {
                place.copy_from_slice(&bytes);
                Self::Padded(padded, bytes.len())
            }
            None => Self::Long(bytes),
        }
    }

    #[inline]
    fn append(&self, out: &mut Vec<u8>) {
        match self {
            Self::Padded(padded, len) => {
                let end = out.len() + len;
                out.extend_from_slice(padded);
                out.truncate(end);
            }
            Self::Long(bytes) => out.extend_from_slice(bytes),
        }
    }
}

/// Writes text between quotes.
fn quote(text: &str, out: &mut Vec<u8>) {
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

#[cfg(test)]
mod tests;
