//! Lists as values of placeholders: each of their values counts, and prunes, as if it stood in the statement.

use crate::support::{answer, create, insert, lines, memory, rows, sql};
use timestrata_engine::{ErrorKind, Merge, RunFormat, Store};
use timestrata_sql::{Params, ScalarValue, Sql};

fn filled() -> (Store, Sql) {
    let store = memory();
    let stream = create(&store, "t", Merge::Keep, RunFormat::Cold);
    insert(&store, stream, rows(&(1..=2_000).collect::<Vec<_>>(), 1));
    store.flush().unwrap();
    let sql = sql(&store);
    (store, sql)
}

fn numbers(values: &[i64]) -> ScalarValue {
    Params::list(values.iter().map(|value| (*value).into()).collect()).unwrap()
}

fn ask(sql: &Sql, query: &str, params: impl Into<Params>) -> Vec<String> {
    let answered =
        sql.query_blocking(query, params.into()).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    lines(&answered.unwrap_or_else(|error| panic!("{query}: {error}")))
}

#[test]
fn a_list_is_as_good_as_its_values_written_out() {
    let (_store, sql) = filled();
    let three = || vec![numbers(&[3, 1_999, 7])];
    for (query, found) in [
        ("SELECT n FROM t WHERE n IN ($1) ORDER BY n", vec!["3", "7", "1999"]),
        ("SELECT n FROM t WHERE n = ANY($1) ORDER BY n", vec!["3", "7", "1999"]),
        ("SELECT n FROM t WHERE n IN ($1, 1) ORDER BY n", vec!["1", "3", "7", "1999"]),
        ("SELECT count(*) FROM t WHERE n NOT IN ($1)", vec!["1997"]),
        ("SELECT count(*) FROM t WHERE n <> ALL($1)", vec!["1997"]),
        ("SELECT n FROM t WHERE array_has($1, n) ORDER BY n", vec!["3", "7", "1999"]),
        ("SELECT array_length($1) AS l", vec!["3"]),
        ("SELECT x FROM unnest($1) AS u(x) ORDER BY x", vec!["3", "7", "1999"]),
    ] {
        assert_eq!(ask(&sql, query, three()), found, "{query}");
    }
    let named = Params::named([("some", numbers(&[5, 6])), ("least", 6_i64.into())]);
    assert_eq!(ask(&sql, "SELECT n FROM t WHERE n IN ($some) AND n >= $least", named), ["6"]);
    let two = vec![2_i64.into(), numbers(&[1, 2]), numbers(&[2, 3])];
    let query = "SELECT n FROM t WHERE n IN ($3) AND n IN ($2) AND n = $1";
    assert_eq!(ask(&sql, query, two), ["2"]);
}

#[test]
fn lists_of_no_values_and_of_nulls_mean_what_they_mean_in_sql() {
    let (_store, sql) = filled();
    let none = || vec![numbers(&[])];
    let count = |condition: &str, params: Vec<ScalarValue>| {
        ask(&sql, &format!("SELECT count(*) FROM t WHERE {condition}"), params)
    };
    assert_eq!(count("n IN ($1)", none()), ["0"]);
    assert_eq!(count("n NOT IN ($1)", none()), ["2000"]);
    // Nothing is among no values, not even null: of every fifth row it is.
    assert_eq!(count("value NOT IN ($1)", none()), ["2000"]);
    assert_eq!(count("n = ANY($1)", none()), ["0"]);
    assert_eq!(count("n <> ALL($1)", none()), ["2000"]);
    let with_null = || vec![Params::list(vec![1_i64.into(), ScalarValue::Null]).unwrap()];
    assert_eq!(count("n IN ($1)", with_null()), ["1"]);
    assert_eq!(count("n NOT IN ($1)", with_null()), ["0"]);
}

#[test]
fn lists_of_times_become_ranges_and_lists_of_texts_are_looked_up() {
    let (_store, sql) = filled();
    let list = |values: Vec<&str>| {
        vec![Params::list(values.into_iter().map(Into::into).collect()).unwrap()]
    };
    let times = || list(vec!["1970-01-01T00:00:00.005Z", "1970-01-01 00:00:01.9"]);
    assert_eq!(ask(&sql, "SELECT n FROM t WHERE time IN ($1) ORDER BY n", times()), ["5", "1900"]);
    let plan = ask(&sql, "EXPLAIN FORMAT INDENT SELECT n FROM t WHERE time IN ($1)", times());
    let plan = plan.join("\n");
    let written = "EXPLAIN FORMAT INDENT SELECT n FROM t WHERE \
                   time IN ('1970-01-01T00:00:00.005Z', '1970-01-01 00:00:01.9')";
    let physical = |plan: &str| plan.split("physical_plan").last().unwrap_or_default().to_owned();
    assert_eq!(physical(&plan), physical(&answer(&sql, written).join("\n")));
    assert!(plan.contains("range=") && !physical(&plan).contains("FilterExec"), "{plan}");
    let series = list(vec!["s1", "s2"]);
    assert_eq!(ask(&sql, "SELECT count(*) FROM t WHERE series IN ($1)", series), ["1334"]);
    let deleted = ask(&sql, "DELETE FROM t WHERE n IN ($1)", vec![numbers(&[1, 2, 3])]);
    assert_eq!(
        (deleted, answer(&sql, "SELECT min(n) FROM t")),
        (vec!["3".into()], vec!["4".into()])
    );
}

#[test]
fn a_list_reaches_into_tables_with_arguments() {
    let (_store, sql) = filled();
    let query =
        "SELECT n FROM latest_on((SELECT * FROM t WHERE n IN ($1)), time, series) ORDER BY n";
    assert_eq!(ask(&sql, query, vec![numbers(&[1, 4, 5])]), ["4", "5"]);
}

#[test]
fn a_list_has_values_of_one_type_and_loses_nothing() {
    let floats = Params::list(vec![1_i64.into(), 2.5_f64.into()]).unwrap();
    assert_eq!(floats.to_string(), "[1.0, 2.5]");
    for wrong in [
        vec![1_i64.into(), "1".into()],
        vec![i64::MAX.into(), 0.5_f64.into()],
        vec![(-1_i64).into(), u64::MAX.into()],
    ] {
        let error = Params::list(wrong).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
}
