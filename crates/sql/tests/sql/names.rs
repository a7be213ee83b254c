//! Columns and expressions that are called the same: DataFusion refuses a `SELECT` of two such, and takes casts and
//! parentheses for no part of a name.

use crate::support::{answer, ask, create, insert, lines, memory, rows, sql};
use timestrata_engine::{ErrorKind, Merge, RunFormat, Store};
use timestrata_sql::{Params, Sql};

/// Two tables: of 1, 2 and 3 milliseconds, and of 2 and 3.
fn filled() -> (Store, Sql) {
    let store = memory();
    let left = create(&store, "t", Merge::Keep, RunFormat::Hot);
    let right = create(&store, "u", Merge::Keep, RunFormat::Hot);
    insert(&store, left, rows(&[1, 2, 3], 1));
    insert(&store, right, rows(&[2, 3], 8));
    let sql = sql(&store);
    (store, sql)
}

/// The names of the columns, and the rows.
fn named(sql: &Sql, query: &str) -> (String, Vec<String>) {
    let result = sql
        .query_blocking(query, Params::none())
        .unwrap_or_else(|error| panic!("{query}: {error}"));
    let names: Vec<String> =
        result.schema().fields().iter().map(|field| field.name().clone()).collect();
    let batches: Vec<_> = result.collect::<Result<_, _>>().unwrap();
    (names.join("|"), lines(&batches))
}

fn assert_named(sql: &Sql, query: &str, names: &str, rows: &[&str]) {
    let (found, answered) = named(sql, query);
    assert_eq!(found, names, "{query}");
    assert_eq!(answered, rows, "{query}");
}

#[test]
fn what_is_selected_twice_is_there_twice() {
    let (_store, sql) = filled();
    for (query, names, rows) in [
        ("SELECT n, n FROM t WHERE n = 1", "n|n:1", "1 1"),
        ("SELECT t.n, n, N, \"n\" FROM t WHERE n = 1", "n|n:1|n:2|n:3", "1 1 1 1"),
        ("SELECT 1, 1", "1|1:1", "1 1"),
        ("SELECT 1 AS a, 2 AS a, 3 AS \"a:1\"", "a|a:1|a:1:1", "1 2 3"),
        ("SELECT count(*), count(*) FROM t", "count(*)|count(*):1", "3 3"),
        ("SELECT n + 1 AS n, n FROM t WHERE n = 1", "n|n:1", "2 1"),
        ("SELECT n AS y, series AS y FROM t WHERE n > 1 ORDER BY y DESC LIMIT 1", "y|y:1", "3 s0"),
        ("SELECT DISTINCT series, series FROM t WHERE n = 2", "series|series:1", "s2 s2"),
        ("SELECT series AS k, sum(n) AS k FROM t WHERE n < 2 GROUP BY 1", "k|k:1", "s1 1"),
        ("SELECT n, n FROM t WHERE n = 1 UNION ALL SELECT n, n FROM u WHERE n = 0", "n|n:1", "1 1"),
    ] {
        assert_named(&sql, query, names, &[rows]);
    }
    let mut twice = sql
        .query_blocking("SELECT n, n FROM t WHERE n = $1", Params::from(vec![2_i64.into()]))
        .unwrap();
    assert_eq!(lines(&[twice.next().unwrap().unwrap()]), ["2 2"]);
}

#[test]
fn casts_and_parentheses_tell_expressions_apart() {
    let (_store, sql) = filled();
    assert_named(
        &sql,
        "SELECT sum(n), sum(CAST(n AS DOUBLE)), sum(n::double) FROM t",
        "sum(n)|sum(CAST(n AS DOUBLE))|sum(n::DOUBLE)",
        &["6 6.0 6.0"],
    );
    assert_named(
        &sql,
        "SELECT sum((n + 1) * 2) AS a, sum(n + 1 * 2) AS b, min(n) AS c, min(CAST(n AS VARCHAR)) AS d FROM t",
        "a|b|c|d",
        &["18 12 1 1"],
    );
    assert_named(
        &sql,
        "SELECT time, time::date, CAST(time AS TIMESTAMP) FROM t WHERE n = 1",
        "time|time::DATE|CAST(time AS TIMESTAMP)",
        &["1970-01-01T00:00:00.001Z 1970-01-01 1970-01-01T00:00:00.001"],
    );
    let grouped =
        "SELECT time::date AS day, time, count(*) FROM t GROUP BY time::date, time ORDER BY 2";
    assert_eq!(answer(&sql, grouped).len(), 3);
    assert_eq!(
        answer(&sql, "SELECT NULL::boolean AS a, NULL::bigint AS b FROM t GROUP BY 1, 2"),
        ["NULL NULL"]
    );
    assert_eq!(
        answer(
            &sql,
            "SELECT time::date AS day, time, count(*) AS c FROM t \
             GROUP BY ROLLUP(time::date, time) ORDER BY c DESC, 1, 2 LIMIT 2"
        ),
        ["1970-01-01 NULL 3", "NULL NULL 3"]
    );
    assert_eq!(
        answer(
            &sql,
            "SELECT series FROM t GROUP BY series \
             HAVING sum(n) > 1 AND sum(CAST(n AS DOUBLE)) < 3.0 ORDER BY sum(CAST(n AS VARCHAR)::int)"
        ),
        ["s2"]
    );
    assert_eq!(
        answer(
            &sql,
            "SELECT sum(n) OVER (ORDER BY n) AS a, sum(CAST(n AS DOUBLE)) OVER (ORDER BY n) AS b FROM t"
        ),
        ["1 1.0", "3 3.0", "6 6.0"]
    );
    assert_eq!(
        answer(
            &sql,
            "SELECT (SELECT max(n) FROM t) AS a, (SELECT max(CAST(n AS DOUBLE)) FROM u), (SELECT min(n) FROM u)"
        ),
        ["3 9.0 8"]
    );
}

#[test]
fn buckets_of_other_intervals_have_other_names() {
    let (_store, sql) = filled();
    assert_named(
        &sql,
        "SELECT count(DISTINCT time_bucket(INTERVAL '1 ms', time)) AS one,              time_bucket(INTERVAL '1 month 2 days', time) = time_bucket(INTERVAL '1 month', time) AS same,              time_bucket(INTERVAL '1 month 2 ms', time) IS NULL AS none FROM t WHERE false GROUP BY 2, 3",
        "one|same|none",
        &[],
    );
    assert_named(
        &sql,
        "SELECT time_bucket(INTERVAL '1 ms', time), count(*) FROM t WHERE n = 1 GROUP BY 1",
        "time_bucket(1000000 ns,t.time)|count(*)",
        &["1970-01-01T00:00:00.001Z 1"],
    );
    assert_named(
        &sql,
        "SELECT time_bucket(INTERVAL '2 ms', time) AS a, time_bucket(INTERVAL '1 ms', time) AS b          FROM t WHERE n = 3",
        "a|b",
        &["1970-01-01T00:00:00.002Z 1970-01-01T00:00:00.003Z"],
    );
}

#[test]
fn columns_of_several_tables_keep_apart() {
    let (_store, sql) = filled();
    let both = "FROM t JOIN u ON t.time = u.time WHERE t.n = 2";
    assert_named(&sql, &format!("SELECT t.n, u.n {both}"), "n|n:1", &["2 8"]);
    assert_named(&sql, &format!("SELECT t.n, u.value AS n {both}"), "n|n:1", &["2 4.0"]);
    assert_named(
        &sql,
        &format!("SELECT * FROM (SELECT t.n, u.n, t.n {both}) AS q"),
        "n|n:1|n:2",
        &["2 8 2"],
    );
    assert_named(
        &sql,
        &format!("WITH q AS (SELECT t.n, u.n, t.n {both}) SELECT \"n:1\", n FROM q"),
        "n:1|n",
        &["8 2"],
    );
    let (names, _) = named(&sql, &format!("SELECT * {both}"));
    assert_eq!(names, "time|series|n|value|time:1|series:1|n:1|value:1");
}

#[test]
fn a_wildcard_keeps_its_names_and_what_stands_beside_it_gets_others() {
    let (_store, sql) = filled();
    let of = "FROM t WHERE n = 1";
    for (list, names) in [
        ("*, n", "time|series|n|value|n:1"),
        ("n, *", "n:1|time|series|n|value"),
        ("*, n + 1 AS n", "time|series|n|value|n:1"),
        ("*, n + 1 AS n, value + 1 AS value, 5 AS m", "time|series|n|value|n:1|value:1|m"),
        ("t.*, t.n", "time|series|n|value|n:1"),
        ("* EXCLUDE (n), n", "time|series|value|n"),
    ] {
        assert_eq!(named(&sql, &format!("SELECT {list} {of}")).0, names, "{list}");
    }
    let error = ask(&sql, "SELECT *, * FROM t").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("list the columns in place of *"), "{error}");
}

#[test]
fn a_mistake_is_told_as_it_was() {
    let (_store, sql) = filled();
    let error = ask(&sql, "SELECT n, n, nothing FROM t").unwrap_err();
    assert!(error.to_string().contains("there is no column nothing"), "{error}");
    let error = ask(&sql, "SELECT n FROM t JOIN u ON t.time = u.time").unwrap_err();
    assert!(error.to_string().contains("Ambiguous reference"), "{error}");
}

#[test]
fn rows_are_written_under_names_that_stand_once() {
    let (_store, sql) = filled();
    answer(
        &sql,
        "CREATE TABLE made AS SELECT t.time, u.time, n::double, n FROM t JOIN u USING (n)",
    );
    assert_eq!(named(&sql, "SELECT * FROM made").0, "time|time:1|n::DOUBLE|n");
    answer(&sql, "INSERT INTO made SELECT time, time, value, n FROM t");
    assert_eq!(
        answer(&sql, "SELECT count(*), max(\"time:1\") FROM made"),
        ["3 1970-01-01T00:00:00.003Z"]
    );
}
