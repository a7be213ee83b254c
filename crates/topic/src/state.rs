//! The state of a topic besides its records: a row for each group and partition, each producer and
//! partition, each partition's floor and its last checkpoint. The newest row of each key counts.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use timestrata_engine::{
    Cell, Changes, Error, ErrorKind, Merge, Result, Row, Snapshot, Store, StreamId, StreamSpec,
};
use timestrata_merkle::Hash;

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StateKind {
    /// Where a group goes on: `offset` is the next one, `number` the generation that committed it,
    /// `bytes` what the member said with it.
    Group,
    /// What an idempotent producer sent last: `number` is the sequence that comes next, `bytes` the
    /// latest receipts.
    Producer,
    /// The last producer of a name that began: `number` is its epoch.
    Epoch,
    /// Where a partition begins: `offset` is the first that is kept, `bytes` the hashes of those
    /// below it that no full tile has.
    Floor,
    /// Up to where records that later ones stand for are gone: `offset`.
    Compacted,
    /// Up to where records were there at a moment: `offset`, and the row's time is the moment.
    Seen,
    /// The last checkpoint that was signed: `offset` is its size, `bytes` the note.
    Checkpoint,
}

impl StateKind {
    fn name(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Producer => "producer",
            Self::Epoch => "epoch",
            Self::Floor => "floor",
            Self::Compacted => "compacted",
            Self::Seen => "seen",
            Self::Checkpoint => "checkpoint",
        }
    }
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StateRow {
    pub(super) kind: StateKind,
    /// Of the group or producer; empty for others.
    pub(super) name: String,
    pub(super) partition: u32,
    pub(super) offset: u64,
    pub(super) number: u64,
    pub(super) timestamp_ns: i64,
    pub(super) bytes: Option<Vec<u8>>,
}

impl StateRow {
    /// What is known of a partition as a whole.
    pub(super) fn of_partition(
        kind: StateKind,
        partition: u32,
        offset: u64,
        timestamp_ns: i64,
    ) -> Self {
        let name = String::new();
        Self { kind, name, partition, offset, number: 0, timestamp_ns, bytes: None }
    }
}

mod column {
    pub(super) const OFFSET: usize = 4;
    pub(super) const NUMBER: usize = 5;
    pub(super) const TIMESTAMP: usize = 6;
    pub(super) const BYTES: usize = 7;
}

fn schema() -> SchemaRef {
    let id_bytes = i32::try_from(Hash::BYTES).unwrap_or(i32::MAX);
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::FixedSizeBinary(id_bytes), false),
        Field::new("kind", DataType::Utf8, false),
        Field::new("name", DataType::Utf8, false),
        Field::new("partition", DataType::UInt32, false),
        Field::new("offset", DataType::UInt64, false),
        Field::new("number", DataType::UInt64, false),
        Field::new("timestamp", DataType::Int64, false),
        Field::new("bytes", DataType::Binary, true),
    ]))
}

/// A topic's own stream.
pub(super) fn spec(topic: &str, properties: Vec<(String, String)>) -> StreamSpec {
    StreamSpec { merge: Merge::Latest, properties, ..StreamSpec::new(topic, schema()) }
}

/// What a row is known by.
fn id_of(kind: StateKind, name: &str, partition: u32) -> Hash {
    Hash::of_bytes(format!("{}\n{partition}\n{name}", kind.name()).as_bytes())
}

/// Adds to changes that a row of a topic is this from now on.
pub(super) fn put(
    store: &Store,
    changes: &mut Changes,
    topic: StreamId,
    row: &StateRow,
) -> Result<()> {
    let id = id_of(row.kind, &row.name, row.partition);
    let cells = [
        Cell::Bytes(id.as_bytes()),
        Cell::Text(row.kind.name()),
        Cell::Text(&row.name),
        Cell::UInt(row.partition.into()),
        Cell::UInt(row.offset),
        Cell::UInt(row.number),
        Cell::Int(row.timestamp_ns),
        row.bytes.as_deref().map_or(Cell::Null, Cell::Bytes),
    ];
    store.row_encoder(topic)?.put(changes, &cells)
}

/// Adds to changes that a row of a topic is gone.
pub(super) fn delete(
    store: &Store,
    changes: &mut Changes,
    topic: StreamId,
    kind: StateKind,
    name: &str,
    partition: u32,
) -> Result<()> {
    let id = id_of(kind, name, partition);
    store.row_encoder(topic)?.delete_key(changes, &[Cell::Bytes(id.as_bytes())])
}

/// The row of one group, producer or partition.
pub(super) fn find(
    snapshot: &Snapshot,
    stream: StreamId,
    kind: StateKind,
    name: &str,
    partition: u32,
) -> Result<Option<StateRow>> {
    let id = id_of(kind, name, partition);
    let Some(row) = snapshot.get(stream, &[Cell::Bytes(id.as_bytes())])? else { return Ok(None) };
    read(&row, kind, name, partition).map(Some)
}

fn read(row: &Row, kind: StateKind, name: &str, partition: u32) -> Result<StateRow> {
    let bad = || {
        let what = format!("the stored state of {} '{name}' has other columns", kind.name());
        Error::new(ErrorKind::Corruption, what)
    };
    let columns = row.batch.columns();
    let number = |index: usize| {
        let numbers = columns.get(index)?.as_primitive_opt::<UInt64Type>()?;
        Some(numbers.value(row.index))
    };
    let times = columns.get(column::TIMESTAMP).and_then(|t| t.as_primitive_opt::<Int64Type>());
    let bytes = columns.get(column::BYTES).and_then(|bytes| bytes.as_binary_opt::<i32>());
    let bytes = bytes.ok_or_else(bad)?;
    Ok(StateRow {
        kind,
        name: name.to_owned(),
        partition,
        offset: number(column::OFFSET).ok_or_else(bad)?,
        number: number(column::NUMBER).ok_or_else(bad)?,
        timestamp_ns: times.ok_or_else(bad)?.value(row.index),
        bytes: bytes.is_valid(row.index).then(|| bytes.value(row.index).to_vec()),
    })
}

/// Names and partitions of all rows of a kind.
pub(super) fn names(
    snapshot: &Snapshot,
    stream: StreamId,
    kind: StateKind,
) -> Result<Vec<(String, u32)>> {
    let mut found = Vec::new();
    for batch in snapshot.scan(stream, &timestrata_engine::ScanSpec::default())? {
        let batch = batch?;
        let text = |index: usize| batch.columns().get(index)?.as_string_opt::<i32>();
        let partitions = batch.columns().get(3).and_then(|p| p.as_primitive_opt::<UInt32Type>());
        let (Some(kinds), Some(names), Some(partitions)) = (text(1), text(2), partitions) else {
            return Err(Error::new(ErrorKind::Corruption, "a topic's state has other columns"));
        };
        let rows = kinds.iter().zip(names).zip(partitions);
        found.extend(rows.filter_map(|((is, name), partition)| {
            (is? == kind.name()).then_some((name?.to_owned(), partition?))
        }));
    }
    found.sort();
    Ok(found)
}
