//! `ingest --as logs`: every line goes in, whatever it is, and a load that was broken off can go on.

use std::io::Write;
use std::process::Command;

use serde_json::Value;

use crate::logs::json_lines;
use crate::runner::Runner;

const ACCESS: &str = "\
83.149.9.216 - - [17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" 200 203 \"-\" \"curl/8\"
83.149.9.217 - ada [17/May/2015:10:05:04 +0000] \"GET /b HTTP/1.1\" 404 5 \"-\" \"curl/8\"
this is no access log
";

fn ingest<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["ingest", "store", "app", "--as", "logs"], more].concat()
}

fn entries(runner: &Runner) -> Vec<Value> {
    let search = ["logs", "search", "store", "app", "--by", "timestamp", "--format", "json"];
    json_lines(&runner.ok(&search))
}

#[test]
fn logs_in_other_encodings_are_read_and_not_followed() {
    let runner = Runner::new();
    let text = "\u{feff}2026-10-18 18:01:47 [error] Öl\r\n2026-10-18 18:01:48 [warn] Käse\r\n";
    let utf_16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    runner.file("wide.log", utf_16);
    runner.file("old.log", b"K\xe4se\n");
    runner.ok(&ingest(&["wide.log", "--skip-lines", "1"]));
    runner.ok(&ingest(&["old.log", "--encoding", "windows-1252"]));
    let entries = entries(&runner);
    assert_eq!(
        (entries[0]["message"].as_str(), entries[0]["level"].as_str()),
        (Some("Käse"), Some("warn"))
    );
    assert_eq!(entries[1]["message"], "Käse");
    runner.fails(&ingest(&["wide.log", "--skip-lines", "9"]), 2, &["wide.log has 2 lines"]);
    runner.fails(&ingest(&["old.log", "--encoding", "klingon"]), 2, &["'klingon'"]);
    runner.fails(&ingest(&["wide.log", "--follow"]), 2, &["'wide.log' is not UTF-8", "iconv"]);
}

/// Lines `first..end` of a log whose lines are numbered.
fn numbered(lines: std::ops::Range<u32>) -> String {
    lines.map(|number| format!("line {number}\n")).collect()
}

#[test]
fn the_format_is_guessed_and_told_and_no_line_is_dropped() {
    let runner = Runner::new();
    runner.file("access.log", ACCESS);
    let labels = ["--label", "host=web-1", "--label", "env:prod", "access.log"];
    let ran = runner.run(&ingest(&labels));
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
    for words in [
        "access.log: read as access: 2 of 3 lines are access logs\n",
        "kept as it is: access.log, line 3: ",
        "ingested 3 entries into 'app' from 1 file in ",
        "; 1 line kept with a parse_error",
    ] {
        assert!(ran.err.contains(words), "no '{words}' in {ran:?}");
    }
    let entries = entries(&runner);
    assert_eq!(entries[1]["message"], "GET /b HTTP/1.1");
    assert_eq!(entries[1]["source_time"], "2015-05-17T10:05:04Z");
    assert_eq!(
        (&entries[1]["level"], &entries[1]["fields"]["status"]),
        (&"warn".into(), &404.into())
    );
    assert_eq!(entries[2]["message"], "this is no access log");
    assert!(entries[2]["fields"]["parse_error"].is_string(), "{}", entries[2]);
    for entry in &entries {
        assert_eq!(entry["labels"], serde_json::json!({ "env": "prod", "host": "web-1" }));
    }
    let asked = runner.told(&ingest(&["access.log", "--log-format", "plain"]));
    assert!(!asked.contains("read as") && !asked.contains("kept"), "{asked}");
    assert_eq!(runner.ok(&["logs", "count", "store", "app", "curl"]), "4\n");
}

const TILL: &str = "\
24.06.2025 14:36 till 7 bad: no change
  drawer 2
24.06.2025 14:37 till 8 : sold
";

#[test]
fn formats_of_a_file_are_told_like_those_that_are_known_and_a_record_may_have_several_lines() {
    let runner = Runner::new();
    runner.file("till.log", TILL);
    runner.file("python.log", "2026-10-18 18:01:47,978 - app.db - WARNING - slow\n");
    let formats = "[[format]]\nname = 'till'\nlines = 'receipts'\ntime = '%d.%m.%Y %H:%M'\n\
                   pattern = '(?<time>\\S+ \\S+) till (?<till>\\d+) (?<level>\\w*): (?<message>.*)'\n\
                   levels = { bad = 'error' }\n";
    runner.file("mine.toml", formats);
    let told = runner.told(&ingest(&["till.log", "python.log", "--format-file", "mine.toml"]));
    for words in [
        "till.log: read as till: 2 of 2 lines are receipts\n",
        "python.log: read as python: 1 of 1 lines are logs of Python's logging\n",
        "ingested 3 entries into 'app' from 2 files",
    ] {
        assert!(told.contains(words), "no '{words}' in {told}");
    }
    let entries = entries(&runner);
    assert_eq!(
        (&entries[0]["message"], &entries[0]["level"], &entries[0]["source_time"]),
        (&"no change\n  drawer 2".into(), &"error".into(), &"2025-06-24T14:36:00Z".into())
    );
    assert_eq!(entries[1]["fields"], serde_json::json!({ "till": 8 }));
    assert_eq!(entries[2]["fields"], serde_json::json!({ "logger": "app.db" }));
    // By name; and each line by itself.
    let asked = ["till.log", "--format-file", "mine.toml", "--log-format", "TILL", "--each-line"];
    let told = runner.told(&ingest(&asked));
    assert!(told.contains("ingested 3 entries") && !told.contains("read as"), "{told}");
    for (more, words) in [
        (["--log-format", "till"], "format of logs \"till\": must be one of json, logfmt"),
        (["--format-file", "none.toml"], "none.toml"),
        (["--format-file", "till.log"], "till.log: TOML parse error at line 1"),
    ] {
        let ran = runner.run(&ingest(&["till.log", more[0], more[1]]));
        assert!(ran.code != 0 && ran.err.contains(words), "no '{words}' in {ran:?}");
    }
    assert_eq!(runner.ok(&["logs", "count", "store", "app"]), "6\n");
}

#[test]
fn packed_files_stdin_and_several_files_go_into_one_log() {
    let runner = Runner::new();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(numbered(0..3).as_bytes()).unwrap();
    runner.file("app.log.2.gz", packed.finish().unwrap());
    runner.file("app.log.1.zst", zstd::encode_all(numbered(3..5).as_bytes(), 1).unwrap());
    runner.file("app.log", "\u{feff}line 5\r\n\r\nline 6");
    let told = runner.told(&ingest(&["app.log.2.gz", "app.log.1.zst", "app.log"]));
    assert!(told.contains("ingested 7 entries into 'app' from 3 files"), "{told}");
    let ran = runner.run_with_stdin(&ingest(&["-", "--sync"]), numbered(7..9).as_bytes());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("stdin: read as plain"), "{ran:?}");
    let messages = runner.ok(&["logs", "search", "store", "app", "--format", "message"]);
    assert_eq!(messages, numbered(0..9));
}

#[test]
fn years_that_are_missing_are_those_of_the_file() {
    let runner = Runner::new();
    let auth = runner.file("auth.log", "Mar 27 13:06:56 web sshd[12]: session opened\n");
    let touched = Command::new("touch").args(["-d", "2013-06-01"]).arg(runner.path(&auth)).status();
    assert!(touched.unwrap().success());
    runner.ok(&ingest(&["auth.log"]));
    runner.ok(&ingest(&["auth.log", "--year", "2009", "--log-format", "syslog"]));
    let years: Vec<_> = entries(&runner).iter().map(|entry| entry["source_time"].clone()).collect();
    assert_eq!(years, ["2013-03-27T13:06:56Z", "2009-03-27T13:06:56Z"]);
}

#[test]
fn what_is_too_long_becomes_several_entries_or_ends_the_load_where_it_can_go_on() {
    let runner = Runner::new();
    let (first, second) = ("0123456789".repeat(10), "abcdefghij".repeat(10));
    runner.file("long.log", format!("short\n{first}{second}KLMNO\nend\n"));
    let limit = "--message-bytes-max";
    runner.ok(&ingest(&["long.log", limit, "100", "--log-format", "plain"]));
    let messages = runner.ok(&["logs", "search", "store", "app", "--format", "message"]);
    assert_eq!(messages, format!("short\n{first}\n{second}\nKLMNO\nend\n"));
    runner.fails(&ingest(&["long.log", limit, "101"]), 1, &["message_bytes_max"]);
    let wide = format!("{{\"a\":1}}\n{{\"msg\":\"m\",\"a\":\"{first}\"}}\n{{\"a\":2}}\n");
    runner.file("wide.jsonl", wide);
    let words = [
        "wide.jsonl, line 2: log 'app': fields of ",
        "note: the store has 1 line of wide.jsonl; to go on, begin with that file and --skip-lines 1",
        "larger --message-bytes-max, or leave the line out: --skip-lines 2",
    ];
    runner.fails(&ingest(&["wide.jsonl"]), 1, &words);
    assert_eq!(runner.rows("store", "app"), 6);
    runner.ok(&ingest(&["wide.jsonl", "--skip-lines", "2"]));
    assert_eq!(entries(&runner).last().unwrap()["fields"]["a"], 2);
}

#[test]
fn what_comes_slowly_is_stored_as_it_comes_and_an_interrupted_load_can_go_on() {
    let runner = Runner::new();
    let mut writer = runner.start(&ingest(&["-"]));
    writer.stdin().write_all(numbered(0..1_000).as_bytes()).unwrap();
    runner.await_rows("app", &mut writer, 1_000);
    writer.stdin().write_all(b"line 1000\nline 10").unwrap();
    runner.await_rows("app", &mut writer, 1_001);
    let id = writer.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let ran = writer.wait_with_stdin_open();
    assert_eq!(ran.code, 1, "{ran:?}");
    let words = "error: interrupted\nnote: the store has 1,001 lines of stdin; to go on, begin with \
                 that file and --skip-lines 1001\n";
    assert!(ran.err.contains(words), "{ran:?}");
    runner.ok(&["check", "store"]);
    runner.file("all.log", numbered(0..1_500));
    let told = runner.told(&ingest(&["all.log", "--skip-lines", "1001"]));
    assert!(told.contains("ingested 499 entries"), "{told}");
    let messages = runner.ok(&["logs", "search", "store", "app", "--format", "message"]);
    assert_eq!(messages, numbered(0..1_500));
}

#[test]
fn each_commit_is_whole_and_a_bad_file_behind_a_good_one_says_what_is_in_the_store() {
    let runner = Runner::new();
    runner.file("good.log", numbered(0..10));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    packed.write_all(numbered(10..100_000).as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    runner.file("cut.log.gz", &packed[..packed.len() / 2]);
    let words =
        ["cut.log.gz", "note: the store has 1 file before it and ", " lines of cut.log.gz; "];
    let both = ingest(&["good.log", "cut.log.gz", "--batch-rows", "1000"]);
    let ran = runner.fails(&both, 1, &words);
    let lines = ran.err.rsplit("--skip-lines ").next().unwrap();
    let lines: u32 = lines.split_whitespace().next().unwrap().parse().unwrap();
    assert!(lines > 10_000, "{ran:?}");
    // A last line that is not whole is not told to be in the store.
    let messages = runner.ok(&["logs", "search", "store", "app", "--format", "message"]);
    assert_eq!(messages, numbered(0..10 + lines));
    runner.fails(
        &ingest(&["good.log", "missing.log"]),
        1,
        &["missing.log", "the store has 1 file"],
    );
}

#[test]
fn what_can_not_be_read_makes_no_store() {
    let runner = Runner::new();
    runner.file("packed.log.xz", b"\xfd7zXZ\x00\x00\x04 and more");
    runner.file("short.log", "one\n");
    runner.file("empty.log", "");
    let cases: [(&[&str], i32, &[&str]); 7] = [
        (&["missing.log"], 1, &["could not read the input", "missing.log"]),
        (&["packed.log.xz"], 1, &["packed with xz", "xz -dc FILE | timestrata ingest"]),
        (&["short.log", "--skip-lines", "2"], 2, &["--skip-lines 2: short.log has 1 lines"]),
        (&["short.log", "--log-format", "xml"], 2, &["xml", "logfmt", "journal"]),
        (&["short.log", "--label", "host"], 2, &["KEY=VALUE"]),
        (&["short.log", "--label", "a b=c"], 2, &["\"a b\""]),
        (&["short.log", "--time", "at"], 2, &["neither columns nor their types", "hint:"]),
    ];
    for (more, code, words) in cases {
        runner.fails(&ingest(more), code, words);
        assert!(!runner.path("store").exists(), "{more:?} made a store");
    }
    let table = ["ingest", "store", "t", "short.log", "--as", "table", "--label", "a=b"];
    runner.fails(&table, 2, &["are for logs", "say --as logs"]);
    let told = runner.told(&ingest(&["empty.log"]));
    assert!(told.contains("ingested 0 entries"), "{told}");
    runner.file("rows.csv", "at,n\n1,1\n");
    let other = ["ingest", "store", "app", "rows.csv", "--as", "timelog", "--time", "at"];
    runner.fails(&other, 1, &["'app'", "its model is 'logs'"]);
}

#[test]
fn lines_that_break_others_are_kept_whole_and_shown() {
    let runner = Runner::new();
    let deep = format!("{{\"msg\":\"deep\",\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let nested = format!("{{\"msg\":\"nested\",\"x\":{}1{}}}", "[".repeat(100), "]".repeat(100));
    let lines: [&[u8]; 6] = [
        deep.as_bytes(),
        nested.as_bytes(),
        b"{\"msg\":\"nul \\u0000\",\"n\":-123456789012345678901234567890}",
        b"{\"msg\":\"twice\",\"a\":1,\"a\":2}",
        b"{\"msg\":\"bytes \xff\"}",
        b"raw \0 nul",
    ];
    runner.file("odd.jsonl", lines.join(&b'\n'));
    let told = runner.told(&ingest(&["odd.jsonl"]));
    assert!(told.contains("ingested 6 entries") && told.contains("; 3 lines kept"), "{told}");
    let rows = entries(&runner);
    let messages: Vec<_> = rows.iter().map(|row| row["message"].as_str().unwrap()).collect();
    assert_eq!(messages, [&deep, "nested", "nul \0", "twice", "bytes \u{fffd}", "raw \0 nul"]);
    assert_eq!(rows[4]["fields"]["original_base64"], "eyJtc2ciOiJieXRlcyD/In0=");
    let lines = runner.ok(&["logs", "search", "store", "app"]);
    assert_eq!(lines.lines().count(), 6);
    assert!(lines.contains("nul \\x00 n=-123456789012345678901234567890"), "{lines}");
    assert!(lines.contains(&"[".repeat(100)) && lines.contains("twice"), "{lines}");
    let sql = runner.ok(&[
        "sql",
        "store",
        "SELECT count(*) AS n, count(fields) AS f FROM app",
        "--format",
        "csv",
    ]);
    assert_eq!(sql.lines().last(), Some("6,6"), "{sql}");
}
