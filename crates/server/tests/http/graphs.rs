//! Graphs: blocks and edges in and out, and what can be reached along them.

use serde_json::{Value, json};

use crate::harness::Harness;

const LINES: &str = "application/x-ndjson";
const OCTETS: &str = "application/octet-stream";

fn with_graph() -> Harness {
    let server = Harness::new();
    server.json("PUT", "/graphs/g", &json!({})).data();
    server
}

/// The id of a number.
fn id(number: u32) -> String {
    format!("{number:032x}")
}

fn change(server: &Harness, lines: &[Value]) -> Value {
    let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
    server.post("/graphs/g/changes", LINES, body.as_bytes()).data()
}

fn edge(source: u32, kind: &str, target: u32) -> Value {
    json!({ "source": id(source), "kind": kind, "target": id(target) })
}

/// A chain of blocks, each of which calls the next.
fn with_chain(length: u32) -> Harness {
    let server = with_graph();
    let edges: Vec<Value> = (1..length).map(|n| edge(n, "calls", n + 1)).collect();
    change(&server, &edges);
    server
}

#[test]
fn a_graph_is_made_described_and_removed() {
    let server = Harness::new();
    let made = server.json("PUT", "/graphs/code", &json!({ "keep_versions": 2 })).data();
    assert_eq!(made, json!({ "name": "code", "keep_versions": 2 }));
    assert_eq!(server.json("PUT", "/graphs/code", &json!({ "keep_versions": 2 })).data(), made);
    assert_eq!(server.json("PUT", "/graphs/code", &json!({ "keep_versions": 3 })).status, 409);
    assert!(
        server.json("PUT", "/graphs/x", &json!({ "keep_versions": 0 })).error(400).contains("0")
    );
    assert_eq!(server.get("/graphs/code").data(), made);
    assert_eq!(server.get("/graphs").data(), json!(["code"]));
    assert_eq!(server.get("/graphs/code/count").data(), json!({ "blocks": 0, "edges": 0 }));
    server.csv("t", crate::harness::TRADES).data();
    assert!(server.get("/graphs/t").error(400).contains("'t'"));
    assert_eq!(server.delete("/graphs/code").data(), json!({ "dropped": "code" }));
    assert!(server.get("/graphs/code/count").error(404).contains("code"));
}

#[test]
fn blocks_are_put_in_any_form_and_come_back_as_they_were() {
    let server = with_graph();
    let path = format!("/graphs/g/blocks/{}", id(1));
    let block = json!({
        "content": "the cart", "source_uri": "rules.md",
        "metadata": { "topic": "cart", "big": 12_345_678_901_234_567_890_u64 },
    });
    let put = server.json("PUT", &path, &block).data();
    assert_eq!(put, json!({ "block": id(1), "version": 1 }));
    let found = server.get(&path).data();
    assert_eq!((&found["block"], &found["version"]), (&json!(id(1)), &json!(1)));
    for (name, value) in block.as_object().unwrap() {
        assert_eq!(&found[name], value, "{name}");
    }
    // Bytes, and their place behind the path.
    let by_content = server.post("/graphs/g/blocks?source_uri=a.bin", OCTETS, &[0xff, 1]).data();
    let of_bytes = format!("/graphs/g/blocks/{}", by_content["block"].as_str().unwrap());
    assert_eq!(server.get(&of_bytes).data()["content"], json!({ "base64": "/wE=" }));
    assert_eq!(server.get(&of_bytes).data()["source_uri"], "a.bin");
    let alone = server.get_as(&of_bytes, OCTETS);
    assert_eq!((alone.kind.as_str(), alone.body.as_slice()), (OCTETS, &[0xff, 1][..]));
    let text = server.post("/graphs/g/blocks", "text/plain", "täxt".as_bytes()).data();
    let text = format!("/graphs/g/blocks/{}", text["block"].as_str().unwrap());
    let alone = server.get_as(&text, OCTETS);
    assert_eq!((alone.kind.as_str(), alone.text()), ("text/plain; charset=utf-8", "täxt"));
    let listed = server.get("/graphs/g/blocks?source_uri=rules.md").data();
    let listed = listed.as_array().unwrap();
    assert_eq!((listed.len(), &listed[0]["content_bytes"]), (1, &json!(8)));
    let by_metadata = server.get("/graphs/g/blocks?metadata=%7B%22topic%22%3A%22cart%22%7D").data();
    assert_eq!(by_metadata[0]["block"], id(1));
    assert_eq!(server.get("/graphs/g/blocks?limit=2").data().as_array().unwrap().len(), 2);
    assert_eq!(server.get("/graphs/g/count").data()["blocks"], 3);
}

#[test]
fn versions_rise_and_a_condition_holds_or_nothing_is_put() {
    let server = Harness::new();
    server.json("PUT", "/graphs/g", &json!({ "keep_versions": 3 })).data();
    let path = format!("/graphs/g/blocks/{}", id(1));
    let put = |query: &str, content: &str| {
        server.json("PUT", &format!("{path}{query}"), &json!({ "content": content }))
    };
    put("?expected_version=0", "one").data();
    assert_eq!(put("?expected_version=0", "two").status, 409);
    assert_eq!(put("?expected_version=1", "two").data()["version"], 2);
    let versions = server.get(&format!("{path}/versions")).data();
    let contents: Vec<&Value> =
        versions.as_array().unwrap().iter().map(|version| &version["content"]).collect();
    assert_eq!(contents, ["two", "one"]);
    assert_eq!(server.delete(&format!("{path}?expected_version=1")).status, 409);
    assert_eq!(server.delete(&path).data(), json!({ "deleted": id(1) }));
    assert!(server.get(&path).error(404).contains("has no block"));
    assert!(server.get(&format!("{path}/versions")).error(404).contains("has no block"));
}

#[test]
fn changes_are_made_in_one_commit_or_not_at_all() {
    let server = with_graph();
    let done = change(
        &server,
        &[
            json!({ "block": id(1), "content": "a" }),
            json!({ "block": id(2), "content": "b", "expected_version": 0 }),
            edge(1, "calls", 2),
            edge(1, "imports", 3),
            json!({ "source": id(2), "kind": "uses", "target": id(1), "weight": 0.5,
                    "valid_from": "2026-01-01", "properties": { "line": 7 } }),
        ],
    );
    assert_eq!(
        done["put"],
        json!([{ "block": id(1), "version": 1 }, { "block": id(2), "version": 1 }])
    );
    assert_eq!(server.get("/graphs/g/count").data(), json!({ "blocks": 2, "edges": 3 }));
    for (lines, word) in [
        (vec![json!({ "delete": id(1) }), json!({ "what": 1 })], "line 2: it is no change"),
        (vec![json!({ "delete": "xyz" })], "line 1: 'delete'"),
        (vec![json!({ "content": "x", "contents": 1 })], "no column 'contents'"),
        (vec![json!({ "unlink_all": {} })], "one of source, target and kind"),
        (vec![json!({ "unlink": { "source": id(1) } })], "it has no 'kind'"),
    ] {
        let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let error = server.post("/graphs/g/changes", LINES, body.as_bytes()).error(400);
        assert!(error.contains(word), "{error}");
    }
    let conflict = json!([{ "delete": id(2) }, { "delete": id(1), "expected_version": 7 }]);
    assert_eq!(server.json("POST", "/graphs/g/changes", &conflict).status, 409);
    assert_eq!(server.get("/graphs/g/count").data(), json!({ "blocks": 2, "edges": 3 }));
    // A list is as good as lines.
    let list = json!([
        { "unlink": { "source": id(1), "kind": "calls", "target": id(2) } },
        { "unlink_all": { "target": id(3) } },
        { "delete": id(2) },
    ]);
    server.json("POST", "/graphs/g/changes", &list).data();
    assert_eq!(server.get("/graphs/g/count").data(), json!({ "blocks": 1, "edges": 0 }));
    assert_eq!(server.post("/graphs/g/changes", "image/png", b"x").status, 415);
    assert_eq!(server.post("/graphs/none/changes", LINES, b"").status, 404);
}

#[test]
fn edges_are_linked_unlinked_and_told_of_both_ends() {
    let server = with_graph();
    let full = json!({
        "source": id(1), "kind": "calls", "target": id(2), "weight": 2.5, "valid_from": 5,
        "properties": { "line": 7 },
    });
    server.json("PUT", "/graphs/g/edges", &full).data();
    server.json("PUT", "/graphs/g/edges", &full).data();
    server.json("PUT", "/graphs/g/edges", &edge(1, "imports", 3)).data();
    let edges = |query: &str| server.get(&format!("/graphs/g/blocks/{query}")).data();
    assert_eq!(edges(&format!("{}/edges", id(2)))["edges"], json!([]));
    assert_eq!(edges(&format!("{}/edges?direction=in", id(2)))["edges"], json!([full]));
    let out = edges(&format!("{}/edges?limit=1", id(1)));
    assert_eq!((&out["edges"], &out["is_cut"]), (&json!([full]), &json!(true)));
    let kinds = edges(&format!("{}/edges?kinds=imports,other", id(1)));
    assert_eq!(kinds["edges"][0]["target"], id(3));
    let neighbors = edges(&format!("{}/neighbors", id(1)));
    assert_eq!(neighbors["neighbors"][0], json!({ "block": id(2), "kind": "calls" }));
    assert_eq!(edges(&format!("{}/degree?direction=both", id(1)))["degree"], 2);
    for query in ["", "?source=1&kind=calls", "?source=xyz"] {
        assert_eq!(server.delete(&format!("/graphs/g/edges{query}")).status, 400, "{query}");
    }
    server.delete(&format!("/graphs/g/edges?source={}&kind=calls&target={}", id(1), id(2))).data();
    server.delete(&format!("/graphs/g/edges?source={}", id(1))).data();
    assert_eq!(server.get("/graphs/g/count").data()["edges"], 0);
    let block = server.json("PUT", "/graphs/g/edges", &json!({ "content": "x" }));
    assert!(block.error(400).contains("no edge"));
}

#[test]
fn walks_go_as_far_as_they_may_and_say_where_they_were_cut() {
    let server = with_chain(10);
    change(
        &server,
        &[
            edge(1, "rare", 9),
            json!({
                "source": id(1), "kind": "later", "target": id(10), "valid_from": "2100-01-01",
            }),
        ],
    );
    let walk = |query: &str| server.get(&format!("/graphs/g/blocks/{}/walk{query}", id(1))).data();
    let reached = |query: &str| walk(query)["blocks"].as_array().unwrap().len();
    assert_eq!(reached("?kinds=calls"), 10);
    assert_eq!(reached("?kinds=calls&depth=3"), 4);
    assert_eq!(reached("?kinds=rare"), 3 - 1);
    assert_eq!(reached("?direction=in"), 1);
    let cut = walk("?kinds=calls&limit=4");
    assert_eq!((cut["blocks"].as_array().unwrap().len(), &cut["is_cut"]), (4, &json!(true)));
    let second = json!({ "block": id(2), "depth": 1, "parent": id(1), "kind": "calls" });
    assert_eq!(cut["blocks"][1], second);
    assert_eq!(walk("?kinds=later&as_of=2026-01-01")["blocks"].as_array().unwrap().len(), 1);
    let path = |query: &str| {
        let ends = format!("source={}&target={}", id(1), id(10));
        server.get(&format!("/graphs/g/path?{ends}{query}")).data()
    };
    let shortest = path("&as_of=2026-01-01");
    assert_eq!(shortest["path"]["kinds"], json!(["rare", "calls"]));
    assert_eq!(path("&kinds=calls")["path"]["blocks"].as_array().unwrap().len(), 10);
    assert_eq!(path("&kinds=calls&weighted=true")["path"]["cost"], 9.0);
    let short = path("&kinds=calls&depth=3");
    assert_eq!((&short["path"], &short["is_cut"]), (&Value::Null, &json!(true)));
    assert!(server.get("/graphs/g/path?source=1").error(400).contains("source and target"));
    for query in ["?direction=up", "?depth=-1", "?limit=99999999", "?order=asc"] {
        let path = format!("/graphs/g/blocks/{}/walk{query}", id(1));
        assert_eq!(server.get(&path).status, 400, "{query}");
    }
    assert!(server.get("/graphs/g/blocks/xyz/walk").error(400).contains("hexadecimal"));
}

/// Walks asked nobody whether they should go on.
#[test]
fn a_walk_ends_when_its_time_is_over() {
    let server = Harness::new();
    let id = "00112233445566778899aabbccddeeff";
    let other = "ffeeddccbbaa99887766554433221100";
    server.json("PUT", "/graphs/g", &json!({})).data();
    let link = json!({ "source": id, "kind": "calls", "target": other });
    server.json("PUT", "/graphs/g/edges", &link).data();
    for question in [
        format!("blocks/{id}/walk?order=bfs&"),
        format!("blocks/{id}/walk?order=dfs&"),
        format!("path?source={id}&target={other}&"),
        format!("path?source={id}&target={other}&weighted=true&"),
    ] {
        server.get(&format!("/graphs/g/{question}timeout=20s")).data();
        let late = server.get(&format!("/graphs/g/{question}timeout=1ns")).error(504);
        assert!(late.contains("took longer"), "{question}: {late}");
    }
}

/// A function with a name, in a file; what a tree of sources is as a graph.
fn function(number: u32, qualified: &str, line: u64) -> Value {
    let said = json!({ "kind": "function", "qualified": qualified, "start": [line, 4] });
    json!({ "block": id(number), "source_uri": "a.py", "metadata": said, "content": "def" })
}

#[test]
fn a_graph_of_sources_is_asked_by_names() {
    let server = with_graph();
    let sites = json!({ "sites": [[7, 2], [9, 0]] });
    let calls = |source, target| json!({ "source": id(source), "kind": "calls", "target": id(target), "properties": sites });
    change(
        &server,
        &[
            function(1, "main", 1),
            function(2, "Parser.parse", 5),
            function(3, "parse", 20),
            calls(1, 2),
            calls(2, 3),
        ],
    );
    let found = server.get("/graphs/g/names?name=parse").data();
    let names = |found: &Value| -> Vec<Value> {
        found["found"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect()
    };
    assert_eq!(
        (names(&found), &found["is_cut"]),
        (vec![json!("Parser.parse"), json!("parse")], &json!(false))
    );
    assert_eq!(
        (&found["found"][0]["path"], &found["found"][0]["start"]),
        (&json!("a.py"), &json!([5, 4]))
    );
    let callers = server.get("/graphs/g/links?name=parse&relation=callers").data();
    assert_eq!(callers["found"][0]["links"][0]["name"], "main");
    assert_eq!(callers["found"][1]["links"][0]["sites"], sites["sites"]);
    let cut = server.get("/graphs/g/links?name=parse&relation=callers&limit=1").data();
    assert_eq!((names(&cut).len(), &cut["is_cut"]), (1, &json!(true)));
    let chain = server.get("/graphs/g/chain?source=main&target=parse").data();
    assert_eq!(chain["chain"].as_array().unwrap().len(), 2, "the nearest of that name: {chain}");
    let none = server.get("/graphs/g/chain?source=parse&target=main").data();
    assert_eq!(none, json!({ "chain": null }));
    assert_eq!(
        server.get("/graphs/g/kinds").data(),
        json!({ "blocks": { "function": 3 }, "edges": { "calls": 2 } })
    );
    for (path, status, why) in [
        ("names", 400, "say which name"),
        ("names?name=none", 404, "nothing is called 'none'"),
        ("links?name=parse", 400, "callers, callees"),
        ("links?name=parse&relation=friends", 400, "callers, callees"),
        ("links?name=none&relation=callers", 404, "nothing is called 'none'"),
        ("chain?source=main", 400, "target"),
        ("chain?source=main&target=none", 404, "nothing is called 'none'"),
    ] {
        let error = server.get(&format!("/graphs/g/{path}")).error(status);
        assert!(error.contains(why), "{path}: {error}");
    }
}

#[test]
fn an_export_is_taken_in_again_as_it_was() {
    let server = with_graph();
    let blocks: Vec<Value> = (0..3_000)
        .map(|number| json!({ "block": id(number), "content": "x".repeat(100), "metadata": { "n": number } }))
        .collect();
    change(&server, &blocks);
    change(&server, &[edge(1, "calls", 2), edge(2, "calls", 3)]);
    let exported = server.get_as("/graphs/g/export", LINES);
    assert_eq!((exported.status, exported.kind.as_str()), (200, LINES));
    assert_eq!(exported.text().lines().count(), 3_002);
    server.json("PUT", "/graphs/h", &json!({})).data();
    server.post("/graphs/h/changes", LINES, &exported.body).data();
    assert_eq!(server.get_as("/graphs/h/export", LINES).body, exported.body);
    let bare = server.get_as("/graphs/g/export?content=false", LINES);
    assert_eq!(bare.text().lines().count(), 3_002);
    assert!(!bare.text().contains("content") && bare.text().contains("\"n\":2999"));
    server.get_as("/graphs/g/export", "text/csv").error(406);
    server.get_as("/graphs/none/export", LINES).error(404);
}
