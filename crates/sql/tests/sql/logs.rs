//! A log in SQL: its entries with levels by name, and its fields as columns.

use timestrata_engine::{Durability, Settings, Store};
use timestrata_logs::{Level, Logs, LogsOptions, NewEntry};

use crate::support::{answer, ask, plan, sql};

fn request(index: usize) -> NewEntry {
    let mut entry = NewEntry::new(format!("GET /{index}"));
    entry.level = Some(if index.is_multiple_of(10) { Level::Error } else { Level::Info });
    entry.source_time = Some(index as i64 * 1_000_000_000);
    entry.fields.int("status", if index.is_multiple_of(10) { 500 } else { 200 });
    entry.fields.text("agent", &format!("browser {}", index % 3));
    if index.is_multiple_of(100) {
        entry.fields.bool("odd", true);
    }
    entry
}

fn store() -> (Store, Logs) {
    let store = Store::memory(Settings::default()).unwrap();
    let logs = Logs::create(&store, "app", &LogsOptions::default()).unwrap();
    // The first of them came before their fields had columns.
    for index in 0..3_000 {
        logs.write(&request(index)).unwrap();
    }
    assert_eq!(logs.columns().unwrap(), ["status", "agent"]);
    (store, logs)
}

#[test]
fn a_log_is_a_table_of_entries_with_levels_by_name() {
    let (store, _) = store();
    let sql = sql(&store);
    assert_eq!(sql.tables().unwrap(), ["app"]);
    let columns = "SELECT column_name FROM information_schema.columns WHERE table_name = 'app'";
    let names =
        ["timestamp", "source_time", "level", "message", "labels", "fields", "status", "agent"];
    assert_eq!(answer(&sql, columns), names);
    let levels = "SELECT level, count(*) FROM app GROUP BY level ORDER BY 1";
    assert_eq!(answer(&sql, levels), ["error 300", "info 2700"]);
    let one = "SELECT message, fields FROM app WHERE source_time = '1970-01-01T00:05:00Z'";
    let expected = r#"GET /300 {"agent":"browser 0","odd":true,"status":500}"#;
    assert_eq!(answer(&sql, one), [expected]);
    assert!(ask(&sql, "INSERT INTO app (message) VALUES ('x')").is_err());
}

#[test]
fn a_field_has_its_values_in_sql_wherever_they_are_kept() {
    let (store, logs) = store();
    let sql = sql(&store);
    let mut other = NewEntry::new("other");
    other.fields.text("status", "gone");
    logs.write_many(&[other], Durability::Written).unwrap();
    for _ in 0..2 {
        let statuses = "SELECT status, count(*) FROM app GROUP BY status ORDER BY status";
        let found = answer(&sql, statuses);
        assert_eq!(&found[..2], ["200 2700", "500 300"]);
        assert_eq!(found.len(), 3, "a value of another kind is null: {found:?}");
        let agents = "SELECT count(*) FROM app WHERE agent = 'browser 1' AND status = 500";
        assert_eq!(answer(&sql, agents), ["100"]);
        let gone = r#"SELECT message FROM app WHERE fields = '{"status":"gone"}'"#;
        assert_eq!(answer(&sql, gone), ["other"]);
        logs.flush().unwrap();
        logs.compact().unwrap();
    }
}

#[test]
fn ranges_limits_and_orders_of_a_log_are_pushed_down() {
    let (store, logs) = store();
    let sql = sql(&store);
    let middle = logs.snapshot().unwrap().first_timestamp().unwrap().unwrap() + 1;
    let newest = "SELECT message FROM app ORDER BY timestamp DESC LIMIT 2";
    assert_eq!(answer(&sql, newest), ["GET /2999", "GET /2998"]);
    assert!(plan(&sql, newest).contains("reverse"), "{}", plan(&sql, newest));
    let range = format!(
        "SELECT message FROM app WHERE timestamp < arrow_cast({middle}, 'Timestamp(ns, \"UTC\")')"
    );
    assert_eq!(answer(&sql, &range), ["GET /0"]);
    assert!(plan(&sql, &range).contains("range="), "{}", plan(&sql, &range));
}
