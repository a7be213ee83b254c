//! Views: kept with the store, read at a snapshot, made by those who may write.

use std::path::Path;

use timestrata_engine::{Access, ErrorKind, Io, Moment, Store};
use timestrata_sql::{Sql, SqlOptions, is_query};

use crate::support::{answer, ask, settings};

fn open(io: &Io) -> Store {
    Store::open_with(io.clone(), Path::new("store"), Access::Write, settings()).unwrap()
}

fn with_view(store: &Store) -> Sql {
    let sql = Sql::open(store, SqlOptions { threads: 2, ..SqlOptions::default() }).unwrap();
    for statement in [
        "CREATE TABLE t (time TIMESTAMP NOT NULL, n BIGINT)",
        "INSERT INTO t VALUES ('2024-05-01', 1), ('2024-05-02', 2), ('2024-05-03', 3)",
        "CREATE VIEW v AS SELECT time, n * 10 AS tens FROM t WHERE n > 1",
    ] {
        ask(&sql, statement).unwrap();
    }
    sql
}

#[test]
fn views_are_there_after_a_restart_and_in_backups() {
    let io = Io::memory();
    let store = open(&io);
    drop(with_view(&store));
    store.backup(Path::new("backup")).unwrap();
    store.close().unwrap();
    for dir in ["store", "backup"] {
        let store =
            Store::open_with(io.clone(), Path::new(dir), Access::Write, settings()).unwrap();
        let sql = Sql::open(&store, SqlOptions::default()).unwrap();
        assert_eq!(answer(&sql, "SELECT tens FROM v ORDER BY tens"), ["20", "30"]);
        store.close().unwrap();
    }
}

#[test]
fn a_view_answers_as_of_the_commit_at_which_the_store_is_read() {
    let store = open(&Io::memory());
    let sql = with_view(&store);
    store.pin("before").unwrap();
    ask(&sql, "INSERT INTO t VALUES ('2024-05-04', 4)").unwrap();
    let before = store.snapshot().unwrap();
    ask(&sql, "DELETE FROM t WHERE n = 2").unwrap();
    assert_eq!(answer(&sql, "SELECT tens FROM v ORDER BY tens"), ["30", "40"]);
    let then = sql.at_snapshot(before);
    assert_eq!(answer(&then, "SELECT tens FROM v ORDER BY tens"), ["20", "30", "40"]);
    let then = store.at(&Moment::Pin("before".to_owned())).unwrap();
    let then = Sql::new(&then, SqlOptions::default()).unwrap();
    assert_eq!(answer(&then, "SELECT tens FROM v ORDER BY tens"), ["20", "30"]);
}

#[test]
fn only_those_who_may_write_make_views_and_remove_them() {
    let store = open(&Io::memory());
    let sql = with_view(&store);
    let read_only = Sql::new(&store, SqlOptions::default()).unwrap();
    let then = sql.at_snapshot(store.snapshot().unwrap());
    for statement in
        ["CREATE VIEW w AS SELECT 1", "CREATE OR REPLACE VIEW v AS SELECT 1", "DROP VIEW v"]
    {
        assert!(!is_query(statement).unwrap(), "{statement}");
        for sql in [&read_only, &then] {
            let error = ask(sql, statement).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ReadOnly, "{statement}: {error}");
        }
    }
    assert_eq!(answer(&read_only, "SELECT count(*) FROM v"), ["2"]);
    assert_eq!(read_only.tables().unwrap(), ["t", "v"]);
}

#[test]
fn conditions_on_a_view_become_ranges_of_its_table() {
    let store = open(&Io::memory());
    let sql = with_view(&store);
    let plan = answer(&sql, "EXPLAIN FORMAT INDENT SELECT tens FROM v WHERE time >= '2024-05-03'");
    assert!(plan.join("\n").contains("range=[1714694400000000000, ..]"), "{plan:?}");
}

#[test]
fn a_query_too_long_to_be_kept_is_refused() {
    let store = open(&Io::memory());
    let sql = with_view(&store);
    let list = (0..20_000).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let error = ask(&sql, &format!("CREATE VIEW w AS SELECT * FROM t WHERE n IN ({list})"));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::TooLarge);
    // What is as long as may be comes back.
    let blanks = " ".repeat(60 << 10);
    ask(&sql, &format!("CREATE VIEW w AS SELECT n{blanks} FROM t")).unwrap();
    assert_eq!(answer(&sql, "SELECT count(*) FROM w"), ["3"]);
}
