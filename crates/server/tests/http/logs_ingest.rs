//! Log lines as bodies: what becomes of them, and what is said of them.

use std::io::Write;

use serde_json::{Value, json};
use timestrata_engine::{Settings, Store};

use crate::harness::Harness;

const LINES: &str = "application/x-ndjson";
const TEXT: &str = "text/plain";

fn found(server: &Harness, log: &str) -> Vec<Value> {
    let rows = server.get(&format!("/logs/{log}/search?limit=none")).data();
    rows.as_array().unwrap().clone()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn json_lines_are_entries_with_all_of_their_fields() {
    let server = Harness::new();
    let body = "{\"ts\":\"2024-05-01T10:00:00Z\",\"level\":\"warn\",\"msg\":\"slow\",\"ms\":812,\"db\":{\"shard\":3}}\n\
                {\"msg\":\"big\",\"n\":18446744073709551616}\n";
    let done = server.post("/logs/app", LINES, body.as_bytes()).data();
    assert_eq!((&done["entries"], &done["format"]), (&json!(2), &json!("json")));
    assert_eq!(done["parse_errors"], json!({ "count": 0, "first": [] }));
    let rows = found(&server, "app");
    assert_eq!((&rows[0]["message"], &rows[0]["level"]), (&json!("slow"), &json!("warn")));
    assert_eq!(rows[0]["source_time"], "2024-05-01T10:00:00Z");
    assert_eq!(rows[0]["fields"], json!({ "ms": 812, "db": { "shard": 3 } }));
    assert!(
        server.get("/logs/app/search?filter=n:*").text().contains("\"n\":18446744073709551616")
    );
    assert_eq!(done["first_timestamp"], rows[0]["timestamp"]);
    assert_eq!(done["last_timestamp"], rows[1]["timestamp"]);
    let metrics = server.get("/metrics");
    assert!(metrics.text().contains("timestrata_log_entries_ingested_total 2"));
}

#[test]
fn the_format_is_guessed_and_told_unless_it_is_said() {
    let server = Harness::new();
    let logfmt = "level=info msg=started port=80\nlevel=warn msg=\"no route\" id=7\n";
    let done = server.post("/logs/a", TEXT, logfmt.as_bytes()).data();
    assert_eq!(
        (&done["format"], &done["why"]),
        (&json!("logfmt"), &json!("2 of 2 lines are logfmt"))
    );
    assert_eq!(found(&server, "a")[0]["fields"], json!({ "port": 80 }));
    let done = server.post("/logs/b?format=plain", TEXT, logfmt.as_bytes()).data();
    assert_eq!((&done["format"], &done["why"]), (&json!("plain"), &json!("it was asked for")));
    assert_eq!(found(&server, "b")[1]["message"], "level=warn msg=\"no route\" id=7");
    let syslog = "<34>1 2003-10-11T22:14:15.003Z host su - ID47 - failed for lonvick\n";
    let done = server.post("/logs/c", "text/plain; charset=utf-8", syslog.as_bytes()).data();
    assert_eq!(done["format"], "syslog");
    assert_eq!(found(&server, "c")[0]["fields"]["app"], "su");
    let error = server.post("/logs/c?format=xml", TEXT, b"x").error(400);
    assert!(error.contains("\"xml\"") && error.contains("json, logfmt"), "{error}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a user's file, not a file of a store")]
fn formats_of_the_servers_own_files_and_other_encodings_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("formats.toml");
    let format = "[[format]]\nname = 'till'\npattern = '(?<time>\\S+ \\S+) till (?<till>\\d+): (?<message>.*)'\n\
                  time = '%d.%m.%Y %H:%M'\n";
    std::fs::write(&path, format).unwrap();
    let server = Harness::with(&[("logs.format_files", path.to_str().unwrap())], None);
    let log = "18.10.2026 18:01 till 7: 3 × Käse\n18.10.2026 18:02 till 9: Öl\n";
    let told = server.post("/logs/a", TEXT, log.as_bytes()).data();
    assert_eq!((&told["format"], &told["parse_errors"]["count"]), (&json!("till"), &json!(0)));
    let said = server.post("/logs/b?format=till", TEXT, log.as_bytes()).data();
    assert_eq!(said["format"], "till");
    let utf_16: Vec<u8> =
        format!("\u{feff}{log}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    server.post("/logs/c", TEXT, &utf_16).data();
    let latin: Vec<u8> = log.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    server.post("/logs/d?encoding=iso-8859-15", TEXT, &latin).data();
    for name in ["a", "b", "c", "d"] {
        let rows = found(&server, name);
        assert_eq!((&rows[0]["message"], &rows[1]["message"]), (&json!("3 × Käse"), &json!("Öl")));
        assert_eq!(rows[1]["source_time"], "2026-10-18T18:02:00Z", "{name}");
        assert_eq!(rows[1]["fields"]["till"], 9, "{name}");
    }
    let error = server.post("/logs/d?encoding=klingon", TEXT, &latin).error(400);
    assert!(error.contains("encoding") && error.contains("'klingon'"), "{error}");
}

#[test]
fn each_record_of_an_envelope_is_an_entry() {
    let server = Harness::new();
    let record = |text: &str| {
        format!(
            r#"{{"timeUnixNano":"1792346507978123456","severityNumber":13,"body":{{"stringValue":"{text}"}}}}"#
        )
    };
    let body = format!(
        r#"{{"resourceLogs":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"shop"}}}}]}},"scopeLogs":[{{"logRecords":[{},{}]}}]}}]}}"#,
        record("one"),
        record("two")
    );
    for kind in [LINES, "application/json"] {
        let done = server.post("/logs/otel", kind, body.as_bytes()).data();
        assert_eq!((&done["entries"], &done["parse_errors"]["count"]), (&json!(2), &json!(0)));
    }
    let rows = found(&server, "otel");
    assert_eq!(rows.len(), 4);
    assert_eq!((&rows[3]["message"], &rows[3]["level"]), (&json!("two"), &json!("warn")));
    assert_eq!(rows[3]["fields"]["service.name"], "shop");
}

#[test]
fn a_trace_is_one_entry_with_its_line_unless_each_line_is_asked_for() {
    let server = Harness::new();
    let head = "2026-10-18 18:01:47,978 ERROR [main] shop.Db - it failed";
    let log = format!("{head}\njava.io.IOException: gone\n\tat shop.Disk.read(Disk.java:7)\n");
    let done = server.post("/logs/a", TEXT, log.repeat(2).as_bytes()).data();
    assert_eq!((&done["format"], &done["entries"]), (&json!("log4j"), &json!(2)), "{done}");
    let entry = &found(&server, "a")[0];
    let message = "it failed\njava.io.IOException: gone\n\tat shop.Disk.read(Disk.java:7)";
    assert_eq!((&entry["message"], &entry["level"]), (&json!(message), &json!("error")));
    assert_eq!(entry["fields"], json!({ "thread": "main", "logger": "shop.Db" }));
    let done = server.post("/logs/b?each_line=true", TEXT, log.as_bytes()).data();
    assert_eq!((&done["entries"], &done["parse_errors"]["count"]), (&json!(3), &json!(2)));
    let error = server.post("/logs/b?each_line=maybe", TEXT, log.as_bytes()).error(400);
    assert!(error.contains("each_line"), "{error}");
}

#[test]
fn lines_that_are_not_in_their_format_are_kept_and_told() {
    let server = Harness::new();
    let bad: String = (0..15).map(|line| format!("not json {line}\n")).collect();
    let body = format!("{{\"msg\":\"a\"}}\n{bad}{{\"msg\":\"b\"}}\n");
    let done = server.post("/logs/app", LINES, body.as_bytes()).data();
    assert_eq!(done["entries"], 17);
    let (count, first) = (&done["parse_errors"]["count"], &done["parse_errors"]["first"]);
    assert_eq!((count, first.as_array().unwrap().len()), (&json!(15), 10));
    assert!(first[0].as_str().unwrap().starts_with("line 2: "), "{first}");
    let rows = found(&server, "app");
    assert_eq!(rows[1]["message"], "not json 0");
    assert!(rows[1]["fields"]["parse_error"].is_string());
}

#[test]
fn a_json_document_is_an_object_or_a_list_of_them() {
    let server = Harness::new();
    let kind = "application/json";
    let pretty = "{\n  \"msg\": \"one\",\n  \"tags\": [\n    1,\n    2\n  ]\n}\n";
    assert_eq!(server.post("/logs/app", kind, pretty.as_bytes()).data()["entries"], 1);
    let list = "[\n{\"msg\": \"two\"},\n{\"msg\": \"three ], [\"} ]";
    assert_eq!(server.post("/logs/app", kind, list.as_bytes()).data()["entries"], 2);
    assert_eq!(server.post("/logs/app", kind, b"[]").data()["entries"], 0);
    let rows = found(&server, "app");
    let messages: Vec<_> = rows.iter().map(|row| row["message"].as_str().unwrap()).collect();
    assert_eq!(messages, ["one", "two", "three ], ["]);
    assert_eq!(rows[0]["fields"], json!({ "tags": [1, 2] }));
}

#[test]
fn labels_say_where_a_body_comes_from() {
    let server = Harness::new();
    let path = "/logs/app?label=host:web-1&label=url:http://x";
    server.post(path, TEXT, b"one\ntwo\n").data();
    server.post("/logs/app?label=host:web-2", TEXT, b"three\n").data();
    let rows = found(&server, "app");
    assert_eq!(rows[1]["labels"], json!({ "host": "web-1", "url": "http://x" }));
    assert_eq!(server.get("/logs/app/count?filter=host:web-1").data()["count"], 2);
    for (label, word) in [("host", "key:value"), ("a%20b:c", "label \"a b\""), (":x", "1 to 64")] {
        let error = server.post(&format!("/logs/app?label={label}"), TEXT, b"x").error(400);
        assert!(error.contains(word), "{label}: {error}");
    }
}

#[test]
fn packed_bodies_are_unpacked_and_broken_ones_leave_what_came_before() {
    let server = Harness::new();
    let lines: String = (0..30_000).map(|line| format!("line {line} of a log\n")).collect();
    let post = |log: &str, encoding: &str, body: &[u8]| {
        let url = format!("{}/logs/{log}", server.url);
        let request = ureq::post(url).config().http_status_as_error(false).build();
        let request = request.header("content-type", TEXT).header("content-encoding", encoding);
        let mut answer = request.send(body).unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        (answer.status().as_u16(), serde_json::from_str::<Value>(&text).unwrap())
    };
    let packed = gzip(lines.as_bytes());
    assert_eq!(post("gz", "gzip", &packed).1["data"]["entries"], 30_000);
    let zstd = zstd::encode_all(lines.as_bytes(), 1).unwrap();
    assert_eq!(post("zst", "zstd", &zstd).1["data"]["entries"], 30_000);
    let (status, broken) = post("half", "gzip", &packed[..packed.len() / 2]);
    let error = broken["error"].as_str().unwrap();
    assert_eq!(status, 400, "{error}");
    let kept = server.get("/logs/half/count").data()["count"].as_u64().unwrap();
    assert!(
        kept > 0 && kept < 30_000 && error.contains(&format!("{kept} entries before")),
        "{error}"
    );
    assert_eq!(post("br", "br", &packed).0, 415);
    assert_eq!(post("noise", "gzip", b"noise").0, 400);
    assert!(server.post("/logs/app", "image/png", b"x").error(415).contains("x-ndjson"));
}

#[test]
fn a_long_body_is_many_commits_and_reads_back_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Settings::default()).unwrap();
    let server = Harness::on(store, &[], None);
    let line =
        |number: usize| format!("{{\"msg\":\"{number}\",\"pad\":\"{}\"}}\n", "x".repeat(300));
    let body: String = (0..50_000).map(line).collect();
    let done = server.post("/logs/app", LINES, body.as_bytes()).data();
    assert_eq!(done["entries"], 50_000);
    let rows = found(&server, "app");
    let messages = rows.iter().filter_map(|row| row["message"].as_str()?.parse::<usize>().ok());
    assert!(messages.eq(0..rows.len()));
    assert_eq!(done["last_timestamp"], rows[49_999]["timestamp"]);
}

#[test]
fn a_body_over_the_limit_says_how_much_of_it_was_taken() {
    let server = Harness::with(&[("limits.body_bytes_max", "5000000")], None);
    let body = "a line of some length, again and again\n".repeat(200_000);
    let error = server.post("/logs/app", TEXT, body.as_bytes()).error(413);
    let kept = server.get("/logs/app/count").data()["count"].as_u64().unwrap();
    assert!(error.contains("body_bytes_max"), "{error}");
    assert!(error.contains(&format!("{kept} entries before were written")), "{error}");
}

#[test]
fn names_and_messages_have_their_limits() {
    let server = Harness::new();
    assert!(server.post("/logs/a%2Fb", TEXT, b"x\n").error(400).contains("A-Z a-z 0-9"));
    server.csv("t", crate::harness::TRADES).data();
    assert!(server.post("/logs/t", TEXT, b"x\n").error(400).contains("not a log"));
    assert_eq!(server.get("/logs").data(), json!([]));
    let long = "x".repeat((1 << 20) + 10);
    let done = server.post("/logs/app", TEXT, long.as_bytes()).data();
    assert_eq!((&done["entries"], &done["parse_errors"]["count"]), (&json!(2), &json!(1)));
    assert!(server.post("/logs/app", TEXT, b"").data()["first_timestamp"].is_null());
}

/// Ten thousand levels of brackets, bytes that are no text, names that are there twice: whatever a body
/// has in it is kept, and told where it can't be read.
#[test]
fn lines_that_break_others_are_kept_whole() {
    let server = Harness::new();
    let deep = format!("{{\"msg\":\"deep\",\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let lines: [&[u8]; 6] = [
        deep.as_bytes(),
        b"{\"msg\":\"nul \\u0000\",\"a\\u0000\":1}",
        b"{\"msg\":\"twice\",\"x\":{\"a\":1,\"a\":2}}",
        b"{\"msg\":\"big\",\"n\":-123456789012345678901234567890}",
        b"{\"msg\":\"bytes \xff\xfe\"}",
        b"raw \0 nul",
    ];
    let body = [&lines.join(&b'\n')[..], b"\n"].concat();
    for kind in [LINES, TEXT, "application/json"] {
        let done = server.post("/logs/app", kind, &body).data();
        assert!(done["entries"].as_u64().unwrap() >= 6, "{kind}: {done}");
        assert_eq!(server.delete("/logs/app").status, 200);
    }
    let done = server.post("/logs/app", LINES, &body).data();
    assert_eq!((&done["entries"], &done["parse_errors"]["count"]), (&json!(6), &json!(3)));
    let rows = found(&server, "app");
    let fields = |row: usize| &rows[row]["fields"];
    assert_eq!(rows[0]["message"], deep);
    assert_eq!(fields(0)["parse_error"], "more than 128 objects and lists in each other");
    assert_eq!((&rows[1]["message"], fields(1)), (&json!("nul \0"), &json!({ "a\0": 1 })));
    assert_eq!(
        (&fields(2)["x"], &fields(2)["original"]),
        (&json!({ "a": 2 }), &json!(std::str::from_utf8(lines[2]).unwrap()))
    );
    assert!(
        server
            .get("/logs/app/search?filter=big")
            .text()
            .contains(":-123456789012345678901234567890")
    );
    assert_eq!(rows[4]["message"], "bytes \u{fffd}\u{fffd}");
    assert_eq!(fields(4)["original_base64"], "eyJtc2ciOiJieXRlcyD//iJ9");
    assert_eq!(rows[5]["message"], "raw \0 nul");
}

#[test]
fn a_line_of_ten_megabytes_is_kept_in_parts_that_are_the_line() {
    let server = Harness::new();
    let long: String = (0..1_600_000).map(|word| format!("{word:06} ")).take(1_500_000).collect();
    assert!(long.len() > 10 << 20);
    let body = format!("{{\"msg\":\"{long}\",\"n\":1}}\nlast\n");
    let done = server.post("/logs/app", LINES, body.as_bytes()).data();
    let rows = found(&server, "app");
    assert_eq!(done["entries"], rows.len());
    let (last, parts) = rows.split_last().unwrap();
    assert_eq!(last["message"], "last");
    let message: String = parts.iter().map(|row| row["message"].as_str().unwrap()).collect();
    assert!(message == long);
    for (number, row) in (1..).zip(parts) {
        assert_eq!(row["fields"]["part"], number);
    }
    assert_eq!(parts[0]["fields"]["n"], 1);
}

#[test]
fn clients_that_make_a_log_at_once_all_write_to_it() {
    let server = Harness::new();
    for round in 0..20 {
        let path = format!("/logs/new{round}");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(server.post(&path, TEXT, b"x\n").data()["entries"], 1));
            }
        });
        assert_eq!(server.get(&format!("{path}/count")).data()["count"], 8);
    }
}

#[test]
fn entries_that_name_their_parts_are_kept_as_they_are() {
    let server = Harness::new();
    let entries = json!([
        {
            "message": "slow", "level": "warn", "source_time": "2024-05-01T10:00:00.000000001Z",
            "labels": { "host": "a" },
            // Names that lines of others have for their parts are fields here.
            "fields": { "level": "high", "time": "2024-05-01", "msg": "no", "n": 7, "list": [null] },
        },
        { "message": "", "source_time": 5, "level": null, "labels": null, "fields": {} },
    ]);
    let done = server.json("POST", "/logs/app/entries", &entries).data();
    assert_eq!(done["entries"], json!(2));
    let rows = found(&server, "app");
    assert_eq!(
        (&done["first_timestamp"], &done["last_timestamp"]),
        (&rows[0]["timestamp"], &rows[1]["timestamp"])
    );
    for part in ["message", "level", "source_time", "labels", "fields"] {
        assert_eq!(rows[0][part], entries[0][part], "{part}");
    }
    assert_eq!(rows[1]["source_time"], json!("1970-01-01T00:00:00.000000005Z"));
    // What was read can be written: the places that it says are passed over.
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    server.post("/logs/app/entries", LINES, lines.as_bytes()).data();
    let again = found(&server, "app");
    assert_eq!((again.len(), &again[2]["fields"]), (4, &rows[0]["fields"]));
    for (line, word) in [
        ("{\"level\":\"info\"}", "line 2: an entry has no message"),
        ("{\"message\":7}", "'message' must be text"),
        ("{\"message\":\"m\",\"level\":\"loud\"}", "loud"),
        ("{\"message\":\"m\",\"source_time\":\"soon\"}", "'source_time' must be a time"),
        ("{\"message\":\"m\",\"labels\":{\"host\":1}}", "label \"host\" must be text"),
        ("{\"message\":\"m\",\"host\":\"a\"}", "no part \"host\""),
        ("{\"message\":\"m\"", "no JSON"),
        ("[1]", "must be an object"),
    ] {
        let body = format!("{{\"message\":\"first\"}}\n{line}\n");
        let error = server.post("/logs/app/entries", LINES, body.as_bytes()).error(400);
        assert!(error.contains(word) && error.contains("nothing was written"), "{error}");
    }
    assert_eq!(found(&server, "app").len(), 4);
    assert_eq!(server.post("/logs/app/entries", "text/csv", b"a").status, 415);
    // A log is made for entries that come later.
    assert_eq!(server.post("/logs/new/entries", LINES, b"").data()["entries"], json!(0));
    assert_eq!(server.get("/logs").data(), json!(["app", "new"]));
}
