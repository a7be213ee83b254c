//! How far the files are that a log follows: a table beside the log, which each commit of entries goes with.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use timestrata::table::{Table, TableOptions, TableScan};
use timestrata::{Error, ErrorKind, Store};

use crate::failure::Result;

/// Bytes of a file's beginning that it is known again by.
pub(super) const HEAD_BYTES: usize = 256;

/// How far a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Names the file, whatever it is called now.
    pub(super) id: String,
    pub(super) path: String,
    pub(super) device: u64,
    pub(super) inode: u64,
    /// Its first bytes.
    pub(super) head: Vec<u8>,
    /// The format of its lines.
    pub(super) format: String,
    /// Bytes that are in the log.
    pub(super) offset: u64,
    /// Whether it was read to an end that stays one.
    pub(super) is_done: bool,
}

fn schema() -> SchemaRef {
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    Arc::new(Schema::new(vec![
        Field::new("time", time, false),
        Field::new("id", DataType::Utf8, false),
        Field::new("path", DataType::Utf8, false),
        Field::new("device", DataType::UInt64, false),
        Field::new("inode", DataType::UInt64, false),
        Field::new("head", DataType::Binary, false),
        Field::new("format", DataType::Utf8, false),
        Field::new("offset", DataType::Int64, false),
        Field::new("is_done", DataType::Boolean, false),
    ]))
}

/// The table of a log's files; made if it is missing.
pub(super) fn table(store: &Store, log: &str) -> Result<Table> {
    let options = TableOptions {
        time: Some("time".to_owned()),
        key: vec!["id".to_owned()],
        ..TableOptions::default()
    };
    Ok(Table::create(store, &format!("{log}.files"), &schema(), &options)?)
}

/// The rows that say how far files are.
pub(super) fn rows(places: &[&Place], now_ns: i64) -> Result<RecordBatch> {
    let times = TimestampMicrosecondArray::from(vec![now_ns / 1_000; places.len()]);
    let text = |of: fn(&Place) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(places.iter().map(|place| of(place))))
    };
    let number = |of: fn(&Place) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(places.iter().map(|place| of(place))))
    };
    let offsets = places.iter().map(|place| i64::try_from(place.offset).unwrap_or(i64::MAX));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(times.with_timezone("UTC")),
        text(|place| &place.id),
        text(|place| &place.path),
        number(|place| place.device),
        number(|place| place.inode),
        Arc::new(BinaryArray::from_iter_values(places.iter().map(|place| &place.head))),
        text(|place| &place.format),
        Arc::new(Int64Array::from_iter_values(offsets)),
        Arc::new(BooleanArray::from_iter(places.iter().map(|place| Some(place.is_done)))),
    ];
    RecordBatch::try_new(schema(), columns).map_err(|error| unlike(&error.to_string()).into())
}

/// How far the files are, as the store has it.
pub(super) fn read(table: &Table) -> Result<Vec<Place>> {
    let names = schema().fields().iter().skip(1).map(|field| field.name().clone()).collect();
    let view = table.view()?;
    let mut places = Vec::new();
    for batch in view.scan(&TableScan { columns: Some(names), ..TableScan::default() })? {
        let batch = batch?;
        let column = |name: &str| batch.column_by_name(name).ok_or_else(|| unlike(name));
        let text =
            |name: &str| column(name)?.as_string_opt::<i32>().cloned().ok_or_else(|| unlike(name));
        let number = |name: &str| {
            column(name)?.as_primitive_opt::<UInt64Type>().cloned().ok_or_else(|| unlike(name))
        };
        let (ids, paths, formats) = (text("id")?, text("path")?, text("format")?);
        let (devices, inodes) = (number("device")?, number("inode")?);
        let heads =
            column("head")?.as_binary_opt::<i32>().cloned().ok_or_else(|| unlike("head"))?;
        let offsets = column("offset")?.as_primitive_opt::<Int64Type>();
        let offsets = offsets.cloned().ok_or_else(|| unlike("offset"))?;
        let done = column("is_done")?.as_boolean_opt().ok_or_else(|| unlike("is_done"))?;
        places.extend((0..batch.num_rows()).map(|row| Place {
            id: ids.value(row).to_owned(),
            path: paths.value(row).to_owned(),
            device: devices.value(row),
            inode: inodes.value(row),
            head: heads.value(row).to_vec(),
            format: formats.value(row).to_owned(),
            offset: u64::try_from(offsets.value(row)).unwrap_or(0),
            is_done: done.value(row),
        }));
    }
    Ok(places)
}

/// A table that somebody else made.
fn unlike(column: &str) -> Error {
    let message = format!("the table of followed files has another column '{column}'");
    Error::new(ErrorKind::InvalidData, message)
        .hinting("it was made by something else: rename it, or follow into a log of another name")
}
