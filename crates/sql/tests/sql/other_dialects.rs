//! Statements as users of DuckDB, QuestDB and Snowflake write them.

use crate::support::{answer, ask, memory};
use timestrata_engine::{ErrorKind, Store};
use timestrata_sql::{Params, Sql, SqlOptions};

fn filled() -> (Store, Sql) {
    let store = memory();
    let sql = Sql::open(&store, SqlOptions { threads: 2, ..SqlOptions::default() }).unwrap();
    for statement in [
        "CREATE TABLE trades (time TIMESTAMP NOT NULL, symbol VARCHAR, \"Price\" DOUBLE)",
        "INSERT INTO trades VALUES ('2024-01-01T00:10:00', 'A', 1.0), ('2024-01-01T00:50:00', 'A', 3.0), \
         ('2024-01-01T03:00:00', 'A', 5.0), ('2024-01-01T01:00:00', 'B', 10.0)",
        "CREATE TABLE quotes (time TIMESTAMP NOT NULL, symbol VARCHAR, bid DOUBLE)",
        "INSERT INTO quotes VALUES ('2024-01-01T00:00:00', 'A', 0.5), ('2024-01-01T00:50:00', 'A', 2.5), \
         ('2024-01-01T02:00:00', 'B', 9.0)",
    ] {
        answer(&sql, statement);
    }
    (store, sql)
}

fn names(sql: &Sql, query: &str) -> String {
    let schema = sql.query_blocking(query, Params::none()).unwrap().schema();
    schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join("|")
}

#[test]
fn from_without_select_gives_all_columns() {
    let (_store, sql) = filled();
    assert_eq!(names(&sql, "FROM trades"), "time|symbol|Price");
    assert_eq!(
        answer(&sql, "FROM trades WHERE price > 4 ORDER BY price LIMIT 1"),
        ["2024-01-01T03:00:00Z A 5.0"]
    );
    assert_eq!(answer(&sql, "SELECT count(*) FROM (FROM trades)"), ["4"]);
    for with in [
        "WITH a AS (SELECT price FROM trades WHERE symbol = 'B') FROM a",
        "WITH x AS (FROM trades), a(p) AS (SELECT price FROM x WHERE symbol = 'B') FROM a WHERE p > 1",
        "WITH a AS (SELECT max(price) FROM trades)\nFROM a",
        "SELECT * FROM (WITH a AS (SELECT max(price) FROM trades) FROM a)",
        "WITH a AS (SELECT price FROM trades) FROM a SELECT max(price)",
    ] {
        assert_eq!(answer(&sql, with), ["10.0"], "{with}");
    }
    // What only looks so.
    let counted = "WITH a AS (SELECT 1 AS x) SELECT count(*) FROM a, (VALUES (1), (2)) v";
    assert_eq!(answer(&sql, counted), ["2"]);
    assert_eq!(
        answer(
            &sql,
            "SELECT trim(BOTH 'x' FROM 'xax'), extract(year FROM (time)) FROM trades LIMIT 1"
        ),
        ["a 2024"]
    );
}

#[test]
fn a_column_that_is_joined_by_has_its_name_everywhere_in_the_query() {
    let (_store, sql) = filled();
    for join in ["JOIN", "LEFT JOIN", "ASOF JOIN"] {
        let by = if join == "ASOF JOIN" { "(symbol, time)" } else { "(symbol)" };
        let from = format!("FROM trades {join} quotes USING {by}");
        let qualified = |clause: &str| {
            let of_trades = clause.replace("symbol", "trades.symbol");
            answer(&sql, &format!("SELECT count(*), min(price) {from} {of_trades}"))
        };
        for clause in [
            "WHERE symbol = 'A'",
            "WHERE price > 1 AND symbol IN ('A', 'B')",
            "WHERE upper(symbol) = 'B'",
            "GROUP BY symbol HAVING symbol = 'A'",
        ] {
            let plain = answer(&sql, &format!("SELECT count(*), min(price) {from} {clause}"));
            assert_eq!(plain, qualified(clause), "{join} {clause}");
            assert!(!plain.is_empty(), "{join} {clause}");
        }
        let ordered = format!(
            "SELECT symbol, max(price) m {from} WHERE symbol > '' GROUP BY symbol ORDER BY symbol"
        );
        assert!(answer(&sql, &ordered)[0].starts_with("A "), "{join}");
    }
}

#[test]
fn an_asof_join_finds_the_last_row_that_is_not_later() {
    let (_store, sql) = filled();
    let on = "t.SYMBOL = q.\"Symbol\" AND t.time >= q.time";
    for (query, rows) in [
        (format!("SELECT t.price, q.bid FROM trades t ASOF JOIN quotes q ON {on} ORDER BY t.price"), vec!["1.0 0.5", "3.0 2.5", "5.0 2.5"]),
        (format!("SELECT t.price, q.bid FROM trades t ASOF LEFT JOIN quotes q ON {on} ORDER BY 1"), vec!["1.0 0.5", "3.0 2.5", "5.0 2.5", "10.0 NULL"]),
        ("SELECT t.price, bid FROM trades t ASOF JOIN quotes q ON q.symbol = t.symbol AND q.time < t.time ORDER BY 1".to_owned(), vec!["1.0 0.5", "3.0 0.5", "5.0 2.5"]),
        ("SELECT price, bid FROM trades t ASOF JOIN quotes q ON t.symbol = q.symbol AND t.time <= q.time ORDER BY 1".to_owned(), vec!["1.0 2.5", "3.0 2.5", "10.0 9.0"]),
        ("SELECT symbol, time, price, bid FROM trades ASOF JOIN quotes USING (symbol, time) ORDER BY price LIMIT 1".to_owned(), vec!["A 2024-01-01T00:10:00Z 1.0 0.5"]),
        ("SELECT t.price, q.bid FROM trades t ASOF JOIN quotes q MATCH_CONDITION (t.time >= q.time) ON t.symbol = q.symbol ORDER BY 1 DESC LIMIT 1".to_owned(), vec!["10.0 NULL"]),
        (format!("SELECT count(*), count(n.bid) FROM trades t ASOF JOIN quotes q ON {on} LEFT JOIN quotes n ON n.time = t.time"), vec!["3 1"]),
        (format!("SELECT count(*) FROM (SELECT * FROM trades) t ASOF JOIN (SELECT * FROM quotes WHERE bid > 1) q ON {on}"), vec!["2"]),
    ] {
        assert_eq!(answer(&sql, &query), rows, "{query}");
    }
    assert_eq!(
        names(&sql, "SELECT * FROM trades ASOF JOIN quotes USING (symbol, time)"),
        "time|symbol|Price|bid"
    );
    for (query, told) in [
        (
            "SELECT 1 FROM trades t ASOF JOIN quotes q ON t.symbol = q.symbol",
            "needs a comparison of times",
        ),
        (
            "SELECT 1 FROM trades t ASOF JOIN quotes q ON t.time >= q.time AND price > 1 OR true",
            "takes columns of both sides",
        ),
        ("SELECT 1 FROM trades t ASOF JOIN quotes q ON t.nothing >= q.time", "there is no column"),
        ("SELECT 1 FROM trades t ASOF JOIN quotes q ON time >= q.time", "both sides"),
    ] {
        let error = ask(&sql, query).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{query}");
        assert!(error.to_string().contains(told), "{query}: {error}");
    }
}

#[test]
fn a_pivot_has_a_column_for_each_value_listed() {
    let (_store, sql) = filled();
    let query = "SELECT * FROM (SELECT symbol, price, time::date AS day FROM trades) \
                 PIVOT (sum(price) FOR symbol IN ('A', 'B' AS bee, 'C')) ORDER BY day";
    assert_eq!(names(&sql, query), "day|A|bee|C");
    assert_eq!(answer(&sql, query), ["2024-01-01 9.0 10.0 NULL"]);
    let several = "SELECT * FROM (SELECT symbol, price FROM trades) PIVOT (sum(price) AS s, count(*) AS n FOR symbol IN ('A')) AS p";
    assert_eq!(
        (names(&sql, several), answer(&sql, several)),
        ("A_s|A_n".to_owned(), vec!["9.0 3".to_owned()])
    );
    for (query, told) in [
        ("SELECT * FROM trades PIVOT (sum(price) FOR symbol IN (ANY))", "takes a list of values"),
        ("SELECT * FROM trades PIVOT (price FOR symbol IN ('A'))", ""),
        (
            "SELECT * FROM trades PIVOT (sum(price) FOR nothing IN ('A'))",
            "there is no column nothing",
        ),
    ] {
        let error = ask(&sql, query).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{query}: {error}");
        assert!(
            error.to_string().contains(told) && !error.to_string().contains("Ident"),
            "{query}: {error}"
        );
    }
}

#[test]
fn rows_are_sampled_by_buckets_and_by_what_else_is_selected() {
    let (_store, sql) = filled();
    for (query, rows) in [
        (
            "SELECT time, symbol, avg(price) AS p FROM trades SAMPLE BY 1h",
            vec![
                "2024-01-01T00:00:00 A 2.0",
                "2024-01-01T01:00:00 B 10.0",
                "2024-01-01T03:00:00 A 5.0",
            ],
        ),
        ("SELECT symbol, count(*) FROM trades WHERE symbol = 'A' SAMPLE BY 1h", vec!["A 2", "A 1"]),
        (
            "SELECT time, sum(price) FROM trades SAMPLE BY 1h FILL(NULL)",
            vec![
                "2024-01-01T00:00:00 4.0",
                "2024-01-01T01:00:00 10.0",
                "2024-01-01T02:00:00 NULL",
                "2024-01-01T03:00:00 5.0",
            ],
        ),
        (
            "SELECT time, sum(price), count(*) AS n FROM trades WHERE symbol = 'A' SAMPLE BY 1h FILL(PREV)",
            vec![
                "2024-01-01T00:00:00 4.0 2",
                "2024-01-01T01:00:00 4.0 2",
                "2024-01-01T02:00:00 4.0 2",
                "2024-01-01T03:00:00 5.0 1",
            ],
        ),
        (
            "SELECT time, max(price) AS m FROM trades WHERE symbol = 'A' SAMPLE BY 1h FILL(LINEAR) LIMIT 2",
            vec!["2024-01-01T00:00:00 3.0", "2024-01-01T01:00:00 3.6666666666666665"],
        ),
        (
            "SELECT time, max(price) AS m, count(*) AS n FROM trades WHERE symbol = 'A' SAMPLE BY 1h FILL(-1, 0) ORDER BY time DESC LIMIT 2",
            vec!["2024-01-01T03:00:00 5.0 1", "2024-01-01T02:00:00 -1.0 0"],
        ),
        (
            "SELECT count(*) AS n FROM trades SAMPLE BY 1h FROM '2023-12-31T23:00:00' TO '2024-01-01T05:00:00' FILL(0)",
            vec!["0", "2", "1", "0", "1", "0"],
        ),
        (
            "SELECT time, symbol, count(*) FROM trades SAMPLE BY 1h FILL(0) ORDER BY symbol, time",
            vec![
                "2024-01-01T00:00:00 A 2",
                "2024-01-01T01:00:00 A 0",
                "2024-01-01T02:00:00 A 0",
                "2024-01-01T03:00:00 A 1",
                "2024-01-01T01:00:00 B 1",
            ],
        ),
        (
            "SELECT time, count(*) FROM trades SAMPLE BY 1d ALIGN TO CALENDAR TIME ZONE 'Europe/Berlin'",
            vec!["2024-01-01T00:00:00+01:00 4"],
        ),
        (
            "SELECT count(*) FROM (SELECT time, first(price, time) AS f FROM trades SAMPLE BY '30 minutes') WHERE f > 1",
            vec!["3"],
        ),
        (
            "WITH h AS (SELECT time, sum(price) AS p FROM trades SAMPLE BY 1h FILL(NULL)) SELECT count(*) FROM h",
            vec!["4"],
        ),
    ] {
        let answered =
            answer(&sql, query).iter().map(|row| row.replace('Z', "")).collect::<Vec<_>>();
        assert_eq!(answered, rows, "{query}");
    }
}

#[test]
fn a_sample_keeps_names_and_one_that_means_nothing_is_refused() {
    let (_store, sql) = filled();
    assert_eq!(
        names(&sql, "SELECT time, avg(\"Price\") FROM trades SAMPLE BY 1h FILL(NULL)"),
        "time|avg(\"Price\")"
    );
    for (query, told) in [
        ("SELECT count(*) FROM trades SAMPLE BY 1x", "SAMPLE BY takes an interval"),
        ("SELECT count(*) FROM trades SAMPLE BY 1h FILL(PREV, NULL)", "for all columns"),
        ("SELECT count(*) FROM trades SAMPLE BY 1h FILL(1, 2)", "FILL has 2 values for 1"),
        ("SELECT count(*) FROM (SELECT 1) SAMPLE BY 1h", "takes one table"),
        ("SELECT symbol, count(*) FROM trades GROUP BY symbol SAMPLE BY 1h", "leave GROUP BY out"),
        ("SELECT * FROM trades SAMPLE BY 1h", "not *"),
        (
            "SELECT count(*) FROM trades SAMPLE BY 1h ALIGN TO FIRST OBSERVATION",
            "aligned to the calendar",
        ),
    ] {
        let error = ask(&sql, query).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{query}: {error}");
        assert!(error.to_string().contains(told), "{query}: {error}");
    }
}

#[test]
fn a_table_and_a_query_are_summarized_column_by_column() {
    let (_store, sql) = filled();
    let all =
        "column_name|column_type|min|max|approx_unique|avg|std|q25|q50|q75|count|null_percentage";
    assert_eq!(names(&sql, "SUMMARIZE trades"), all);
    assert_eq!(
        answer(&sql, "SUMMARIZE trades")
            .into_iter()
            .map(|row| row.split(" 3.8622").next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>(),
        [
            "time Timestamp(ns, \"UTC\") 2024-01-01T00:10:00Z 2024-01-01T03:00:00Z 4 NULL NULL NULL NULL NULL 4 0.0",
            "symbol Utf8 A B 2 NULL NULL NULL NULL NULL 4 0.0",
            "Price Float64 1.0 10.0 4 4.75",
        ]
    );
    let query = "SUMMARIZE SELECT CASE WHEN price > 2 THEN price END AS p, [price] AS l FROM trades WHERE symbol = $1";
    let answered = sql.query_blocking(query, vec!["A".into()].into()).unwrap();
    let answered = crate::support::lines(&answered.collect::<Result<Vec<_>, _>>().unwrap());
    assert!(
        answered[0].starts_with("p Float64 3.0 5.0 2 4.0 ") && answered[0].ends_with(" 3 33.33"),
        "{answered:?}"
    );
    assert!(
        answered[1].starts_with("l List(")
            && answered[1].ends_with(" NULL NULL NULL NULL NULL NULL NULL NULL 3 0.0"),
        "{answered:?}"
    );
    assert!(timestrata_sql::is_query("SUMMARIZE trades").unwrap());
    assert_eq!(ask(&sql, "SUMMARIZE nothing").unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_pivot_statement_finds_its_values_by_itself() {
    let (_store, sql) = filled();
    let query = "PIVOT trades ON symbol USING sum(price) GROUP BY time::date";
    assert_eq!(answer(&sql, query), ["2024-01-01 9.0 10.0"]);
    let query = "PIVOT trades ON symbol USING sum(price) AS s, count(*) AS n";
    let of = |query: &str| (names(&sql, query), answer(&sql, query));
    assert_eq!(
        of("PIVOT (SELECT symbol, price FROM trades) ON symbol USING max(price)"),
        ("A|B".to_owned(), vec!["5.0 10.0".to_owned()])
    );
    assert_eq!(names(&sql, query), "time|A_s|A_n|B_s|B_n");
    assert_eq!(
        of(
            "PIVOT (FROM trades WHERE price > 1) ON symbol IN ('B', 'A') USING count(*) GROUP BY symbol ORDER BY symbol DESC LIMIT 1"
        ),
        ("symbol|B|A".to_owned(), vec!["B 1 0".to_owned()])
    );
    assert_eq!(of("PIVOT trades ON symbol GROUP BY time::date").1, ["2024-01-01 3 1"]);
    for (query, told) in [
        ("PIVOT trades USING sum(price)", "PIVOT table ON column"),
        ("PIVOT trades ON nothing USING sum(price)", "there is no column nothing"),
        ("PIVOT nothing ON symbol", "there is no table"),
    ] {
        let error = ask(&sql, query).unwrap_err();
        assert!(error.to_string().contains(told), "{query}: {error}");
    }
    assert!(timestrata_sql::is_query("pivot trades ON symbol").unwrap());
}
