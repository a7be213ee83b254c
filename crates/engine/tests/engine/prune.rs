//! Which blocks of compacted runs need not be read: by their words, and by their numbers.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampNanosecondType;
use arrow_array::{
    ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray, TimestampNanosecondArray,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use proptest::prelude::*;
use timestrata_engine::{
    COLD_BLOCK_ROWS_PROPERTY, Changes, Durability, ErrorKind, Io, KeyRange, LeadKey, Maintenance,
    Merge, OpenMode, PruneFilter, RunFormat, ScanSpec, Settings, Store, StreamId, StreamSpec,
    WORDS_PROPERTY,
};

fn spec(merge: Merge) -> StreamSpec {
    let time = DataType::Timestamp(TimeUnit::Nanosecond, None);
    let schema = Arc::new(Schema::new(vec![
        Field::new("time", time, false),
        Field::new("message", DataType::Utf8, false),
        Field::new("fields", DataType::Binary, true),
        Field::new("level", DataType::Int64, true),
    ]));
    let property = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    StreamSpec {
        merge,
        run_format: RunFormat::Cold,
        properties: vec![
            property(COLD_BLOCK_ROWS_PROPERTY, "100"),
            property(WORDS_PROPERTY, "fields"),
        ],
        ..StreamSpec::new("log", schema)
    }
}

/// Rows whose messages, fields and levels are `row`'s own.
fn rows(
    times: std::ops::Range<i64>,
    row: impl Fn(i64) -> (String, Option<Vec<u8>>, Option<i64>),
) -> RecordBatch {
    let made: Vec<_> = times.clone().map(row).collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(TimestampNanosecondArray::from_iter_values(times)),
        Arc::new(StringArray::from_iter_values(made.iter().map(|row| &row.0))),
        Arc::new(BinaryArray::from_iter(made.iter().map(|row| row.1.as_deref()))),
        Arc::new(Int64Array::from_iter(made.iter().map(|row| row.2))),
    ];
    RecordBatch::try_new(spec(Merge::Keep).schema, columns).unwrap()
}

fn store_of(batch: RecordBatch) -> (Store, StreamId) {
    let settings = Settings { maintenance: Maintenance::Manual, ..Settings::default() };
    let store = Store::memory(settings).unwrap();
    let stream = store.create_stream(spec(Merge::Keep)).unwrap();
    store.commit(Changes::new().insert(stream, batch), Durability::Written).unwrap();
    store.flush().unwrap();
    store.compact(Some(stream)).unwrap();
    (store, stream)
}

fn prune(store: &Store, stream: StreamId, filter: &PruneFilter) -> Vec<KeyRange> {
    store.snapshot().unwrap().prune(stream, &KeyRange::ALL, filter).unwrap()
}

#[test]
fn blocks_without_a_word_are_left_out() {
    let text = |at: i64| if at == 1_234 { "Disk sda1 FULL".to_owned() } else { format!("ok {at}") };
    let field = |at: i64| (at == 777).then(|| b"\xa1\x64path\x66/tmp/x".to_vec());
    let (store, stream) = store_of(rows(0..3_000, |at| (text(at), field(at), None)));
    let block = |from: i64| vec![KeyRange::times(from, from + 100)];
    for word in ["disk", "SDA1", "Full"] {
        let filter = PruneFilter::default().with_any_word([word]);
        assert_eq!(prune(&store, stream, &filter), block(1_200), "{word}");
    }
    assert_eq!(prune(&store, stream, &PruneFilter::default().with_any_word(["tmp"])), block(700));
    assert!(
        prune(&store, stream, &PruneFilter::default().with_any_word(["path"])).is_empty(),
        "a key"
    );
    let both = PruneFilter::default().with_any_word(["disk"]).with_any_word(["tmp"]);
    assert!(prune(&store, stream, &both).is_empty());
    let either = PruneFilter::default().with_any_word(["disk", "tmp"]);
    assert_eq!(prune(&store, stream, &either), [block(700), block(1_200)].concat());
    assert_eq!(prune(&store, stream, &PruneFilter::default()), [KeyRange::times(0, 3_000)]);
    let inside = KeyRange::times(1_230, 1_240);
    let parts = store.snapshot().unwrap().prune(
        stream,
        &inside,
        &PruneFilter::default().with_any_word(["disk"]),
    );
    assert_eq!(parts.unwrap(), [inside]);
}

#[test]
fn blocks_whose_numbers_are_elsewhere_are_left_out() {
    let level = |at: i64| (at >= 500).then_some(at / 100);
    let (store, stream) = store_of(rows(0..3_000, |at| (String::new(), None, level(at))));
    let within = |range| prune(&store, stream, &PruneFilter::default().with_range(3, range));
    assert_eq!(within(7..=8), [KeyRange::times(700, 900)]);
    assert_eq!(within(0..=5), [KeyRange::times(500, 600)], "nulls are in no range");
    assert!(within(1_000..=i64::MAX).is_empty());
}

#[test]
fn blocks_tell_between_what_their_numbers_lie() {
    let level = |at: i64| (at >= 150).then_some(at / 100);
    let (store, stream) = store_of(rows(0..400, |at| (String::new(), None, level(at))));
    let bounds = |range: KeyRange| {
        let parts = store.snapshot().unwrap().block_bounds(stream, &range, 3).unwrap();
        let told = parts.into_iter().map(|part| (part.range, part.bounds));
        told.map(|(range, bounds)| (range, bounds.map(|b| (b.values, b.may_be_null))))
            .collect::<Vec<_>>()
    };
    let all = bounds(KeyRange::ALL);
    let expected = [
        (KeyRange::times(0, 100), Some((None, true))),
        (KeyRange::times(100, 200), Some((Some((1, 1)), true))),
        (KeyRange::times(200, 300), Some((Some((2, 2)), false))),
        (KeyRange::times(300, 400), Some((Some((3, 3)), false))),
    ];
    assert_eq!(all, expected);
    let inside = KeyRange::times(250, 260);
    assert_eq!(bounds(inside), [(inside, Some((Some((2, 2)), false)))]);
    let more = rows(350..351, |_| (String::new(), None, Some(9)));
    store.commit(Changes::new().insert(stream, more), Durability::Written).unwrap();
    assert_eq!(bounds(KeyRange::ALL)[3], (KeyRange::times(300, 400), None), "one is in memory");
}

#[test]
fn what_is_in_memory_is_never_left_out() {
    let (store, stream) = store_of(rows(0..1_000, |at| (format!("ok {at}"), None, Some(1))));
    let more = rows(5_000..5_001, |_| ("new".to_owned(), None, Some(2)));
    store.commit(Changes::new().insert(stream, more), Durability::Written).unwrap();
    let filter = PruneFilter::default().with_any_word(["absent"]).with_range(3, 9..=9);
    assert_eq!(prune(&store, stream, &filter), [KeyRange::point(LeadKey::Time(5_000))]);
}

#[test]
fn a_stream_of_latest_rows_is_refused() {
    let store = Store::memory(Settings::default()).unwrap();
    let stream = store.create_stream(spec(Merge::Latest)).unwrap();
    let error = store.snapshot().unwrap().prune(stream, &KeyRange::ALL, &PruneFilter::default());
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn other_tools_read_a_run_that_has_word_filters() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings { maintenance: Maintenance::Manual, ..Settings::default() };
    let store = Store::open(dir.path(), settings).unwrap();
    let stream = store.create_stream(spec(Merge::Keep)).unwrap();
    let batch = rows(0..1_000, |at| (format!("word{at}"), None, Some(at)));
    store.commit(Changes::new().insert(stream, batch), Durability::Written).unwrap();
    store.flush().unwrap();
    store.compact(Some(stream)).unwrap();
    assert!(store.check().unwrap().findings.is_empty());
    let (disk, runs) = (Io::os().disk, dir.path().join("runs"));
    let mut names = disk.list(&runs).unwrap().into_iter().map(|entry| entry.name);
    let cold = names.find(|name| name.ends_with(".parquet")).unwrap();
    let file = disk.open(&runs.join(cold), OpenMode::Read).unwrap().map().unwrap();
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file);
    let batches: Vec<_> = reader.unwrap().build().unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 1_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn no_row_with_the_word_is_ever_left_out(
        words in prop::collection::vec(prop::collection::vec("[a-cé]{1,2}", 0..4), 1..400),
        wanted in "[a-cé]{1,2}",
    ) {
        let message = |at: i64| words[at as usize].join(" ");
        let (store, stream) = store_of(rows(0..words.len() as i64, |at| (message(at), None, None)));
        let parts = prune(&store, stream, &PruneFilter::default().with_any_word([wanted.as_str()]));
        let snapshot = store.snapshot().unwrap();
        let mut found = Vec::new();
        for range in parts {
            let batch = snapshot.collect(stream, &ScanSpec { range, ..ScanSpec::default() }).unwrap();
            let texts = batch.column(1).as_string::<i32>();
            let times = batch.column(0).as_primitive::<TimestampNanosecondType>();
            let has = |row: &usize| texts.value(*row).split(' ').any(|word| word == wanted);
            found.extend((0..batch.num_rows()).filter(has).map(|row| times.value(row)));
        }
        let expected: Vec<i64> = (0..words.len() as i64)
            .filter(|at| words[*at as usize].contains(&wanted))
            .collect();
        prop_assert_eq!(found, expected);
    }
}
