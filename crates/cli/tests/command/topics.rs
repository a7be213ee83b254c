//! Topics: made, written, read, grouped, proved to others.

use serde_json::Value;

use crate::runner::Runner;

/// A topic of three records.
fn store() -> Runner {
    let runner = Runner::new();
    runner.ok(&["topic", "create", "store", "events"]);
    runner.file("events.jsonl", "{\"key\":\"a\",\"value\":\"one\",\"timestamp\":1}\n{\"value\":\"two\"}\n{\"key\":\"a\",\"value\":null}\n");
    runner.ok(&["produce", "store", "events", "events.jsonl", "--format", "json"]);
    runner
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn topics_are_made_listed_described_changed_and_deleted() {
    let runner = Runner::new();
    let create = ["topic", "create", "store", "events", "--partitions", "2"];
    runner.ok(&[&create[..], &["--retention-age", "30d"]].concat());
    runner.ok(&[&create[..], &["--retention-age", "30d"]].concat());
    runner.fails(&create, 1, &["topic 'events' exists with"]);
    runner.fails(&["topic", "create", "store", "../../../escaped"], 1, &["must be 1 to 249"]);
    runner.fails(&["topic", "create", "store", "zero", "--partitions", "0"], 1, &["0 partitions"]);
    let odd = ["topic", "create", "store", "odd", "--retention-age", "30 days"];
    runner.fails(&odd, 2, &["no span of time"]);
    runner.ok(&[
        "topic",
        "set",
        "store",
        "events",
        "--partitions",
        "3",
        "--retention-records",
        "9",
    ]);
    runner.fails(&["topic", "set", "store", "events", "--partitions", "1"], 1, &["fewer"]);
    let described = lines(&runner.ok(&["topic", "describe", "store", "events", "--json"]));
    assert_eq!(described[0]["partitions"].as_array().unwrap().len(), 3);
    assert_eq!(described[0]["retention_records"], 9);
    assert_eq!(described[0]["retention_age_seconds"], Value::Null);
    let text = runner.ok(&["topic", "describe", "store", "events"]);
    assert!(text.contains("retention_records: 9"), "{text}");
    assert!(runner.ok(&["topic", "list", "store"]).contains("events"));
    runner.ok(&["topic", "delete", "store", "events"]);
    assert!(!runner.ok(&["topic", "list", "store"]).contains("events"));
    runner.fails(&["topic", "delete", "store", "events"], 1, &["no topic 'events'"]);
}

#[test]
fn what_is_produced_is_consumed() {
    let runner = store();
    assert_eq!(runner.ok(&["consume", "store", "events"]), "one\ntwo\n\n");
    let keyed = ["consume", "store", "events", "--format", "keyed", "--limit", "1"];
    assert_eq!(runner.ok(&keyed), "a\tone\n");
    let json = lines(&runner.ok(&["consume", "store", "events", "--format", "json"]));
    assert_eq!(json[0]["offset"], 0);
    assert_eq!(json[0]["timestamp"], 1);
    assert_eq!((&json[2]["key"], &json[2]["value"]), (&"a".into(), &Value::Null));
    // What is printed can be produced again.
    runner.file("again.jsonl", runner.ok(&["consume", "store", "events", "--format", "json"]));
    runner.ok(&["produce", "store", "copy", "again.jsonl", "--format", "json"]);
    assert_eq!(runner.ok(&["consume", "store", "copy"]), "one\ntwo\n\n");
    assert_eq!(runner.ok(&["consume", "store", "events", "--from", "1", "--limit", "1"]), "two\n");
    let late = ["consume", "store", "events", "--from", "2020-01-01T00:00:00Z"];
    assert_eq!(runner.ok(&late), "two\n\n");
    assert_eq!(runner.ok(&["consume", "store", "events", "--from", "latest"]), "");
    runner.fails(&["consume", "store", "events", "--from", "soon"], 2, &["--from", "'soon'"]);
    runner.fails(&["consume", "store", "none"], 1, &["no topic 'none'"]);
    let lines = ["produce", "store", "events", "--key-separator", ":"];
    assert_eq!(runner.run_with_stdin(&lines, b"k:v:w\n\xff:\xfe\n").code, 0);
    let json =
        self::lines(&runner.ok(&["consume", "store", "events", "--from", "3", "--format", "json"]));
    assert_eq!((&json[0]["key"], &json[0]["value"]), (&"k".into(), &"v:w".into()));
    assert_eq!(json[1]["key"]["base64"], "/w==");
    let ran = runner.run_with_stdin(&lines, b"k:v\nno separator\n");
    assert_eq!(ran.code, 1);
    for words in ["stdin, line 2", "no key separator", "1 record before it were appended"] {
        assert!(ran.err.contains(words), "{ran:?}");
    }
}

#[test]
fn groups_go_on_where_they_were() {
    let runner = store();
    let consume = ["consume", "store", "events", "--group", "ledger"];
    assert_eq!(runner.ok(&[&consume[..], &["--limit", "2"]].concat()), "one\ntwo\n");
    assert_eq!(runner.ok(&consume), "\n");
    assert_eq!(runner.ok(&consume), "");
    let groups = lines(&runner.ok(&["groups", "store", "events", "--json"]));
    assert_eq!((&groups[0]["committed"], &groups[0]["lag"]), (&3.into(), &0.into()));
    assert!(runner.ok(&["groups", "store", "events"]).contains("ledger"));
    runner.ok(&["groups", "store", "events", "--reset", "ledger", "--to", "1"]);
    assert_eq!(runner.ok(&consume), "two\n\n");
    runner.fails(&["groups", "store", "events", "--reset", "ledger"], 2, &["--to"]);
}

#[test]
fn a_proof_is_verified_without_the_store() {
    let runner = store();
    let vkey = runner.ok(&["keygen", "key", "--name", "example.org/log"]);
    let vkey = vkey.trim();
    runner.fails(&["keygen", "key", "--name", "example.org/log"], 1, &["key"]);
    runner.fails(&["prove", "store", "events", "0"], 1, &["has no checkpoint yet"]);
    let proof = runner.ok(&["prove", "store", "events", "0", "--key", "key"]);
    runner.file("0.tlog-proof", &proof);
    let record = ["consume", "store", "events", "--limit", "1", "--format", "json"];
    let record = runner.ok(&record);
    runner.file("0.json", &record);
    let verify = |proof: &str, record: &str, vkey: &str| {
        runner.run(&["verify-proof", proof, "--record", record, "--vkey", vkey])
    };
    let ran = verify("0.tlog-proof", "0.json", vkey);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("topic 'events' partition 0 has this record at offset 0"), "{ran:?}");
    runner.file("altered.json", record.replace("one", "two"));
    let ran = verify("0.tlog-proof", "altered.json", vkey);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("not proved"), "{ran:?}");
    runner.file("moved.tlog-proof", proof.replace("index 0", "index 1"));
    assert_eq!(verify("moved.tlog-proof", "0.json", vkey).code, 1);
    let other = runner.ok(&["keygen", "other", "--name", "example.org/log"]);
    assert_eq!(verify("0.tlog-proof", "0.json", other.trim()).code, 1);
    assert_eq!(verify("0.tlog-proof", "0.json", "nonsense").code, 2);
    assert_eq!(verify("0.json", "0.json", vkey).code, 1);
    assert_eq!(verify("0.tlog-proof", "0.tlog-proof", vkey).code, 1);
    let checkpoint = runner.ok(&["checkpoint", "store", "events", "--key", "key"]);
    assert!(checkpoint.starts_with("example.org/log/events/0\n3\n"), "{checkpoint}");
    assert_eq!(runner.ok(&["export", "store", "events", "--tiles", "public"]), "");
    assert!(runner.path("public/tile/0/000.p/3").is_file());
    assert!(runner.path("public/checkpoint").is_file());
    runner.fails(&["export", "store", "events"], 2, &["--format"]);
}

#[test]
fn a_store_that_was_put_back_signs_nothing_against_the_key() {
    let runner = store();
    runner.ok(&["keygen", "key", "--name", "example.org/log"]);
    runner.ok(&["backup", "store", "older"]);
    assert_eq!(runner.run_with_stdin(&["produce", "store", "events"], b"three\n").code, 0);
    runner.ok(&["checkpoint", "store", "events", "--key", "key"]);
    let words = ["put back to an older state", "example.org/log/events/0"];
    runner.fails(&["checkpoint", "older", "events", "--key", "key"], 1, &words);
    assert_eq!(runner.run_with_stdin(&["produce", "older", "events"], b"other\n").code, 0);
    let words = ["its records are others"];
    runner.fails(&["checkpoint", "older", "events", "--key", "key"], 1, &words);
}

#[test]
fn an_offset_past_the_end_of_a_partition_prints_nothing_of_it() {
    let runner = store();
    runner.ok(&["topic", "set", "store", "events", "--partitions", "2"]);
    runner.file("one.txt", "four\n");
    runner.ok(&["produce", "store", "events", "one.txt", "--partition", "1"]);
    assert_eq!(runner.ok(&["consume", "store", "events", "--from", "1"]), "two\n\n");
    assert_eq!(runner.ok(&["consume", "store", "events", "--from", "99"]), "");
}
