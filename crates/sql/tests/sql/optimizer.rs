//! Plans that go through a part of the optimizer's rules.

use crate::support::{ask, create, insert, memory, rows, sql};
use datafusion::arrow::array::cast::AsArray;
use timestrata_engine::{Merge, RunFormat, Store};
use timestrata_sql::Sql;

fn filled() -> (Store, Sql) {
    let store = memory();
    let stream = create(&store, "t", Merge::Keep, RunFormat::Hot);
    insert(&store, stream, rows(&[0, 1_000, 7_200_000], 1));
    let sql = sql(&store);
    (store, sql)
}

/// The logical plan that `EXPLAIN` tells, in lines.
fn logical_plan(sql: &Sql, explain: &str, query: &str) -> String {
    let query = format!("{explain} {query}");
    let batches = ask(sql, &query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let told = batches.iter().flat_map(|batch| {
        let columns = [0, 1].map(|index| batch.column(index).as_string::<i32>());
        let [names, plans] = columns.map(|column| column.iter().map(Option::unwrap_or_default));
        names.zip(plans).map(|(name, plan)| (name.to_owned(), plan.to_owned())).collect::<Vec<_>>()
    });
    let mut plans = told.filter(|(name, _)| name == "logical_plan").map(|(_, plan)| plan);
    plans.next().unwrap_or_else(|| panic!("{query} tells no plan"))
}

/// The plan, with the same name for all that rules have named by numbers.
fn without_numbers(plan: &str) -> String {
    let (first, others) = plan.split_once("__common_expr_").unwrap_or((plan, ""));
    let others = others.split("__common_expr_");
    let others = others.map(|text| text.trim_start_matches(|c: char| c.is_ascii_digit()));
    [first].into_iter().chain(others).collect::<Vec<_>>().join("__common_expr")
}

const SELECTED: [&str; 10] = [
    "n, value",
    "*",
    "DISTINCT series, n > 2 AS more",
    "n + 1 AS next, (n + 1) * (n + 1) AS square",
    "count(*) AS c",
    "series, count(*) AS c, avg(value), max(n)",
    "series, time_bucket(INTERVAL '1 hour', time) AS hour, max(value), max(value + 1)",
    "series, n % 2 AS odd, count(DISTINCT value)",
    "DISTINCT ON (series) series, n",
    "CASE WHEN value IS NULL THEN n ELSE NULL END AS n, sqrt(value)",
];
const CONDITIONS: [&str; 12] = [
    "",
    "WHERE series = 's1'",
    "WHERE series IN ('s1', 's2') AND n IN (1, 2) AND n IN (2, 3)",
    "WHERE time >= '1970-01-01T00:30:00Z' AND time < '1970-01-01T02:30:00Z' AND value > 0.5",
    "WHERE n = 1 OR n = 2 OR value = 7",
    "WHERE n > 3 AND n < 2",
    "WHERE 1 = 2",
    "WHERE 1 = 1 AND n + 1 > 2 AND value * 2 < 8.0",
    "WHERE NOT (n <> 1 AND n <> 2)",
    "WHERE series LIKE 's%' AND sqrt(value) + sqrt(value) > 1",
    "WHERE n BETWEEN 1 AND 2 AND n BETWEEN 2 AND 9",
    "WHERE value IS NOT NULL AND coalesce(value, 0) = value",
];
const ENDS: [&str; 4] = ["", "ORDER BY 1", "ORDER BY 1 DESC, 1, n LIMIT 2", "LIMIT 2 OFFSET 1"];
const GROUPED_ENDS: [&str; 4] = [
    "",
    "ORDER BY 1, 2",
    "HAVING max(n) > 1 AND series > 's0' ORDER BY 2",
    "ORDER BY 1, 2 LIMIT 2",
];

/// What may stand behind the conditions of a query that selects this.
fn ends_of(selected: &str) -> Vec<String> {
    let keys = match selected {
        _ if selected.starts_with("series, count") => "series",
        _ if selected.starts_with("series, ") => "1, 2",
        _ => {
            let takes_n = !selected.starts_with("count") && !selected.starts_with("DISTINCT");
            let ends = ENDS.into_iter().filter(|end| takes_n || !end.contains(", n "));
            return ends.map(str::to_owned).collect();
        }
    };
    let grouped = |end: &str| match end.strip_prefix("HAVING") {
        Some(having) if keys == "series" => format!("GROUP BY {keys} HAVING{having}"),
        Some(_) => format!("GROUP BY {keys} HAVING count(*) > 1"),
        None => format!("GROUP BY {keys} {end}"),
    };
    GROUPED_ENDS.map(grouped).to_vec()
}

#[test]
fn plans_are_those_that_all_rules_would_make() {
    let (_store, sql) = filled();
    let (mut compared, mut different) = (0, Vec::new());
    let mut compare = |query: &str| {
        // Of plans whose steps are asked for no rule is left out.
        let all = logical_plan(&sql, "EXPLAIN VERBOSE", query);
        let some = logical_plan(&sql, "EXPLAIN FORMAT INDENT", query);
        if without_numbers(&some) != without_numbers(&all) {
            different.push(format!("{query}\n{some}\nand by all rules\n{all}\n"));
        }
        compared += 1;
    };
    for selected in SELECTED {
        for condition in CONDITIONS {
            for end in ends_of(selected) {
                compare(&format!("SELECT {selected} FROM t {condition} {end}"));
                compare(&format!(
                    "SELECT * FROM (SELECT {selected} FROM t {condition} {end}) AS s"
                ));
            }
        }
    }
    for query in [
        "SELECT 1",
        "SELECT a.n FROM t a JOIN t b ON a.n = b.n WHERE b.value > 1",
        "SELECT n FROM t WHERE n IN (SELECT max(n) FROM t GROUP BY series)",
        "SELECT n, row_number() OVER (PARTITION BY series ORDER BY time) FROM t WHERE n > 1",
        "SELECT series, n, sum(value) FROM t GROUP BY GROUPING SETS ((series), (n), ())",
        "SELECT n FROM t UNION ALL SELECT n + 1 FROM t WHERE n > 1",
        "WITH s AS (SELECT series, max(n) AS n FROM t GROUP BY 1) SELECT * FROM s WHERE n > 1",
    ] {
        compare(query);
    }
    assert!(different.is_empty(), "{} plans\n{}", different.len(), different.join("\n"));
    assert!(compared > 700, "{compared}");
}
