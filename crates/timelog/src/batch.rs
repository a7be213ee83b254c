//! Batches of entries to be written: values are packed as they come, so that a commit is one Arrow batch.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, SchemaRef};
use serde::Serialize;
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_values::time::relabeled;

use super::Unit;
use super::codec::encode_cbor;
use super::options::TIME_ZONE;

/// The longest value a time log takes, in bytes: it must fit into a WAL segment of default
/// length with room to spare.
pub const VALUE_BYTES_MAX: usize = 32 << 20;

/// Entries to be committed together, in any order. No allocation an entry.
///
/// ```
/// use timestrata_timelog::EntryBatch;
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let mut batch = EntryBatch::with_capacity(2, 16);
/// batch.push(20, b"second")?;
/// batch.push_value(10, &("first", 1))?; // as CBOR
/// assert_eq!(batch.len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct EntryBatch {
    times: Vec<i64>,
    /// One more than there are values, the first of them 0; none where there are no values.
    offsets: Vec<i32>,
    bytes: Vec<u8>,
}

impl EntryBatch {
    /// No entries yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// No entries yet, and room for `entries` of them with `value_bytes` together.
    pub fn with_capacity(entries: usize, value_bytes: usize) -> Self {
        Self {
            times: Vec::with_capacity(entries),
            offsets: Vec::with_capacity(if entries == 0 { 0 } else { entries + 1 }),
            bytes: Vec::with_capacity(value_bytes),
        }
    }

    /// Adds one entry. The value's bytes are copied.
    ///
    /// # Errors
    /// `TooLarge` if the value is longer than [`VALUE_BYTES_MAX`], or the values together
    /// longer than 2 GiB; the batch is as it was.
    pub fn push(&mut self, time: i64, value: &[u8]) -> Result<()> {
        check_value_bytes(time, value.len())?;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.end_entry(time, start)
    }

    /// Adds one entry, whose value becomes CBOR.
    ///
    /// # Errors
    /// As [`push`](Self::push), and `InvalidData` if the value has no CBOR form.
    pub fn push_value<T: Serialize + ?Sized>(&mut self, time: i64, value: &T) -> Result<()> {
        let start = self.bytes.len();
        encode_cbor(value, &mut self.bytes)?;
        self.end_entry(time, start)
    }

    /// Adds an entry of the bytes from `start` on, or takes them away again.
    fn end_entry(&mut self, time: i64, start: usize) -> Result<()> {
        let end = self.bytes.len();
        let fits = check_value_bytes(time, end - start)
            .and_then(|()| i32::try_from(end).map_err(|_| batch_too_large(end)));
        match fits {
            Ok(end) => {
                self.begin();
                self.offsets.push(end);
                self.times.push(time);
                Ok(())
            }
            Err(error) => {
                self.bytes.truncate(start);
                Err(error)
            }
        }
    }

    /// The offset before the first value.
    fn begin(&mut self) {
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
    }

    /// Each entry: its time, and the bytes of its value.
    pub(super) fn iter(&self) -> impl Iterator<Item = (i64, &[u8])> {
        let values = self.offsets.windows(2).map(|ends| match ends {
            [start, end] => self.bytes.get(*start as usize..*end as usize).unwrap_or_default(),
            _ => &[],
        });
        self.times.iter().copied().zip(values)
    }

    /// Entries in it.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Bytes of all values together.
    pub fn value_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The same as a batch of a time log's columns; the memory is handed over, not copied.
    pub(super) fn into_record_batch(
        mut self,
        schema: &SchemaRef,
        unit: Unit,
    ) -> Result<RecordBatch> {
        self.begin();
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        let values =
            BinaryArray::try_new(offsets, Buffer::from_vec(self.bytes), None).map_err(internal)?;
        record_batch(schema, unit, self.times.into(), values)
    }
}

/// A batch of a time log's columns.
///
/// # Errors
/// `InvalidData` if there isn't one value a time, or a value is null.
pub(super) fn record_batch(
    schema: &SchemaRef,
    unit: Unit,
    times: ScalarBuffer<i64>,
    values: BinaryArray,
) -> Result<RecordBatch> {
    let columns: Vec<ArrayRef> = vec![time_column(unit, times)?, Arc::new(values)];
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(internal)
}

/// Times as a time log's column has them.
pub(super) fn time_column(unit: Unit, times: ScalarBuffer<i64>) -> Result<ArrayRef> {
    let times: ArrayRef = Arc::new(Int64Array::new(times, None));
    relabeled(&times, &DataType::Timestamp(unit.to_arrow(), Some(TIME_ZONE.into())))
}

fn internal(cause: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, format!("the entries make no Arrow batch: {cause}"))
        .caused_by(cause)
}

/// `TooLarge` if a value is longer than a time log takes.
pub(super) fn check_value_bytes(time: i64, value_bytes: usize) -> Result<()> {
    if value_bytes <= VALUE_BYTES_MAX {
        return Ok(());
    }
    let what = format!(
        "the value at time {time} has {value_bytes} bytes; a time log takes values of at most \
         {VALUE_BYTES_MAX} bytes"
    );
    Err(Error::new(ErrorKind::TooLarge, what))
}

fn batch_too_large(value_bytes: usize) -> Error {
    let most = i32::MAX;
    let what = format!("one batch with {value_bytes} bytes of values; it may have {most} at most");
    Error::new(ErrorKind::TooLarge, what)
}
