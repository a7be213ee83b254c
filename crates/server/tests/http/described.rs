//! The description at `/openapi.json` is of all that there is, and so is the reference.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::harness::Harness;

const REFERENCE: &str = include_str!("../../../../docs/reference/http.md");

/// Method, path and description of each operation.
fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let each = paths.flat_map(|(path, methods)| {
        let of = move |(method, one): (&String, &Value)| {
            (method.to_ascii_uppercase(), path.clone(), one.clone())
        };
        methods.as_object().unwrap().iter().map(of)
    });
    each.collect()
}

#[test]
fn each_operation_that_is_described_is_answered_and_no_other() {
    let server = Harness::with(&[], Some("0123456789abcdef"));
    let document = server.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    let operations = operations(&document);
    assert!(operations.len() > 40, "{}", operations.len());
    let ids: BTreeSet<String> =
        operations.iter().map(|(_, _, one)| one["operationId"].to_string()).collect();
    assert_eq!(ids.len(), operations.len(), "two operations have one id");
    let null = Value::Null;
    for (method, path, one) in &operations {
        let path = path.replace(['{', '}'], "");
        // Without a token nothing is done; what isn't there, or has other methods, is told otherwise.
        let status = server.json(method, &path, &null).status;
        let is_open = one["security"] == serde_json::json!([]);
        assert_eq!(status, if is_open { 200 } else { 401 }, "{method} {path}");
        for other in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let is_described =
                operations.iter().any(|(m, p, _)| m == other && p.replace(['{', '}'], "") == path);
            if !is_described {
                assert_eq!(server.json(other, &path, &null).status, 405, "{other} {path}");
            }
        }
    }
}

#[test]
fn the_reference_has_each_operation_and_each_parameter() {
    let server = Harness::new();
    let document = server.get("/openapi.json").json();
    let mut missing = Vec::new();
    for (method, path, one) in operations(&document) {
        let entry = format!("`{method} {path}`");
        if !REFERENCE.contains(&entry) {
            missing.push(entry);
        }
        let body = &one["requestBody"]["content"]["application/json"]["schema"]["properties"];
        let members = body.as_object().into_iter().flat_map(|members| members.keys().cloned());
        let behind = one["parameters"].as_array().unwrap().iter();
        let behind = behind.filter(|parameter| parameter["in"] == "query");
        let behind = behind.map(|parameter| parameter["name"].as_str().unwrap().to_owned());
        for name in behind.chain(members) {
            if !REFERENCE.contains(&format!("`{name}`")) {
                missing.push(format!("{method} {path}: {name}"));
            }
        }
    }
    assert!(missing.is_empty(), "docs/reference/http.md lacks {missing:#?}");
}

/// One that was misspelt would be a word in the wind.
#[test]
fn what_is_not_described_is_refused() {
    let server = Harness::new();
    for path in ["/tables?limmit=1", "/topics?x=1", "/logs/app/search?x=1", "/topics/t/offsets?x="]
    {
        assert!(server.get(path).error(400).contains("there is no parameter"), "{path}");
    }
    let unknown =
        server.json("PUT", "/topics/t", &serde_json::json!({ "partition": 1 })).error(400);
    assert!(unknown.contains("there is no member 'partition'"), "{unknown}");
}

#[test]
fn a_problem_is_one_as_rfc_9457_has_it() {
    let server = Harness::new();
    let of_store = server.get("/topics/none");
    assert_eq!((of_store.status, of_store.kind.as_str()), (404, "application/problem+json"));
    let problem = of_store.json();
    assert_eq!(problem["type"], "urn:timestrata:error:not-found");
    assert_eq!((&problem["title"], &problem["status"]), (&"Not Found".into(), &404.into()));
    assert_eq!(problem["detail"], problem["error"]);
    assert_eq!(server.get("/nowhere").json()["type"], "about:blank");
}
