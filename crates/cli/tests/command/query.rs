//! `query` gives the rows asked for, in the format asked for.

use arrow_schema::{DataType, Field, TimeUnit};
use timestrata::timelog::{Timelog, TimelogOptions, ValueColumns};
use timestrata::{Cell, Durability, Settings, Store};

use crate::runner::Runner;

/// Ten rows, an hour apart, with a field that only some have.
fn store() -> Runner {
    let runner = Runner::new();
    let lines: String = (0..10)
        .map(|hour| {
            let even = if hour % 2 == 0 { ", \"even\": true" } else { "" };
            format!("{{\"at\": {}, \"n\": {hour}{even}}}\n", 1_357_020_000 + hour * 3600)
        })
        .collect();
    runner.file("rows.json", lines);
    runner.ok(&["ingest", "store", "rows", "rows.json", "--as", "timelog", "--time", "at"]);
    runner
}

fn numbers(runner: &Runner, more: &[&str]) -> Vec<String> {
    let query = ["query", "store", "rows", "--columns", "n", "--format", "csv"];
    let out = runner.ok(&[&query[..], more].concat());
    out.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn ranges_are_half_open_and_may_be_read_backwards_with_a_limit() {
    let runner = store();
    assert_eq!(numbers(&runner, &[]).len(), 10);
    let range = ["--from", "2013-01-01T07:00:00Z", "--to", "2013-01-01 09:00"];
    assert_eq!(numbers(&runner, &range), ["1", "2"]);
    assert_eq!(numbers(&runner, &["--reverse", "--limit", "2"]), ["9", "8"]);
    assert_eq!(numbers(&runner, &["--from", "1357052400000"]), ["9"]);
    assert_eq!(numbers(&runner, &["--to", "-5"]), [] as [&str; 0]);
    assert_eq!(numbers(&runner, &["--limit", "0"]), [] as [&str; 0]);
}

#[test]
fn columns_are_those_that_any_row_has_or_those_asked_for() {
    let runner = store();
    let out = runner.ok(&["query", "store", "rows", "--limit", "2", "--format", "csv"]);
    let expected = "time,at,n,even\n2013-01-01T06:00:00.000Z,1357020000,0,true\n\
                    2013-01-01T07:00:00.000Z,1357023600,1,\n";
    assert_eq!(out, expected);
    let query = ["query", "store", "rows", "--limit", "1", "--columns", "even,nothing,time"];
    let ran = runner.run(&[&query[..], &["--format", "json"]].concat());
    assert_eq!(ran.out, "{\"even\":true,\"nothing\":null,\"time\":\"2013-01-01T06:00:00.000Z\"}\n");
    assert_eq!(ran.err, "warning: no row has a column 'nothing'\n");
}

#[test]
fn the_table_is_for_people() {
    let runner = store();
    let out = runner.ok(&["query", "store", "rows", "--limit", "1"]);
    let expected = "\
time                      at          n  even
------------------------  ----------  -  ----
2013-01-01T06:00:00.000Z  1357020000  0  true
";
    assert_eq!(out, expected);
}

#[test]
fn the_arrow_stream_has_the_types_of_the_values() {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int64Type, TimestampMillisecondType};
    use arrow_schema::{DataType, TimeUnit};
    let runner = store();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_timestrata"))
        .args(["query", "store", "rows", "--format", "arrow"])
        .current_dir(runner.path(""))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let reader = arrow_ipc::reader::StreamReader::try_new(&output.stdout[..], None).unwrap();
    let types: Vec<_> =
        reader.schema().fields().iter().map(|field| field.data_type().clone()).collect();
    let time = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    assert_eq!(types, [time, DataType::Int64, DataType::Int64, DataType::Boolean]);
    let batches: Vec<_> = reader.collect::<Result<_, _>>().unwrap();
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 10);
    let batch = &batches[0];
    let times = batch.column(0).as_primitive::<TimestampMillisecondType>();
    assert_eq!(times.value(1), 1_357_023_600_000);
    assert_eq!(batch.column(2).as_primitive::<Int64Type>().value(1), 1);
    assert_eq!(arrow_array::Array::null_count(batch.column(3)), 5);
}

#[test]
fn a_reader_that_has_had_enough_is_no_failure() {
    let runner = Runner::new();
    let rows: String = (0..20_000).map(|row| format!("{row},some text in this row\n")).collect();
    runner.file("rows.csv", format!("at,text\n{rows}"));
    runner.ok(&["ingest", "store", "rows", "rows.csv", "--as", "timelog", "--time", "at"]);
    for format in ["table", "csv", "json", "arrow"] {
        let line = format!(
            "'{}' query store rows --format {format} | head -c 10; echo \"${{PIPESTATUS[0]}}\"",
            env!("CARGO_BIN_EXE_timestrata")
        );
        let output = std::process::Command::new("bash")
            .args(["-c", &line])
            .current_dir(runner.path(""))
            .output()
            .unwrap();
        let out = String::from_utf8_lossy(&output.stdout);
        assert!(out.ends_with("0\n"), "{format}: {out}");
        assert!(output.stderr.is_empty(), "{format}: {output:?}");
    }
}

#[test]
fn bounds_that_make_no_sense_are_usage_errors() {
    let runner = store();
    let query = |more: &[&'static str]| [&["query", "store", "rows"], more].concat();
    runner.fails(&query(&["--from", "yesterday"]), 2, &["--from: 'yesterday'", "hint:"]);
    let inverted = ["--from", "2014-01-01", "--to", "2013-01-01"];
    runner.fails(&query(&inverted), 2, &["--from 2014", "later than --to 2013"]);
}

#[test]
fn columns_of_a_typed_log_are_fields() {
    let runner = Runner::new();
    let store = Store::open(runner.path("store"), Settings::default()).unwrap();
    let columns = ValueColumns::record([
        Field::new("price", DataType::Float64, true),
        Field::new("symbol", DataType::Utf8, false),
        Field::new("sent", DataType::Timestamp(TimeUnit::Second, None), false),
    ]);
    let log = Timelog::create(&store, "trades", TimelogOptions::typed(columns.unwrap())).unwrap();
    let rows = [(1_357_020_000_000, Cell::Null, "A"), (1_357_020_000_001, Cell::Float(7.5), "B")];
    for (time, price, symbol) in rows {
        let cells = [Cell::Int(time), price, Cell::Text(symbol), Cell::Int(1_357_020_000)];
        log.append_cells(&cells, Durability::Written).unwrap();
    }
    drop(log);
    store.close().unwrap();
    let out = runner.ok(&["query", "store", "trades", "--format", "csv"]);
    let expected = "time,price,symbol,sent\n\
                    2013-01-01T06:00:00.000Z,,A,2013-01-01T06:00:00Z\n\
                    2013-01-01T06:00:00.001Z,7.5,B,2013-01-01T06:00:00Z\n";
    assert_eq!(out, expected);
    let out =
        runner.ok(&["query", "store", "trades", "--reverse", "--limit", "1", "--format", "json"]);
    assert!(out.contains("\"price\":7.5") && out.contains("\"symbol\":\"B\""), "{out}");
    assert!(runner.ok(&["info", "store", "trades"]).contains("arrow"));
    runner.file("rows.csv", "at,price\n1357020000,1\n");
    let ingest = ["ingest", "store", "trades", "rows.csv", "--as", "timelog", "--time", "at"];
    runner.fails(&ingest, 2, &["codec 'arrow'"]);
}
