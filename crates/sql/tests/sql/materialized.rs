//! Materialised views: what is refused, what their tables refuse for their sake, and a process that is killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use timestrata_engine::{Access, ErrorKind, Io, Maintenance, Moment, Retention, Settings, Store};
use timestrata_sql::{Sql, SqlOptions, is_query};
use timestrata_table::{MARGIN, Table};

use crate::support::{answer, ask, settings};
use crate::until::until;
use crate::views_at_random::{Machine, VIEW, time_text};

pub(crate) fn kept() -> Settings {
    Settings { history_min: Duration::from_secs(600), ..settings() }
}

pub(crate) fn open(io: &Io, settings: Settings) -> (Store, Sql) {
    let store = Store::open_with(io.clone(), Path::new("store"), Access::Write, settings).unwrap();
    let sql = Sql::open(&store, SqlOptions { threads: 2, ..SqlOptions::default() }).unwrap();
    (store, sql)
}

fn run(sql: &Sql, statement: &str) {
    ask(sql, statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
}

const TABLE: &str =
    "CREATE TABLE t (time TIMESTAMP NOT NULL, host VARCHAR, n BIGINT, x DOUBLE, d DECIMAL(10, 2))";
const COUNTS: &str = "CREATE MATERIALIZED VIEW v AS SELECT time_bucket('1 hour', time) AS hour, host, count(*) AS rows, sum(n) AS total \
     FROM t GROUP BY hour, host";

#[test]
fn what_cannot_be_kept_is_refused_and_told_why() {
    let (store, sql) = open(&Io::memory(), kept());
    run(&sql, TABLE);
    run(&sql, "CREATE VIEW plain AS SELECT * FROM t");
    store
        .create_stream(timestrata_engine::StreamSpec::new("stream", crate::support::schema()))
        .unwrap();
    let bucket = "time_bucket('1 hour', time)";
    for (query, words) in [
        (format!("SELECT {bucket}, median(x) FROM t GROUP BY 1"), "median(x) is no group"),
        (format!("SELECT {bucket}, count(DISTINCT n) FROM t GROUP BY 1"), "count(DISTINCT n)"),
        (format!("SELECT {bucket}, sum(n) FILTER (WHERE n > 1) FROM t GROUP BY 1"), "FILTER"),
        (format!("SELECT {bucket}, sum(n) + 1 FROM t GROUP BY 1"), "sum(n) + 1"),
        (format!("SELECT {bucket}, sum(n) OVER () FROM t GROUP BY 1"), "OVER"),
        (format!("SELECT {bucket}, first(n, x) FROM t GROUP BY 1"), "first(n, x)"),
        (format!("SELECT {bucket}, n + 1, sum(n) FROM t GROUP BY 1, 2"), "grouped by n + 1"),
        (format!("SELECT {bucket}, sum(n) FROM t GROUP BY 1 HAVING sum(n) > 1"), "has parts"),
        (format!("SELECT {bucket}, sum(n) FROM t GROUP BY 1 ORDER BY 1"), "has parts"),
        (format!("SELECT {bucket}, sum(n) FROM t GROUP BY 1 LIMIT 1"), "has parts"),
        (format!("SELECT DISTINCT {bucket}, sum(n) FROM t GROUP BY 1"), "has parts"),
        (format!("SELECT {bucket}, sum(n) FROM t a GROUP BY 1"), "has parts"),
        (
            format!("SELECT {bucket}, sum(a.n) FROM t a JOIN t b USING (time) GROUP BY 1"),
            "has parts",
        ),
        (format!("SELECT {bucket}, sum(t.n) FROM t GROUP BY 1"), "write t.n without"),
        (format!("SELECT {bucket}, sum(n) FROM t, t u GROUP BY 1"), "not of one table"),
        (format!("SELECT {bucket}, sum(n) FROM (SELECT * FROM t) u GROUP BY 1"), "is no table"),
        (format!("SELECT {bucket}, sum(n) FROM t WHERE n IN (SELECT 1) GROUP BY 1"), "a query in"),
        (
            format!("SELECT {bucket}, sum(n) FROM t WHERE time < now() GROUP BY 1"),
            "what the time is",
        ),
        (
            format!("SELECT {bucket}, sum(n) FROM t WHERE random() < 1 GROUP BY 1"),
            "what the time is",
        ),
        ("SELECT host, sum(n) FROM t GROUP BY host".to_owned(), "no bucket of time"),
        ("SELECT count(*) FROM t".to_owned(), "has parts"),
        ("SELECT time_bucket('1 month', time), sum(n) FROM t GROUP BY 1".to_owned(), "months"),
        (
            format!("SELECT {bucket}, time_bucket('1 day', time), sum(n) FROM t GROUP BY 1, 2"),
            "two buckets",
        ),
        (
            "SELECT time_bucket('1 hour', time, '2024-01-01') AS b, sum(n) FROM t GROUP BY b"
                .to_owned(),
            "takes an interval and",
        ),
        (format!("SELECT {bucket} AS n, sum(n) FROM t GROUP BY n"), "group by its place"),
        (format!("SELECT {bucket}, avg(d) FROM t GROUP BY 1"), "does not keep"),
        (format!("SELECT {bucket}, sum(n) FROM plain GROUP BY 1"), "is a view"),
        (format!("SELECT {bucket}, sum(n) FROM stream GROUP BY 1"), "is no table"),
        (format!("SELECT {bucket}, sum(n) FROM nowhere GROUP BY 1"), "there is no table"),
        ("SELECT 1 UNION SELECT 2".to_owned(), "not one SELECT"),
    ] {
        let error = ask(&sql, &format!("CREATE MATERIALIZED VIEW v AS {query}")).unwrap_err();
        assert!(error.message().contains(words), "{query}: {error}");
        let expected = match words {
            "there is no table" => ErrorKind::NotFound,
            _ => ErrorKind::InvalidArgument,
        };
        assert_eq!(error.kind(), expected, "{query}: {error}");
    }
    assert_eq!(sql.tables().unwrap(), ["plain", "stream", "t"]);
}

#[test]
fn stores_that_keep_no_changes_have_none() {
    let memory = Store::memory(settings()).unwrap();
    let memory = Sql::open(&memory, SqlOptions::default()).unwrap();
    let none = Settings { history_min: Duration::ZERO, ..settings() };
    let (_store, without) = open(&Io::memory(), none);
    for sql in [memory, without] {
        run(&sql, TABLE);
        let error = ask(&sql, COUNTS).unwrap_err();
        assert!(error.message().contains("history_min"), "{error}");
        assert_eq!(sql.tables().unwrap(), ["t"]);
    }
}

#[test]
fn a_table_stays_what_its_materialised_view_needs() {
    let (store, sql) = open(&Io::memory(), kept());
    run(&sql, TABLE);
    run(&sql, "INSERT INTO t VALUES ('2024-05-01 09:30:00', 'a', 1, 1.5, 2.5)");
    run(&sql, COUNTS);
    assert!(!is_query(COUNTS).unwrap() && !is_query("DROP MATERIALIZED VIEW v").unwrap());
    assert_eq!(answer(&sql, "SELECT host, rows, total FROM v"), ["a 1 1"]);
    let table = Table::open(&store, "t").unwrap();
    let bytes = Retention { age_ns: None, bytes: Some(1 << 20) };
    for error in [
        ask(&sql, "DROP TABLE t").unwrap_err(),
        table.rename("u").unwrap_err(),
        table.set_retention(bytes).unwrap_err(),
    ] {
        assert!(error.message().contains("drop its materialised view 'v' first"), "{error}");
    }
    for (statement, words) in [
        (COUNTS, "there is a view 'v' already"),
        ("DROP VIEW v", "DROP MATERIALIZED VIEW removes it"),
        ("DROP TABLE v", "is a view"),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", "there is a view 'v' already"),
        ("INSERT INTO v SELECT * FROM v", "is a view"),
        ("DELETE FROM v", "is a view"),
    ] {
        let error = ask(&sql, statement).unwrap_err();
        assert!(error.message().contains(words), "{statement}: {error}");
    }
    assert_eq!(
        answer(
            &sql,
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'v'"
        ),
        ["hour Timestamp(ns, \"UTC\")", "host Utf8", "rows Int64", "total Int64"]
    );
    assert_eq!(store.followers().unwrap().keys().collect::<Vec<_>>(), ["view v"]);
    run(&sql, "DROP MATERIALIZED VIEW v");
    assert!(store.followers().unwrap().is_empty());
    run(&sql, "DROP TABLE t");
    assert!(store.streams().is_empty(), "{:?}", store.streams());
}

#[test]
fn rows_that_expire_stay_in_the_view_and_their_buckets_are_closed() {
    let machine = Machine::new();
    let (store, sql) = machine.open();
    run(&sql, TABLE);
    let table = Table::open(&store, "t").unwrap();
    let hour = 3_600_000_000_000_i64;
    table.set_retention(Retention { age_ns: Some(5 * hour as u64), bytes: None }).unwrap();
    run(&sql, COUNTS);
    let insert = |ago_ns: i64| {
        let time = time_text(machine.now_ns() - ago_ns);
        ask(&sql, &format!("INSERT INTO t VALUES ('{time}', 'a', 1, 0, 0)"))
    };
    insert(0).unwrap();
    insert(4 * hour - 2).unwrap();
    sql.fold_views().unwrap();
    let total = || answer(&sql, "SELECT sum(rows) FROM v");
    assert_eq!(total(), ["2"]);
    store.flush().unwrap();
    machine.clock.advance_ns(6 * hour);
    store.compact(None).unwrap();
    assert_eq!(answer(&sql, "SELECT count(*) FROM t"), ["0"]);
    assert_eq!(total(), ["2"]);
    sql.fold_views().unwrap();
    assert_eq!(total(), ["2"]);
    // Late, but of a bucket that is open.
    insert(3 * hour).unwrap();
    assert_eq!(total(), ["3"]);
    let margin = i64::try_from(MARGIN.as_nanos()).unwrap();
    for ago_ns in [5 * hour + 1, 6 * hour, 5 * hour - margin / 2] {
        let error = insert(ago_ns).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(error.message().contains("materialised view 'v'"), "{error}");
    }
    let cells = [timestrata_engine::Cell::Int(machine.now_ns() - 9 * hour)];
    let error = table.append_row(&cells, timestrata_engine::Durability::Written).unwrap_err();
    assert!(error.message().contains("materialised view 'v'"), "{error}");
    let error = ask(&sql, "DELETE FROM t").unwrap_err();
    assert!(error.message().contains("neither come nor go"), "{error}");
    let from = time_text(machine.now_ns() - 3 * hour);
    run(&sql, &format!("DELETE FROM t WHERE time >= '{from}'"));
    assert_eq!(total(), ["2"]);
    // A store as it was has what had not expired by then, and its view more.
    let seq = store.snapshot().unwrap().seq();
    let then = store.at(&Moment::Commit(seq)).unwrap();
    let then = Sql::new(&then, SqlOptions::default()).unwrap();
    assert_eq!(answer(&then, "SELECT sum(rows) FROM v"), ["2"]);
}

#[test]
fn a_thread_of_the_store_keeps_views_up_to_date_and_reading_changes_nothing() {
    let settings = Settings { maintenance: Maintenance::Background, ..kept() };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let store = Store::open(&path, settings).unwrap();
    let sql = Sql::open(&store, SqlOptions::default()).unwrap();
    run(&sql, TABLE);
    run(&sql, COUNTS);
    run(&sql, "INSERT INTO t VALUES ('2024-05-01 09:30:00', 'a', 1, 1.5, 2.5)");
    let reader = Store::open_with(Io::os(), &path, Access::Read, kept()).unwrap();
    let beside = Sql::new(&reader, SqlOptions::default()).unwrap();
    assert_eq!(answer(&beside, "SELECT host, rows FROM v"), ["a 1"]);
    let stored = || {
        let view = store.expect_stream("v").unwrap().id();
        store.snapshot().unwrap().count(view, &timestrata_engine::KeyRange::ALL).unwrap()
    };
    until(|| stored() == 1);
    assert_eq!(answer(&sql, "SELECT host, rows FROM v"), ["a 1"]);
    run(&sql, "DELETE FROM t");
    until(|| stored() == 0);
    assert_eq!(answer(&sql, "SELECT count(*) FROM v"), ["0"]);
}

#[test]
fn many_rows_of_one_commit_are_counted_too() {
    let (store, sql) = open(&Io::memory(), Settings { memtable_bytes_max: 1 << 20, ..kept() });
    run(&sql, TABLE);
    run(&sql, COUNTS);
    run(
        &sql,
        "INSERT INTO t SELECT to_timestamp(1714521600 + value), 'h' || (value % 3), value, 0, 0 \
         FROM generate_series(1, 200000)",
    );
    let direct = "SELECT time_bucket('1 hour', time) AS hour, host, count(*) AS rows, sum(n) AS total FROM t GROUP BY hour, host";
    let expected = answer(&sql, &format!("{direct} ORDER BY 1, 2"));
    assert_eq!(expected.len(), 168);
    assert_eq!(answer(&sql, "SELECT * FROM v ORDER BY 1, 2"), expected);
    sql.fold_views().unwrap();
    assert_eq!(answer(&sql, "SELECT * FROM v ORDER BY 1, 2"), expected);
    // Only the buckets that are asked for are read.
    let plan =
        answer(&sql, "EXPLAIN FORMAT INDENT SELECT * FROM v WHERE hour = '2024-05-02'").join(" ");
    assert!(plan.contains("range=[1714608000000000000, 1714608000000000001)"), "{plan}");
    drop(store);
}

const CHILD_DIR: &str = "TIMESTRATA_VIEW_TEST_DIR";

/// What [`a_view_has_all_of_a_change_or_nothing_of_it_after_a_kill`] kills: itself, in another process.
fn write_until_killed(dir: &Path) -> ! {
    let settings = Settings { maintenance: Maintenance::Background, ..kept() };
    let store = Store::open(dir, settings).unwrap();
    let sql = Sql::open(&store, SqlOptions::default()).unwrap();
    let mut n = answer(&sql, "SELECT coalesce(max(n), 0) + 1 FROM t")[0].parse::<i64>().unwrap();
    loop {
        let time = time_text(1_700_000_000_000_000_000 + (n % 97) * 600_000_000_000);
        run(&sql, &format!("INSERT INTO t VALUES ('{time}', 'h{}', {n}, 0.5, 1)", n % 5));
        if n % 7 == 0 {
            run(&sql, &format!("DELETE FROM t WHERE n = {}", n - 5));
        }
        println!("\nwritten {n}");
        n += 1;
    }
}

#[test]
fn a_view_has_all_of_a_change_or_nothing_of_it_after_a_kill() {
    if let Some(dir) = std::env::var_os(CHILD_DIR) {
        write_until_killed(Path::new(&dir));
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let store = Store::open(&path, kept()).unwrap();
    let sql = Sql::open(&store, SqlOptions::default()).unwrap();
    run(&sql, TABLE);
    run(
        &sql,
        &format!(
            "CREATE MATERIALIZED VIEW v AS {}",
            VIEW.replace("{t}", "t").replace("label", "host")
        ),
    );
    drop(sql);
    store.close().unwrap();
    drop(store);
    for round in 1..=4 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "materialized::a_view_has_all_of_a_change_or_nothing_of_it_after_a_kill",
                "--exact",
                "--nocapture",
            ])
            .env(CHILD_DIR, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut written = lines
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("written ").map(str::to_owned));
        let last = written.nth(40).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let store = Store::open(&path, kept()).unwrap();
        let sql = Sql::open(&store, SqlOptions::default()).unwrap();
        let there = answer(&sql, &format!("SELECT count(*) FROM t WHERE n = {last}"));
        assert_eq!(there, ["1"], "round {round}");
        let direct = VIEW.replace("{t}", "t").replace("label", "host");
        let expected = answer(&sql, &format!("SELECT * FROM ({direct}) ORDER BY 1, 2"));
        assert_eq!(answer(&sql, "SELECT * FROM v ORDER BY 1, 2"), expected, "round {round}");
        sql.fold_views().unwrap();
        assert_eq!(answer(&sql, "SELECT * FROM v ORDER BY 1, 2"), expected, "round {round}");
        drop(sql);
        store.close().unwrap();
    }
}
