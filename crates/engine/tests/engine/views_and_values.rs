//! Text as views is the same text, and dictionaries name every value that rows have.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::support::tiny;
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMillisecondType;
use arrow_array::{RecordBatch, StringArray, TimestampMillisecondArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use proptest::prelude::*;
use timestrata_engine::{
    Changes, Durability, KeyRange, RunFormat, ScanSpec, Snapshot, Store, StreamId, StreamSpec,
};

type TextRow = (i64, Option<String>);

const TEXT: usize = 1;

fn texts_store() -> (Store, StreamId) {
    let store = Store::memory(tiny()).unwrap();
    let schema = Schema::new(vec![
        Field::new("time", DataType::Timestamp(TimeUnit::Millisecond, None), false),
        Field::new("text", DataType::Utf8, true),
    ]);
    let spec =
        StreamSpec { run_format: RunFormat::Cold, ..StreamSpec::new("texts", Arc::new(schema)) };
    let stream = store.create_stream(spec).unwrap();
    (store, stream)
}

fn insert(store: &Store, stream: StreamId, rows: &[TextRow]) {
    let schema = store.stream("texts").unwrap().schema().clone();
    let times = TimestampMillisecondArray::from_iter_values(rows.iter().map(|row| row.0));
    let texts = StringArray::from_iter(rows.iter().map(|row| row.1.clone()));
    let batch = RecordBatch::try_new(schema, vec![Arc::new(times), Arc::new(texts)]).unwrap();
    store.commit(Changes::new().insert(stream, batch), Durability::Written).unwrap();
}

fn read(snapshot: &Snapshot, stream: StreamId, spec: &ScanSpec) -> Vec<TextRow> {
    let scan = snapshot.scan(stream, spec).unwrap();
    let expected = if spec.text_views { DataType::Utf8View } else { DataType::Utf8 };
    assert_eq!(scan.schema().field(TEXT).data_type(), &expected);
    let rows = scan.flat_map(|batch| {
        let batch = batch.unwrap();
        let times = batch.column(0).as_primitive::<TimestampMillisecondType>().clone();
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let texts: Vec<Option<String>> = match spec.text_views {
            true => batch.column(TEXT).as_string_view().iter().map(owned).collect(),
            false => batch.column(TEXT).as_string::<i32>().iter().map(owned).collect(),
        };
        times.values().iter().copied().zip(texts).collect::<Vec<_>>()
    });
    rows.collect()
}

/// What dictionaries tell, null as `None`.
fn told(
    snapshot: &Snapshot,
    stream: StreamId,
    range: &KeyRange,
) -> Option<BTreeSet<Option<String>>> {
    let values = snapshot.values(stream, range, TEXT).unwrap()?;
    let texts = values.columns.iter().flat_map(|column| {
        let texts = column.as_string::<i32>().iter();
        texts.map(|text| text.map(str::to_owned)).collect::<Vec<_>>()
    });
    Some(texts.chain(values.may_be_null.then_some(None)).collect())
}

#[test]
fn a_compacted_run_tells_its_values_unread_and_memory_does_not() {
    let (store, stream) = texts_store();
    let text = |time: i64| Some(format!("s{}", time % 7));
    let rows: Vec<TextRow> = (0..400).map(|time| (time, text(time))).collect();
    insert(&store, stream, &rows);
    assert_eq!(told(&store.snapshot().unwrap(), stream, &KeyRange::ALL), None);
    store.flush().unwrap();
    store.compact(None).unwrap();
    let snapshot = store.snapshot().unwrap();
    let expected: BTreeSet<_> = (0..7).map(text).collect();
    assert_eq!(told(&snapshot, stream, &KeyRange::ALL), Some(expected));
    assert_eq!(told(&snapshot, stream, &KeyRange::times(1_000, 2_000)), Some(BTreeSet::new()));
    assert!(snapshot.values(stream, &KeyRange::ALL, 0).unwrap().is_none(), "times have none");
}

#[test]
fn a_flushed_run_tells_its_values_where_they_are_few() {
    let (store, stream) = texts_store();
    let text = |time: i64| (time % 9 > 0).then(|| format!("s{}", time % 7));
    let rows: Vec<TextRow> = (0..400).map(|time| (time, text(time))).collect();
    insert(&store, stream, &rows);
    store.flush().unwrap();
    let snapshot = store.snapshot().unwrap();
    let expected: BTreeSet<_> = (0..400).map(text).collect();
    let is_known = || snapshot.known_values(stream, &KeyRange::ALL, TEXT).unwrap().is_some();
    assert!(!is_known(), "nobody has looked for them");
    for _ in 0..2 {
        assert_eq!(told(&snapshot, stream, &KeyRange::ALL), Some(expected.clone()));
        assert!(is_known());
    }
    assert_eq!(told(&snapshot, stream, &KeyRange::times(1_000, 2_000)), Some(BTreeSet::new()));
    assert!(snapshot.values(stream, &KeyRange::ALL, 0).unwrap().is_none(), "times have none");
    // Of another run more values than one for 16 rows.
    let rows: Vec<TextRow> = (400..480).map(|time| (time, Some(time.to_string()))).collect();
    insert(&store, stream, &rows);
    store.flush().unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(told(&snapshot, stream, &KeyRange::ALL), None);
    assert_eq!(told(&snapshot, stream, &KeyRange::times(0, 400)), Some(expected));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn views_and_values_agree_with_the_rows(
        commits in prop::collection::vec(
            prop::collection::vec(
                (-50_i64..50, prop::option::of("[a-c]{0,2}|[x-z]{13,15}")), 1..40), 1..8),
        upkeep in prop::collection::vec(0..3, 8),
        lo in -60_i64..60,
        length in 0_i64..60,
        reverse in any::<bool>(),
    ) {
        let (store, stream) = texts_store();
        for (rows, upkeep) in commits.iter().zip(upkeep) {
            insert(&store, stream, rows);
            if upkeep > 0 {
                store.flush().unwrap();
            }
            if upkeep > 1 {
                store.compact(None).unwrap();
            }
        }
        let snapshot = store.snapshot().unwrap();
        let range = KeyRange::times(lo, lo + length);
        let spec = ScanSpec { range, reverse, ..ScanSpec::default() };
        let expected = read(&snapshot, stream, &spec);
        let views = ScanSpec { text_views: true, ..spec };
        prop_assert_eq!(&read(&snapshot, stream, &views), &expected);
        if let Some(told) = told(&snapshot, stream, &range) {
            prop_assert!(expected.iter().all(|(_, text)| told.contains(text)));
        }
        let pieces = snapshot.pieces(stream, &range).unwrap();
        let counts = pieces.iter().map(|piece| snapshot.count(stream, piece).unwrap());
        prop_assert_eq!(counts.sum::<u64>(), expected.len() as u64);
    }
}

#[test]
fn a_column_without_values_is_known_wherever_its_rows_lie() {
    // In memory, in a flushed run, and in a compacted one; and where it is the last row that has one.
    for moves in [0, 1, 2] {
        for has_one in [false, true] {
            let (store, stream) = texts_store();
            let mut rows: Vec<TextRow> = (0..500).map(|time| (time, None)).collect();
            if has_one {
                rows[499].1 = Some("one".to_owned());
            }
            insert(&store, stream, &rows);
            if moves > 0 {
                store.flush().unwrap();
            }
            if moves > 1 {
                store.compact(Some(stream)).unwrap();
            }
            let snapshot = store.snapshot().unwrap();
            let told = snapshot.may_have_values(stream, TEXT).unwrap();
            assert_eq!(told, has_one, "moved {moves} times");
            assert!(snapshot.may_have_values(stream, 0).unwrap());
            // Rows that came later are those of a later snapshot.
            insert(&store, stream, &[(1_000, Some("late".to_owned()))]);
            assert_eq!(snapshot.may_have_values(stream, TEXT).unwrap(), has_one);
            assert!(store.snapshot().unwrap().may_have_values(stream, TEXT).unwrap());
        }
    }
}
