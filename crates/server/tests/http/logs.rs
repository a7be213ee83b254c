//! Logs: what is found, in which form, and how to go on from there.

use arrow_ipc::reader::StreamReader;
use serde_json::{Value, json};
use timestrata_engine::{Durability, Settings, Store};
use timestrata_logs::{EntryReader, Level, Logs, LogsOptions, NewEntry};

use crate::harness::Harness;

const LINES: &str = "application/x-ndjson";

/// A server with a log, which has one entry a message.
fn with_log(entries: &[NewEntry]) -> (Harness, Logs) {
    let store = Store::memory(Settings::default()).unwrap();
    let logs = Logs::create(&store, "app", &LogsOptions::default()).unwrap();
    logs.write_many(entries, Durability::Written).unwrap();
    (Harness::on(store, &[], None), logs)
}

fn numbered(count: usize) -> Vec<NewEntry> {
    let entry = |number: usize| {
        let mut entry = NewEntry::new(format!("entry {number}"));
        entry.level = Some(if number.is_multiple_of(10) { Level::Error } else { Level::Info });
        entry.source_time = Some(1_700_000_000_000_000_000 - number as i64);
        entry.fields.int("number", number as i64).text("parity", ["even", "odd"][number % 2]);
        entry
    };
    (0..count).map(entry).collect()
}

fn messages(rows: &Value) -> Vec<&str> {
    rows.as_array().unwrap().iter().map(|row| row["message"].as_str().unwrap()).collect()
}

#[test]
fn entries_have_all_that_they_were_written_with() {
    let mut entry = NewEntry::new("disk \"sda\"\nis full");
    entry.level = Some(Level::Error);
    entry.source_time = Some(1_700_000_000_123_456_789);
    entry.labels.set("host", "web-1").unwrap();
    entry.fields.int("free", 0).uint("big", u64::MAX).null("user");
    let (server, logs) = with_log(&[entry]);
    let timestamp = logs.snapshot().unwrap().first_timestamp().unwrap().unwrap();
    let rows = server.get("/logs/app/search").data();
    let time = timestrata_table::time_text(timestamp);
    let expected = json!({
        "timestamp": time, "source_time": "2023-11-14T22:13:20.123456789Z", "level": "error",
        "message": "disk \"sda\"\nis full", "labels": { "host": "web-1" },
        "fields": { "free": 0, "big": u64::MAX, "user": null }, "position": timestamp.to_string(),
    });
    assert_eq!(rows, json!([expected]));
}

#[test]
fn words_ranges_orders_and_limits_pick_entries() {
    let (server, logs) = with_log(&numbered(50));
    let found = |query: &str| {
        let rows = server.get(&format!("/logs/app/search?{query}")).data();
        messages(&rows).iter().map(|message| message.replace("entry ", "")).collect::<Vec<_>>()
    };
    assert_eq!(found("").len(), 50);
    assert_eq!(found("filter=17"), ["17"]);
    assert_eq!(found("limit=2"), ["0", "1"]);
    assert_eq!(found("limit=2&order=desc"), ["49", "48"]);
    assert_eq!(found("by=source_time&limit=3"), ["49", "48", "47"]);
    assert_eq!(found("by=source_time&order=desc&limit=1"), ["0"]);
    let first = logs.snapshot().unwrap().first_timestamp().unwrap().unwrap();
    assert_eq!(found(&format!("from={}&to={}", first + 7, first + 9)), ["7", "8"]);
    let text = timestrata_table::time_text(first + 48);
    assert_eq!(found(&format!("from={text}")), ["48", "49"]);
    let source = 1_700_000_000_000_000_000_i64;
    assert_eq!(found(&format!("by=source_time&from={}&to={source}", source - 2)), ["2", "1"]);
    assert!(found("to=2000-01-01").is_empty());
}

#[test]
fn an_entrys_position_leads_to_the_next_in_any_order() {
    let (server, _) = with_log(&numbered(25));
    for order in ["", "&order=desc", "&by=source_time", "&by=source_time&order=desc", "&filter=odd"]
    {
        let all = server.get(&format!("/logs/app/search?limit=none{order}")).data();
        let (mut paged, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("/logs/app/search?limit=4{order}{after}");
            let page = server.get(&path).data();
            let Some(last) = page.as_array().unwrap().last() else { break };
            after = format!("&after={}", last["position"].as_str().unwrap());
            paged.extend(page.as_array().unwrap().clone());
        }
        assert_eq!(json!(paged), all, "{order}");
    }
}

#[test]
fn answers_of_any_length_are_streamed_in_both_forms() {
    let entries: Vec<_> =
        (0..20_000).map(|number| NewEntry::new(format!("{number} {}", "x".repeat(100)))).collect();
    let (server, _) = with_log(&entries);
    let json = server.get("/logs/app/search?limit=none");
    assert_eq!(json.kind, "application/json");
    assert!(json.headers.iter().all(|(name, _)| name != "content-length"), "{:?}", json.headers);
    let rows = json.data();
    assert_eq!(rows.as_array().unwrap().len(), 20_000);
    let lines = server.get_as("/logs/app/search?limit=none", LINES);
    assert_eq!((lines.status, lines.kind.as_str()), (200, LINES));
    let parsed: Vec<Value> =
        lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(json!(parsed), rows);
    assert_eq!(server.get("/logs/app/search").data().as_array().unwrap().len(), 1_000);
    assert_eq!(server.get_as("/logs/app/search?filter=none", LINES).text(), "");
}

#[test]
fn figures_of_what_a_query_wants() {
    let (server, logs) = with_log(&numbered(50));
    assert_eq!(server.get("/logs/app/count").data(), json!({ "count": 50 }));
    assert_eq!(server.get("/logs/app/count?filter=odd").data(), json!({ "count": 25 }));
    let source = "2023-11-14T22:13:20Z";
    let path = format!("/logs/app/count?by=source_time&from={source}");
    assert_eq!(server.get(&path).data(), json!({ "count": 1 }));

    let first = logs.snapshot().unwrap().first_timestamp().unwrap().unwrap();
    let histogram = server.get("/logs/app/histogram?step=1h").data();
    let hour = first - first.rem_euclid(3_600_000_000_000);
    let start = timestrata_table::time_text(hour);
    let bucket = json!({ "start": start, "count": 50, "levels": { "error": 5, "info": 45 } });
    assert_eq!(histogram, json!({ "step_ns": 3_600_000_000_000_i64, "buckets": [bucket] }));
    let chosen = server.get("/logs/app/histogram?filter=odd&by=source_time").data();
    let counts = chosen["buckets"].as_array().unwrap().iter();
    assert_eq!(counts.map(|bucket| bucket["count"].as_u64().unwrap()).sum::<u64>(), 25);

    let facets = server.get("/logs/app/facets?fields=parity,level,none&values=1").data();
    let level = json!({
        "field": "level", "count": 50, "others": 5, "values": [{ "value": "info", "count": 45 }],
    });
    let parity = json!({
        "field": "parity", "count": 50, "others": 25, "values": [{ "value": "even", "count": 25 }],
    });
    assert_eq!(facets.as_array().unwrap()[..2], [parity, level]);
    let all = server.get("/logs/app/facets?filter=odd").data();
    let fields: Vec<_> = all.as_array().unwrap().iter().map(|facet| &facet["field"]).collect();
    assert!(fields.contains(&&json!("number")) && fields.contains(&&json!("level")), "{fields:?}");
}

#[test]
fn the_entries_around_one() {
    let (server, logs) = with_log(&numbered(50));
    let first = logs.snapshot().unwrap().first_timestamp().unwrap().unwrap();
    let around = |query: &str| server.get(&format!("/logs/app/context?{query}"));
    let middle = around(&format!("timestamp={}&before=2&after=1", first + 20)).data();
    assert_eq!(messages(&middle), ["entry 18", "entry 19", "entry 20", "entry 21"]);
    assert_eq!(middle[2]["position"], (first + 20).to_string());
    let text = timestrata_table::time_text(first);
    let edge = around(&format!("timestamp={text}")).data();
    assert_eq!(messages(&edge).len(), 11);
    assert!(around(&format!("timestamp={}", first - 1)).error(404).contains("no entry"));
    assert!(around("before=2").error(400).contains("timestamp"));
    assert!(around("timestamp=5&before=1001").error(400).contains("up to 1000"));
}

#[test]
fn logs_are_listed_and_removed_as_tables_are() {
    let (server, _) = with_log(&numbered(5));
    server.csv("t", crate::harness::TRADES).data();
    assert_eq!(server.get("/logs").data(), json!(["app"]));
    assert_eq!(server.get("/tables").data(), json!(["t"]));
    assert!(server.delete("/logs/none").error(404).contains("no log 'none'"));
    assert!(server.delete("/logs/t").error(400).contains("not a log"));
    assert_eq!(server.delete("/logs/app").data(), json!({ "dropped": "app" }));
    assert_eq!(server.get("/logs").data(), json!([]));
    assert!(server.get("/logs/app/search").error(404).contains("no log 'app'"));
    assert_eq!(server.get("/tables/t/count").data()["count"], 3);
}

#[test]
fn what_is_wrong_with_a_question_is_said() {
    let (server, logs) = with_log(&numbered(5));
    for (path, word) in [
        ("search?limmit=5", "no parameter 'limmit' here; there are filter, by, from, to, order"),
        ("search?limit=5&limit=6", "limit is given 2 times"),
        ("search?limit=many", "a number of entries, or 'none'"),
        ("search?order=up", "asc or desc"),
        ("search?by=clock", "by: "),
        ("search?by=clock", "'timestamp' or 'source_time'"),
        ("search?from=yesterday", "from: \"yesterday\" is no time"),
        ("search?from=&to=2024-05-02", "from: \"\" is no time"),
        ("search?from=2024-05-02&to=2024-05-01", "ends before it begins"),
        ("search?after=first", "after: "),
        ("search?after=first", "one that an earlier answer gave"),
        ("count?limit=5", "no parameter 'limit'"),
        ("histogram?step=0s", "a duration such as 1m"),
        ("histogram?step=1", "a duration such as 1m"),
        ("facets?values=-1", "a whole number"),
        ("tail?after=now", "after: \"now\" is no time"),
    ] {
        let answer = server.get(&format!("/logs/app/{path}"));
        let error = answer.error(400);
        assert!(error.contains(word), "{path}: {error}");
    }
    let many = |number: i64| NewEntry { source_time: Some(number), ..NewEntry::new("many") };
    logs.write_many(&(0..10_001).map(many).collect::<Vec<_>>(), Durability::Written).unwrap();
    let fine = server.get("/logs/app/histogram?step=1ns&by=source_time").error(400);
    assert!(fine.contains("step") && fine.contains("10000"), "{fine}");
    assert!(server.get("/logs/none/search").error(404).contains("no log 'none'"));
    assert!(server.get("/logs/a%2Fb/count").error(400).contains("A-Z a-z 0-9"));
    assert!(server.get("/logs/%FF/count").error(400).contains("Invalid UTF-8"));
    assert!(server.post("/logs/%FF", LINES, b"{}").error(400).contains("Invalid UTF-8"));
    assert!(server.get("/tables/%FF/count").error(400).contains("Invalid UTF-8"));
    let refused = server.get_as("/logs/app/search", "text/csv");
    assert!(refused.error(406).contains(LINES));
}

#[test]
fn searches_are_counted() {
    let (server, _) = with_log(&numbered(5));
    server.get("/logs/app/search").data();
    server.get("/logs/app/count").data();
    let metrics = server.get("/metrics");
    assert!(metrics.text().contains("timestrata_log_searches_total 2"), "{}", metrics.text());
    assert!(metrics.text().contains("timestrata_log_tails_open 0"));
}

#[test]
fn entries_can_be_had_in_the_columns_that_they_have() {
    const ARROW: &str = "application/vnd.apache.arrow.stream";
    let server = Harness::new();
    let lines =
        b"{\"msg\":\"one\",\"n\":1}\n{\"msg\":\"two\",\"n\":2}\n{\"msg\":\"three\",\"n\":3}\n";
    server.post("/logs/app", "application/x-ndjson", lines).data();
    let messages = |path: &str| -> Vec<String> {
        let answer = server.get_as(path, ARROW);
        assert_eq!((answer.status, answer.kind.as_str()), (200, ARROW), "{path}");
        let rows = StreamReader::try_new(answer.body.as_slice(), None).unwrap();
        let reader = EntryReader::new(&rows.schema()).unwrap();
        rows.flat_map(|batch| {
            let entries = reader.entries(batch.unwrap()).unwrap();
            let shown =
                entries.iter().map(|entry| format!("{} {}", entry.message(), entry.fields_json()));
            shown.collect::<Vec<_>>()
        })
        .collect()
    };
    let [one, two, three] = ["one {\"n\":1}", "two {\"n\":2}", "three {\"n\":3}"];
    assert_eq!(messages("/logs/app/search?limit=none"), [one, two, three]);
    assert_eq!(messages("/logs/app/search?order=desc&limit=1"), [three]);
    assert_eq!(messages("/logs/app/search?filter=absent"), [""; 0]);
    let found = server.get("/logs/app/search").data();
    let time = found[1]["timestamp"].as_str().unwrap();
    assert_eq!(
        messages(&format!("/logs/app/context?timestamp={time}&before=1&after=0")),
        [one, two]
    );
    assert_eq!(messages("/logs/app/tail?after=0"), [one, two, three]);
    assert_eq!(messages(&format!("/logs/app/tail?after={time}")), [three]);
    assert_eq!(server.get_as("/logs/app/search", "text/csv").status, 406);
    assert_eq!(server.get_as("/logs/app/tail", "text/csv").status, 406);
}

#[test]
fn entries_of_a_range_of_arrivals_are_deleted_in_one_commit_and_no_later_ones() {
    let server = Harness::new();
    for message in ["one", "two", "three"] {
        server.post("/logs/app", "text/plain", message.as_bytes()).data();
    }
    let entries = server.get("/logs/app/search").data();
    let second = entries[1]["timestamp"].as_str().unwrap();
    let messages = || {
        let found = server.get("/logs/app/search").data();
        let each = found.as_array().unwrap().iter();
        each.map(|entry| entry["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let deleted = server.delete(&format!("/logs/app/entries?from={second}&to=2200-01-01")).data();
    assert_eq!((&deleted["entries"], deleted["seq"].is_u64()), (&json!(2), true));
    assert_eq!(messages(), ["one"]);
    // What arrives later, within the range too, is there.
    server.post("/logs/app", "text/plain", b"four").data();
    assert_eq!(messages(), ["one", "four"]);
    let deleted = server.delete("/logs/app/entries?to=1971-01-01").data();
    assert_eq!(deleted, json!({ "entries": 0, "seq": null }));
    assert!(server.delete("/logs/app/entries").error(400).contains("say from or to"));
    assert!(server.delete("/logs/app/entries?from=never").error(400).contains("from"));
    assert!(server.delete("/logs/none/entries?to=1971-01-01").error(404).contains("'none'"));
    assert_eq!(messages(), ["one", "four"]);
}
