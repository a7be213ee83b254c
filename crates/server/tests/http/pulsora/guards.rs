use std::collections::BTreeSet;

use serde_json::{Value, json};
use timestrata_server::config::Layers;

use super::{STOCKS, ingest, server};
use crate::harness::Harness;

const TRUSTED: &str = "0123456789abcdef0123";
const PAGE: &str = include_str!("../../../../../docs/migrating/pulsora.md");

/// Method and path of each operation.
fn operations(server: &Harness) -> BTreeSet<(String, String)> {
    let document = server.get("/openapi.json").json();
    let paths = document["paths"].as_object().unwrap().iter();
    let each = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().keys();
        methods.map(move |method| (method.to_ascii_uppercase(), path.clone()))
    });
    each.collect()
}

#[test]
fn tokens_are_asked_for_as_everywhere() {
    let set = [("server.compat", "pulsora")];
    let server = Harness::with(&set, Some(TRUSTED));
    let asked = json!({ "name": "reader", "scopes": ["read:stocks"] });
    let told = server.json_as(TRUSTED, "POST", "/tokens", &asked).data();
    let reader = told["token"].as_str().unwrap();
    assert_eq!(server.get("/health").status, 200);
    let as_csv = |token: &str, table: &str| {
        let bearer = format!("Bearer {token}");
        let path = format!("/tables/{table}/ingest");
        server.post_with(&path, ("authorization", &bearer), "text/csv", STOCKS.as_bytes())
    };
    assert_eq!(server.csv("stocks", STOCKS).status, 401);
    as_csv(reader, "stocks").error(403);
    as_csv(TRUSTED, "stocks").data();
    as_csv(TRUSTED, "secrets").data();
    for path in ["query", "schema", "count", "row/1", "rows/1"] {
        assert_eq!(server.get(&format!("/tables/stocks/{path}")).status, 401, "{path}");
        let ask = |table: &str| {
            server.json_as(reader, "GET", &format!("/tables/{table}/{path}"), &Value::Null)
        };
        assert_eq!((ask("stocks").status, ask("secrets").status), (200, 403), "{path}");
    }
    assert_eq!(server.get("/tables").status, 401);
    assert_eq!(server.json_as(reader, "GET", "/tables", &Value::Null).data(), json!(["stocks"]));
}

#[test]
fn all_endpoints_of_ours_are_there_too_and_the_page_names_those_of_that_server() {
    let (both, ours) = (operations(&server()), operations(&Harness::new()));
    assert!(both.is_superset(&ours));
    let theirs = both.difference(&ours).map(|(method, path)| {
        let path = path.strip_prefix("/pulsora").unwrap();
        assert!(
            PAGE.contains(&format!("`{method} {path}`")),
            "docs/migrating/pulsora.md lacks {method} {path}"
        );
        format!("{method} {path}")
    });
    let known = [
        "GET /health",
        "GET /tables",
        "GET /tables/{table}/count",
        "GET /tables/{table}/query",
        "GET /tables/{table}/row/{id}",
        "GET /tables/{table}/rows/{id}",
        "GET /tables/{table}/schema",
        "POST /tables/{table}/ingest",
    ];
    assert_eq!(theirs.collect::<Vec<_>>(), known);
}

/// Else they would take a range without its last rows, or a condition for one that was heeded.
#[test]
fn clients_of_ours_get_what_they_ask_for_from_the_same_server() {
    let server = server();
    ingest(&server, "stocks", STOCKS);
    let path = "/tables/stocks/query?end=2024-01-01T09:31:00Z&columns=timestamp,price";
    let ours = server.get_with(path, "user-agent", "timestrata/0.1.0").data();
    assert_eq!(ours, json!([{ "timestamp": "2024-01-01T09:30:00Z", "price": 150.0 }]));
    assert_eq!(server.get(path).data().as_array().unwrap().len(), 2);
    let unknown =
        server.get_with("/tables/stocks/query?limmit=1", "user-agent", "timestrata/0.1.0");
    unknown.error(400);
}

#[test]
fn what_clients_of_that_server_write_is_a_table_to_all_others() {
    let server = server();
    ingest(&server, "stocks", STOCKS);
    let sql =
        "SELECT symbol, sum(volume) AS volume, max(timestamp) AS last FROM stocks GROUP BY symbol";
    let found = server.sql(sql, Value::Null).data();
    assert_eq!(
        found,
        json!([{ "symbol": "AAPL", "volume": 4500, "last": "2024-01-01T09:32:00Z" }])
    );
    server
        .sql(
            "INSERT INTO stocks (id, timestamp, price) VALUES (9, '2024-01-01T09:29:00Z', 1.5)",
            Value::Null,
        )
        .data();
    assert_eq!(server.get("/tables/stocks/query?limit=1").data()[0]["id"], 9);
    assert_eq!(server.delete("/tables/stocks").data(), json!({ "dropped": "stocks" }));
    assert_eq!(server.get("/tables").data(), json!([]));
}

#[test]
fn a_server_that_nobody_knows_is_refused_by_its_name() {
    let mut layers = Layers::default();
    layers.flag("--compat", "server.compat", "pulsar").unwrap();
    let error = layers.config().unwrap_err().to_string();
    assert!(error.contains("server.compat = \"pulsar\": it must be empty, or pulsora"), "{error}");
}
