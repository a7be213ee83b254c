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
    let differs = "retention_age is 2592000 s, none was asked for";
    runner.fails(&create, 1, &["topic 'events' exists with other options", differs]);
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
    assert_eq!(described[0]["retention_age_seconds"], 2_592_000.0, "what is not named stays");
    let text = runner.ok(&["topic", "describe", "store", "events"]);
    assert!(text.contains("retention_records: 9"), "{text}");
    runner.ok(&["topic", "set", "store", "events", "--keep-all"]);
    let described = lines(&runner.ok(&["topic", "describe", "store", "events", "--json"]));
    assert_eq!(described[0]["retention_records"], Value::Null);
    assert_eq!(described[0]["retention_age_seconds"], Value::Null);
    assert_eq!(described[0]["keep_entries"], false);
    runner.ok(&["topic", "create", "store", "whole", "--keep-entries"]);
    let described = lines(&runner.ok(&["topic", "describe", "store", "whole", "--json"]));
    assert_eq!(described[0]["keep_entries"], true);
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

/// The story: the printed key had another name than the log, so others' software didn't take it; and an export stopped
/// half-way at the first partition that was not signed.
#[test]
fn all_partitions_are_signed_exported_and_verified_by_the_logs_own_keys() {
    let runner = Runner::new();
    runner.ok(&["topic", "create", "store", "events", "--partitions", "2"]);
    runner.file("one.txt", "one\n");
    runner.ok(&["produce", "store", "events", "one.txt", "--partition", "0"]);
    let vkey = runner.ok(&["keygen", "key", "--name", "example.org/log"]);
    assert_eq!(runner.ok(&["vkey", "key"]), vkey);
    let own = runner.ok(&["vkey", "key", "--topic", "events", "--partition", "1"]);
    assert!(own.starts_with("example.org/log/events/1+"), "{own}");
    assert_eq!(runner.ok(&["vkey", vkey.trim(), "--topic", "events", "--partition", "1"]), own);
    runner.fails(&["vkey", "key", "--topic", "a/b"], 1, &["a/b"]);
    runner.fails(&["vkey", "none"], 1, &["none"]);

    let export = ["export", "store", "events", "--tiles", "public"];
    runner.fails(&export, 1, &["partition 0 has no checkpoint yet", "--key"]);
    assert!(!runner.path("public").exists(), "nothing is written half");
    let keys = runner.ok(&[&export[..], &["--key", "key"]].concat());
    assert_eq!(keys.lines().nth(1), Some(own.trim()));
    for partition in ["0", "1"] {
        assert!(runner.path(&format!("public/{partition}/checkpoint")).is_file());
    }
    let checkpoint = ["checkpoint", "store", "events", "--key", "key", "--all"];
    let ran = runner.run(&checkpoint);
    assert!(ran.err.contains("signed 0 partitions of 2"), "{ran:?}");
    let (zero, one) = ran.out.split_once("\n\nexample.org/log/events/1\n").unwrap();
    assert!(zero.starts_with("example.org/log/events/0\n1\n"), "{zero}");
    assert!(one.starts_with("0\n"), "{one}");
    runner.fails(&[&checkpoint[..], &["--partition", "1"]].concat(), 2, &["--partition"]);
}

#[test]
fn two_checkpoints_are_held_against_each_other() {
    let runner = store();
    let vkey = runner.ok(&["keygen", "key", "--name", "example.org/log"]);
    let sign = || runner.ok(&["checkpoint", "store", "events", "--key", "key"]);
    runner.file("old", sign());
    assert_eq!(runner.run_with_stdin(&["produce", "store", "events"], b"four\n").code, 0);
    let new = sign();
    runner.file("new", &new);
    let proof = runner.ok(&["consistency", "store", "events", "--old", "3"]);
    assert_eq!(runner.ok(&["consistency", "store", "events", "--old", "3", "--new", "4"]), proof);
    runner.file("proof", &proof);
    let verify = |old: &str, new: &str, proof: &[&str]| {
        let words = ["verify-consistency", old, new, "--vkey", vkey.trim()];
        runner.run(&[&words[..], proof].concat())
    };
    let ran = verify("old", "new", &["--proof", "proof"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.err.contains("example.org/log/events/0 has 4 records and begins with the 3"),
        "{ran:?}"
    );
    assert_eq!(verify("new", "new", &[]).code, 0);
    let own = runner.ok(&["vkey", "key", "--topic", "events"]);
    let by_own = ["verify-consistency", "old", "new", "--proof", "proof", "--vkey", own.trim()];
    runner.ok(&by_own);
    for (old, later, proof) in [
        ("new", "old", &["--proof", "proof"][..]),
        ("old", "new", &[]),
        ("old", "new", &["--proof", "old"]),
        ("proof", "new", &["--proof", "proof"]),
    ] {
        assert_eq!(verify(old, later, proof).code, 1, "{old} {later}");
    }
    runner.file("altered", new.replace("\n4\n", "\n5\n"));
    let ran = verify("old", "altered", &["--proof", "proof"]);
    assert!(ran.code == 1 && ran.err.contains("not proved"), "{ran:?}");
    runner.fails(&["consistency", "store", "events", "--old", "9"], 1, &["9"]);
    runner.fails(&["verify-consistency", "old", "new", "--vkey", "no key"], 2, &["--vkey"]);
}

#[test]
fn groups_of_a_store_are_listed_put_at_a_time_and_deleted() {
    let runner = store();
    runner.ok(&["topic", "create", "store", "other"]);
    let reset =
        |to: &str| runner.told(&["groups", "store", "events", "--reset", "ledger", "--to", to]);
    for (to, offset) in
        [("1970-01-01", 0), ("2020-01-01", 1), ("latest", 3), ("-1", 2), ("earliest", 0)]
    {
        assert!(reset(to).contains(&format!("at {offset}")), "{to}");
    }
    runner.ok(&["groups", "store", "other", "--reset", "ledger", "--to", "0"]);
    runner.fails(&["groups", "store", "events", "--reset", "ledger", "--to", "soon"], 2, &["--to"]);
    let all = lines(&runner.ok(&["groups", "store", "--json"]));
    let topics: Vec<&Value> = all.iter().map(|line| &line["topic"]).collect();
    assert_eq!(topics, [&Value::from("events"), &Value::from("other")]);
    assert!(runner.told(&["groups", "store", "events", "--delete", "ledger"]).contains("1 offset"));
    assert_eq!(lines(&runner.ok(&["groups", "store", "--json"])).len(), 1);
    runner.fails(&["groups", "store", "events", "--delete", "ledger"], 1, &["committed nothing"]);
    runner.fails(&["groups", "store", "--delete", "ledger"], 2, &["TOPIC"]);
    runner.ok(&["topic", "set", "store", "events", "--retention-groups-age", "7d"]);
    let described = lines(&runner.ok(&["topic", "describe", "store", "events", "--json"]));
    assert_eq!(described[0]["retention_groups_age_seconds"], 604_800.0);
}

/// The story: `--from=-2` was a time before 1970, and printed the whole topic.
#[test]
fn records_are_picked_and_printed_as_kcat_s_users_type_it() {
    let runner = store();
    let consume =
        |options: &[&str]| runner.ok(&[&["consume", "store", "events"], options].concat());
    assert_eq!(consume(&["--from=-2"]), "two\n\n");
    assert_eq!(consume(&["-o", "-2", "-Z"]), "two\nNULL\n");
    assert_eq!(consume(&["-o", "beginning", "-c", "1"]), "one\n");
    assert_eq!(consume(&["-o", "end", "-e"]), "");
    assert_eq!(consume(&["-p", "0", "--to", "2"]), "one\ntwo\n");
    assert_eq!(consume(&["-o", "1", "--to", "2020-01-01"]), "");
    assert_eq!(consume(&["-o", "s@1500000000000", "-c", "1"]), "two\n");
    assert_eq!(consume(&["-K", ":", "--null", "-"]), "a:one\n-:two\na:-\n");
    assert_eq!(consume(&["-D", r"\x00"]), "one\0two\0\0");
    let pattern = r"%t/%p@%o %k=%s %S\n";
    assert_eq!(consume(&["-f", pattern, "-c", "1"]), "events/0@0 a=one 3\n");
    assert_eq!(consume(&["-o", "2", "-f", r"%s %S\n", "-Z"]), "NULL -1\n");
    runner.fails(&["consume", "-f", "store", "store", "events"], 2, &["--follow"]);
    runner.fails(&["consume", "store", "events", "-f", "%q"], 2, &["'q'"]);
    runner.fails(&["consume", "store", "events", "-o", "-1.5"], 2, &["--from"]);

    let kcat = ["kcat", "-b", "store", "-t", "events", "-C", "-o", "-1", "-e", "-f", r"%o\n"];
    assert_eq!(runner.ok(&kcat), "2\n");
    assert!(runner.ok(&["kcat", "-b", "store", "-L"]).contains("events"));
    let produce = ["kcat", "-b", "store", "-t", "events", "-P", "-K", ":", "-Z", "-H", "a=1"];
    assert_eq!(runner.run_with_stdin(&produce, b"k:v\nk:\n").code, 0);
    let by_group =
        ["kcat", "-b", "store", "-G", "g", "-t", "events", "-e", "-f", "%k %s %h;", "-Z"];
    assert!(runner.ok(&by_group).ends_with("k v a=1;k NULL a=1;"));
    runner.fails(&["kcat", "-b", "store", "-C"], 2, &["-t"]);
    runner.fails(&["kcat", "-b", "store", "-t", "events"], 2, &["-C"]);
    runner.fails(&["kcat", "-b", "store", "-t", "events", "-C", "--nonsense"], 2, &["--nonsense"]);
}

#[test]
fn records_are_made_of_keys_headers_and_objects_on_the_command_line() {
    let runner = Runner::new();
    let produce = |options: &[&str], input: &[u8]| {
        let ran = runner.run_with_stdin(&[&["produce", "store", "t"], options].concat(), input);
        assert_eq!(ran.code, 0, "{ran:?}");
    };
    produce(&["-k", "alice", "-H", "a=1", "-H", "b=x=y", "-c", "1"], b"one\nnot this\n");
    produce(&["-D", ";;", "-p", "0"], b"x;y;;two\nlines;;last");
    produce(&["--format", "json"], b"{\"value\": {\"cents\": 1.10}}\n");
    produce(&["-Z"], b"\n");
    let all = lines(&runner.ok(&["consume", "store", "t", "--json"]));
    let values: Vec<Option<&str>> = all.iter().map(|record| record["value"].as_str()).collect();
    let expected = [
        Some("one"),
        Some("x;y"),
        Some("two\nlines"),
        Some("last"),
        Some(r#"{"cents": 1.10}"#),
        None,
    ];
    assert_eq!(values, expected);
    assert_eq!(all[0]["key"], "alice");
    assert_eq!(all[0]["headers"], serde_json::json!([["a", "1"], ["b", "x=y"]]));
    let produce = ["produce", "store", "t"];
    runner.fails(&[&produce[..], &["-H", "no value"]].concat(), 2, &["NAME=VALUE"]);
    runner.fails(&[&produce[..], &["-k", "a", "-K", ":"]].concat(), 2, &["--key"]);
    runner.fails(&[&produce[..], &["-D", r"\q"]].concat(), 2, &["backslash"]);
}

/// A witness of one log, as far as it is asked here: it says once which size it has seen, and signs what begins with that.
fn witness(
    key: timestrata::merkle::Signer,
    asked_max: usize,
) -> (String, std::thread::JoinHandle<()>) {
    use std::io::{BufRead, BufReader, Read, Write};

    use timestrata::merkle::{AddCheckpoint, Checkpoint, Note, cosign, verify_consistency};

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        let mut seen: Option<Checkpoint> = None;
        for stream in listener.incoming().take(asked_max) {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut length) = (String::new(), 0);
            reader.read_line(&mut line).unwrap();
            assert!(line.starts_with("POST /add-checkpoint "), "{line}");
            while line != "\r\n" {
                line.clear();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let asked = AddCheckpoint::parse(std::str::from_utf8(&body).unwrap()).unwrap();
            let note = Note::parse(asked.checkpoint.as_bytes()).unwrap();
            let new: Checkpoint = note.text().parse().unwrap();
            let size = seen.as_ref().map_or(0, |seen| seen.size);
            let is_consistent = seen.as_ref().is_none_or(|seen| {
                verify_consistency(asked.old, new.size, &asked.proof, seen.root, new.root).is_ok()
            });
            let (status, answer) = match (asked.old == size, is_consistent) {
                (false, _) => ("409 Conflict", format!("{size}\n")),
                (true, false) => ("422 Unprocessable Entity", "inconsistent\n".to_owned()),
                (true, true) => {
                    seen = Some(new);
                    ("200 OK", cosign(&note, &key, 1_700_000_000))
                }
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                answer.len()
            );
            stream.write_all((head + &answer).as_bytes()).unwrap();
        }
    });
    (url, answering)
}

#[test]
fn a_witness_cosigns_what_goes_on_from_what_it_saw() {
    use timestrata::merkle::{KeyName, Note, Signer, Witness};

    let runner = store();
    let vkey = runner.ok(&["keygen", "key", "--name", "example.org/log"]);
    runner.ok(&["backup", "store", "older"]);
    let signer = Signer::from_seed(KeyName::new("witness.example").unwrap(), [9; 32]);
    let trusted = Witness::of(&signer);
    // Asked once, then twice as it has seen the first, then twice with what is not the same log, and refuses it.
    let (url, answering) = witness(signer, 1 + 2 + 2);
    let key = trusted.to_string();
    let ask = |store: &str, signing: &str| {
        runner.run(&["witness", store, "events", "--url", &url, "--vkey", &key, "--key", signing])
    };
    let ran = ask("store", "key");
    assert!(ran.code == 0 && ran.err.contains("cosigned by witness.example"), "{ran:?}");
    assert_eq!(runner.run_with_stdin(&["produce", "store", "events"], b"four\n").code, 0);
    let ran = ask("store", "key");
    assert_eq!(ran.code, 0, "{ran:?}");
    // The proof has both signatures, and is believed as before.
    let proof = runner.ok(&["prove", "store", "events", "3"]);
    let (_, checkpoint) = proof.split_once("\n\n").unwrap();
    assert_eq!(trusted.saw(&Note::parse(checkpoint.as_bytes()).unwrap()).unwrap(), 1_700_000_000);
    runner.file("3.tlog-proof", &proof);
    runner.file("3.json", runner.ok(&["consume", "store", "events", "-o", "3", "--json"]));
    runner.ok(&["verify-proof", "3.tlog-proof", "--record", "3.json", "--vkey", vkey.trim()]);
    // Nothing new is signed by what has signatures of witnesses, and they stay.
    let again = runner.run(&["checkpoint", "store", "events", "--key", "key", "--all"]);
    assert!(
        again.err.contains("signed 0 partitions") && again.out.contains("witness.example"),
        "{again:?}"
    );
    // A copy that went on differently, signed by who kept nothing of the key's.
    assert_eq!(runner.run_with_stdin(&["produce", "older", "events"], b"other\n").code, 0);
    runner.file("copy", runner.read("key"));
    #[cfg(unix)]
    std::fs::set_permissions(
        runner.path("copy"),
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    let ran = ask("older", "copy");
    assert!(ran.code == 1 && ran.err.contains("422"), "{ran:?}");
    answering.join().unwrap();
    runner.fails(
        &["witness", "store", "events", "--url", &url, "--vkey", vkey.trim()],
        2,
        &["--vkey"],
    );
}
