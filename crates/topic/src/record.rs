//! Records: what is sent, and columns of them.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use arrow_array::builder::{BinaryBuilder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{TimestampNanosecondType, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, ListArray, RecordBatch, TimestampNanosecondArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use timestrata_engine::{Cell, Error, ErrorKind, Result, Row, RowEncoder};

/// A record to be sent, borrowed from its sender; or one that was read, borrowed from its batch.
///
/// ```
/// use timestrata_topic::Record;
///
/// let opened = Record {
///     key: Some(b"door"),
///     value: Some(b"opened"),
///     headers: vec![("by", b"ann")],
///     ..Record::default()
/// };
/// assert_eq!(opened.bytes(), 15);
/// ```
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
    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
        let time = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
        Arc::new(Schema::new(vec![
            Field::new("offset", DataType::UInt64, false),
            Field::new("timestamp", time, false),
            Field::new("key", DataType::Binary, true),
            Field::new("value", DataType::Binary, true),
            Field::new("headers", DataType::List(headers_item()), true),
        ]))
    });
    Arc::clone(&SCHEMA)
}

fn unmade(error: ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, "the records make no columns").caused_by(error)
}

fn headers_of(records: &[&Record<'_>]) -> Result<ArrayRef> {
    if records.iter().all(|record| record.headers.is_empty()) {
        return Ok(Arc::new(ListArray::new_null(headers_item(), records.len())));
    }
    let each = StructBuilder::from_fields(header_fields(), 0);
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

/// Whether these records are better written as rows, one by one. Headers no cell can have.
pub(super) fn are_rows(records: &[&Record<'_>]) -> bool {
    let bytes = records.iter().map(|record| record.bytes()).sum::<u64>();
    RowEncoder::suits(records.len(), usize::try_from(bytes).unwrap_or(usize::MAX))
        && records.iter().all(|record| record.headers.is_empty())
}

/// A record without headers as a row.
pub(super) fn cells<'a>(offset: u64, time: i64, record: &'a Record<'_>) -> [Cell<'a>; 5] {
    let [key, value] = [record.key, record.value].map(|part| part.map_or(Cell::Null, Cell::Bytes));
    [Cell::UInt(offset), Cell::Int(time), key, value, Cell::Null]
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
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_topic::Records;
/// # use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// # let opened = Record { key: Some(b"door"), value: Some(b"opened"), ..Record::default() };
/// # events.send(&opened, &SendOptions::default())?;
/// for batch in events.scan(0, 0..10, None)? {
///     for (offset, record) in Records::of(&batch?)?.iter() {
///         assert_eq!((offset, record.value), (0, Some(&b"opened"[..])));
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Records {
    /// With all columns of [`record_schema`].
    batch: RecordBatch,
    rows: Range<usize>,
}

/// The columns of records.
#[derive(Clone, Copy)]
struct RecordColumns<'a> {
    offsets: &'a [u64],
    times: &'a [i64],
    keys: &'a BinaryArray,
    values: &'a BinaryArray,
    headers: &'a ListArray,
}

impl<'a> RecordColumns<'a> {
    /// `None` for other columns.
    fn of(batch: &'a RecordBatch) -> Option<Self> {
        let at = |index: usize| batch.columns().get(index);
        Some(Self {
            offsets: at(column::OFFSET)?.as_primitive_opt::<UInt64Type>()?.values(),
            times: at(column::TIMESTAMP)?.as_primitive_opt::<TimestampNanosecondType>()?.values(),
            keys: at(column::KEY)?.as_binary_opt()?,
            values: at(column::VALUE)?.as_binary_opt()?,
            headers: at(column::HEADERS)?.as_list_opt()?,
        })
    }

    /// Offset and record of a row; `None` behind the last.
    #[inline]
    fn get(&self, row: usize) -> Option<(u64, Record<'a>)> {
        let bytes = |array: &'a BinaryArray| array.is_valid(row).then(|| array.value(row));
        let (offset, time) = (self.offsets.get(row)?, self.times.get(row)?);
        let record = Record {
            key: bytes(self.keys),
            value: bytes(self.values),
            headers: self.headers_at(row),
            timestamp_ns: Some(*time),
            partition: None,
        };
        Some((*offset, record))
    }

    fn headers_at(&self, row: usize) -> Vec<(&'a str, &'a [u8])> {
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

    /// Bytes of keys, values and headers of some rows.
    fn bytes(&self, rows: &Range<usize>) -> u64 {
        // Keys and values stand one behind the other; only headers have to be looked at.
        let of = |array: &BinaryArray| {
            let ends = array.value_offsets();
            let (first, last) = (ends.get(rows.start), ends.get(rows.end));
            let bytes = first.zip(last).and_then(|(first, last)| u64::try_from(last - first).ok());
            bytes.unwrap_or(0)
        };
        let headers = match self.headers.null_count() == self.headers.len() {
            true => 0,
            false => rows
                .clone()
                .flat_map(|row| self.headers_at(row))
                .map(|(name, value)| (name.len() + value.len()) as u64)
                .sum(),
        };
        of(self.keys) + of(self.values) + headers
    }
}

impl Records {
    /// The records of a batch with all columns of [`record_schema`].
    ///
    /// # Errors
    /// `InvalidData` for other columns.
    pub fn of(batch: &RecordBatch) -> Result<Self> {
        Self::some_of(batch.clone(), 0..batch.num_rows())
    }

    /// The one record of a row.
    pub(super) fn of_row(row: Row) -> Result<Self> {
        Self::some_of(row.batch, row.index..row.index + 1)
    }

    fn some_of(batch: RecordBatch, rows: Range<usize>) -> Result<Self> {
        let is_whole = RecordColumns::of(&batch).is_some_and(|_| rows.end <= batch.num_rows());
        match is_whole {
            true => Ok(Self { batch, rows }),
            false => {
                let what = "the batch has no columns of records";
                Err(Error::new(ErrorKind::InvalidData, what))
            }
        }
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// As columns: those of [`record_schema`].
    #[must_use]
    pub fn to_batch(&self) -> RecordBatch {
        self.batch.slice(self.rows.start, self.rows.len())
    }

    /// Bytes of all keys, values and headers.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        RecordColumns::of(&self.batch).map_or(0, |columns| columns.bytes(&self.rows))
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
        self.rows.end = self.rows.end.min(self.rows.start + rows);
        self
    }

    /// The first so many of them.
    #[must_use]
    pub fn first(mut self, records: usize) -> Self {
        self.rows.end = self.rows.end.min(self.rows.start.saturating_add(records));
        self
    }

    /// Offset and record of a row; `None` behind the last.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<(u64, Record<'_>)> {
        let row = self.rows.clone().nth(row)?;
        RecordColumns::of(&self.batch)?.get(row)
    }

    /// Offsets and records, in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (u64, Record<'_>)> {
        let columns = RecordColumns::of(&self.batch);
        self.rows.clone().filter_map(move |row| columns.as_ref()?.get(row))
    }
}
