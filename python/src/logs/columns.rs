//! Entries as the columns that other Arrow libraries get.

use std::sync::Arc;

use arrow_array::builder::{LargeStringBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_logs::Entries;

/// What is given of each entry: levels as their names, labels and fields as JSON objects.
pub(super) fn schema() -> SchemaRef {
    let time = || DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    Arc::new(Schema::new(vec![
        Field::new("timestamp", time(), false),
        Field::new("source_time", time(), true),
        Field::new("level", DataType::Utf8, true),
        Field::new("message", DataType::Utf8, false),
        Field::new("labels", DataType::Utf8, true),
        // As JSON the fields of a batch may take more than 32 bits can count, though they don't as CBOR.
        Field::new("fields", DataType::LargeUtf8, true),
    ]))
}

/// Entries in those columns.
pub(super) fn batch_of(entries: &Entries) -> Result<RecordBatch> {
    let mut levels = StringBuilder::new();
    let mut fields = LargeStringBuilder::new();
    for entry in entries.iter() {
        levels.append_option(entry.level().map(|level| level.name()));
        let json = entry.fields_json();
        fields.append_option((json != "{}").then_some(json));
    }
    // These are as the stream keeps them.
    let kept = |name: &str| {
        entries.columns().column_by_name(name).map(Arc::clone).ok_or_else(|| {
            Error::new(ErrorKind::Corruption, format!("entries without a column '{name}'"))
        })
    };
    let columns: Vec<ArrayRef> = vec![
        kept("timestamp")?,
        kept("source_time")?,
        Arc::new(levels.finish()),
        kept("message")?,
        kept("labels")?,
        Arc::new(fields.finish()),
    ];
    RecordBatch::try_new(schema(), columns).map_err(|error| {
        Error::new(ErrorKind::Corruption, format!("entries make no columns: {error}"))
            .caused_by(error)
    })
}
