use serde_json::{Value, json};
use timestrata_engine::{Settings, Store};

use crate::harness::{Harness, TRADES};

#[test]
fn health_and_tables() {
    let server = Harness::new();
    let health = server.get("/health").json();
    assert_eq!(health["status"], "healthy");
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(server.get("/tables").data(), json!([]));
    server.csv("trades", TRADES).data();
    assert_eq!(server.get("/tables").data(), json!(["trades"]));
    assert_eq!(server.delete("/tables/trades").data(), json!({ "dropped": "trades" }));
    assert_eq!(server.get("/tables").data(), json!([]));
    assert!(server.delete("/tables/trades").error(404).contains("no table 'trades'"));
}

#[test]
fn counts_rows_and_queries_agree_right_after_an_acknowledged_ingest() {
    let server = Harness::new();
    for round in 1..=20 {
        let body: String = (0..50)
            .map(|row| format!("2024-05-01T10:{:02}:{:02}Z,A,{row}.5,{row}\n", round, row))
            .collect();
        let body = format!("timestamp,symbol,price,volume\n{body}");
        assert_eq!(server.csv("t", &body).data()["rows_inserted"], 50);
        let rows = round * 50;
        assert_eq!(server.get("/tables/t/count").data(), json!({ "count": rows }));
        let json = server.get("/tables/t/query?limit=100000").data();
        assert_eq!(json.as_array().unwrap().len(), rows);
        let csv = server.get_as("/tables/t/query?limit=none", "text/csv");
        assert_eq!(csv.text().lines().count(), rows + 1);
        let last = server.get(&format!("/tables/t/rows/{rows}")).data();
        assert_eq!(last["id"], rows);
    }
}

#[test]
fn rows_come_in_time_order_and_ranges_are_half_open() {
    let server = Harness::new();
    server.csv("t", TRADES).data();
    let prices = |path: &str| -> Vec<f64> {
        let rows = server.get(&format!("/tables/t/query{path}")).data();
        rows.as_array().unwrap().iter().map(|row| row["price"].as_f64().unwrap()).collect()
    };
    assert_eq!(prices(""), [1.5, 3.5, 2.5]);
    assert_eq!(prices("?order=desc"), [2.5, 3.5, 1.5]);
    assert_eq!(prices("?limit=1&offset=1"), [3.5]);
    let (start, end) = ("2024-05-01T10:00:00Z", "2024-05-01T10:00:02Z");
    assert_eq!(prices(&format!("?start={start}&end={end}")), [1.5, 3.5]);
    assert_eq!(prices(&format!("?start={start}&end={end}&end_inclusive=true")), [1.5, 3.5, 2.5]);
    // The same in milliseconds since 1970.
    assert_eq!(prices("?start=1714557601000"), [3.5, 2.5]);
    assert_eq!(prices("?where=symbol%20%3D%20%27A%27"), [1.5, 3.5]);
    assert_eq!(prices("?where=volume%20%3E%20100&order=price%20DESC&limit=1"), [3.5]);
    let columns = server.get("/tables/t/query?columns=price,symbol&limit=1").data();
    assert_eq!(columns, json!([{ "price": 1.5, "symbol": "A" }]));
}

#[test]
fn a_table_made_here_has_the_identity_of_rows_that_clients_of_old_know() {
    let server = Harness::new();
    server.csv("t", TRADES).data();
    assert_eq!(server.get("/tables/t/rows/3").data()["price"], 3.5);
    assert_eq!(server.get("/tables/t/rows/99").data(), Value::Null);
    // A row with a known id replaces the earlier one, whatever its time.
    server.csv("t", "id,timestamp,symbol,price,volume\n3,2020-01-01T00:00:00Z,Z,9.5,1\n").data();
    assert_eq!(server.get("/tables/t/count").data(), json!({ "count": 3 }));
    let rows = server.get("/tables/t/query").data();
    assert_eq!(rows[0]["price"], 9.5);
    let schema = server.get("/tables/t/schema").data();
    assert_eq!(schema["table_name"], "t");
    assert_eq!(schema["timestamp_column"], "timestamp");
    let id = json!({ "name": "id", "data_type": "UInt64", "nullable": false });
    assert_eq!(schema["columns"][0], id);
    assert!(schema["created_at"].as_str().unwrap().ends_with('Z'));
    assert!(server.csv("t", "id,timestamp\n0,2020-01-01\n").error(400).contains("0 is no id"));
    assert!(server.csv("t", "id,timestamp\n-1,2020-01-01\n").error(400).contains("-1"));
}

#[test]
fn sql_over_http_with_parameters() {
    let server = Harness::new();
    server.csv("t", TRADES).data();
    let query = "SELECT symbol, sum(volume) AS volume FROM t GROUP BY symbol ORDER BY symbol";
    let rows = server.sql(query, Value::Null).data();
    assert_eq!(rows, json!([{ "symbol": "A", "volume": 400 }, { "symbol": "B", "volume": 200 }]));
    let rows = server.sql("SELECT price FROM t WHERE symbol = $1", json!(["B"])).data();
    assert_eq!(rows, json!([{ "price": 2.5 }]));
    let rows = server.sql("SELECT price FROM t WHERE symbol = $s", json!({ "s": "B" })).data();
    assert_eq!(rows, json!([{ "price": 2.5 }]));
    assert_eq!(server.sql("DELETE FROM t WHERE price > 3", Value::Null).data()[0]["count"], 1);
    assert_eq!(server.get("/tables/t/count").data(), json!({ "count": 2 }));
}

#[test]
fn metrics_tell_requests_by_route_and_no_names() {
    let server = Harness::new();
    server.csv("secret", TRADES).data();
    server.get("/tables/secret/count").data();
    let text = server.get("/metrics").text().to_owned();
    let line = "timestrata_http_requests_total{method=\"GET\",route=\"/tables/{table}/count\",\
                status=\"200\"} 1";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("timestrata_rows_ingested_total 3"), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

/// The value of a metric without labels.
fn metric(server: &Harness, name: &str) -> u64 {
    let text = server.get("/metrics").text().to_owned();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} in {text}"))
}

#[test]
fn metrics_tell_how_often_the_cache_answers() {
    let store = Store::memory(Settings { cache_bytes_max: 1 << 20, ..Settings::default() });
    let store = store.unwrap();
    let server = Harness::on(store.clone(), &[], None);
    server.csv("t", TRADES).data();
    assert_eq!(metric(&server, "timestrata_cache_bytes_max"), 1 << 20);
    assert_eq!(metric(&server, "timestrata_cache_hits_total"), 0);
    store.compact(None).unwrap();
    server.get("/tables/t/query").data();
    let (hits, misses) = (
        metric(&server, "timestrata_cache_hits_total"),
        metric(&server, "timestrata_cache_misses_total"),
    );
    assert!(misses > 0 && metric(&server, "timestrata_cache_bytes") > 0);
    server.get("/tables/t/query").data();
    assert!(metric(&server, "timestrata_cache_hits_total") > hits);
    assert_eq!(metric(&server, "timestrata_cache_misses_total"), misses);
}

#[test]
fn who_comes_by_the_address_alone_is_told_where_to_go_on() {
    let server = Harness::with(&[], Some("0123456789abcdef"));
    let told = server.get("/").json();
    assert_eq!(told["name"], "Timestrata");
    for (name, path) in told["links"].as_object().unwrap() {
        let status = server.get(path.as_str().unwrap()).status;
        assert!(![404, 500].contains(&status), "{name}: {status}");
    }
    let page = server.get_as("/", "text/html,application/xhtml+xml,*/*;q=0.8");
    assert_eq!(page.kind, "text/plain; charset=utf-8");
    assert!(page.text().contains("/openapi.json"), "{}", page.text());
    server.get_as("/", "image/png").error(406);
}
