//! Entries of the tree whose records are gone, for topics that keep them: a record is hashed by its envelope, which has
//! hashes of key, headers and value only. So what was thrown away can be exported, proved and audited as before, and
//! not read. Written by retention, in the commit that throws the records away.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{BinaryArray, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use timestrata_engine::{
    BLOCK_ROWS_PROPERTY, Error, ErrorKind, Result, Scan, ScanSpec, Snapshot, StreamId, StreamSpec,
};

use super::options;
use super::partition::Partition;
use super::record::Record;
use super::retain::range;

/// Rows of a block: what is verified for the entries of one tile.
const BLOCK_ROWS: usize = 1_024;

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("offset", DataType::UInt64, false),
        Field::new("entry", DataType::Binary, false),
    ]))
}

/// The stream of a partition's kept entries.
pub(super) fn spec(name: String) -> StreamSpec {
    let mut properties = options::part_properties();
    properties.push((BLOCK_ROWS_PROPERTY.to_owned(), BLOCK_ROWS.to_string()));
    StreamSpec { properties, ..StreamSpec::new(name, schema()) }
}

/// Entries of records that are about to go; none where the topic doesn't keep them.
pub(super) struct GoneEntries<'a> {
    partition: &'a Partition,
    offsets: Vec<u64>,
    entries: Vec<Vec<u8>>,
}

impl<'a> GoneEntries<'a> {
    pub(super) fn new(partition: &'a Partition) -> Self {
        Self { partition, offsets: Vec::new(), entries: Vec::new() }
    }

    /// Adds that of a record.
    pub(super) fn add(&mut self, offset: u64, record: &Record<'_>) -> Result<()> {
        if self.partition.entries.is_none() {
            return Ok(());
        }
        let mut entry = Vec::new();
        let time = record.timestamp_ns.unwrap_or_default();
        self.partition.entry(offset, time, record, &mut entry)?;
        self.offsets.push(offset);
        self.entries.push(entry);
        Ok(())
    }

    /// The stream that they go to, and their rows, if there are any.
    pub(super) fn into_rows(self) -> Result<Option<(StreamId, RecordBatch)>> {
        let Some(stream) = self.partition.entries.filter(|_| !self.offsets.is_empty()) else {
            return Ok(None);
        };
        let offsets = UInt64Array::from(self.offsets);
        let entries = BinaryArray::from_iter_values(self.entries);
        let rows = RecordBatch::try_new(schema(), vec![Arc::new(offsets), Arc::new(entries)]);
        let rows = rows.map_err(|error| {
            Error::new(ErrorKind::InvalidData, "entries make no columns").caused_by(error)
        })?;
        Ok(Some((stream, rows)))
    }
}

/// The kept entries of some offsets, in their order.
pub(super) struct KeptEntries {
    batches: Option<Scan>,
    read: std::vec::IntoIter<(u64, Vec<u8>)>,
}

impl KeptEntries {
    /// As a snapshot has them; none of a topic that keeps none.
    pub(super) fn of(
        snapshot: &Snapshot,
        partition: &Partition,
        offsets: Range<u64>,
    ) -> Result<Self> {
        let spec = ScanSpec { range: range(offsets), ..ScanSpec::default() };
        let batches = partition.entries.map(|stream| snapshot.scan(stream, &spec)).transpose()?;
        Ok(Self { batches, read: Vec::new().into_iter() })
    }

    /// All of them, by offset.
    pub(super) fn into_map(self) -> Result<BTreeMap<u64, Vec<u8>>> {
        self.collect()
    }
}

impl Iterator for KeptEntries {
    type Item = Result<(u64, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.read.next() {
                return Some(Ok(entry));
            }
            match self.batches.as_mut()?.next()?.and_then(|batch| rows_of(&batch)) {
                Ok(rows) => self.read = rows.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn rows_of(batch: &RecordBatch) -> Result<Vec<(u64, Vec<u8>)>> {
    let offsets =
        batch.columns().first().and_then(|column| column.as_primitive_opt::<UInt64Type>());
    let entries = batch.columns().get(1).and_then(|column| column.as_binary_opt::<i32>());
    let (Some(offsets), Some(entries)) = (offsets, entries) else {
        let what = "kept entries of a topic have other columns";
        return Err(Error::new(ErrorKind::Corruption, what));
    };
    let entries = entries.iter().map(|entry| entry.unwrap_or_default().to_vec());
    Ok(offsets.values().iter().copied().zip(entries).collect())
}
