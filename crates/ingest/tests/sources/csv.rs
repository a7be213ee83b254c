//! CSV comes out as typed batches, and what does not fit is told to the line.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use timestrata_engine::{ErrorKind, Result};
use timestrata_ingest::rows::{
    Delimiter, OnError, Place, ReadOptions, ReadReport, Source, open_bytes, open_reader,
};

use crate::reading::{all, failure, types};

fn open(csv: &str, options: &ReadOptions) -> Result<Source> {
    open_bytes(csv.as_bytes().to_vec(), "in.csv", options)
}

fn read(csv: &str, options: &ReadOptions) -> (RecordBatch, ReadReport) {
    all(open(csv, options).unwrap())
}

fn error(csv: &str, options: &ReadOptions) -> String {
    failure(open(csv, options)).to_string()
}

#[test]
fn types_and_the_time_are_found() {
    let csv = "id,when,ts,price,ok,day,note\n\
               1,x,2024-01-01T00:00:00Z,1.5,true,2024-01-01,\n\
               2,y,2024-01-01 00:00:01.5,,FALSE,,\"\"\n\
               ,NA,2024-01-01T02:00:00+01:00,NA,,NULL,NA\n";
    let source = open(csv, &ReadOptions::default()).unwrap();
    assert_eq!(source.time_column(), Some("ts"));
    assert_eq!(
        types(&source.schema()),
        "id Int64, when Utf8, ts Timestamp(µs, \"UTC\"), price Float64, ok Boolean, day Date32, \
         note Utf8"
    );
    let (batch, report) = all(source);
    assert_eq!((report.rows, report.skipped), (3, 0));
    assert_eq!(report.bytes_read, u64::try_from(csv.len()).unwrap());
    assert_eq!(
        batch.column(0).as_primitive::<Int64Type>().iter().collect::<Vec<_>>(),
        [Some(1), Some(2), None]
    );
    let times = batch.column(2).as_primitive::<TimestampMicrosecondType>();
    assert_eq!(times.value(1) - times.value(0), 1_500_000);
    assert_eq!(times.value(2) - times.value(0), 3_600_000_000);
    assert_eq!(batch.column(3).as_primitive::<Float64Type>().null_count(), 2);
    // In text only what is empty and not quoted is null.
    let notes: Vec<_> = batch.column(6).as_string::<i32>().iter().collect();
    assert_eq!(notes, [None, Some(""), Some("NA")]);
    assert_eq!(batch.column(1).as_string::<i32>().value(2), "NA");
}

#[test]
fn declared_null_text_counts_in_every_column() {
    let options = ReadOptions { null_text: Some(vec!["-".to_owned()]), ..ReadOptions::default() };
    let (batch, _) = read("a,b\n1,x\n-,-\n3,\n", &options);
    assert_eq!(batch.column(0).null_count(), 1);
    assert_eq!(batch.column(1).null_count(), 1);
    assert_eq!(batch.column(1).as_string::<i32>().value(2), "");
}

#[test]
fn an_error_names_line_column_value_and_type_at_any_depth() {
    for threads in [1, 3] {
        let mut csv = String::from("time,note,price\n");
        // Line ends in quotes: rows and lines differ.
        for row in 0..200_000 {
            csv.push_str(&format!("2024-01-01 00:00:00,\"a\nb\",{row}.5\n"));
        }
        let line = csv.matches('\n').count() + 1;
        csv.push_str("2024-01-01 00:00:00,x,oops\n2024-01-01 00:00:00,x,1\nragged\n");
        let options = ReadOptions { threads, ..ReadOptions::default() };
        let message = error(&csv, &options);
        assert!(
            message.starts_with(&format!(
                "line {line}, column 'price': 'oops' is not a number (Float64); "
            )) && message.ends_with("[in.csv]"),
            "{message}"
        );
        let (batch, report) = read(&csv, &ReadOptions { on_error: OnError::Skip, ..options });
        assert_eq!((batch.num_rows(), report.rows, report.skipped), (200_001, 200_001, 2));
        let line = u64::try_from(line).unwrap();
        assert_eq!(report.skips[0].place, Place::Line(line));
        assert_eq!((&*report.skips[0].column, &*report.skips[0].value), ("price", "oops"));
        assert_eq!(report.skips[1].place, Place::Line(line + 2));
        assert_eq!(report.skips[1].why, "the row has 1 fields, the columns are 3");
    }
}

#[test]
fn rows_come_in_order_whatever_the_number_of_workers_and_the_size_of_batches() {
    let mut csv = String::from("time,n\n");
    (0..300_000).for_each(|row| csv.push_str(&format!("2024-01-01,{row}\n")));
    for (threads, batch_rows) in [(1, 65_536), (2, 1_000), (4, 65_536)] {
        let options = ReadOptions { threads, batch_rows, ..ReadOptions::default() };
        let mut next = 0;
        for batch in open(&csv, &options).unwrap() {
            let batch = batch.unwrap();
            assert!(batch.num_rows() <= batch_rows);
            for value in batch.column(1).as_primitive::<Int64Type>().values() {
                assert_eq!(*value, next);
                next += 1;
            }
        }
        assert_eq!(next, 300_000);
    }
}

#[test]
fn the_first_row_that_does_not_fit_is_the_one_told() {
    let csv = "time,a,b\n2024-01-01,1,1\n2024-01-02,1,x\n2024-01-03,y,1\nz\n";
    let options = ReadOptions { sample_rows: 1, ..ReadOptions::default() };
    assert!(error(csv, &options).starts_with("line 3, column 'b': 'x' is not an integer"));
    let (_, report) = read(csv, &ReadOptions { on_error: OnError::Skip, ..options });
    let lines: Vec<_> = report.skips.iter().map(|skip| skip.place).collect();
    assert_eq!(lines, [Place::Line(3), Place::Line(4), Place::Line(5)]);
}

#[test]
fn expected_types_hold_and_other_columns_are_inferred() {
    let schema = Schema::new(vec![
        Field::new("time", DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())), false),
        Field::new("price", DataType::Float64, true),
        Field::new("amount", DataType::Decimal128(10, 2), true),
        Field::new("small", DataType::Int8, true),
        Field::new("absent", DataType::Utf8, true),
    ]);
    let options = ReadOptions { schema: Some(schema.into()), ..ReadOptions::default() };
    let csv = "price,time,extra,amount,small\n1,1700000000000,x,1.50,7\n2,2024-01-01,y,2.5,-8\n";
    let source = open(csv, &options).unwrap();
    assert_eq!(
        types(&source.schema()),
        "price Float64, time Timestamp(ms, \"UTC\"), extra Utf8, amount Decimal128(10, 2), \
         small Int8"
    );
    assert_eq!(source.time_column(), Some("time"));
    assert_eq!(all(source).0.num_rows(), 2);
    for (row, expected) in [
        ("1,2024-01-01 00:00:00.0001,x,1,1", "'2024-01-01 00:00:00.0001' is finer than"),
        ("1,,x,1,1", "column 'time': '' is null"),
        ("1,2024-01-01,x,1.005,1", "'1.005' is not of type Decimal128(10, 2)"),
        ("1,2024-01-01,x,1,128", "'128' is not of type Int8"),
        ("true,2024-01-01,x,1,1", "'true' is not a number"),
    ] {
        let message = error(&format!("price,time,extra,amount,small\n{row}\n"), &options);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn the_time_is_the_declared_column_or_none() {
    let csv = "t,date\n5,2024-01-01\n";
    let options = ReadOptions {
        time: Some("t".to_owned()),
        time_unit: Some(TimeUnit::Nanosecond),
        ..ReadOptions::default()
    };
    let source = open(csv, &options).unwrap();
    assert_eq!(types(&source.schema()), "t Timestamp(ns, \"UTC\"), date Date32");
    let options = ReadOptions { time: Some("when".to_owned()), ..ReadOptions::default() };
    let message = error(csv, &options);
    assert!(message.contains("no time column 'when'; the columns are 't', 'date'"), "{message}");
    // A column of days becomes instants where it is the time.
    let source = open(csv, &ReadOptions::default()).unwrap();
    assert_eq!(types(&source.schema()), "t Int64, date Timestamp(µs, \"UTC\")");
    assert_eq!(open("a,b\n1,2\n", &ReadOptions::default()).unwrap().time_column(), None);
    let message =
        error("t,v\nx,1\n", &ReadOptions { time: Some("t".to_owned()), ..ReadOptions::default() });
    assert!(message.starts_with("line 2, column 't': 'x' is not a time"), "{message}");
}

#[test]
fn headers_are_named_or_refused() {
    let names = |csv: &str| types(&open(csv, &ReadOptions::default()).unwrap().schema());
    assert_eq!(names(",a,\n1,2,3\n"), "column_1 Int64, a Int64, column_3 Int64");
    assert_eq!(names("\u{feff}a,b\n1,2\n"), "a Int64, b Int64");
    assert_eq!(names("a,b"), "a Utf8, b Utf8");
    for (csv, expected) in [
        ("", "empty"),
        ("\n\n", "empty"),
        ("a,a\n", "column 2 is called 'a', as is column 1"),
        ("column_2,\n", "column 2 is called 'column_2', as is column 1"),
        ("a,__op\n", "column 2 is called '__op'"),
        ("\"a\n1,2\n", "line 1: a quote is opened and never closed"),
    ] {
        let message = error(csv, &ReadOptions::default());
        assert!(message.contains(expected), "{message}");
    }
    // What has no names is told how to say so.
    for csv in ["150,4\n5.1,3.5,1.4,0.2\n", "0,0\n1,2\n"] {
        let message = error(csv, &ReadOptions::default());
        assert!(
            message.contains("has_header: false") && message.contains("skip_lines"),
            "{message}"
        );
    }
    let options = ReadOptions { has_header: false, ..ReadOptions::default() };
    assert_eq!(types(&open("1,x\n", &options).unwrap().schema()), "column_1 Int64, column_2 Utf8");
}

#[test]
fn a_row_without_end_is_an_error_and_takes_no_memory() {
    let endless = "\"".to_owned() + &"x".repeat(3 << 20);
    let options = ReadOptions { row_bytes_max: 1 << 20, ..ReadOptions::default() };
    let csv = format!("a,b\n1,{endless}");
    let error = failure(open_reader(
        std::io::Cursor::new(csv),
        "in.csv",
        &ReadOptions { sample_bytes: 1 << 10, ..options },
    ));
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.to_string().contains("longer than 1048576 bytes"), "{error}");
}

#[test]
fn options_without_meaning_are_refused() {
    for options in [
        ReadOptions { delimiter: Some(Delimiter::Byte(b'"')), ..ReadOptions::default() },
        ReadOptions { quote: Some(b'\n'), ..ReadOptions::default() },
        ReadOptions { delimiter: Some(Delimiter::Byte(0xff)), ..ReadOptions::default() },
        ReadOptions { comment: Some(b'"'), ..ReadOptions::default() },
        ReadOptions { decimal: Some(b'x'), ..ReadOptions::default() },
        ReadOptions { batch_rows: 0, ..ReadOptions::default() },
    ] {
        assert_eq!(failure(open("a\n1\n", &options)).kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn text_that_is_not_utf8_is_told() {
    let csv = b"time,note\n2024-01-01,ok\n2024-01-01,\xff\xfe\n".to_vec();
    let source = open_bytes(csv, "in.csv", &ReadOptions::default());
    let message = failure(source).to_string();
    assert!(message.starts_with("line 3, column 'note': "), "{message}");
    assert!(message.contains("is not UTF-8 text"), "{message}");
}
