//! A store as text, one line a row: what a golden store must go on giving.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float64Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampSecondType, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use timestrata_engine::{Moment, ScanSpec, SeqNo, Snapshot, Store};

/// Every row of every stream, now and as each pin sees it.
pub(crate) fn describe(store: &Store) -> String {
    let snapshot = store.snapshot().unwrap();
    let mut text = format!("now, commit {}\n", snapshot.seq());
    put_rows(&mut text, &snapshot);
    for pin in store.pins() {
        writeln!(text, "\npin {}, commit {}", pin.name, pin.seq).unwrap();
        put_rows(&mut text, &store.snapshot_at(&pin.name).unwrap());
    }
    text
}

/// Each commit that is kept, with what its moment comes to: the length of its [`describe`], and a sum over its bytes.
pub(crate) fn describe_past(store: &Store) -> String {
    let (oldest, last) = (store.oldest_commit().unwrap(), store.stats().last_seq);
    let mut text = String::new();
    for seq in oldest.0..=last.0 {
        let then = describe(&store.at(&Moment::Commit(SeqNo(seq))).unwrap());
        let weigh = |sum: u64, byte: u8| sum.wrapping_mul(31).wrapping_add(u64::from(byte));
        let sum = then.bytes().fold(0, weigh);
        writeln!(text, "commit {seq}: {} bytes, sum {sum:016x}", then.len()).unwrap();
    }
    text
}

fn put_rows(text: &mut String, snapshot: &Snapshot) {
    for stream in snapshot.streams() {
        writeln!(text, "\nstream {}", stream.name()).unwrap();
        for batch in snapshot.scan(stream.id(), &ScanSpec::default()).unwrap() {
            let batch = batch.unwrap();
            for row in 0..batch.num_rows() {
                writeln!(text, "{}", row_text(&batch, row)).unwrap();
            }
        }
    }
}

fn row_text(batch: &RecordBatch, row: usize) -> String {
    let cells: Vec<String> = batch.columns().iter().map(|column| cell_text(column, row)).collect();
    cells.join(" | ")
}

fn cell_text(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return "null".to_owned();
    }
    match column.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => {
            column.as_primitive::<TimestampSecondType>().value(row).to_string()
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            column.as_primitive::<TimestampMicrosecondType>().value(row).to_string()
        }
        DataType::Timestamp(_, _) => {
            column.as_primitive::<TimestampMillisecondType>().value(row).to_string()
        }
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::Utf8 => column.as_string::<i32>().value(row).to_owned(),
        DataType::Binary => hex(column.as_binary::<i32>().value(row)),
        DataType::FixedSizeBinary(_) => hex(column.as_fixed_size_binary().value(row)),
        other => panic!("a golden store has no column of type {other}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
