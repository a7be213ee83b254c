//! Rows in memory as tables of one query.

use std::sync::Arc;

use datafusion::arrow::array::{Int64Array, RecordBatch, StringArray};

use crate::support::{answer, ask, create, insert, memory, rows, sql};
use timestrata_engine::{ErrorKind, Merge, RunFormat, Store};
use timestrata_sql::{LocalTable, Sql};

fn names() -> RecordBatch {
    let keys = StringArray::from(vec!["s0", "s1", "s9"]);
    let sizes = Int64Array::from(vec![10, 20, 30]);
    RecordBatch::try_from_iter([("series", Arc::new(keys) as _), ("Size", Arc::new(sizes) as _)])
        .unwrap()
}

fn local(name: &str, batches: Vec<RecordBatch>) -> LocalTable {
    LocalTable::new(name, names().schema(), batches).unwrap()
}

fn filled() -> (Store, Sql) {
    let store = memory();
    let stream = create(&store, "t", Merge::Keep, RunFormat::Hot);
    insert(&store, stream, rows(&[1, 2, 3, 4], 1));
    let sql = sql(&store);
    (store, sql)
}

#[test]
fn a_query_joins_its_own_rows_with_those_of_the_store() {
    let (_store, sql) = filled();
    let sql = sql.with_tables([local("Names", vec![names(), names()]), local("empty", vec![])]);
    let query = "SELECT n, size FROM t JOIN names USING (series) ORDER BY n, size";
    assert_eq!(answer(&sql, query), ["1 20", "1 20", "3 10", "3 10", "4 20", "4 20"]);
    assert_eq!(answer(&sql, "SELECT count(*), sum(size) FROM NAMES WHERE size > 10"), ["4 100"]);
    assert_eq!(answer(&sql, "SELECT count(*) FROM empty"), ["0"]);
    assert_eq!(answer(&sql, "WITH names AS (SELECT 1 AS a) SELECT a FROM names"), ["1"]);
    // They are tables of this query, and not of the store.
    assert_eq!(
        answer(
            &sql,
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        ),
        ["t"]
    );
    let error = ask(&sql, "SELECT * FROM nothing").unwrap_err();
    assert!(error.to_string().contains("Names"), "{error}");
}

#[test]
fn a_name_that_the_store_has_is_an_error() {
    let (_store, sql) = filled();
    for clash in [vec![local("T", vec![])], vec![local("a", vec![]), local("A", vec![])]] {
        let error = ask(&sql.with_tables(clash), "SELECT 1").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
}

#[test]
fn statements_write_rows_of_a_query_to_the_store_and_never_the_other_way() {
    let (_store, sql) = filled();
    let with_names = sql.with_tables([local("names", vec![names()])]);
    let insert = "INSERT INTO t SELECT arrow_cast(size, 'Timestamp(Millisecond, Some(\"UTC\"))'), series, size, NULL FROM names";
    assert_eq!(answer(&with_names, insert), ["3"]);
    assert_eq!(answer(&sql, "SELECT max(n) FROM t"), ["30"]);
    for refused in [
        "INSERT INTO names VALUES ('x', 1)",
        "DELETE FROM names",
        "DROP TABLE names",
        "CREATE VIEW v AS SELECT * FROM names",
    ] {
        let error = ask(&with_names, refused).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{refused}: {error}");
    }
    // A view of the store that reads a table of that name doesn't see what a query brings.
    answer(&sql, "CREATE TABLE names (time TIMESTAMP NOT NULL)");
    answer(&sql, "CREATE VIEW v AS SELECT * FROM names");
    answer(&sql, "DROP TABLE names");
    assert_eq!(ask(&with_names, "SELECT * FROM v").unwrap_err().kind(), ErrorKind::NotFound);
}
