//! Statements that DataFusion plans and then refuses, with an error of its inner workings.

use crate::support::{answer, ask, create, insert, memory, rows, sql};
use timestrata_engine::{ErrorKind, Merge, RunFormat, Store};
use timestrata_sql::Sql;

fn filled() -> (Store, Sql) {
    let store = memory();
    let left = create(&store, "t", Merge::Keep, RunFormat::Hot);
    let right = create(&store, "u", Merge::Keep, RunFormat::Hot);
    insert(&store, left, rows(&[0, 1_000, 7_200_000], 1));
    insert(&store, right, rows(&[1_000, 3_600_000], 2));
    let sql = sql(&store);
    (store, sql)
}

#[test]
fn functions_of_the_time_are_united_in_order() {
    let (_store, sql) = filled();
    // Of the casts that the second needs to be as the first, their order wasn't seen.
    for (left, right) in [
        ("date_trunc('hour', time)", "time_bucket(INTERVAL '7 hours', time)"),
        ("date_trunc('hour', time)", "date_bin(INTERVAL '7 hours', time, NULL)"),
        ("date_trunc('hour', time)::timestamp(9)", "time::timestamp(9)"),
        ("date_trunc('hour', time)", "nullif(time, TIMESTAMPTZ '2000-01-01')"),
    ] {
        let query = format!(
            "SELECT {left} AS c FROM t UNION ALL SELECT {right} FROM u ORDER BY 1 ASC NULLS LAST"
        );
        let times = answer(&sql, &query);
        assert_eq!(times.len(), 5, "{query}");
        // Nulls, which are last, sort behind digits.
        assert!(times.is_sorted(), "{query}: {times:?}");
    }
}

/// The numbers of the rows of `t` that a condition lets through.
fn passed(sql: &Sql, condition: &str) -> String {
    answer(sql, &format!("SELECT n FROM t WHERE {condition} ORDER BY n")).join(" ")
}

#[test]
fn subqueries_search_for_what_subqueries_say() {
    let (_store, sql) = filled();
    // `t` has 1, 2, 3, and `u` has 2, 3; the value of 2 and 3 is 1.0 and 1.5.
    for (condition, rows) in [
        ("(n IN (SELECT n FROM u)) IN (SELECT true)", "2 3"),
        ("(n IN (SELECT n FROM u)) NOT IN (SELECT true)", "1"),
        ("(n NOT IN (SELECT n FROM u)) IN (SELECT n = 2 FROM u)", "1 2 3"),
        ("NOT ((n IN (SELECT n FROM u)) IN (SELECT false))", "2 3"),
        ("(n IN (SELECT nullif(n, 3) FROM u)) IN (SELECT true)", "2"),
        ("((n IN (SELECT nullif(n, 3) FROM u)) IN (SELECT true)) IS NULL", "1 3"),
        ("((n IN (SELECT n FROM u)) IN (SELECT true)) IN (SELECT false)", "1"),
        ("(EXISTS (SELECT 1 FROM u WHERE u.n = t.n)) IN (SELECT true)", "2 3"),
        ("(NOT EXISTS (SELECT 1 FROM u WHERE u.n = t.n)) IN (SELECT true)", "1"),
        ("CASE WHEN n IN (SELECT n FROM u) THEN n + 1 ELSE n END IN (SELECT n FROM u)", "2"),
        ("(n IN (SELECT n FROM u WHERE n > 2) OR n = 1) IN (SELECT true)", "1 3"),
        ("(SELECT max(n) FROM u WHERE u.n = t.n) IN (SELECT n FROM u)", "2 3"),
        ("(SELECT max(n) FROM u WHERE u.n = t.n) NOT IN (SELECT n FROM u WHERE n > 2)", "2"),
        ("n > 1 AND (SELECT max(n) FROM u WHERE u.n = t.n) + 1 IN (SELECT n FROM u)", "2"),
        (
            "n IN (SELECT n FROM u WHERE (n IN (SELECT n FROM t)) IN (SELECT n = 2 FROM u AS v))",
            "2 3",
        ),
    ] {
        assert_eq!(passed(&sql, condition), rows, "{condition}");
    }
    let having = "SELECT series FROM t GROUP BY series \
                  HAVING (max(n) IN (SELECT n FROM u)) IN (SELECT false)";
    assert_eq!(answer(&sql, having), ["s1"]);
    let case = |n: usize| format!("CASE WHEN n IN (SELECT n + {n} FROM u) THEN 1 ELSE 0 END");
    let four = (0..4).map(case).collect::<Vec<_>>().join(" + ");
    let error =
        ask(&sql, &format!("SELECT n FROM t WHERE {four} IN (SELECT n FROM u)")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("more than 3 conditions"), "{error}");
}

#[test]
fn a_subquery_that_no_join_can_be_made_of_says_what_to_write() {
    let (_store, sql) = filled();
    let query = "SELECT n, (SELECT max(n) FROM u WHERE u.n < t.n) FROM t";
    let error = ask(&sql, query).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("write it as a join"), "{error}");
}

#[test]
fn a_filter_over_a_join_keeps_its_columns_where_the_answer_has_others_of_their_names() {
    // The filter gave b's value at the place that a's had before it; another projection went below it then, and it
    // asked that.
    let store = memory();
    let left = create(&store, "t", Merge::Keep, RunFormat::Hot);
    let right = create(&store, "u", Merge::Keep, RunFormat::Hot);
    insert(&store, left, rows(&[0, 1_000], 1));
    insert(&store, right, rows(&[1_000, 3_600_000], 8));
    let query = "SELECT b.n AS c0, b.value AS c1, concat(b.series, coalesce(a.n, 0)) AS c2 \
                 FROM t AS a RIGHT JOIN u AS b ON a.time = b.time WHERE coalesce(a.value, 0.0) <> 1.0";
    assert_eq!(answer(&sql(&store), query), ["9 4.5 s00"]);
}

#[test]
fn not_in_searches_for_what_turns_out_to_be_constant() {
    let (_store, sql) = filled();
    let nulls = "(SELECT n = nullif(n, 3) FROM u)";
    // Of `false` and `null` against `true` and `null`: never false, and never true.
    assert_eq!(passed(&sql, &format!("(false AND n > 1) NOT IN {nulls}")), "");
    assert_eq!(passed(&sql, &format!("((false AND n > 1) NOT IN {nulls}) IS NULL")), "1 2 3");
    assert_eq!(passed(&sql, "(CAST(NULL AS BIGINT) + n) NOT IN (SELECT n FROM u)"), "");
    assert_eq!(passed(&sql, "(n + 1) NOT IN (SELECT n FROM u)"), "3");
    assert_eq!(passed(&sql, "(n + 1) NOT IN (SELECT nullif(n, 3) FROM u)"), "");
}

#[test]
fn a_list_may_begin_with_a_subquery() {
    let (_store, sql) = filled();
    assert_eq!(passed(&sql, "n IN ((SELECT min(n) FROM u), 1)"), "1 2");
    assert_eq!(passed(&sql, "n NOT IN ((SELECT min(n) FROM u), n + 1) AND n + 1 IN (2, 4)"), "1 3");
    assert_eq!(passed(&sql, "n IN ((SELECT n FROM u))"), "2 3");
    assert_eq!(passed(&sql, "n IN (SELECT n FROM u) AND n IN (1, 2)"), "2");
}
