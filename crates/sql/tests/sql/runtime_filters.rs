//! What a limit behind an order needs is told to the scan: answers stay those of the whole order, and fewer rows are read.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use timestrata_engine::{
    Access, Changes, Durability, Io, KeyRange, Merge, RunFormat, Settings, Store,
};

use crate::aggregates::rows_read;
use crate::support::{self, answer, create, insert, plan, sql};

const ROWS: i64 = 150_000;

/// Rows whose numbers go up and down, with nulls and what is no number among them.
fn rows(first: i64, count: i64) -> RecordBatch {
    let each = || first..first + count;
    let spread = |n: i64| n.wrapping_mul(2_654_435_761) % 100_003;
    let values = each().map(|n| match n % 1_009 {
        0 => None,
        1 => Some(f64::NAN),
        2 => Some(-f64::NAN),
        3 => Some(f64::NEG_INFINITY),
        _ => Some(spread(n) as f64 / 4.0),
    });
    let times = TimestampMillisecondArray::from_iter_values(each().map(|n| n * 1000));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(times.with_timezone("UTC")),
        Arc::new(StringArray::from_iter_values(each().map(|n| format!("s{}", spread(n) % 700)))),
        Arc::new(Int64Array::from_iter_values(each())),
        Arc::new(values.collect::<Float64Array>()),
    ];
    RecordBatch::try_new(support::schema(), columns).unwrap()
}

fn store(format: RunFormat, merge: Merge) -> Store {
    let settings = Settings { run_bytes_max: 1 << 20, ..support::settings() };
    let store =
        Store::open_with(Io::memory(), Path::new("store"), Access::Write, settings).unwrap();
    let stream = create(&store, "t", merge, format);
    for part in 0..5 {
        insert(&store, stream, rows(part * ROWS / 5, ROWS / 5));
        store.flush().unwrap();
    }
    store.compact(Some(stream)).unwrap();
    // Of these a range delete hides the greatest, and of others there are newer ones.
    insert(&store, stream, rows(ROWS, 200));
    let hidden = KeyRange::times(20_000_000, 30_000_000);
    store.commit(Changes::new().delete_range(stream, hidden), Durability::Written).unwrap();
    store
}

const ORDERS: [&str; 7] = [
    "value DESC, n",
    "value DESC NULLS LAST, n DESC",
    "value, n",
    "value NULLS FIRST, n",
    "series DESC, value, n",
    "series, n DESC",
    "n % 1000, n",
];

const CONDITIONS: [&str; 4] = [
    "",
    "WHERE value < 20000 AND series <> 's5'",
    "WHERE time >= '1970-01-01T04:00:00Z' AND series = 's17'",
    "WHERE n % 3 = 0",
];

#[test]
fn the_first_rows_of_an_order_are_those_of_the_whole_order() {
    for (format, merge) in [
        (RunFormat::Cold, Merge::Keep),
        (RunFormat::Hot, Merge::Keep),
        (RunFormat::Cold, Merge::Latest),
    ] {
        let sql = sql(&store(format, merge));
        for order in ORDERS {
            for condition in CONDITIONS {
                let whole = answer(&sql, &format!("SELECT * FROM t {condition} ORDER BY {order}"));
                for (limit, offset) in [(1, 0), (10, 0), (9_000, 0), (5, 70)] {
                    let query = format!(
                        "SELECT * FROM t {condition} ORDER BY {order} LIMIT {limit} OFFSET {offset}"
                    );
                    let first = answer(&sql, &query);
                    let expected = whole.iter().skip(offset).take(limit);
                    assert!(first.iter().eq(expected), "{format:?}, {merge:?}: {query}");
                }
            }
        }
    }
}

#[test]
fn of_most_rows_only_what_they_are_ordered_by_is_read() {
    let store = store(RunFormat::Cold, Merge::Keep);
    let query = "SELECT * FROM t ORDER BY n DESC LIMIT 10";
    let told = plan(&sql(&store), query);
    assert!(told.contains("filter=DynamicFilter"), "{told}");
    let read = rows_read(&store, query);
    assert!(read < ROWS as u64 * 9 / 10, "{read} rows read");
    // Who has no limit, or keeps the newest row a key, reads all.
    assert!(!plan(&sql(&store), "SELECT * FROM t ORDER BY n DESC").contains("DynamicFilter"));
}

const JOINS: [&str; 6] = [
    "SELECT t.n, u.n FROM t JOIN u ON t.series = u.series WHERE u.n % 7 = 0 AND u.n < 150",
    "SELECT t.n FROM t WHERE t.series IN (SELECT series FROM u WHERE n < 5)",
    "SELECT t.n, u.value FROM t JOIN u ON t.n = u.n WHERE u.value > 100 AND t.value < 20000",
    "SELECT t.n, u.n FROM t LEFT JOIN u ON t.series = u.series AND u.n < 3 WHERE t.n < 300",
    "SELECT count(*), sum(t.n) FROM t JOIN u ON t.time = u.time AND t.series = u.series WHERE u.value < 9000",
    "SELECT t.n FROM t WHERE t.n < 2000 AND t.series NOT IN (SELECT series FROM u WHERE n < 50)",
];

#[test]
fn rows_of_a_join_are_those_of_the_same_join_without_runtime_filters() {
    for (format, merge) in [(RunFormat::Cold, Merge::Keep), (RunFormat::Hot, Merge::Latest)] {
        let store = store(format, merge);
        let small = create(&store, "u", Merge::Keep, format);
        insert(&store, small, rows(0, 200));
        let sql = sql(&store);
        for query in JOINS {
            // Two halves of the table, below which no filter goes.
            let halves =
                "(SELECT * FROM t WHERE n % 2 = 0 UNION ALL SELECT * FROM t WHERE n % 2 <> 0) t ";
            let plain = query.replace("FROM t ", &format!("FROM {halves}"));
            assert!(!plan(&sql, &plain).contains("DynamicFilter"), "{plain}");
            let [mut found, mut expected] = [query, &plain].map(|query| answer(&sql, query));
            found.sort();
            expected.sort();
            assert!(!expected.is_empty(), "{plain}");
            assert_eq!(found, expected, "{format:?}: {query}");
        }
    }
}

#[test]
fn keys_of_a_narrow_side_are_told_to_the_other_one() {
    let store = store(RunFormat::Cold, Merge::Keep);
    let small = create(&store, "u", Merge::Keep, RunFormat::Cold);
    insert(&store, small, rows(0, 200));
    let narrow = "SELECT sum(t.value) FROM t JOIN u ON t.series = u.series WHERE u.n < 5";
    assert!(plan(&sql(&store), narrow).contains("filter=DynamicFilter"));
    let all = "SELECT sum(t.value) FROM t JOIN u ON t.series = u.series";
    assert!(!plan(&sql(&store), all).contains("DynamicFilter"));
}

#[test]
fn each_round_of_a_recursive_query_has_its_own_order() {
    let sql = sql(&store(RunFormat::Cold, Merge::Keep));
    let query = "WITH RECURSIVE up(n) AS (
        SELECT 1000 AS n
        UNION ALL
        SELECT n FROM (SELECT t.n AS n FROM t JOIN up ON t.n > up.n WHERE t.n < 1100 ORDER BY t.n DESC LIMIT 1)
        WHERE n < 1099
    ) SELECT count(*) FROM up";
    assert_eq!(answer(&sql, query), ["1"]);
    assert!(!plan(&sql, query).contains("DynamicFilter"));
}
