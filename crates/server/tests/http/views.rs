//! Views over HTTP: they are SQL's, and rows come by any way.

use std::time::Duration;

use serde_json::json;
use timestrata_engine::{Settings, Store};

use crate::harness::Harness;

#[test]
fn views_are_made_and_read_and_have_rows_that_come_otherwise() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings { history_min: Duration::from_secs(600), ..Settings::default() };
    let store = Store::open(dir.path().join("store"), settings).unwrap();
    let server = Harness::on(store, &[("sql.may_write", "true")], None);
    server
        .csv("t", "time,host,load\n2024-05-01T09:30:00Z,a,1.5\n2024-05-01T09:30:20Z,a,2.5\n")
        .data();
    for statement in [
        "CREATE VIEW high AS SELECT * FROM t WHERE load > 2",
        "CREATE MATERIALIZED VIEW minutes AS SELECT time_bucket('1 minute', time) AS minute, host, count(*) AS rows, \
         avg(load) AS load FROM t GROUP BY minute, host",
    ] {
        server.sql(statement, json!([])).data();
    }
    server.csv("t", "time,host,load\n2024-05-01T09:30:40Z,a,8\n2024-05-01T09:31:00Z,b,3\n").data();
    let rows = server.sql("SELECT count(*) AS n FROM high", json!([])).data();
    assert_eq!(rows[0]["n"], 3, "{rows}");
    let rows = server.sql("SELECT host, rows, load FROM minutes ORDER BY minute", json!([])).data();
    let expected = json!([
        { "host": "a", "rows": 3, "load": 4.0 },
        { "host": "b", "rows": 1, "load": 3.0 },
    ]);
    assert_eq!(rows, expected);
    let refused = server.sql("DROP TABLE t", json!([])).error(400);
    assert!(refused.contains("minutes"), "{refused}");
    server.sql("DROP MATERIALIZED VIEW minutes", json!([])).data();
    server.sql("DROP VIEW high", json!([])).data();
    server.sql("DROP TABLE t", json!([])).data();
}
