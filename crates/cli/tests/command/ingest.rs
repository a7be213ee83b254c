//! What goes in by `ingest` comes out by `query`, and what can't go in is named.

use std::io::Write;

use crate::runner::Runner;

const WEATHER: &str = "\
time_hour,origin,temp,wet,code
2013-01-01T06:00:00Z,EWR,39.02,true,007
2013-01-01 08:00:00,JFK,-1,false,
2013-01-01T08:00:00+01:00,LGA,,true,\"a, \"\"b\"\"\"
";

const INGEST: [&str; 7] = ["ingest", "store", "weather", "--as", "timelog", "--time", "time_hour"];

fn ingest<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&INGEST[..], more].concat()
}

#[test]
fn csv_rows_come_back_sorted_by_time_with_their_types() {
    let runner = Runner::new();
    runner.file("weather.csv", WEATHER);
    let ran = runner.run(&ingest(&["weather.csv"]));
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
    assert!(ran.err.contains("ingested 3 rows into 'weather' from 1 file"), "{ran:?}");
    let rows = runner.ok(&["query", "store", "weather", "--format", "json"]);
    let expected = [
        r#"{"time":"2013-01-01T06:00:00.000Z","time_hour":"2013-01-01T06:00:00Z","origin":"EWR","temp":39.02,"wet":true,"code":"007"}"#,
        r#"{"time":"2013-01-01T07:00:00.000Z","time_hour":"2013-01-01T08:00:00+01:00","origin":"LGA","temp":null,"wet":true,"code":"a, \"b\""}"#,
        r#"{"time":"2013-01-01T08:00:00.000Z","time_hour":"2013-01-01 08:00:00","origin":"JFK","temp":-1,"wet":false,"code":null}"#,
    ];
    assert_eq!(rows.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn json_lines_keep_their_names_and_nesting() {
    let runner = Runner::new();
    let lines = concat!(
        "\u{feff}{\"at\": 1357020000, \"user\": {\"id\": 18446744073709551615}, \"tags\": [1, null]}\n",
        "\n",
        "  {\"at\": \"2013-01-01T05:00:00Z\", \"time\": \"noon\", \"x\": 1.5}\r\n",
    );
    runner.file("app.jsonl", lines);
    runner.ok(&["ingest", "store", "app", "app.jsonl", "--as", "timelog", "--time", "at"]);
    let rows = runner.ok(&["query", "store", "app", "--format", "json"]);
    let expected = [
        r#"{"time":"2013-01-01T05:00:00.000Z","at":"2013-01-01T05:00:00Z","value.time":"noon","x":1.5}"#,
        r#"{"time":"2013-01-01T06:00:00.000Z","at":1357020000,"user":{"id":18446744073709551615},"tags":[1,null]}"#,
    ];
    assert_eq!(rows.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn gzip_stdin_and_several_files_go_into_one_log() {
    let runner = Runner::new();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(WEATHER.as_bytes()).unwrap();
    runner.file("weather.csv.gz", packed.finish().unwrap());
    runner.file("tabs.tsv", "time_hour\ttemp\n2013-02-01\t1\n");
    runner.ok(&ingest(&["weather.csv.gz", "--batch-rows", "2"]));
    runner.ok(&ingest(&["tabs.tsv", "--delimiter", "tab"]));
    let ran = runner.run_with_stdin(&ingest(&["-"]), WEATHER.as_bytes());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(runner.rows("store", "weather"), 7);
}

#[test]
fn a_bad_row_stops_it_and_the_rows_before_stay() {
    let runner = Runner::new();
    runner
        .file("weather.csv", "time_hour,temp\n2013-01-01,1\n2013-01-02,2\nsoon,3\n2013-01-04,4\n");
    runner.fails(
        &ingest(&["weather.csv", "--batch-rows", "1000"]),
        1,
        &[
            "weather.csv, line 4, column 'time_hour': 'soon' is not a time",
            "2 rows went in",
            "hint:",
        ],
    );
    assert_eq!(runner.rows("store", "weather"), 2);
}

#[test]
fn bad_rows_can_be_skipped_and_are_told() {
    let runner = Runner::new();
    let mut text = String::from("time_hour,temp\n");
    for row in 0..15 {
        text.push_str(&format!("bad{row},1\n2013-01-01,{row}\n"));
    }
    runner.file("weather.csv", text);
    let ran = runner.run(&ingest(&["weather.csv", "--on-error", "skip"]));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("line 2, column 'time_hour': 'bad0'"), "{ran:?}");
    assert!(ran.err.contains("5 more") && ran.err.contains("15 bad rows skipped"), "{ran:?}");
    assert_eq!(runner.rows("store", "weather"), 15);
}

#[test]
fn each_kind_of_bad_row_is_named_with_its_line() {
    let cases: [(&str, &[u8], &[&str]); 9] = [
        ("short.csv", b"time_hour,a\n2013-01-01\n", &["line 2", "1 fields, but the header has 2"]),
        ("notext.csv", b"time_hour,a\n2013-01-01,\xff\n", &["line 2, column 'a'", "not UTF-8"]),
        ("empty.csv", b"time_hour,a\n,1\n", &["line 2, column 'time_hour': no time"]),
        ("fine.csv", b"time_hour,a\n1357020000.1234,1\n", &["finer than the log's unit 'ms'"]),
        ("broken.json", b"{\"time_hour\": 1}\n{\"time_hour\": \n", &["line 2: not JSON"]),
        ("list.json", b"[1]\n", &["line 1: not a JSON object"]),
        ("without.json", b"{\"a\": 1}\n", &["line 1, column 'time_hour'", "no such name"]),
        ("twice.json", b"{\"time_hour\":1,\"a\":1,\"a\":2}", &["column 'a'", "there twice"]),
        ("odd.json", b"{\"time_hour\":[1]}", &["column 'time_hour': it is neither"]),
    ];
    for (name, bytes, words) in cases {
        let runner = Runner::new();
        runner.file(name, bytes);
        runner.fails(&ingest(&[name]), 1, &[&[name], words].concat());
    }
}

#[test]
fn an_input_that_can_not_be_read_is_named_and_makes_no_store() {
    let runner = Runner::new();
    runner.file("none.csv", "");
    runner.file("other.csv", "a,b\n1,2\n");
    runner.file("twice.csv", "time_hour,a,a\n");
    runner.file("cut.csv.gz", &b"\x1f\x8b\x08\x00\x00\x00\x00\x00"[..]);
    let cases: [(&str, &[&str]); 5] = [
        ("missing.csv", &["could not read the input", "missing.csv", "hint:"]),
        ("none.csv", &["the input is empty", "none.csv"]),
        ("other.csv", &["no column 'time_hour'", "its columns are a, b"]),
        ("twice.csv", &["column 'a' is there twice"]),
        ("cut.csv.gz", &["could not read the input"]),
    ];
    for (name, words) in cases {
        runner.fails(&ingest(&[name]), 1, words);
        assert!(!runner.path("store").exists(), "{name} left a store");
    }
}

#[test]
fn a_second_file_that_can_not_be_read_leaves_the_first_whole() {
    let runner = Runner::new();
    runner.file("weather.csv", WEATHER);
    runner.fails(
        &ingest(&["weather.csv", "missing.csv"]),
        1,
        &["missing.csv", "3 rows went in before it"],
    );
    assert_eq!(runner.rows("store", "weather"), 3);
}

#[test]
fn a_log_of_bytes_takes_the_text_of_one_column() {
    let runner = Runner::new();
    runner.file("lines.csv", "at,message\n5,hello\n4,\"with, comma\"\n");
    let load = ["ingest", "store", "lines", "lines.csv", "--as", "timelog", "--time", "at"];
    let bytes = ["--codec", "bytes", "--time-unit", "s"];
    runner.fails(&[&load[..], &bytes].concat(), 2, &["--value"]);
    runner.ok(&[&load[..], &bytes, &["--value", "message"]].concat());
    let rows = runner.ok(&["query", "store", "lines", "--format", "csv"]);
    assert_eq!(
        rows,
        "time,value\n1970-01-01T00:00:04.000Z,\"with, comma\"\n1970-01-01T00:00:05.000Z,hello\n"
    );
    let ran = runner.fails(&[&load[..], &["--codec", "cbor"]].concat(), 1, &["'bytes'", "'cbor'"]);
    assert!(ran.err.contains("'lines'"));
}

#[test]
fn the_logs_unit_is_its_own_and_that_of_integers_the_files() {
    let runner = Runner::new();
    runner.file("trades.csv", "ts,price\n1357020000123456789,1\n1357020000,2\n");
    let load = ["ingest", "store", "trades", "trades.csv", "--as", "timelog", "--time", "ts"];
    runner.ok(&[&load[..], &["--log-unit", "ns"]].concat());
    let rows = runner.ok(&["query", "store", "trades", "--format", "csv", "--columns", "time"]);
    assert_eq!(rows, "time\n2013-01-01T06:00:00.000000000Z\n2013-01-01T06:00:00.123456789Z\n");
    runner.fails(&[&load[..], &["--log-unit", "ms"]].concat(), 1, &["unit 'ns'", "unit 'ms'"]);
    runner.ok(&[&load[..], &["--time-unit", "ns"]].concat());
    let first = runner.ok(&["query", "store", "trades", "--limit", "1", "--format", "csv"]);
    assert!(first.contains("1970-01-01T00:00:01.357020000Z,1357020000,2"), "{first}");
}

#[test]
fn a_quote_that_is_never_closed_does_not_fill_the_memory() {
    let runner = Runner::new();
    let mut child = runner.start(&ingest(&["-"]));
    child.stdin().write_all(b"time_hour,a\n2013-01-01,1\n2013-01-01,\"").unwrap();
    let chunk = vec![b'x'; 1 << 20];
    // It hangs up once the bound is reached, long before this ends.
    let hung_up = (0..500).any(|_| child.stdin().write_all(&chunk).is_err());
    assert!(hung_up, "500 MiB of one field were swallowed");
    let ran = child.finish();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("a row is longer than"), "{ran:?}");
    assert_eq!(runner.rows("store", "weather"), 1);
}
