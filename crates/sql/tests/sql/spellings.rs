//! Names in any case: an exact one wins, else the only one that differs in case alone; of several none is guessed.

use crate::support::{answer, ask, memory};
use timestrata_engine::{ErrorKind, Store};
use timestrata_sql::{Params, Sql, SqlOptions};

/// `Trades` with columns in several cases, and `quotes` that has one of them in another.
fn filled() -> (Store, Sql) {
    let store = memory();
    let sql = Sql::open(&store, SqlOptions { threads: 2, ..SqlOptions::default() }).unwrap();
    for statement in [
        "CREATE TABLE \"Trades\" (time TIMESTAMP NOT NULL, \"Symbol\" VARCHAR, \"Price\" DOUBLE, \"Größe\" BIGINT)",
        "INSERT INTO trades VALUES ('2024-01-01', 'A', 1.5, 1), ('2024-01-02', 'B', 2.5, 2), ('2024-01-03', 'A', 3.5, 3)",
        "CREATE TABLE quotes (time TIMESTAMP NOT NULL, \"SYMBOL\" VARCHAR, \"Symbol\" VARCHAR, bid DOUBLE)",
        "INSERT INTO quotes VALUES ('2024-01-01', 'x', 'A', 1.25)",
        "CREATE TABLE lower (time TIMESTAMP NOT NULL, \"Symbol\" VARCHAR, ask DOUBLE)",
        "INSERT INTO lower VALUES ('2024-01-01', 'A', 9.5), ('2024-01-02', 'C', 8.5)",
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
fn a_name_is_found_in_any_case_wherever_it_stands() {
    let (_store, sql) = filled();
    for (query, rows) in [
        ("SELECT price FROM trades WHERE PRICE > 2 ORDER BY Price DESC", vec!["3.5", "2.5"]),
        ("SELECT \"PRICE\" FROM \"TRADES\" WHERE \"symbol\" = 'B'", vec!["2.5"]),
        ("SELECT t.price FROM trades t WHERE T.symbol = 'B'", vec!["2.5"]),
        ("SELECT \"T\".price FROM trades t WHERE symbol = 'B'", vec!["2.5"]),
        ("SELECT größe FROM trades WHERE symbol = 'B'", vec!["2"]),
        (
            "SELECT symbol, sum(price) AS s FROM trades GROUP BY symbol HAVING sum(PRICE) > 3 ORDER BY s",
            vec!["A 5.0"],
        ),
        (
            "WITH q AS (SELECT price AS \"Cost\", symbol FROM trades) SELECT cost FROM q WHERE SYMBOL = 'B'",
            vec!["2.5"],
        ),
        ("SELECT x FROM (SELECT price AS \"X\" FROM trades) WHERE x > 3", vec!["3.5"]),
        ("SELECT count(*) FROM trades JOIN lower USING (symbol)", vec!["2"]),
        ("SELECT count(*) FROM trades t JOIN lower u ON t.symbol = u.SYMBOL", vec!["2"]),
        (
            "SELECT symbol, max(price) OVER (PARTITION BY SYMBOL) AS m FROM trades ORDER BY 1, TIME LIMIT 1",
            vec!["A 3.5"],
        ),
        ("SELECT bid FROM asof_join(trades, quotes, on => TIME) LIMIT 1", vec!["1.25"]),
        ("SELECT price FROM latest_on(trades, TIME, symbol) ORDER BY price", vec!["2.5", "3.5"]),
        (
            "SELECT (SELECT max(ask) FROM lower WHERE lower.symbol = trades.symbol) AS a FROM trades ORDER BY price LIMIT 1",
            vec!["9.5"],
        ),
        (
            "SELECT price FROM trades UNION ALL SELECT ASK FROM lower ORDER BY price LIMIT 1",
            vec!["1.5"],
        ),
    ] {
        assert_eq!(answer(&sql, query), rows, "{query}");
    }
    assert_eq!(names(&sql, "SELECT price, PRICE + 1 AS more FROM trades"), "Price|more");
    assert_eq!(
        names(&sql, "SELECT price, price, * FROM trades"),
        "Price:1|Price:2|time|Symbol|Price|Größe"
    );
}

#[test]
fn an_exact_name_wins_and_of_several_others_none_is_guessed() {
    let (_store, sql) = filled();
    assert_eq!(answer(&sql, "SELECT \"SYMBOL\" FROM quotes"), ["x"]);
    // Without quotes it is as it is written, where no column is called as it is looked up.
    assert_eq!(answer(&sql, "SELECT SYMBOL, Symbol FROM quotes"), ["x A"]);
    let error = ask(&sql, "SELECT symbol FROM quotes").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let message = error.to_string();
    assert!(message.contains("\"SYMBOL\" or \"Symbol\""), "{message}");
    let error = ask(&sql, "SELECT symbl FROM trades").unwrap_err();
    assert!(error.to_string().contains("there is no column symbl"), "{error}");
    // Where an alias is called so it is meant, and not a column that is called almost so.
    assert_eq!(
        answer(&sql, "SELECT -\"Price\" AS price FROM trades ORDER BY price LIMIT 1"),
        ["-3.5"]
    );
}

#[test]
fn statements_that_write_find_columns_in_any_case() {
    let (_store, sql) = filled();
    answer(&sql, "INSERT INTO TRADES (TIME, symbol, price) VALUES ('2024-01-09', 'Z', 9.0)");
    answer(
        &sql,
        "INSERT INTO trades (time, symbol, price) SELECT time, symbol, ask FROM lower WHERE symbol = 'C'",
    );
    assert_eq!(
        answer(&sql, "SELECT price FROM trades WHERE symbol IN ('Z', 'C') ORDER BY 1"),
        ["8.5", "9.0"]
    );
    assert_eq!(answer(&sql, "DELETE FROM trades WHERE price > 8"), ["2"]);
    answer(&sql, "CREATE VIEW v AS SELECT price, SYMBOL FROM trades");
    assert_eq!(answer(&sql, "SELECT sum(PRICE) FROM v WHERE symbol = 'A'"), ["5.0"]);
    let error =
        ask(&sql, "INSERT INTO quotes (time, symbol) VALUES ('2024-01-01', 'B')").unwrap_err();
    assert!(error.to_string().contains("\"SYMBOL\" or \"Symbol\""), "{error}");
}

#[test]
fn a_long_statement_in_another_case_is_planned() {
    let (_store, sql) = filled();
    let sums: Vec<String> = (0..60).map(|n| format!("sum(price + {n}) AS s{n}")).collect();
    let query = format!("SELECT {} FROM trades", sums.join(", "));
    assert_eq!(answer(&sql, &query).len(), 1);
}
