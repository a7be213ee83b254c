//! How compacted runs are packed is the owner's choice: it changes what files take, and nothing that is read.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, TimestampMillisecondArray, UInt32Array};
use timestrata_engine::{
    COMPRESSION_PROPERTY, Changes, Durability, ErrorKind, RunCompression, RunFormat, ScanSpec,
    Store, StreamId, StreamSpec,
};

use crate::support::*;

/// Text that packs well, and numbers.
fn rows(count: u32) -> RecordBatch {
    let times = TimestampMillisecondArray::from_iter_values(0..i64::from(count));
    let texts = (0..count).map(|row| format!("order {} of customer {} arrived", row * 7, row % 97));
    let columns: [(&str, ArrayRef); 3] = [
        ("time", Arc::new(times)),
        ("text", Arc::new(StringArray::from_iter_values(texts))),
        (
            "number",
            Arc::new(UInt32Array::from_iter_values((0..count).map(|row| row.wrapping_mul(row)))),
        ),
    ];
    let fields = columns.iter().map(|(name, array)| {
        arrow_schema::Field::new(*name, array.data_type().clone(), *name != "time")
    });
    let schema = Arc::new(arrow_schema::Schema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new(schema, columns.map(|(_, array)| array).to_vec()).unwrap()
}

fn spec(compression: RunCompression) -> StreamSpec {
    StreamSpec {
        run_format: RunFormat::Cold,
        properties: compression.in_properties(Vec::new()),
        ..StreamSpec::new("events", rows(1).schema())
    }
}

fn fill(store: &Store, stream: StreamId) {
    store.commit(Changes::new().insert(stream, rows(20_000)), Durability::Written).unwrap();
    store.compact(None).unwrap();
}

fn all(store: &Store) -> RecordBatch {
    let stream = store.expect_stream("events").unwrap();
    let scan = store.snapshot().unwrap().scan(stream.id(), &ScanSpec::default()).unwrap();
    let batches: Vec<_> = scan.map(Result::unwrap).collect();
    arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap()
}

fn run_bytes(store: &Store) -> u64 {
    store.stats().streams[0].run_bytes
}

#[test]
fn files_take_less_the_harder_they_are_packed_and_hold_the_same() {
    let mut taken = Vec::new();
    for compression in
        [RunCompression::Zstd(19), RunCompression::Usual, RunCompression::Lz4, RunCompression::None]
    {
        let machine = Machine::new();
        let store = machine.open(manual());
        let stream = store.create_stream(spec(compression)).unwrap();
        fill(&store, stream);
        assert_eq!(all(&store), rows(20_000), "{compression}");
        taken.push(run_bytes(&store));
        store.close().unwrap();
        // It is the stream's, whatever opens it next.
        let store = machine.open(manual());
        assert_eq!(store.expect_stream("events").unwrap().compression(), compression);
        assert_eq!(all(&store), rows(20_000), "{compression}");
        let report = store.check().unwrap();
        assert!(report.is_sound(), "{compression}: {:?}", report.findings);
    }
    assert!(taken.is_sorted_by(|less, more| less < more), "{taken:?}");
    assert!(taken[1] * 2 < taken[3], "{taken:?}");
}

#[test]
fn another_compression_is_that_of_runs_that_are_written_from_then_on() {
    let machine = Machine::new();
    let store = machine.open(manual());
    let stream = store.create_stream(spec(RunCompression::None)).unwrap();
    fill(&store, stream);
    let before = run_bytes(&store);
    let properties = RunCompression::Usual
        .in_properties(store.expect_stream("events").unwrap().spec().properties.clone());
    store.alter_stream_properties(stream, properties).unwrap();
    assert_eq!(run_bytes(&store), before);
    // Rows of the same times, so that compaction has to take both.
    fill(&store, stream);
    assert!(run_bytes(&store) < before, "{} and {before}", run_bytes(&store));
    assert_eq!(all(&store).num_rows(), 40_000);
    let reopened = machine.copy().open(manual());
    assert_eq!(reopened.expect_stream("events").unwrap().compression(), RunCompression::Usual);
    assert_eq!(all(&reopened), all(&store));
}

#[test]
fn what_names_no_compression_is_refused() {
    let store = Machine::new().open(manual());
    for text in ["", "gzip", "zstd:0", "zstd:23", "zstd:", "zstd:-1", "LZ4"] {
        let properties = vec![(COMPRESSION_PROPERTY.to_owned(), text.to_owned())];
        let spec = StreamSpec { properties, ..spec(RunCompression::Usual) };
        let error = store.create_stream(spec).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let message = error.to_string();
        assert!(message.contains("'events'") && message.contains("zstd:LEVEL"), "{message}");
    }
    assert!(store.streams().is_empty());
}
