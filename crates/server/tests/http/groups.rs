//! Consumer groups over HTTP: each record is given to one member, and is given again where its answer was lost.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::Harness;
use crate::topics::{send, values, with_topic};
use crate::until::until;
use crate::waits::{answer, ask, waiting};

const MEMBERS: &str = "/topics/t/groups/g/members";

fn join(server: &Harness, options: &Value) -> String {
    let joined = server.json("POST", MEMBERS, options).data();
    joined["member"].as_str().unwrap().to_owned()
}

fn poll(server: &Harness, member: &str, query: &str) -> Value {
    server.json("POST", &format!("{MEMBERS}/{member}/poll{query}"), &Value::Null).data()
}

fn commit(server: &Harness, member: &str, query: &str, body: &Value) -> Value {
    server.json("POST", &format!("{MEMBERS}/{member}/commit{query}"), body).data()
}

fn numbered(server: &Harness, count: usize) {
    let records: Vec<Value> =
        (0..count).map(|n| json!({ "key": n.to_string(), "value": n.to_string() })).collect();
    send(server, "t", &records.into()).data();
}

fn numbers(data: &Value) -> BTreeSet<usize> {
    values(data).iter().map(|value| value.parse().unwrap()).collect()
}

#[test]
fn a_member_goes_on_where_its_group_has_committed() {
    let server = with_topic("t", 1);
    numbered(&server, 10);
    let member = join(&server, &json!({}));
    let first = poll(&server, &member, "?limit=4");
    assert_eq!((&first["poll"], values(&first).len()), (&json!(1), 4));
    assert_eq!(first["assignment"], json!([{ "topic": "t", "partition": 0, "next": 4 }]));
    assert_eq!(
        commit(&server, &member, "", &json!({}))["committed"],
        json!([{ "partition": 0, "offset": 4 }])
    );
    poll(&server, &member, "?limit=4");
    let group = server.get("/topics/t/groups/g").data();
    let expected = json!([{ "partition": 0, "committed": 4, "end": 10, "lag": 6 }]);
    assert_eq!(group["offsets"], expected);
    assert_eq!(group["members"], json!([{ "member": member, "partitions": [0] }]));
    assert_eq!(server.get("/topics/t/groups").data(), json!([group]));
    // What it was given and has not committed is given to who comes next.
    server.delete(&format!("{MEMBERS}/{member}")).data();
    let next = join(&server, &json!({ "member": "next" }));
    assert_eq!(values(&poll(&server, &next, ""))[0], "4");
    let named = json!({ "offsets": [{ "partition": 0, "offset": 7 }] });
    commit(&server, &next, "", &named);
    // Back only by a reset that names the group.
    let back = json!({ "offsets": [{ "offset": 5 }] });
    let refused = server.json("POST", &format!("{MEMBERS}/{next}/commit"), &back);
    assert!(refused.error(409).contains("would go back"));
    let seek = server.json("POST", &format!("{MEMBERS}/{next}/seek"), &json!({ "offset": 9 }));
    assert_eq!(seek.data()["assignment"][0]["next"], 9);
    assert_eq!(values(&poll(&server, &next, "")), ["9"]);
    server.json("PUT", "/topics/t/groups/g", &json!({ "offset": 0 })).data();
    assert_eq!(server.get("/topics/t/groups/g").data()["offsets"][0]["committed"], 0);
}

#[test]
fn members_share_partitions_and_each_record_is_given_once() {
    let server = with_topic("t", 4);
    let members = [join(&server, &json!({})), join(&server, &json!({}))];
    let owned = |member: &str| poll(&server, member, "")["assignment"].as_array().unwrap().len();
    until(|| members.iter().all(|member| owned(member) == 2));
    numbered(&server, 100);
    let (mut all, mut count) = (BTreeSet::new(), 0);
    until(|| {
        for member in &members {
            let data = poll(&server, member, "?limit=7");
            count += values(&data).len();
            all.extend(numbers(&data));
        }
        all.len() == 100
    });
    assert_eq!(count, 100);
    // One that leaves gives its partitions to the other.
    server.delete(&format!("{MEMBERS}/{}", members[0])).data();
    until(|| owned(&members[1]) == 4);
    let gone = server.json("POST", &format!("{MEMBERS}/{}/poll", members[0]), &Value::Null);
    assert!(gone.error(404).contains("join again"));
}

#[test]
fn what_was_given_in_an_answer_that_was_lost_is_given_again() {
    let server = with_topic("t", 1);
    numbered(&server, 6);
    let member = join(&server, &json!({ "auto_commit": 0 }));
    assert_eq!(values(&poll(&server, &member, "?limit=2&seen=0")), ["0", "1"]);
    // The second answer does not arrive.
    assert_eq!(values(&poll(&server, &member, "?limit=2&seen=1")), ["2", "3"]);
    let again = poll(&server, &member, "?limit=2&seen=1");
    assert_eq!((values(&again), &again["poll"]), (vec!["2", "3"], &json!(2)));
    // Nor is it committed by who has not seen it.
    let committed = commit(&server, &member, "?seen=1", &json!({}));
    assert_eq!(committed["committed"], json!([]));
    assert_eq!(server.get("/topics/t/groups/g").data()["offsets"][0]["committed"], 2);
    assert_eq!(values(&poll(&server, &member, "?seen=1")), ["2", "3", "4", "5"]);
    let wrong = server.json("POST", &format!("{MEMBERS}/{member}/poll?seen=9"), &Value::Null);
    assert!(wrong.error(409).contains("seen=9"));
    server.delete(&format!("{MEMBERS}/{member}")).data();
    assert_eq!(server.get("/topics/t/groups/g").data()["offsets"][0]["committed"], 6);
}

#[test]
fn a_poll_waits_and_who_goes_meanwhile_takes_no_record_along() {
    let server = with_topic("t", 1);
    let member = join(&server, &json!({}));
    let target = format!("{MEMBERS}/{member}/poll?wait=60s");
    let gone = ask(&server, "POST", &target);
    waiting(&server, 1);
    drop(gone);
    waiting(&server, 0);
    let socket = ask(&server, "POST", &target);
    waiting(&server, 1);
    send(&server, "t", &json!({ "value": "0" })).data();
    let (status, data) = answer(socket);
    assert_eq!((status, values(&data)), (200, vec!["0"]));
    // A later poll of the same member ends the one that waits.
    let earlier = ask(&server, "POST", &target);
    waiting(&server, 1);
    assert_eq!(values(&poll(&server, &member, "")).len(), 0);
    assert_eq!(answer(earlier).0, 409);
}

#[test]
fn a_member_that_is_not_heard_of_loses_its_partitions_and_can_not_move_the_group() {
    let server = with_topic("t", 1);
    numbered(&server, 4);
    let silent = join(&server, &json!({ "session": "200ms" }));
    assert_eq!(values(&poll(&server, &silent, "?limit=2")).len(), 2);
    let heir = join(&server, &json!({ "member": "heir" }));
    let mut given = Vec::new();
    until(|| {
        given = values(&poll(&server, &heir, "")).iter().map(ToString::to_string).collect();
        !given.is_empty()
    });
    assert_eq!(given, ["0", "1", "2", "3"]);
    let stale = server.json("POST", &format!("{MEMBERS}/{silent}/commit"), &json!({}));
    assert!(matches!(stale.status, 404 | 409), "{}", stale.text());
    until(|| server.metric("timestrata_topic_group_members") == 1);
}

#[test]
fn options_that_make_no_sense_and_topics_that_are_not_there_are_refused() {
    let server = with_topic("t", 1);
    for (options, word) in [
        (json!({ "reset": "newest" }), "earliest or latest or error"),
        (json!({ "strategy": "fair" }), "sticky"),
        (json!({ "session": 0 }), "session"),
        (json!({ "session": "2d" }), "3600 s"),
        (json!({ "grup": 1 }), "grup"),
    ] {
        let error = server.json("POST", MEMBERS, &options).error(400);
        assert!(error.contains(word), "{error}");
    }
    let none = server.json("POST", "/topics/none/groups/g/members", &json!({}));
    assert_eq!(none.status, 404);
    join(&server, &json!({ "member": "m" }));
    let twice = server.json("POST", MEMBERS, &json!({ "member": "m" }));
    assert!(twice.error(409).contains("already"));
    // The first one is still there.
    assert_eq!(values(&poll(&server, "m", "")).len(), 0);
}

#[test]
fn groups_are_put_at_a_time_listed_over_the_store_and_deleted() {
    let server = with_topic("t", 1);
    let records: Vec<Value> = (0..5)
        .map(|n| json!({ "value": n.to_string(), "timestamp": n * 1_000_000_000_i64 }))
        .collect();
    send(&server, "t", &records.into()).data();
    let put = |to: Value| server.json("PUT", "/topics/t/groups/g", &to);
    for (to, offset) in [
        (json!({ "to": "1970-01-01T00:00:02Z" }), 2),
        (json!({ "to": "latest" }), 5),
        (json!({ "to": "earliest" }), 0),
        (json!({ "offset": 3 }), 3),
    ] {
        assert_eq!(put(to).data()["offsets"][0]["committed"], offset);
    }
    for wrong in [json!({}), json!({ "to": "soon" }), json!({ "to": "latest", "offset": 1 })] {
        put(wrong).error(400);
    }
    let member = join(&server, &json!({}));
    poll(&server, &member, "");
    let all = server.get("/groups").data();
    let at = json!([{ "topic": "t", "partition": 0, "committed": 3 }]);
    let reads = json!([{ "member": member, "partitions": [{ "topic": "t", "partition": 0 }] }]);
    assert_eq!(all, json!([{ "group": "g", "offsets": at, "members": reads }]));
    assert!(server.delete("/topics/t/groups/g").error(409).contains("has members"));
    server.delete(&format!("{MEMBERS}/{member}")).data();
    let deleted = server.delete("/topics/t/groups/g").data();
    assert_eq!(deleted, json!({ "deleted": "g", "partitions": 1 }));
    server.delete("/topics/t/groups/g").error(404);
    assert_eq!(server.get("/groups").data(), json!([]));
}

#[test]
fn a_heartbeat_tells_what_others_wait_for_and_lets_go_of_nothing() {
    let server = with_topic("t", 2);
    let slow = join(&server, &json!({ "poll_interval_max": "1h" }));
    poll(&server, &slow, "");
    let beat = || server.json("POST", &format!("{MEMBERS}/{slow}/heartbeat"), &Value::Null);
    assert_eq!(beat().data(), json!({ "wanted_back": [] }));
    let other = join(&server, &json!({}));
    assert_eq!(beat().data(), json!({ "wanted_back": [1] }));
    assert_eq!(poll(&server, &other, "")["assignment"], json!([]));
    poll(&server, &slow, "");
    assert_eq!(beat().data(), json!({ "wanted_back": [] }));
    let assignment = poll(&server, &other, "")["assignment"].clone();
    assert_eq!(assignment, json!([{ "topic": "t", "partition": 1, "next": 0 }]));
    server.delete(&format!("{MEMBERS}/{slow}")).data();
    assert!(beat().error(404).contains("no member"));
    let odd = server.json("POST", MEMBERS, &json!({ "poll_interval_max": "long" }));
    assert!(odd.error(400).contains("poll_interval_max"));
}
