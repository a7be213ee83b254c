//! Records: what is sent, and columns of them.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{TimestampNanosecondType, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, ListArray, RecordBatch, TimestampNanosecondArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use timestrata_engine::{Error, ErrorKind, Result};

/// A record to be sent, borrowed from its sender; or one that was read, borrowed from its batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record<'a> {
    /// What it is about: records of one key go to one partition. `None` is not the same as no bytes.
    pub key: Option<&'a [u8]>,
    /// What it says; `None`: that its key is gone (a tombstone).
    pub value: Option<&'a [u8]>,
    /// Further names and values, in the order given; a name may come twice.
    pub headers: Vec<(&'a str, &'a [u8])>,
    /// When it happened, nanoseconds since the epoch; `None`: the store's clock.
    pub timestamp_ns: Option<i64>,
    /// The partition that it is to go to; `None`: that of its key. Says nothing of one that was read.
    pub partition: Option<u32>,
}

impl Record<'_> {
    /// Bytes of key, value and headers.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let part = |part: Option<&[u8]>| part.map_or(0, <[u8]>::len);
        let headers = self.headers.iter().map(|(name, value)| name.len() + value.len());
        (part(self.key) + part(self.value) + headers.sum::<usize>()) as u64
    }
}

/// Columns of a partition's stream.
pub(super) mod column {
    pub(crate) const OFFSET: usize = 0;
    pub(crate) const TIMESTAMP: usize = 1;
    pub(crate) const KEY: usize = 2;
    pub(crate) const VALUE: usize = 3;
    pub(crate) const HEADERS: usize = 4;
}

const HEADER_NAME: &str = "name";
const HEADER_VALUE: &str = "value";

fn header_fields() -> Fields {
    Fields::from(vec![
        Field::new(HEADER_NAME, DataType::Utf8, false),
        Field::new(HEADER_VALUE, DataType::Binary, false),
    ])
}

fn headers_item() -> Arc<Field> {
    Arc::new(Field::new("item", DataType::Struct(header_fields()), false))
}

/// The columns of a partition: `offset`, `timestamp`, `key`, `value`, `headers` (null where there
/// are none).
#[must_use]
pub fn record_schema() -> SchemaRef {
    let time = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    Arc::new(Schema::new(vec![
        Field::new("offset", DataType::UInt64, false),
        Field::new("timestamp", time, false),
        Field::new("key", DataType::Binary, true),
        Field::new("value", DataType::Binary, true),
        Field::new("headers", DataType::List(headers_item()), true),
    ]))
}

fn unmade(error: ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, "the records make no columns").caused_by(error)
}

fn headers_of(records: &[&Record<'_>]) -> Result<ArrayRef> {
    if records.iter().all(|record| record.headers.is_empty()) {
        return Ok(Arc::new(ListArray::new_null(headers_item(), records.len())));
    }
    let builders: Vec<Box<dyn arrow_array::builder::ArrayBuilder>> =
        vec![Box::new(StringBuilder::new()), Box::new(BinaryBuilder::new())];
    let each = StructBuilder::new(header_fields(), builders);
    let mut lists = ListBuilder::new(each).with_field(headers_item());
    for record in records {
        for (name, value) in &record.headers {
            let header = lists.values();
            if let Some(names) = header.field_builder::<StringBuilder>(0) {
                names.append_value(name);
            }
            if let Some(values) = header.field_builder::<BinaryBuilder>(1) {
                values.append_value(value);
            }
            header.append(true);
        }
        lists.append(!record.headers.is_empty());
    }
    Ok(Arc::new(lists.finish()))
}

/// Records as columns, with offsets from `first` on and these times.
///
/// # Errors
/// `InvalidData` for more bytes than one batch can have.
pub(super) fn to_batch(
    schema: &SchemaRef,
    first: u64,
    times: Vec<i64>,
    records: &[&Record<'_>],
) -> Result<RecordBatch> {
    let bytes: u64 = records.iter().map(|record| record.bytes()).sum();
    if i32::try_from(bytes).is_err() {
        let message = format!("records of {bytes} bytes together; 2 GiB is most at once");
        return Err(Error::new(ErrorKind::TooLarge, message));
    }
    let offsets = UInt64Array::from_iter_values((first..).take(records.len()));
    let times = TimestampNanosecondArray::from(times).with_timezone("UTC");
    let keys = BinaryArray::from_iter(records.iter().map(|record| record.key));
    let values = BinaryArray::from_iter(records.iter().map(|record| record.value));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(offsets),
        Arc::new(times),
        Arc::new(keys),
        Arc::new(values),
        headers_of(records)?,
    ];
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(unmade)
}

/// Rows of a partition, read as records.
#[derive(Debug, Clone)]
pub struct Records {
    offsets: UInt64Array,
    times: TimestampNanosecondArray,
    keys: BinaryArray,
    values: BinaryArray,
    headers: ListArray,
}

impl Records {
    /// The records of a batch with all columns of [`record_schema`].
    ///
    /// # Errors
    /// `InvalidData` for other columns.
    pub fn of(batch: &RecordBatch) -> Result<Self> {
        let wrong = || Error::new(ErrorKind::InvalidData, "the batch has no columns of records");
        let at = |index: usize| batch.columns().get(index).ok_or_else(wrong);
        let offsets = at(column::OFFSET)?.as_primitive_opt::<UInt64Type>().ok_or_else(wrong)?;
        let times = at(column::TIMESTAMP)?.as_primitive_opt::<TimestampNanosecondType>();
        let binary = |index| Ok(at(index)?.as_binary_opt::<i32>().ok_or_else(wrong)?.clone());
        let headers = at(column::HEADERS)?.as_list_opt::<i32>().ok_or_else(wrong)?;
        Ok(Self {
            offsets: offsets.clone(),
            times: times.ok_or_else(wrong)?.clone(),
            keys: binary(column::KEY)?,
            values: binary(column::VALUE)?,
            headers: headers.clone(),
        })
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Bytes of all keys, values and headers.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        // Keys and values stand one behind the other; only headers have to be looked at.
        let of = |array: &BinaryArray| match array.value_offsets() {
            [first, .., last] => u64::try_from(last - first).unwrap_or(0),
            _ => 0,
        };
        let headers = match self.headers.null_count() == self.len() {
            true => 0,
            false => (0..self.len())
                .flat_map(|row| self.headers_at(row))
                .map(|(name, value)| (name.len() + value.len()) as u64)
                .sum(),
        };
        of(&self.keys) + of(&self.values) + headers
    }

    /// The first of them that have no more bytes together than this; one at least.
    #[must_use]
    pub fn within(mut self, bytes: u64) -> Self {
        if self.bytes() <= bytes {
            return self;
        }
        let mut left = bytes;
        let fits = |(_, record): &(u64, Record<'_>)| match left.checked_sub(record.bytes()) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        let rows = self.iter().take_while(fits).count().clamp(1, self.len().max(1));
        if rows < self.len() {
            self.offsets = self.offsets.slice(0, rows);
            self.times = self.times.slice(0, rows);
            self.keys = self.keys.slice(0, rows);
            self.values = self.values.slice(0, rows);
            self.headers = self.headers.slice(0, rows);
        }
        self
    }

    /// Offset and record of a row; `None` behind the last.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<(u64, Record<'_>)> {
        if row >= self.len() {
            return None;
        }
        let bytes = |array: &'_ BinaryArray| array.is_valid(row).then_some(row);
        let record = Record {
            key: bytes(&self.keys).map(|row| self.keys.value(row)),
            value: bytes(&self.values).map(|row| self.values.value(row)),
            headers: self.headers_at(row),
            timestamp_ns: Some(self.times.value(row)),
            partition: None,
        };
        Some((self.offsets.value(row), record))
    }

    fn headers_at(&self, row: usize) -> Vec<(&str, &[u8])> {
        if self.headers.is_null(row) {
            return Vec::new();
        }
        let ends = self.headers.value_offsets();
        let (Some(from), Some(to)) = (ends.get(row), ends.get(row + 1)) else { return Vec::new() };
        let parts = self.headers.values().as_struct_opt();
        let names = parts.and_then(|parts| parts.columns().first()?.as_string_opt::<i32>());
        let values = parts.and_then(|parts| parts.columns().get(1)?.as_binary_opt::<i32>());
        let (Some(names), Some(values)) = (names, values) else { return Vec::new() };
        (*from..*to)
            .filter_map(|place| usize::try_from(place).ok())
            .filter(|place| *place < names.len() && *place < values.len())
            .map(|place| (names.value(place), values.value(place)))
            .collect()
    }

    /// Offsets and records, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Record<'_>)> {
        (0..self.len()).filter_map(|row| self.get(row))
    }
}
