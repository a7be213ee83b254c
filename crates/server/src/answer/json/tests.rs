//! Rows as JSON, held against arrow-json's own.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, TimestampMillisecondArray};
use arrow_json::WriterBuilder;
use arrow_json::writer::JsonArray;
use proptest::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;

use super::*;

/// A row, its floats read as they are written: serde_json's own reading of them may be off by one bit.
#[derive(Debug, PartialEq)]
struct Row {
    floats: Vec<Option<f64>>,
    others: Vec<(String, Value)>,
}

fn rows_of(text: &[u8]) -> Vec<Row> {
    let rows: Vec<BTreeMap<String, Box<RawValue>>> = serde_json::from_slice(text).unwrap();
    let row = |row: BTreeMap<String, Box<RawValue>>| {
        let (floats, others): (Vec<_>, Vec<_>) =
            row.into_iter().partition(|(name, _)| name == "float");
        let value = |(name, value): (String, Box<RawValue>)| {
            (name, serde_json::from_str(value.get()).unwrap())
        };
        Row {
            floats: floats.iter().map(|(_, value)| value.get().parse().ok()).collect(),
            others: others.into_iter().map(value).collect(),
        }
    };
    rows.into_iter().map(row).collect()
}

fn theirs(batch: &RecordBatch) -> Vec<Row> {
    let mut text = Vec::new();
    let mut writer =
        WriterBuilder::new().with_explicit_nulls(true).build::<_, JsonArray>(&mut text);
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    rows_of(&text)
}

proptest! {
    #[test]
    fn rows_are_what_arrow_json_makes_of_them(
        rows in prop::collection::vec((
            prop::option::of(".*"),
            prop::option::of(any::<f64>()),
            prop::option::of(-1_000_000_000_000_i64..10_000_000_000_000),
            prop::option::of(any::<i64>()),
            prop::option::of(any::<bool>()),
        ), 1..20),
    ) {
        let times = rows.iter().map(|row| row.2).collect::<TimestampMillisecondArray>();
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("text \"quoted\"", Arc::new(rows.iter().map(|row| row.0.clone()).collect::<StringArray>())),
            ("float", Arc::new(rows.iter().map(|row| row.1).collect::<Float64Array>())),
            ("time", Arc::new(times.clone())),
            ("zoned", Arc::new(times.with_timezone("UTC"))),
            ("number", Arc::new(rows.iter().map(|row| row.3).collect::<Int64Array>())),
            ("truth", Arc::new(rows.iter().map(|row| row.4).collect::<BooleanArray>())),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, column)| (name, column, true))).unwrap();
        let mut text = Vec::new();
        write(&[batch.slice(0, 0), batch.clone()], Nulls::Told, &mut text).unwrap();
        prop_assert_eq!(rows_of(&text), theirs(&batch));
        // Without what is null it is the same.
        let mut known = Vec::new();
        write(&[batch], Nulls::LeftOut, &mut known).unwrap();
        let known: Vec<BTreeMap<String, Box<RawValue>>> = serde_json::from_slice(&known).unwrap();
        let told: Vec<BTreeMap<String, Box<RawValue>>> = serde_json::from_slice(&text).unwrap();
        for (known, mut told) in known.iter().zip(told) {
            told.retain(|_, value| value.get() != "null");
            prop_assert_eq!(
                known.iter().map(|(name, value)| (name, value.get())).collect::<Vec<_>>(),
                told.iter().map(|(name, value)| (name, value.get())).collect::<Vec<_>>()
            );
        }
    }
}
