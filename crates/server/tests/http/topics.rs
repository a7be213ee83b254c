//! Topics: made, changed and removed; records in every form, in and out.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::ArrowError;
use serde_json::{Value, json};
use timestrata_engine::{Access, Durability, Io, Settings, Store};
use timestrata_topic::{Record, Records, SendOptions, Topic, TopicOptions};

use crate::ailing_disk::{Ailing, ailing, watched};
use crate::harness::{Answer, Harness};
use crate::until::until;
use crate::watched_disk::{Step, Watcher};

const LINES: &str = "application/x-ndjson";
const OCTETS: &str = "application/octet-stream";
const ARROW: &str = "application/vnd.apache.arrow.stream";

pub(crate) fn with_topic(name: &str, partitions: u32) -> Harness {
    let server = Harness::new();
    server.json("PUT", &format!("/topics/{name}"), &json!({ "partitions": partitions })).data();
    server
}

/// Sends records in JSON.
pub(crate) fn send(server: &Harness, topic: &str, records: &Value) -> Answer {
    server.json("POST", &format!("/topics/{topic}/records"), records)
}

/// The values of an answer's records, which are text.
pub(crate) fn values(data: &Value) -> Vec<&str> {
    let records = data["records"].as_array().unwrap();
    records.iter().map(|record| record["value"].as_str().unwrap()).collect()
}

#[test]
fn a_topic_is_made_described_changed_and_removed() {
    let server = Harness::new();
    let wanted = json!({
        "partitions": 2, "retention_age": "30d", "retention_records": 100, "compression": "zstd",
        "keep_entries": true,
    });
    let made = server.json("PUT", "/topics/payments", &wanted).data();
    assert_eq!((&made["name"], &made["partitions"]), (&json!("payments"), &json!(2)));
    assert_eq!(
        (&made["retention_age"], &made["keep_entries"]),
        (&json!(2_592_000.0), &json!(true))
    );
    assert_eq!(made["offsets"][1], json!({ "partition": 1, "first": 0, "end": 0 }));
    // To repeat it is fine, to want something else is not.
    assert_eq!(server.json("PUT", "/topics/payments", &wanted).data(), made);
    let other = server.json("PUT", "/topics/payments", &json!({ "partitions": 3 }));
    assert!(other.error(409).contains("payments"));
    assert_eq!(server.get("/topics").data(), json!(["payments"]));
    // What is not named stays, null takes a bound away.
    let change = json!({ "partitions": 4, "retention_age": null });
    let changed = server.json("PATCH", "/topics/payments", &change).data();
    assert_eq!((&changed["partitions"], &changed["retention_age"]), (&json!(4), &Value::Null));
    assert_eq!((&changed["retention_records"], &changed["compact"]), (&json!(100), &json!(false)));
    let fewer = server.json("PATCH", "/topics/payments", &json!({ "partitions": 1 }));
    assert!(fewer.error(400).contains("fewer"));
    let fixed = server.json("PATCH", "/topics/payments", &json!({ "timestamp": "store" }));
    assert!(fixed.error(400).contains("chosen when a topic is made"));
    let fixed = server.json("PATCH", "/topics/payments", &json!({ "keep_entries": false }));
    assert!(fixed.error(400).contains("keep_entries"));
    for (body, word) in [
        (json!({ "partitions": 0 }), "0 partitions"),
        (json!({ "partitions": -1 }), "partitions must be a whole number"),
        (json!({ "timestamp": "sun" }), "producer or store"),
        (json!({ "retention_age": "long" }), "retention_age must be seconds"),
        (json!([]), "no JSON object"),
    ] {
        let error = server.json("PUT", "/topics/x", &body).error(400);
        assert!(error.contains(word), "{error}");
    }
    assert!(server.json("PUT", "/topics/a%2Fb", &json!({})).error(400).contains("a/b"));
    assert_eq!(server.delete("/topics/payments").data(), json!({ "dropped": "payments" }));
    assert!(server.delete("/topics/payments").error(404).contains("payments"));
    assert_eq!(server.get("/topics").data(), json!([]));
}

#[test]
fn records_come_back_as_they_were_sent_in_whatever_form() {
    let server = with_topic("t", 1);
    let full = json!({
        "key": "k", "value": { "base64": "/wA=" }, "timestamp": 5,
        "headers": [["why", "refund"], ["why", { "base64": "/w==" }]],
    });
    let receipts = send(&server, "t", &full).data();
    let receipt = json!({ "topic": "t", "partition": 0, "offset": 0, "timestamp": 5 });
    assert_eq!(receipts, json!([receipt]));
    let list = json!([{ "value": "one" }, { "key": "gone", "value": null }]);
    assert_eq!(send(&server, "t", &list).data()[1]["offset"], 2);
    let lines = b"{\"value\":\"two\"}\n\n{\"value\":\"\"}\n";
    assert_eq!(server.post("/topics/t/records", LINES, lines).data()[1]["offset"], 4);
    let raw = server.post(
        "/topics/t/records?key=k&timestamp=7&header=a:b&header=c:d:e",
        OCTETS,
        &[0xff, 0, 10],
    );
    assert_eq!(raw.data()[0], json!({ "topic": "t", "partition": 0, "offset": 5, "timestamp": 7 }));
    let found = server.get("/topics/t/records").data();
    let records = found["records"].as_array().unwrap();
    assert_eq!((records.len(), &found["next"], &found["end"]), (6, &json!(6), &json!(6)));
    for (name, value) in full.as_object().unwrap() {
        assert_eq!(&records[0][name], value, "{name}");
    }
    assert_eq!((&records[2]["key"], &records[2]["value"]), (&json!("gone"), &Value::Null));
    assert_eq!(records[4]["value"], "");
    assert_eq!(records[5]["value"], json!({ "base64": "/wAK" }));
    assert_eq!(records[5]["headers"], json!([["a", "b"], ["c", "d:e"]]));
    // One alone, its value as it is, and what is null.
    assert_eq!(server.get("/topics/t/records/5").data(), records[5]);
    let value = server.get_as("/topics/t/records/5", OCTETS);
    assert_eq!((value.kind.as_str(), value.body.as_slice()), (OCTETS, &[0xff, 0, 10][..]));
    assert_eq!(server.get_as("/topics/t/records/2", OCTETS).status, 204);
    assert!(server.get("/topics/t/records/6").error(404).contains("offsets 0 to 6"));
    // What was read can be sent elsewhere as it is.
    let as_lines = server.get_as("/topics/t/records?from=1&limit=2", LINES);
    assert!(as_lines.headers.contains(&("timestrata-next".into(), "3".into())));
    server.json("PUT", "/topics/copy", &json!({})).data();
    server.post("/topics/copy/records", LINES, &as_lines.body).data();
    assert_eq!(server.get("/topics/copy/records/0").data()["value"], "one");
}

#[test]
fn records_come_as_columns_where_they_are_wanted_so() {
    let server = with_topic("t", 1);
    let records = json!([
        { "key": "k", "value": "one", "timestamp": 7, "headers": [["a", "b"]] },
        { "value": null },
        { "value": { "base64": "/wAK" } },
    ]);
    send(&server, "t", &records).data();
    send(&server, "t", &json!({ "value": "four" })).data();
    let read = |query: &str, next: &str| {
        let answer = server.get_as(&format!("/topics/t/records?{query}"), ARROW);
        assert_eq!(answer.kind, ARROW);
        assert!(answer.headers.contains(&("timestrata-next".into(), next.into())));
        let batches = StreamReader::try_new(answer.body.as_slice(), None).unwrap();
        let of = |batch: Result<RecordBatch, ArrowError>| Records::of(&batch.unwrap()).unwrap();
        batches.map(of).collect::<Vec<_>>()
    };
    let found = read("from=0", "4");
    let all: Vec<_> = found.iter().flat_map(|records| records.iter()).collect();
    let offsets: Vec<u64> = all.iter().map(|(offset, _)| *offset).collect();
    assert_eq!(offsets, [0, 1, 2, 3]);
    let values: Vec<_> = all.iter().map(|(_, record)| record.value).collect();
    assert_eq!(values, [Some(&b"one"[..]), None, Some(&[0xff, 0, 10]), Some(b"four")]);
    let (first, headers) = (&all[0].1, vec![("a", &b"b"[..])]);
    assert_eq!(
        (first.key, first.timestamp_ns, &first.headers),
        (Some(&b"k"[..]), Some(7), &headers)
    );
    // A part of a batch, and nothing at all.
    let some = read("from=1&limit=1", "2");
    assert_eq!(
        some.iter().flat_map(Records::iter).map(|(offset, _)| offset).collect::<Vec<_>>(),
        [1]
    );
    assert!(read("from=4", "4").is_empty());
}

/// Long columns are sent from where they lie, in memory or in a file, and a part of them is no more than that part.
#[test]
fn columns_of_many_records_are_whole_and_of_a_length_that_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Settings::default()).unwrap();
    let topic = Topic::create(&store, "t", &TopicOptions::default()).unwrap();
    let value = |number: u64| format!("{number:06}").repeat(300);
    for number in 0..3_000 {
        if number == 2_000 {
            store.flush().unwrap();
        }
        let value = value(number);
        let record = Record { value: Some(value.as_bytes()), ..Record::default() };
        let written = SendOptions { durability: Durability::Written, ..SendOptions::default() };
        topic.send(&record, &written).unwrap();
    }
    let server = Harness::on(store, &[], None);
    for (from, limit) in [(0, 3_000), (7, 1_500), (1_990, 20), (2_100, 10), (2_999, 1)] {
        let path = format!("/topics/t/records?from={from}&limit={limit}&bytes=30000000");
        let answer = server.get_as(&path, ARROW);
        let length = answer.headers.iter().find(|(name, _)| name == "content-length");
        assert_eq!(length.map(|(_, told)| told.clone()), Some(answer.body.len().to_string()));
        assert!(answer.body.len() < (limit as usize + 1) * 2_000 + 10_000, "{limit}");
        let mut number = from;
        for batch in StreamReader::try_new(answer.body.as_slice(), None).unwrap() {
            for (offset, record) in Records::of(&batch.unwrap()).unwrap().iter() {
                assert_eq!((offset, record.value), (number, Some(value(number).as_bytes())));
                number += 1;
            }
        }
        assert_eq!(number, (from + limit).min(3_000));
    }
}

#[test]
fn ranges_limits_and_bounds_pick_records() {
    let server = with_topic("t", 1);
    let records: Vec<Value> = (0..3_000)
        .map(|n| json!({ "value": format!("{n:04}"), "timestamp": n * 1_000_000_000_i64 }))
        .collect();
    send(&server, "t", &records.into()).data();
    let found = |query: &str| {
        let found = server.get(&format!("/topics/t/records?{query}")).data();
        let values = values(&found);
        let ends = |value: Option<&&str>| value.map_or(-1, |value| value.parse::<i64>().unwrap());
        (values.len(), ends(values.first()), ends(values.last()), found["next"].as_u64().unwrap())
    };
    assert_eq!(found(""), (1_000, 0, 999, 1_000));
    assert_eq!(found("limit=none"), (3_000, 0, 2_999, 3_000));
    assert_eq!(found("from=2990&limit=5"), (5, 2_990, 2_994, 2_995));
    assert_eq!(found("from=10&to=12"), (2, 10, 11, 12));
    assert_eq!(found("from=10&to=10"), (0, -1, -1, 10));
    assert_eq!(found("from=latest"), (0, -1, -1, 3_000));
    assert_eq!(found("from=1970-01-01T00:10:00Z&limit=1"), (1, 600, 600, 601));
    // Bytes bound it too, and one record always fits.
    assert_eq!(found("bytes=10"), (2, 0, 1, 2));
    assert_eq!(found("bytes=1"), (1, 0, 0, 1));
    // What is still to come is no error; nor is what comes next.
    assert_eq!(found("from=5000"), (0, -1, -1, 5_000));
    let at = server.get("/topics/t/offsets?time=1970-01-01T00:10:00Z").data();
    assert_eq!(at, json!([{ "partition": 0, "first": 0, "end": 3000, "at_time": 600 }]));
    for (query, word) in [
        ("from=soon", "\"soon\" is no time"),
        ("partition=x", "partition=x"),
        ("partition=7", "no partition 7"),
        ("limit=few", "limit=few"),
        ("bytes=99999999999", "bytes=99999999999"),
        ("wait=2h", "wait=2h"),
    ] {
        let error = server.get(&format!("/topics/t/records?{query}")).error(400);
        assert!(error.contains(word), "{error}");
    }
    // Behind retention nobody is moved without a word.
    server.json("PATCH", "/topics/t", &json!({ "retention_records": 10 })).data();
    assert_eq!(server.post("/topics/t/retain", "", b"").data()["expired"], 2_990);
    assert!(server.get("/topics/t/records?from=5").error(404).contains("2990 to 3000"));
    assert_eq!(found("from=earliest&limit=1"), (1, 2_990, 2_990, 2_991));
}

#[test]
fn records_go_to_the_partition_that_is_named_or_that_of_their_key() {
    let server = with_topic("t", 4);
    let records = json!([
        { "value": "a", "partition": 3 }, { "key": "k", "value": "b" }, { "key": "k", "value": "c" },
    ]);
    let receipts = send(&server, "t", &records).data();
    assert_eq!(receipts[0]["partition"], 3);
    assert_eq!(receipts[1]["partition"], receipts[2]["partition"]);
    let all = server.json("POST", "/topics/t/records?partition=2", &records).data();
    assert!(all.as_array().unwrap().iter().all(|receipt| receipt["partition"] == 2));
    let none = server.json("POST", "/topics/t/records?partition=4", &records);
    assert!(none.error(400).contains("no partition 4"));
    // All or none.
    let bad = send(&server, "t", &json!([{ "value": "x" }, { "value": "y", "partition": 9 }]));
    assert!(bad.error(400).contains("no partition 9"));
    let end: u64 = (server.get("/topics/t/offsets").data().as_array().unwrap().iter())
        .map(|of| of["end"].as_u64().unwrap())
        .sum();
    assert_eq!(end, 6);
}

#[test]
fn a_condition_holds_or_nothing_is_sent() {
    let server = with_topic("t", 1);
    let first = "/topics/t/records?expected_offset=0";
    server.json("POST", first, &json!({ "value": "a" })).data();
    let again = server.json("POST", first, &json!({ "value": "a" }));
    assert!(again.error(409).contains("offset 1 is next, 0 was expected"));
    assert_eq!(again.json()["type"], "urn:timestrata:error:conflict");
    assert_eq!(server.get("/topics/t").data()["offsets"][0]["end"], 1);
}

#[test]
fn what_a_producer_repeats_is_stored_once_and_an_earlier_one_of_its_name_is_refused() {
    let server = with_topic("t", 1);
    let epoch = |_: u32| {
        let begun = server.json("POST", "/topics/t/producers/door", &Value::Null).data();
        begun["epoch"].as_u64().unwrap()
    };
    let early = epoch(0);
    let path = |sequence: u64, epoch: u64| {
        format!("/topics/t/records?producer_id=door&sequence={sequence}&epoch={epoch}")
    };
    let pair = json!([{ "value": "a" }, { "value": "b" }]);
    let sent = server.json("POST", &path(0, early), &pair).data();
    assert_eq!(server.json("POST", &path(0, early), &pair).data(), sent);
    assert!(server.json("POST", &path(5, early), &pair).error(409).contains("2 is next"));
    let next = server.get("/topics/t/producers/door").data();
    assert_eq!(next["next_sequence"], 2);
    let late = epoch(1);
    assert!(server.json("POST", &path(2, early), &pair).error(409).contains("begun with epoch"));
    server.json("POST", &path(2, late), &pair).data();
    assert_eq!(server.get("/topics/t").data()["offsets"][0]["end"], 4);
    let nobody = server.json("POST", "/topics/t/records?sequence=1", &pair);
    assert!(nobody.error(400).contains("producer_id"));
}

#[test]
fn a_batch_over_partitions_says_the_sequence_of_each() {
    let server = with_topic("t", 2);
    let path =
        |sequences: &str| format!("/topics/t/records?producer_id=door&sequences={sequences}");
    let both = json!([{ "value": "a", "partition": 0 }, { "value": "b", "partition": 1 }]);
    let sent = server.json("POST", &path("0:0,1:0"), &both).data();
    assert_eq!(server.json("POST", &path("0:0,1:0"), &both).data(), sent);
    assert!(server.json("POST", &path("0:1,1:0"), &both).error(409).contains("sent before"));
    assert!(server.json("POST", &path("0"), &both).error(400).contains("PARTITION:SEQUENCE"));
    let nobody = server.json("POST", "/topics/t/records?sequences=0:0", &both);
    assert!(nobody.error(400).contains("producer_id"));
    let ends = server.get("/topics/t").data()["offsets"].clone();
    assert_eq!((&ends[0]["end"], &ends[1]["end"]), (&json!(1), &json!(1)));
}

#[test]
fn what_is_no_record_is_refused_with_its_place() {
    let server = with_topic("t", 1);
    for (kind, body, word) in [
        ("application/json", &b"{"[..], "no JSON"),
        ("application/json", b"[{\"value\":\"a\"},{\"valeu\":1}]", "record 1"),
        ("application/json", b"[]", "no record"),
        ("application/json", b"\"text\"", "an object"),
        (LINES, b"{\"value\":\"a\"}\n{\"value\":7}\n", "line 2"),
        (LINES, b"", "no record"),
    ] {
        let error = server.post("/topics/t/records", kind, body).error(400);
        assert!(error.contains(word), "{error}");
    }
    assert!(
        server.post("/topics/t/records", "image/png", b"x").error(415).contains("octet-stream")
    );
    let keyed = server.post("/topics/t/records?key=k", LINES, b"{\"value\":\"a\"}").error(400);
    assert!(keyed.contains("whose value is the body"), "{keyed}");
    assert!(send(&server, "none", &json!({ "value": "a" })).error(404).contains("none"));
    assert_eq!(server.get("/topics/t").data()["offsets"][0]["end"], 0);
}

#[test]
fn bodies_have_a_bound_packed_or_not() {
    let server = Harness::with(&[("limits.batch_bytes_max", "100KiB")], None);
    server.json("PUT", "/topics/t", &json!({ "record_bytes_max": 50_000 })).data();
    let post = |bytes: usize| server.post("/topics/t/records", OCTETS, &vec![b'x'; bytes]);
    assert!(post(200_000).error(413).contains("batch_bytes_max"));
    // The topic has a bound of its own.
    assert!(post(60_000).error(413).contains("50000 is most"));
    post(40_000).data();
    let packed = |bytes: usize| {
        let body = zstd::encode_all(&vec![b'x'; bytes][..], 3).unwrap();
        server.post_with("/topics/t/records", ("content-encoding", "zstd"), OCTETS, &body)
    };
    packed(40_000).data();
    // A few bytes that become very many.
    assert!(packed(100_000_000).error(413).contains("batch_bytes_max"));
    assert_eq!(server.get("/topics/t").data()["offsets"][0]["end"], 2);
}

/// Counts syncs of the log, and can hold them back.
#[derive(Debug, Default)]
struct Syncs {
    count: AtomicU64,
    is_held: AtomicBool,
}

impl Watcher for Syncs {
    fn before(&self, step: Step, path: &Path) -> io::Result<()> {
        if step == Step::Sync && path.extension().is_some_and(|ending| ending == "wal") {
            self.count.fetch_add(1, Ordering::SeqCst);
            until(|| !self.is_held.load(Ordering::SeqCst));
        }
        Ok(())
    }
}

#[test]
fn connections_that_send_at_the_same_time_share_syncs() {
    let syncs = Arc::new(Syncs::default());
    let server = on_watched_disk(Arc::clone(&syncs) as _);
    syncs.is_held.store(true, Ordering::SeqCst);
    let before = syncs.count.load(Ordering::SeqCst);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| server.post("/topics/t/records", OCTETS, b"x").data());
        }
        until(|| server.get("/topics/t/offsets").data()[0]["end"] == 8);
        syncs.is_held.store(false, Ordering::SeqCst);
    });
    // The one that was held, and one for all who came meanwhile.
    let taken = syncs.count.load(Ordering::SeqCst) - before;
    assert!(taken <= 3, "{taken} syncs");
}

fn on_ailing_disk() -> (Arc<Ailing>, Harness) {
    let (ailing, open) = ailing();
    (ailing, serving_topic(open()))
}

/// A server whose store has a topic, on a disk that somebody watches.
fn on_watched_disk(watcher: Arc<dyn Watcher>) -> Harness {
    let io = watched(watcher);
    let settings = Settings { wal_segment_bytes: 1 << 20, ..Settings::default() };
    serving_topic(Store::open_with(io, Path::new("/store"), Access::Write, settings).unwrap())
}

fn serving_topic(store: Store) -> Harness {
    Topic::create(&store, "t", &TopicOptions::default()).unwrap();
    Harness::on(store, &[], None)
}

#[test]
fn on_a_full_disk_sends_are_refused_and_reads_go_on() {
    let (ailing, server) = on_ailing_disk();
    ailing.set_full(true);
    let (long, mut kept) = (vec![b'x'; 100_000], 0);
    let mut refused = None;
    until(|| {
        let answer = server.post("/topics/t/records", OCTETS, &long);
        match answer.status {
            200 => kept += 1,
            _ => refused = Some(answer),
        }
        refused.is_some()
    });
    let refused = refused.unwrap();
    assert!(refused.error(507).contains("free space"), "{}", refused.text());
    assert!(refused.headers.iter().all(|(name, _)| name != "retry-after"));
    assert_eq!(server.get("/topics/t").data()["offsets"][0]["end"], kept);
}

#[test]
fn a_poisoned_store_acknowledges_nothing_not_even_what_is_repeated_and_reads_go_on() {
    let (ailing, server) = on_ailing_disk();
    let path = "/topics/t/records?producer_id=p&sequence=";
    server.json("POST", &format!("{path}0"), &json!({ "value": "a" })).data();
    ailing.break_it();
    for _ in 0..3 {
        let answer = server.json("POST", &format!("{path}1"), &json!({ "value": "b" }));
        assert!((500..600).contains(&answer.status), "{}", answer.text());
    }
    assert_eq!(server.get("/health").status, 503);
    assert_eq!(values(&server.get("/topics/t/records?to=1").data()), ["a"]);
    let reset = server.json("PUT", "/topics/t/groups/g", &json!({ "offset": 0 }));
    assert_eq!(reset.status, 503, "{}", reset.text());
}

#[test]
fn a_store_that_is_only_read_follows_its_writer_and_takes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let writer = Store::open(dir.path(), Settings::default()).unwrap();
    let topic = Topic::create(&writer, "t", &TopicOptions::default()).unwrap();
    let reader = Store::open_with(Io::os(), dir.path(), Access::Read, Settings::default()).unwrap();
    let server = Harness::on(reader, &[], None);
    for (method, path) in [
        ("POST", "/topics/t/records"),
        ("PUT", "/topics/other"),
        ("DELETE", "/topics/t"),
        ("PUT", "/topics/t/groups/g"),
    ] {
        let body = match path {
            "/topics/t/records" => json!({ "value": "x" }),
            "/topics/t/groups/g" => json!({ "offset": 0 }),
            _ => json!({}),
        };
        assert_eq!(server.json(method, path, &body).status, 403, "{method} {path}");
    }
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.get("/topics/t/records?wait=30s").data());
        until(|| server.metric("timestrata_topic_waits") == 1);
        let record = Record { value: Some(b"seen"), ..Record::default() };
        topic.send(&record, &SendOptions::default()).unwrap();
        assert_eq!(values(&waiting.join().unwrap()), ["seen"]);
    });
}

#[test]
fn a_value_may_be_an_object_and_is_kept_as_it_was_written() {
    let server = with_topic("t", 1);
    let list =
        br#"[{"value": {"cents": 1.10}}, {"key": "k", "value": [1, 2]}, {"value": "plain"}]"#;
    server.post("/topics/t/records", "application/json", list).data();
    let line = b"{\"value\": {\"n\": 123456789012345678901234567890}}\n";
    server.post("/topics/t/records", LINES, line).data();
    let data = server.get("/topics/t/records").data();
    let kept =
        [r#"{"cents": 1.10}"#, "[1, 2]", "plain", r#"{"n": 123456789012345678901234567890}"#];
    assert_eq!(values(&data), kept);
    let number = server.post("/topics/t/records", "application/json", br#"[{"value": 5}]"#);
    let error = number.error(400);
    assert!(error.contains("record 0: value must be"), "{error}");
}
