//! Blocks of entries that were read: slices of Arrow batches, not copies.

use std::fmt;
use std::ops::Deref;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::DataType;
use serde::de::DeserializeOwned;
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_values::time::relabeled;

use super::Unit;
use super::codec::decode_cbor;
use super::options::{TIME_COLUMN, VALUE_COLUMN};

/// One value: a slice of the store's memory (or of a mapped file), shared, not copied.
///
/// It keeps the whole block that it came from alive; copy the bytes (`to_vec`) to keep few
/// values for long.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_timelog::{Codec, Timelog, TimelogOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let options = TimelogOptions { codec: Codec::Cbor, ..Default::default() };
/// let log = Timelog::create(&store, "moves", options)?;
/// log.append_value(5, &("e2", "e4"))?;
/// let moved: (String, String) = log.at(5)?[0].decode()?;
/// assert_eq!(moved.1, "e4");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Value {
    bytes: Buffer,
}

impl Value {
    /// Reads the value as one CBOR item.
    ///
    /// # Errors
    /// `InvalidData` if the bytes are not CBOR, or not of this type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T> {
        decode_cbor(self).map_err(|cause| {
            let what = format!("can't read a value of {} bytes as CBOR: {cause}", self.len());
            Error::new(ErrorKind::InvalidData, what)
        })
    }
}

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.as_slice()
    }
}

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.escape_ascii())
    }
}

/// One entry of a time log.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_timelog::{Timelog, TimelogOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let log = Timelog::create(&store, "log", TimelogOptions::default())?;
/// log.append(1_000, b"one")?;
/// let entry = &log.first(1)?[0];
/// assert_eq!((entry.time, &entry.value[..]), (1_000, &b"one"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// When, in the log's unit since 1970-01-01 UTC.
    pub time: i64,
    /// What.
    pub value: Value,
}

/// A block of entries, as it lies in the store: columns of the same length.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_timelog::{Timelog, TimelogOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let log = Timelog::create(&store, "log", TimelogOptions::default())?;
/// log.extend(&[1, 2, 3], &["a", "b", "c"])?;
/// for block in log.range(2..)?.blocks() {
///     let block = block?;
///     assert_eq!((block.times(), block.value(1)), (&[2, 3][..], Some(&b"c"[..])));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct EntryBlock {
    batch: RecordBatch,
    times: ScalarBuffer<i64>,
    /// `None` in a typed log.
    values: Option<BinaryArray>,
}

impl EntryBlock {
    /// Takes the columns out of a batch of a time log's stream.
    pub(super) fn new(batch: RecordBatch, unit: Unit, is_typed: bool) -> Result<Self> {
        let column = |index: usize| batch.columns().get(index);
        let of_unit = |column: &&ArrayRef| match column.data_type() {
            DataType::Timestamp(of, _) => *of == unit.to_arrow(),
            _ => false,
        };
        let times = column(TIME_COLUMN).filter(of_unit).and_then(|column| {
            let numbers = relabeled(column, &DataType::Int64).ok()?;
            Some(numbers.as_primitive_opt::<Int64Type>()?.values().clone())
        });
        let values = column(VALUE_COLUMN).and_then(|column| column.as_binary_opt::<i32>()).cloned();
        match (times, values) {
            (Some(times), _) if is_typed => Ok(Self { batch, times, values: None }),
            (Some(times), Some(values)) => Ok(Self { batch, times, values: Some(values) }),
            _ => {
                let found = batch.schema_ref();
                let what = format!("a block of a time log in '{unit}' has other columns: {found}");
                Err(Error::new(ErrorKind::Corruption, what))
            }
        }
    }

    /// Entries in it.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// So many entries from one on; as far as there are so many.
    #[must_use]
    pub fn slice(&self, first: usize, entries: usize) -> Self {
        let first = first.min(self.len());
        let entries = entries.min(self.len() - first);
        Self {
            batch: self.batch.slice(first, entries),
            times: self.times.slice(first, entries),
            values: self.values.as_ref().map(|values| values.slice(first, entries)),
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The times, in the log's unit, in the order of the selection.
    pub fn times(&self) -> &[i64] {
        &self.times
    }

    /// The times as memory that can be shared.
    pub fn times_buffer(&self) -> &ScalarBuffer<i64> {
        &self.times
    }

    /// The values, one a time; none is null. `None` in a typed log.
    pub fn values(&self) -> Option<&BinaryArray> {
        self.values.as_ref()
    }

    /// The columns behind the time: in a typed log the values, one array a column.
    pub fn columns(&self) -> &[ArrayRef] {
        self.batch.columns().get(VALUE_COLUMN..).unwrap_or_default()
    }

    /// All columns, the first one `time`, as an Arrow batch.
    pub fn record_batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// The entry at `index`; `None` behind the end, and in a typed log.
    pub fn entry(&self, index: usize) -> Option<Entry> {
        let time = *self.times.get(index)?;
        let values = self.values.as_ref()?;
        let offsets = values.value_offsets();
        let start = usize::try_from(*offsets.get(index)?).ok()?;
        let end = usize::try_from(*offsets.get(index + 1)?).ok()?;
        let bytes = values.values().slice_with_length(start, end.checked_sub(start)?);
        Some(Entry { time, value: Value { bytes } })
    }

    /// The bytes of the value at `index`, borrowed; `None` behind the end, and in a typed log.
    pub fn value(&self, index: usize) -> Option<&[u8]> {
        let values = self.values.as_ref()?;
        (index < values.len()).then(|| values.value(index))
    }
}
