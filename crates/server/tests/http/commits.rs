//! One commit over several models, asked for by a client: all of it is there, or nothing.

use serde_json::{Value, json};
use timestrata_engine::{Settings, Store};

use crate::ailing_disk::ailing;
use crate::harness::{Answer, Harness};
use crate::until::until;

fn commit(server: &Harness, steps: &Value) -> Answer {
    server.json("POST", "/commit", steps)
}

/// How many rows of each model there are, of those that there are.
fn counts(server: &Harness) -> [Value; 5] {
    let count = |path: &str, of: &dyn Fn(Value) -> Value| {
        let answer = server.get(path);
        if answer.status == 404 { Value::Null } else { of(answer.data()) }
    };
    [
        count("/tables/orders/count", &|data| data["count"].clone()),
        count("/topics/placed/offsets", &|data| data[0]["end"].clone()),
        count("/logs/app/count", &|data| data["count"].clone()),
        count("/graphs/bought/count", &|data| data["blocks"].clone()),
        count("/timelogs/door/count", &|data| data["count"].clone()),
    ]
}

fn five(number: u32) -> Vec<Value> {
    let time = format!("2024-05-01T08:{:02}:{:02}Z", number / 60 % 60, number % 60);
    vec![
        json!({ "table": "orders", "rows": [{ "time": time, "item": "lamp", "amount": number }], "ids": false }),
        json!({ "topic": "placed", "records": [{ "key": "ada", "value": number.to_string() }] }),
        json!({ "logs": "app", "entries": [{ "message": "placed", "level": "info", "fields": { "number": number } }] }),
        json!({ "graph": "bought", "changes": [{ "content": format!("buyer {number}") }] }),
        json!({ "timelog": "door", "entries": [{ "time": number, "value": ["lamp", number] }] }),
    ]
}

#[test]
fn a_commit_over_five_models_has_one_number_and_tells_of_each_step() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("store"), Settings::default()).unwrap();
    let server = Harness::on(store, &[], None);
    let told = commit(&server, &five(7).into()).data();
    let changes =
        server.get(&format!("/changes?since={}", told["seq"].as_u64().unwrap() - 1)).data();
    let commits = changes["commits"].as_array().unwrap();
    let models = |commit: &Value| {
        let all = commit["changes"].as_array().unwrap().iter();
        let mut all: Vec<String> =
            all.map(|change| change["model"].as_str().unwrap().to_owned()).collect();
        all.sort();
        all.dedup();
        all
    };
    assert_eq!(commits.len(), 1, "{changes}");
    assert_eq!(models(&commits[0]), ["graph", "logs", "table", "timelog", "topic"]);
    let steps = &told["steps"];
    assert_eq!(
        (&steps[0], &steps[2], &steps[4]),
        (&json!({"rows": 1}), &json!({"entries": 1}), &json!({"entries": 1}))
    );
    let record = &steps[1]["records"][0];
    assert_eq!(
        (&record["topic"], &record["partition"], &record["offset"]),
        (&json!("placed"), &json!(0), &json!(0))
    );
    let block = steps[3]["put"][0]["block"].as_str().unwrap();
    assert_eq!(server.get(&format!("/graphs/bought/blocks/{block}")).data()["content"], "buyer 7");
    assert_eq!(counts(&server), [json!(1), json!(1), json!(1), json!(1), json!(1)]);
    assert_eq!(server.get("/tables/orders/schema").data()["timestamp_column"], "time");

    // Steps of one stream are one part, in their order; what was there before is deleted, and not what comes with it.
    let more = json!([
        { "topic": "placed", "records": [{ "value": "a" }, { "value": "b" }], "expected_offset": 1 },
        { "timelog": "door", "delete": { "from": 0, "to": 8 } },
        { "timelog": "door", "entries": [{ "time": 7, "value": "anew" }] },
        { "table": "orders", "delete": "all" },
        { "topic": "placed", "records": [{ "value": "c" }] },
        { "table": "orders", "rows": [{ "time": "2024-05-02", "item": "bulb", "amount": 1 }], "ids": false },
        { "graph": "bought", "changes": [{ "content": "bob" }, { "delete": block }] },
        { "graph": "bought", "changes": [{ "content": "eve" }] },
    ]);
    let told = commit(&server, &more).data();
    let offsets = |step: usize| {
        let all = told["steps"][step]["records"].as_array().unwrap().iter();
        all.map(|record| record["offset"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((offsets(0), offsets(4)), (vec![1, 2], vec![3]));
    assert_eq!(
        (
            told["steps"][6]["put"].as_array().unwrap().len(),
            told["steps"][7]["put"][0]["version"].as_u64()
        ),
        (1, Some(1))
    );
    assert_eq!(counts(&server), [json!(1), json!(4), json!(1), json!(2), json!(1)]);
    assert_eq!(
        server.get("/timelogs/door/entries").data(),
        json!([{ "time": 7, "value": "anew" }])
    );
    assert_eq!(server.metric("timestrata_topic_records_sent_total"), 4);
}

#[test]
fn what_is_refused_has_changed_nothing_and_made_nothing() {
    let server = Harness::new();
    for (wrong, why) in [
        (json!({ "table": "orders", "topic": "placed" }), "step 6: it names one stream"),
        (json!({ "stream": "orders" }), "step 6: it names one stream"),
        (json!(7), "step 6: it is no JSON object"),
        (json!({ "table": 7, "rows": [] }), "step 6: table must be a name"),
        (json!({ "table": "orders" }), "step 6: it has no rows"),
        (json!({ "table": "orders", "rows": {} }), "step 6: rows must be a list"),
        (json!({ "table": "orders", "rows": [], "colour": "red" }), "there is no member 'colour'"),
        (json!({ "table": "orders", "rows": [{ "time": "x" }] }), "step 6: "),
        (
            json!({ "table": "orders", "rows": [{ "time": "2024-05-01", "amount": "many" }], "ids": false }),
            "amount",
        ),
        (json!({ "table": "orders", "arrow": "!" }), "step 6: arrow"),
        (json!({ "table": "orders", "arrow": "AAAA" }), "step 6: "),
        (json!({ "table": "orders", "delete": {} }), "delete must be"),
        (
            json!({ "table": "orders", "delete": { "from": "2024", "until": "2025" } }),
            "delete must be",
        ),
        (json!({ "table": "nowhere", "delete": "all" }), "nowhere"),
        (json!({ "topic": "placed", "records": { "value": "x" } }), "records must be a list"),
        (json!({ "topic": "placed", "records": [{ "valu": "x" }] }), "record 0"),
        (json!({ "topic": "placed", "records": [{}], "producer_id": "p" }), "belong together"),
        (json!({ "topic": "placed", "records": [{}], "partition": 4 }), "partition"),
        (json!({ "topic": "placed", "group": "g" }), "member is missing"),
        (json!({ "topic": "placed", "group": "g", "member": "m" }), "no member 'm'"),
        (json!({ "logs": "app", "entries": [{ "text": "x" }] }), "step 6: line 1"),
        (json!({ "graph": "bought", "changes": [{ "content": 7 }] }), "step 6: line 1"),
        (json!({ "graph": "bought", "changes": [{ "delete": "x" }] }), "step 6: line 1"),
        (json!({ "timelog": "door", "entries": [{ "value": 1, "tame": 2 }] }), "step 6: line 1"),
        (json!({ "timelog": "door", "delete": { "from": 9, "to": 1 } }), "ends before it begins"),
        (json!({ "timelog": "door", "entries": [{ "value": 1 }], "unit": "ns" }), "another unit"),
        (json!({ "timelog": "" , "entries": [{ "value": 1 }] }), ""),
        (json!({ "logs": "orders", "entries": [{ "message": "x" }] }), "orders"),
    ] {
        let mut steps = five(1);
        steps.push(wrong.clone());
        let refused = commit(&server, &steps.into());
        assert!((400..500).contains(&refused.status), "{wrong}: {}", refused.text());
        assert!(refused.error(refused.status).contains(why), "{wrong}: {}", refused.text());
        assert_eq!(counts(&server), [const { Value::Null }; 5], "{wrong}");
    }
    for kind in ["/tables", "/topics", "/logs", "/graphs", "/timelogs"] {
        assert_eq!(server.get(kind).data(), json!([]));
    }
    assert!(server.post("/commit", "text/csv", b"a,b").error(415).contains("application/x-ndjson"));
    assert!(server.json("POST", "/commit?at=1", &json!([])).error(400).contains("at: what was"));
    // No step changes nothing, and neither do steps without anything.
    assert_eq!(commit(&server, &json!([])).data()["steps"], json!([]));
    let empty = json!([{ "topic": "placed", "records": [] }, { "logs": "app", "entries": [] }, { "table": "orders", "rows": [] }]);
    let told = commit(&server, &empty).data();
    assert_eq!(told["steps"], json!([{ "records": [] }, { "entries": 0 }, { "rows": 0 }]));
    assert_eq!(counts(&server), [const { Value::Null }; 5]);
}

#[test]
fn lines_are_steps_too() {
    let server = Harness::new();
    let lines: String = five(3).iter().map(|step| format!("{step}\n\n")).collect();
    server.post("/commit", "application/x-ndjson", lines.as_bytes()).data();
    assert_eq!(counts(&server), [json!(1), json!(1), json!(1), json!(1), json!(1)]);
}

#[test]
fn a_condition_that_does_not_hold_refuses_all_of_it() {
    let server = Harness::new();
    let stock = |left: u32| json!([{ "time": "2024-05-01", "item": "lamp", "left": left }]);
    let made = json!([{ "table": "stock", "rows": stock(2), "key": ["item"] }]);
    let seq = commit(&server, &made).data()["seq"].clone();
    let taken = |since: &Value| {
        json!([
            { "table": "stock", "rows": stock(1), "key": ["item"], "if_unchanged_since": since },
            { "topic": "placed", "records": [{ "value": "lamp" }] },
        ])
    };
    // Keys are noted from the first such commit on.
    let first = commit(&server, &taken(&seq));
    let seq = match first.status {
        409 => server.get("/info").data()["last_seq"].clone(),
        _ => first.data()["seq"].clone(),
    };
    assert!(seq.is_u64(), "{seq}");
    let second = commit(&server, &taken(&seq)).data();
    assert!(commit(&server, &taken(&seq)).error(409).contains("stock"));
    let end = second["steps"][1]["records"][0]["offset"].as_u64().unwrap() + 1;
    assert_eq!(counts(&server)[1], json!(end));

    let mut wrong = five(1);
    wrong.push(json!({ "topic": "placed", "records": [{}], "expected_offset": end + 7 }));
    assert!(commit(&server, &wrong.into()).error(409).contains("placed"));
    let mut wrong = five(1);
    wrong
        .push(json!({ "graph": "bought", "changes": [{ "content": "x", "expected_version": 3 }] }));
    assert!(commit(&server, &wrong.into()).error(409).contains("version"));
    assert_eq!(counts(&server), [Value::Null, json!(end), Value::Null, Value::Null, Value::Null]);
}

#[test]
fn each_step_takes_a_right_over_its_stream() {
    const TRUSTED: &str = "0123456789abcdef0123";
    let server = Harness::with(&[], Some(TRUSTED));
    let token = |scopes: &[&str]| {
        let asked = json!({ "name": "test", "scopes": scopes });
        let told = server.json_as(TRUSTED, "POST", "/tokens", &asked).data();
        told["token"].as_str().unwrap().to_owned()
    };
    let names = ["orders", "placed", "app", "bought", "door"];
    for lacking in names {
        let scopes: Vec<String> = names
            .iter()
            .filter(|name| **name != lacking)
            .map(|name| format!("write:{name}"))
            .collect();
        let scopes: Vec<&str> = scopes
            .iter()
            .map(String::as_str)
            .chain([format!("read:{lacking}").leak() as &str])
            .collect();
        let refused = server.json_as(&token(&scopes), "POST", "/commit", &five(1).into());
        assert!(refused.error(403).contains(&format!("write:{lacking}")));
    }
    let all: Vec<String> = names.iter().map(|name| format!("write:{name}")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let writer = token(&all);
    server.json_as(&writer, "POST", "/commit", &five(1).into()).data();
    // How far a group has read, says who reads.
    let consumed = json!([{ "topic": "placed", "group": "g", "member": "m" }]);
    let refused = server.json_as(&writer, "POST", "/commit", &consumed);
    assert!(refused.error(403).contains("read:placed"));
    let reader = token(&["read:placed"]);
    let join = json!({ "member": "m" });
    server.json_as(&reader, "POST", "/topics/placed/groups/g/members", &join).data();
    server.json_as(&reader, "POST", "/commit", &consumed).data();
    // Without a token it is refused before anything is read of it.
    assert_eq!(commit(&server, &five(1).into()).status, 401);
}

#[test]
fn what_came_of_records_and_that_they_are_done_is_one_commit() {
    let server = Harness::new();
    let records: Vec<Value> = (0..6).map(|n| json!({ "value": n.to_string() })).collect();
    commit(&server, &json!([{ "topic": "placed", "records": records }])).data();
    let members = "/topics/placed/groups/billing/members";
    let join = |name: &str| server.json("POST", members, &json!({ "member": name })).data();
    let poll = |name: &str, query: &str| {
        server.json("POST", &format!("{members}/{name}/poll{query}"), &Value::Null).data()
    };
    join("m");
    let given = poll("m", "?limit=2");
    let bill = |values: &Value, rest: Value| {
        let bills: Vec<Value> = values["records"]
            .as_array()
            .unwrap()
            .iter()
            .map(|record| json!({ "value": record["value"] }))
            .collect();
        let mut consumed = json!({ "topic": "placed", "group": "billing", "member": "m" });
        consumed.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        json!([{ "topic": "bills", "records": bills }, consumed])
    };
    let told = commit(&server, &bill(&given, json!({ "seen": given["poll"] }))).data();
    assert_eq!(told["steps"][1], json!({ "committed": [{ "partition": 0, "offset": 2 }] }));
    // One whose other part fails has committed no offset.
    let given = poll("m", &format!("?limit=2&seen={}", given["poll"]));
    let mut fails = bill(&given, json!({ "seen": given["poll"] }));
    fails[0]["expected_offset"] = json!(9);
    commit(&server, &fails).error(409);
    let group =
        || server.get("/topics/placed/groups/billing").data()["offsets"][0]["committed"].clone();
    assert_eq!(group(), 2);
    // Named offsets count, also where more was given.
    let named = json!({ "seen": given["poll"], "offsets": [{ "partition": 0, "offset": 3 }] });
    commit(&server, &bill(&json!({ "records": [given["records"][0]] }), named)).data();
    assert_eq!(group(), 3);
    assert!(
        commit(
            &server,
            &json!([
                { "topic": "placed", "group": "billing", "member": "m" },
                { "topic": "placed", "group": "billing", "member": "m" },
            ])
        )
        .error(400)
        .contains("one member's")
    );
    // Who joins behind it goes on there, and nothing is done twice.
    server.delete(&format!("{members}/m")).data();
    join("m");
    let given = poll("m", "");
    commit(&server, &bill(&given, json!({ "seen": given["poll"] }))).data();
    let bills = server.get("/topics/bills/records").data();
    let values: Vec<&Value> =
        bills["records"].as_array().unwrap().iter().map(|record| &record["value"]).collect();
    assert_eq!(values, ["0", "1", "2", "3", "4", "5"]);
    assert_eq!(group(), 6);
}

#[test]
fn a_producer_is_fenced_in_a_commit() {
    let server = Harness::new();
    server.json("PUT", "/topics/bills", &json!({})).data();
    let begin = || {
        server.json("POST", "/topics/bills/producers/billing", &Value::Null).data()["epoch"].clone()
    };
    let (first, second) = (begin(), begin());
    let send = |epoch: &Value| {
        json!([
            { "topic": "bills", "records": [{ "value": "1" }], "producer_id": "billing", "epoch": epoch },
            { "logs": "app", "entries": [{ "message": "billed" }] },
        ])
    };
    assert!(commit(&server, &send(&first)).error(409).contains("billing"));
    assert_eq!(counts(&server)[2], Value::Null);
    commit(&server, &send(&second)).data();
    let mut mixed = send(&second);
    mixed[1] = json!({ "topic": "bills", "records": [{ "value": "2" }] });
    assert!(commit(&server, &mixed).error(400).contains("of one producer"));
    assert_eq!(counts(&server)[2], json!(1));
}

/// They make the same streams at the same time.
#[test]
fn clients_that_commit_at_the_same_time_lose_nothing() {
    let server = Harness::new();
    std::thread::scope(|scope| {
        for client in 0..8_u32 {
            let server = &server;
            scope.spawn(move || {
                for round in 0..12 {
                    // One that fails leaves the streams to those that don't.
                    let mut fails = five(1_000 + client);
                    fails.push(
                        json!({ "topic": "placed", "records": [{}], "expected_offset": 9_999 }),
                    );
                    assert_eq!(commit(server, &fails.into()).status, 409);
                    commit(server, &five(client * 100 + round).into()).data();
                }
            });
        }
    });
    assert_eq!(counts(&server), [json!(96), json!(96), json!(96), json!(96), json!(96)]);
}

/// Of a commit that there is no room for nothing is there, in no model, also after an opening; those before it are whole.
#[test]
fn on_a_full_disk_a_commit_is_refused_in_all_models_and_reads_go_on() {
    let (ailing, open) = ailing();
    let server = Harness::on(open(), &[], None);
    // The first makes the streams, and the second finds them made.
    commit(&server, &five(0).into()).data();
    commit(&server, &five(1).into()).data();
    ailing.set_full(true);
    let (mut number, mut refused) = (2, None);
    let padded = |number: u32| -> Value {
        let mut steps = five(number);
        steps.push(json!({ "logs": "app", "entries": [{ "message": "x".repeat(500) }] }));
        steps.into()
    };
    until(|| {
        let answer = commit(&server, &padded(number));
        match answer.status {
            200 => number += 1,
            _ => refused = Some(answer),
        }
        refused.is_some()
    });
    let refused = refused.unwrap();
    assert!(refused.error(507).contains("free space"), "{}", refused.text());
    // A padded one has a second entry of the log.
    let whole = |count: u32| [count, count, 2 * count - 2, count, count].map(|count| json!(count));
    assert_eq!(counts(&server), whole(number));
    drop(server);
    ailing.set_full(false);
    let again = Harness::on(open(), &[], None);
    assert_eq!(counts(&again), whole(number));
    commit(&again, &padded(number)).data();
    assert_eq!(counts(&again), whole(number + 1));
}
