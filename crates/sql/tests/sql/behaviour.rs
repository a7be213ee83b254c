//! Snapshots, memory, cancelling, parameters, errors.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{self, answer, ask, create, insert, lines, rows, sql};
use futures::StreamExt;
use timestrata_engine::{ErrorKind, Merge, RunFormat, Store, Stream};
use timestrata_sql::{
    AsofOptions, Fill, GapFillOptions, Input, Params, ScalarValue, Shown, Sql, SqlModel,
    SqlOptions, SqlTable, Tolerance,
};

fn filled(count: i64) -> Store {
    let store = support::memory();
    let stream = create(&store, "t", Merge::Keep, RunFormat::Hot);
    for first in (0..count).step_by(100_000) {
        let times: Vec<i64> = (first..count.min(first + 100_000)).map(|n| n * 10).collect();
        insert(&store, stream, rows(&times, first));
        store.flush().unwrap();
    }
    store
}

#[test]
fn a_query_sees_what_was_there_when_it_was_planned() {
    let store = filled(200_000);
    let stream = store.expect_stream("t").unwrap().id();
    let sql = sql(&store);
    let snapshot = store.snapshot().unwrap();
    let result = sql.query_blocking("SELECT n FROM t", Params::none()).unwrap();
    insert(&store, stream, rows(&[5, 1_000_000_000], 500_000));
    store.flush().unwrap();
    let seen: usize = result.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(seen, 200_000);
    assert_eq!(answer(&sql, "SELECT count(*) FROM t"), ["200002"]);
    let then = sql.at_snapshot(snapshot);
    assert_eq!(answer(&then, "SELECT count(*) FROM t"), ["200000"]);
    let error = ask(&then, "DELETE FROM t").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReadOnly);
}

#[test]
fn sorts_larger_than_memory_are_spilled() {
    let store = filled(400_000);
    let options = SqlOptions { memory_bytes_max: 12 << 20, threads: 1, ..SqlOptions::default() };
    let sql = Sql::new(&store, options).unwrap();
    let query = "SELECT n, value, series FROM t ORDER BY n % 1013, n";
    let result = sql.query_blocking(query, Params::none()).unwrap();
    let rows: usize = result.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 400_000);
    let told = answer(&sql, &format!("EXPLAIN ANALYZE {query}")).join("\n");
    let spills = told.split("spill_count=").skip(1);
    assert!(spills.into_iter().any(|count| !count.starts_with('0')), "{told}");
}

#[test]
fn what_cannot_be_spilled_is_refused_with_advice() {
    let store = filled(400_000);
    let options = SqlOptions { memory_bytes_max: 2 << 20, threads: 1, ..SqlOptions::default() };
    let sql = Sql::new(&store, options).unwrap();
    let query = "SELECT array_agg(n) FROM t";
    let error = ask(&sql, query).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    assert!(error.message().contains("give it more"), "{error}");
}

#[test]
fn dropping_an_answer_cancels_the_query() {
    let store = filled(300_000);
    let sql = sql(&store);
    // Billions of pairs: nobody would wait for the end.
    let query = "SELECT a.n FROM t a CROSS JOIN t b WHERE a.n + b.n > 3";
    let mut result = sql.query_blocking(query, Params::none()).unwrap();
    assert!(result.next().unwrap().is_ok());
    drop(result);
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    runtime.block_on(async {
        let mut result = sql.query(query, Params::none()).await.unwrap();
        assert!(result.next().await.unwrap().is_ok());
    });
    // Nothing is left that would hold the threads.
    runtime.shutdown_timeout(std::time::Duration::from_secs(20));
    assert_eq!(answer(&sql, "SELECT count(*) FROM t"), ["300000"]);
}

#[test]
fn values_for_placeholders() {
    let sql = sql(&filled(1_000));
    let time: ScalarValue = "1970-01-01T00:00:05Z".into();
    let count = |query: &str, params: Params| {
        lines(&sql.query_blocking(query, params).unwrap().collect::<Result<Vec<_>, _>>().unwrap())
    };
    let by_place = Params::from(vec![time.clone(), 700_i64.into()]);
    assert_eq!(
        count("SELECT count(*) FROM t WHERE time >= ? AND n < ?", by_place.clone()),
        ["200"]
    );
    assert_eq!(count("SELECT count(*) FROM t WHERE n < $2 AND time >= $1", by_place), ["200"]);
    let by_name = Params::named([("from", time), ("series", "s1".into())]);
    let query = "SELECT count(*) FROM t WHERE time >= $from AND series = $series";
    assert_eq!(count(query, by_name.clone()), ["166"]);
    let plan = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(sql.explain(query, by_name))
        .unwrap();
    assert!(plan.contains("range=[5000, ..]"), "{plan}");
    for (query, params) in [
        ("SELECT count(*) FROM t WHERE n > $1", Params::none()),
        ("SELECT count(*) FROM t WHERE n > $2", Params::from(vec![1_i64.into()])),
        ("SELECT count(*) FROM t WHERE n > $b", Params::named([("a", 1_i64.into())])),
    ] {
        let result =
            sql.query_blocking(query, params).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidArgument, "{query}");
    }
}

#[test]
fn errors_have_the_kind_that_says_what_to_do() {
    let store = filled(10);
    let writable = sql(&store);
    let read_only = Sql::new(&store, SqlOptions::default()).unwrap();
    let options = SqlOptions { read_only: true, ..SqlOptions::default() };
    let writer = Arc::new(support::Writer(store.clone()));
    let refused = Sql::with(&store, options, Vec::new(), Some(writer)).unwrap();
    for (sql, query, kind, words) in [
        (&writable, "SELEC 1", ErrorKind::InvalidArgument, "mistake"),
        (&writable, "SELECT vaule FROM t", ErrorKind::InvalidArgument, "Did you mean 't.value'"),
        (&writable, "SELECT nope(n) FROM t", ErrorKind::InvalidArgument, "nope"),
        (&writable, "SELECT * FROM s", ErrorKind::NotFound, "there are: t"),
        (&writable, "SELECT * FROM other.t", ErrorKind::NotFound, "other.t"),
        (&writable, "SELECT 1 / (n - n) FROM t", ErrorKind::InvalidData, "ivide by zero"),
        (&writable, "SELECT * FROM t WHERE time > 'soon'", ErrorKind::InvalidData, "soon"),
        (&read_only, "DELETE FROM t", ErrorKind::ReadOnly, "reading"),
        (&refused, "DROP TABLE t", ErrorKind::ReadOnly, "reading"),
        (&read_only, "INSERT INTO t SELECT * FROM t", ErrorKind::ReadOnly, "reading"),
        (&read_only, "CREATE TABLE u (time TIMESTAMP NOT NULL)", ErrorKind::ReadOnly, "reading"),
    ] {
        let error = ask(sql, query).unwrap_err();
        assert_eq!(error.kind(), kind, "{query}: {error}");
        assert!(error.message().contains(words), "{query}: {error}");
    }
    assert_eq!(answer(&read_only, "SELECT count(*) FROM t"), ["10"]);
}

#[test]
fn what_changes_a_table_is_never_taken_for_a_query() {
    let store = filled(10);
    let sql = sql(&store);
    for (text, is_query) in [
        ("SELECT 1", true),
        ("\n select 1", true),
        ("WITH x AS (SELECT 1) SELECT * FROM x", true),
        ("(SELECT 1)", true),
        ("EXPLAIN SELECT 1", true),
        ("SHOW TABLES", true),
        ("DELETE FROM t", false),
        ("-- SELECT\nDELETE FROM t", false),
        ("/* SELECT */ DROP TABLE t", false),
        ("INSERT INTO t SELECT * FROM t", false),
        ("CREATE TABLE u (time TIMESTAMP NOT NULL)", false),
    ] {
        assert_eq!(timestrata_sql::is_query(text).unwrap(), is_query, "{text}");
    }
    assert!(timestrata_sql::is_query("selected").is_err());
    // What begins like a query and goes on as none is refused by who runs it.
    for text in [
        "SELECT 1; DELETE FROM t",
        "WITH x AS (SELECT 1) DELETE FROM t",
        "WITH x AS (SELECT * FROM t) INSERT INTO t SELECT * FROM x",
        "SELECT * INTO u FROM t",
        "WITH x AS (SELECT * FROM t) SELECT * INTO u FROM x",
        "SELECT * FROM t UNION ALL SELECT * INTO u FROM t",
        "SELECT count(*) FROM (SELECT * INTO u FROM t)",
    ] {
        assert!(timestrata_sql::is_query(text).unwrap(), "{text}");
        ask(&sql, text).expect_err(text);
    }
    assert_eq!(answer(&sql, "SELECT count(*) FROM t"), ["10"]);
    let error = ask(&sql, "SELECT * INTO u FROM t").unwrap_err().to_string();
    assert!(error.contains("CREATE TABLE u AS SELECT"), "{error}");
    ask(&sql, "SELECT * FROM u").expect_err("no table came into being");
}

#[test]
fn hostile_statements_are_refused_or_answered() {
    let sql = sql(&filled(10));
    let run = move || {
        let deep = [
            format!("SELECT {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
            format!("SELECT {}1", "- ".repeat(50_000)),
            format!("SELECT {}true", "NOT ".repeat(50_000)),
            format!("SELECT * FROM t WHERE {} n = 1", "n = 1 OR ".repeat(20_000)),
            format!("SELECT {}1", "1 + ".repeat(200_000)),
            format!("SELECT {}1 FROM t", "n + ".repeat(790)),
            format!("{}SELECT 1{}", "SELECT * FROM (".repeat(5_000), ")".repeat(5_000)),
            format!("SELECT 1 {}", "UNION ALL SELECT 1 ".repeat(20_000)),
            format!("SELECT {}1{}", "abs(".repeat(5_000), ")".repeat(5_000)),
            format!("SELECT {}1{}", "[".repeat(5_000), "]".repeat(5_000)),
            format!("SELECT {}0 END", "CASE WHEN true THEN ".repeat(5_000)),
            format!(
                "SELECT * FROM asof_join(t, '{}1', time)",
                "SELECT * FROM t WHERE n = ".repeat(3_000)
            ),
            "SELECT 'x".to_owned() + &"x".repeat(2 << 20),
        ];
        for statement in deep {
            let head: String = statement.chars().take(40).collect();
            let error = ask(&sql, &statement).expect_err(&head);
            let kinds = [ErrorKind::InvalidArgument, ErrorKind::TooLarge];
            assert!(kinds.contains(&error.kind()), "{head}: {error}");
        }
        // As deep as is allowed.
        for statement in [
            format!("SELECT {}1", "1 + ".repeat(790)),
            format!("SELECT {}0 * n FROM t", "n + ".repeat(190)),
            format!("SELECT count(*) FROM t WHERE {} n = 1", "n = 1 OR ".repeat(390)),
            format!("SELECT 1 {}", "UNION ALL SELECT 1 ".repeat(200)),
        ] {
            ask(&sql, &statement).unwrap();
        }
    };
    // The stack of a thread of a server.
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn functions_without_sql_text() {
    let sql = sql(&filled(100));
    let right = Input::Query(
        "SELECT time, n AS m FROM t WHERE n % 10 = $1".to_owned(),
        Params::from(vec![0_i64.into()]),
    );
    let mut options = AsofOptions::on("time");
    options.tolerance = Some(Tolerance::parse("50 milliseconds").unwrap());
    let joined = sql.asof_join_blocking(Input::from("t"), right, &options).unwrap();
    let joined = lines(&joined.collect::<Result<Vec<_>, _>>().unwrap());
    assert_eq!(joined.len(), 100);
    assert!(joined[15].ends_with(" 10"), "{}", joined[15]);
    assert!(joined[16].ends_with(" NULL NULL"), "{}", joined[16]);

    let input = Input::Query("SELECT time, n FROM t WHERE n % 2 = 0".to_owned(), Params::none());
    let mut options = GapFillOptions::parse("time", "10 milliseconds").unwrap();
    options.fill = Fill::Linear;
    let found = sql.gap_fill_blocking(input, &options).unwrap();
    let found = lines(&found.collect::<Result<Vec<_>, _>>().unwrap());
    assert_eq!(found.len(), 99);
    assert_eq!(found[3], "1970-01-01T00:00:00.030Z 3");
}

/// Shows streams whose names begin with `x` under another name, without their first column.
#[derive(Debug)]
struct Renaming(AtomicUsize);

impl SqlModel for Renaming {
    fn show(&self, stream: &Arc<Stream>) -> Shown {
        self.0.fetch_add(1, Ordering::Relaxed);
        let Some(name) = stream.name().strip_prefix('x') else { return Shown::NotMine };
        let schema = Arc::new(stream.schema().project(&[2, 1]).unwrap());
        SqlTable::of_columns(name, stream, schema, vec![2, 1]).map_or(Shown::Hidden, Shown::Table)
    }
}

#[test]
fn models_show_their_streams_as_they_want() {
    let store = filled(10);
    let stream = create(&store, "xodd", Merge::Keep, RunFormat::Hot);
    insert(&store, stream, rows(&[3, 2, 1], 7));
    let model: Arc<dyn SqlModel> = Arc::new(Renaming(AtomicUsize::new(0)));
    let sql = Sql::with(&store, SqlOptions::default(), vec![model], None).unwrap();
    assert_eq!(sql.tables().unwrap(), ["odd", "t"]);
    assert_eq!(answer(&sql, "SELECT * FROM odd WHERE n > 7"), ["9 s0", "8 s2"]);
    assert_eq!(answer(&sql, "SELECT count(*) FROM odd, t"), ["30"]);
}

#[test]
fn joins_of_tables_see_one_snapshot() {
    let store = filled(1_000);
    let sql = sql(&store);
    let query = "SELECT count(*) FROM t a JOIN t b ON a.time = b.time AND a.n = b.n";
    assert_eq!(answer(&sql, query), ["1000"]);
}

#[test]
fn gaps_without_end_can_be_cancelled() {
    let sql = sql(&filled(1_000));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let query = "SELECT count(*) FROM gap_fill((SELECT time_bucket('1 nanosecond', \
                     arrow_cast(time, 'Timestamp(ns, \"UTC\")')) AS time FROM t), time, '1 nanosecond')";
        let mut result = sql.query(query, Params::none()).await.unwrap();
        let patience = std::time::Duration::from_millis(200);
        assert!(tokio::time::timeout(patience, result.next()).await.is_err());
    });
    runtime.shutdown_timeout(std::time::Duration::from_secs(20));
}

/// DataFusion takes the times of one date for one time, and drops a sort by them.
#[test]
fn days_in_a_zone_are_sorted_all_the_same() {
    use datafusion::arrow::array::{Int64Array, RecordBatch, TimestampMillisecondArray};
    use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
    use timestrata_engine::StreamSpec;

    let store = support::memory();
    let time = DataType::Timestamp(TimeUnit::Millisecond, Some("Europe/Berlin".into()));
    let fields = vec![Field::new("time", time, false), Field::new("n", DataType::Int64, false)];
    let schema = Arc::new(Schema::new(fields));
    let stream = store.create_stream(StreamSpec::new("t", Arc::clone(&schema))).unwrap();
    let times = TimestampMillisecondArray::from_iter_values((0..48).map(|hour| hour * 3_600_000));
    let times = Arc::new(times.with_timezone("Europe/Berlin"));
    let numbers = Arc::new(Int64Array::from_iter_values(0..48));
    insert(&store, stream, RecordBatch::try_new(schema, vec![times, numbers]).unwrap());
    let sql = sql(&store);
    let query = "SELECT n FROM t WHERE time::date = '1970-01-02' ORDER BY time DESC LIMIT 2";
    assert_eq!(answer(&sql, query), ["46", "45"]);
}

/// What is concluded of a condition (here: `n` has one value, so rows in order of time are in order of
/// both) may be counted on above, whatever form the condition gets later.
#[test]
fn conditions_with_one_value_keep_rows_and_groups_in_order() {
    let sql = sql(&filled(5_000));
    for condition in ["n = 4321", "n >= 4321 AND n <= 4321", "n > 4320 AND n < 4322"] {
        let from = format!("FROM t WHERE {condition}");
        assert_eq!(answer(&sql, &format!("SELECT n {from} ORDER BY n, time")), ["4321"]);
        let groups = format!("SELECT n, count(*) {from} GROUP BY n, time ORDER BY n, time");
        assert_eq!(answer(&sql, &groups), ["4321 1"], "{condition}");
    }
    let many = "SELECT n FROM t WHERE n >= 10 AND n < 13 ORDER BY n DESC";
    assert_eq!(answer(&sql, many), ["12", "11", "10"]);
}
