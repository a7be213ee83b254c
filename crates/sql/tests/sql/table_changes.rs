//! `UPDATE`, `ALTER TABLE` and `TRUNCATE`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{answer, ask, memory};
use timestrata_engine::{ErrorKind, Store};
use timestrata_sql::{Sql, SqlOptions};

fn filled(key: &str) -> (Store, Sql) {
    let store = memory();
    let sql = Sql::open(&store, SqlOptions { threads: 2, ..SqlOptions::default() }).unwrap();
    answer(
        &sql,
        &format!(
            "CREATE TABLE t (time TIMESTAMP NOT NULL, k VARCHAR NOT NULL, n INT, \"Note\" VARCHAR{key})"
        ),
    );
    let rows = (0..3_000)
        .map(|n| format!("('2024-01-01T00:{:02}:{:02}', 'k{n}', {n}, NULL)", n / 60, n % 60));
    answer(&sql, &format!("INSERT INTO t VALUES {}", rows.collect::<Vec<_>>().join(", ")));
    (store, sql)
}

#[test]
fn rows_of_a_table_with_a_key_are_changed_in_one_commit() {
    for key in [", PRIMARY KEY (k)", ", PRIMARY KEY (time, k)"] {
        let (store, sql) = filled(key);
        let before = store.snapshot().unwrap().seq();
        assert_eq!(
            answer(&sql, "UPDATE t SET n = n * 10, note = upper(k) || '!' WHERE n >= 2000"),
            ["1000"],
            "{key}"
        );
        assert_eq!(store.snapshot().unwrap().seq().0, before.0 + 1);
        assert_eq!(
            answer(&sql, "SELECT count(*), sum(n), count(note) FROM t"),
            [format!("3000 {} 1000", 1_999 * 1_000 + 24_995_000)]
        );
        assert_eq!(answer(&sql, "SELECT n, note FROM t WHERE k = 'k2001'"), ["20010 K2001!"]);
        // With its own name or another, and with values for placeholders.
        assert_eq!(answer(&sql, "UPDATE t AS x SET n = -1 WHERE x.k = 'k7'"), ["1"]);
        let params = vec![5_i64.into(), "k8".into()].into();
        let done = sql
            .query_blocking("UPDATE T SET N = $1, \"NOTE\" = NULL WHERE K = $2", params)
            .unwrap();
        assert_eq!(done.collect::<Result<Vec<_>, _>>().unwrap().len(), 1);
        assert_eq!(
            answer(&sql, "SELECT k, n FROM t WHERE n IN (-1, 5) ORDER BY k"),
            ["k5 5", "k7 -1", "k8 5"]
        );
        assert_eq!(answer(&sql, "UPDATE t SET n = 1 WHERE k = 'nobody'"), ["0"]);
        store.flush().unwrap();
        store.compact(None).unwrap();
        assert_eq!(answer(&sql, "SELECT count(*), min(n) FROM t"), ["3000 -1"]);
    }
}

#[test]
fn what_is_no_update_is_refused_and_changes_nothing() {
    let (_store, sql) = filled(", PRIMARY KEY (k)");
    for (statement, told) in [
        ("UPDATE t SET k = 'x'", "tells the rows of 't' apart"),
        ("UPDATE t SET time = now()", "tells the rows of 't' apart"),
        ("UPDATE t SET n = 1, n = 2", "twice"),
        ("UPDATE t SET n = (SELECT max(n) FROM t)", "no subqueries"),
        ("UPDATE t SET n = 1 WHERE n IN (SELECT n FROM t)", "no subqueries"),
        ("UPDATE t SET n = u.n FROM t u", "UPDATE takes a table"),
        ("UPDATE t SET nothing = 1", "there is no column nothing"),
        ("UPDATE nothing SET n = 1", "there is no table"),
    ] {
        let error = ask(&sql, statement).expect_err(statement);
        assert!(error.to_string().contains(told), "{statement}: {error}");
    }
    // A row that doesn't fit, behind others that do.
    let overflow = ask(&sql, "UPDATE t SET n = n * 1000000").unwrap_err();
    assert_eq!(overflow.kind(), ErrorKind::InvalidData, "{overflow}");
    assert_eq!(answer(&sql, "SELECT count(n), max(n) FROM t"), ["3000 2999"]);
    let (_store, without) = filled("");
    let error = ask(&without, "UPDATE t SET n = 1").unwrap_err();
    assert!(error.to_string().contains("has no key"), "{error}");
}

#[test]
fn changes_of_one_row_by_many_at_once_are_all_there() {
    let (_store, sql) = filled(", PRIMARY KEY (k)");
    answer(&sql, "UPDATE t SET n = 0");
    let is_over = Arc::new(AtomicBool::new(false));
    let adding: Vec<_> = (0..3)
        .map(|_| {
            let sql = sql.clone();
            std::thread::spawn(move || {
                for _ in 0..20 {
                    answer(&sql, "UPDATE t SET n = n + 1 WHERE k IN ('k1', 'k2999')");
                }
            })
        })
        .collect();
    // Who reads sees all of a change or nothing of it.
    let reading = {
        let (sql, is_over) = (sql.clone(), Arc::clone(&is_over));
        std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                let apart = "SELECT count(DISTINCT n) FROM t WHERE k IN ('k1', 'k2999')";
                assert_eq!(answer(&sql, apart), ["1"]);
            }
        })
    };
    adding.into_iter().for_each(|thread| thread.join().unwrap());
    is_over.store(true, Ordering::Relaxed);
    reading.join().unwrap();
    assert_eq!(answer(&sql, "SELECT n FROM t WHERE k = 'k1'"), ["60"]);
}

#[test]
fn columns_are_added_and_widened_and_tables_get_other_names() {
    let (_store, sql) = filled("");
    answer(&sql, "ALTER TABLE t ADD COLUMN size DOUBLE, ADD COLUMN \"At\" TIMESTAMP(6)");
    answer(&sql, "ALTER TABLE T ALTER COLUMN N TYPE BIGINT");
    answer(&sql, "ALTER TABLE t ADD COLUMN IF NOT EXISTS size BIGINT");
    answer(&sql, "ALTER TABLE IF EXISTS nothing ADD COLUMN x INT");
    answer(&sql, "INSERT INTO t (time, k, n, size) VALUES ('2024-02-01', 'new', 5000000000, 1.5)");
    assert_eq!(
        answer(&sql, "SELECT count(*), count(size), max(n), count(at) FROM t"),
        ["3001 1 5000000000 0"]
    );
    answer(&sql, "ALTER TABLE t RENAME TO readings");
    assert_eq!(answer(&sql, "SELECT count(*) FROM readings"), ["3001"]);
    assert_eq!(answer(&sql, "TRUNCATE TABLE readings"), ["3001"]);
    assert_eq!(answer(&sql, "SELECT count(*) FROM readings"), ["0"]);
    for (statement, kind, told) in [
        ("ALTER TABLE readings ADD COLUMN size INT", ErrorKind::AlreadyExists, "already"),
        (
            "ALTER TABLE readings ALTER COLUMN n TYPE INT",
            ErrorKind::InvalidArgument,
            "does not hold those of Int64",
        ),
        (
            "ALTER TABLE readings ALTER COLUMN time TYPE TIMESTAMP(0)",
            ErrorKind::InvalidArgument,
            "only gets a finer unit",
        ),
        (
            "ALTER TABLE readings ALTER COLUMN x TYPE INT",
            ErrorKind::InvalidArgument,
            "has no column 'x'",
        ),
        (
            "ALTER TABLE readings ADD COLUMN x INT NOT NULL",
            ErrorKind::InvalidArgument,
            "hold nothing in it",
        ),
        (
            "ALTER TABLE readings DROP COLUMN n",
            ErrorKind::InvalidArgument,
            "neither renamed nor dropped",
        ),
        (
            "ALTER TABLE readings RENAME COLUMN n TO m",
            ErrorKind::InvalidArgument,
            "neither renamed nor dropped",
        ),
        ("ALTER TABLE nothing ADD COLUMN x INT", ErrorKind::NotFound, "no table"),
        ("TRUNCATE nothing", ErrorKind::NotFound, "no table"),
    ] {
        let error = ask(&sql, statement).unwrap_err();
        assert_eq!(error.kind(), kind, "{statement}: {error}");
        assert!(error.to_string().contains(told), "{statement}: {error}");
    }
    let reading = Sql::new(&_store, SqlOptions::default()).unwrap();
    for statement in
        ["UPDATE readings SET n = 1", "TRUNCATE readings", "ALTER TABLE readings RENAME TO x"]
    {
        assert_eq!(ask(&reading, statement).unwrap_err().kind(), ErrorKind::ReadOnly);
        assert!(!timestrata_sql::is_query(statement).unwrap());
    }
}

#[test]
fn times_get_a_finer_unit_and_stay_what_they_were() {
    let store = memory();
    let sql = Sql::open(&store, SqlOptions { threads: 2, ..SqlOptions::default() }).unwrap();
    answer(&sql, "CREATE TABLE t (time TIMESTAMP(0) NOT NULL, k VARCHAR, seen TIMESTAMP(3))");
    let insert = |second: u32, seen: &str| {
        let time = format!("2024-01-01 00:00:{second:02}");
        answer(&sql, &format!("INSERT INTO t VALUES ('{time}', 'k{second}', '{time}.{seen}')"))
    };
    (0..20).for_each(|second| drop(insert(second, "125")));
    store.flush().unwrap();
    store.compact(None).unwrap();
    (20..30).for_each(|second| drop(insert(second, "250")));
    let bounds = "SELECT count(*), min(time), max(time), max(seen) FROM t WHERE time >= '2024-01-01T00:00:05'";
    let before = answer(&sql, bounds);
    let hours = "SELECT time_bucket('10 seconds', time) b, count(*), first(k, time), last(k, time) FROM t GROUP BY b ORDER BY b";
    let buckets = answer(&sql, hours);
    answer(&sql, "CREATE TABLE u (time TIMESTAMP(6) NOT NULL, n INT)");
    answer(&sql, "INSERT INTO u VALUES ('2024-01-01T00:00:07.5', 1)");
    let joined = "SELECT u.n, t.k FROM u ASOF JOIN t ON u.time >= t.time";
    let joined_before = answer(&sql, joined);
    assert_eq!(joined_before, ["1 k7"]);
    for digits in [3, 6, 9] {
        let alter = format!(
            "ALTER TABLE t ALTER COLUMN time TYPE TIMESTAMP({digits}), ALTER COLUMN seen TYPE TIMESTAMP({digits})"
        );
        answer(&sql, &alter);
        assert_eq!(answer(&sql, bounds), before, "{digits}");
        assert_eq!(answer(&sql, hours), buckets, "{digits}");
        assert_eq!(answer(&sql, joined), joined_before, "{digits}");
    }
    answer(&sql, "INSERT INTO t VALUES ('2024-01-01T00:00:07.000000001', 'fine', NULL)");
    let fine = "SELECT k FROM t WHERE time BETWEEN '2024-01-01T00:00:07' AND '2024-01-01T00:00:07.9' ORDER BY time";
    assert_eq!(answer(&sql, fine), ["k7", "fine"]);
    assert_eq!(answer(&sql, "DELETE FROM t WHERE time <= '2024-01-01T00:00:07'"), ["8"]);
    assert_eq!(answer(&sql, "SELECT k FROM t ORDER BY time LIMIT 2"), ["fine", "k8"]);
    // What a materialised view keeps is told in the unit that it had.
    answer(&sql, "CREATE TABLE w (time TIMESTAMP(0) NOT NULL, n INT)");
    let view = "CREATE MATERIALIZED VIEW v AS SELECT time_bucket('1 hour', time) h, sum(n) s FROM w GROUP BY h";
    answer(&sql, view);
    let error = ask(&sql, "ALTER TABLE w ALTER COLUMN time TYPE TIMESTAMP(6)").unwrap_err();
    assert!(error.to_string().contains("drop its materialised view 'v' first"), "{error}");
}

#[test]
fn changed_rows_are_counted_anew_in_a_materialised_view() {
    let (store, sql) = filled(", PRIMARY KEY (time, k)");
    let asked =
        "SELECT time_bucket('10 minutes', time) b, count(*) c, sum(n) s, max(n) m, last(n, time) l";
    answer(&sql, &format!("CREATE MATERIALIZED VIEW v AS {asked} FROM t GROUP BY b"));
    let view = "SELECT * FROM v ORDER BY b";
    let plain = format!("{asked} FROM t GROUP BY b ORDER BY b");
    assert_eq!(answer(&sql, view), answer(&sql, &plain));
    for change in [
        "UPDATE t SET n = n + 100000 WHERE n % 7 = 3",
        "UPDATE t SET n = NULL WHERE n < 50",
        "UPDATE t SET n = -n WHERE time >= '2024-01-01T00:40:00'",
        "DELETE FROM t WHERE n < -2900",
        "UPDATE t SET n = 1",
    ] {
        assert_ne!(answer(&sql, change), ["0"], "{change}");
        assert_eq!(answer(&sql, view), answer(&sql, &plain), "{change}");
        store.flush().unwrap();
        store.compact(None).unwrap();
        assert_eq!(answer(&sql, view), answer(&sql, &plain), "{change}, compacted");
    }
}
