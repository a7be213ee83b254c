//! What a query doesn't need is not read, from hot runs and from cold ones: told by EXPLAIN.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, StringArray};

use crate::support::{self, answer, create, insert, pairs, plan, rows, sql};
use timestrata_engine::{Access, Io, Merge, RunFormat, Settings, Store};

const ROWS: i64 = 400_000;

/// At least four runs, one after the other, 400,000 rows in all, a second apart.
fn several_runs(format: RunFormat) -> Store {
    runs_of(format, rows)
}

/// The same, of 200 series.
fn runs_of_many_series(format: RunFormat) -> Store {
    runs_of(format, |times, first| {
        let mut columns = rows(times, first).columns().to_vec();
        let names = (first..).take(times.len()).map(|n| format!("s{}", n % 200));
        columns[1] = Arc::new(StringArray::from_iter_values(names));
        RecordBatch::try_new(support::schema(), columns).unwrap()
    })
}

fn runs_of(format: RunFormat, rows: impl Fn(&[i64], i64) -> RecordBatch) -> Store {
    let settings = Settings { run_bytes_max: 256 << 10, ..support::settings() };
    let store =
        Store::open_with(Io::memory(), Path::new("store"), Access::Write, settings).unwrap();
    let stream = create(&store, "t", Merge::Keep, format);
    for part in 0..4 {
        let first = part * ROWS / 4;
        let times: Vec<i64> = (first..first + ROWS / 4).map(|n| n * 1000).collect();
        insert(&store, stream, rows(&times, first));
        store.flush().unwrap();
    }
    store.compact(Some(stream)).unwrap();
    store
}

/// An hour.
const LATE: &str = "time >= '1970-01-03T19:00:00Z' AND time < '1970-01-03T20:00:00Z'";

#[test]
fn runs_that_a_range_does_not_touch_are_skipped() {
    for format in [RunFormat::Hot, RunFormat::Cold] {
        let sql = sql(&several_runs(format));
        let text = plan(&sql, &format!("SELECT n FROM t WHERE {LATE}"));
        let figure = |name: &str| -> u64 {
            let behind = text.split(name).nth(1).unwrap();
            behind.split(',').next().unwrap().trim().parse().unwrap()
        };
        assert_eq!(figure("runs_read="), 1, "{format:?}: {text}");
        assert!(figure("runs_skipped=") >= 2, "{format:?}: {text}");
        assert!(!text.contains("FilterExec"), "{text}");
        assert!(text.contains("columns=[n]"), "{text}");
        let found = answer(&sql, &format!("SELECT count(n), min(n), max(n) FROM t WHERE {LATE}"));
        assert_eq!(found, ["3600 241200 244799"], "{format:?}");
    }
}

#[test]
fn partitions_are_aggregated_side_by_side_unless_a_limit_may_end_the_reading() {
    let sql = sql(&several_runs(RunFormat::Cold));
    let bucket = "SELECT time_bucket('1 hour', time) AS hour, count(*) AS n FROM t GROUP BY 1";
    let text = plan(&sql, bucket);
    assert!(text.contains("partitions=2"), "{text}");
    assert!(!text.contains("ordering_mode") && !text.contains("preserve_order"), "{text}");
    let text = plan(&sql, &format!("{bucket} ORDER BY 1 LIMIT 3"));
    assert!(text.contains("ordering_mode=Sorted"), "{text}");
    // Nothing ends early where all has to be read before the first row is known.
    let text = plan(&sql, &format!("{bucket} ORDER BY 1 DESC LIMIT 3"));
    assert!(!text.contains("ordering_mode"), "{text}");
    let newest = answer(&sql, &format!("{bucket} ORDER BY 1 DESC LIMIT 3"));
    assert_eq!(newest.len(), 3);
    assert!(newest.is_sorted_by(|one, other| one > other), "{newest:?}");
    let text = plan(&sql, "SELECT n % 7, last_value(n ORDER BY time) FROM t GROUP BY 1");
    assert!(!text.contains("SortExec"), "{text}");
    let sums = format!("SELECT count(*), sum(n), min(n), max(n) FROM ({bucket})");
    assert_eq!(answer(&sql, &sums), ["112 400000 400 3600"]);
}

#[test]
fn the_newest_row_of_each_series_is_found_whatever_is_left_unread() {
    for format in [RunFormat::Hot, RunFormat::Cold] {
        let store = several_runs(format);
        let stream = store.stream("t").unwrap().id();
        // A series that only one of the oldest rows has.
        let mut columns = rows(&[7], 5).columns().to_vec();
        columns[1] = Arc::new(StringArray::from(vec!["rare"]));
        insert(&store, stream, RecordBatch::try_new(support::schema(), columns).unwrap());
        let sql = sql(&store);
        for range in ["", " WHERE time < '1970-01-03T20:00:00Z'"] {
            let relation = format!("(SELECT time, series, n FROM t{range})");
            let newest = format!("SELECT series, n FROM latest_on({relation}, time, series)");
            let grouped = format!("SELECT series, max(n) FROM t{range} GROUP BY series");
            let found = answer(&sql, &format!("{newest} ORDER BY series"));
            assert_eq!(found, answer(&sql, &format!("{grouped} ORDER BY series")), "{format:?}");
            assert!(found.iter().any(|row| row == "rare 5"), "{found:?}");
        }
        let newest = answer(&sql, "SELECT n FROM latest_on(t, time, series) LIMIT 1");
        assert_eq!(newest, ["399999"], "{format:?}");
    }
}

#[test]
fn order_by_time_needs_no_sort_in_either_direction() {
    let sql = sql(&several_runs(RunFormat::Hot));
    for direction in ["ASC", "DESC"] {
        for query in [
            format!("SELECT time, n FROM t ORDER BY time {direction}"),
            format!("SELECT time, n FROM t ORDER BY time {direction} LIMIT 5"),
            format!("SELECT time, n + 1 FROM t WHERE n % 2 = 0 ORDER BY time {direction} LIMIT 5"),
        ] {
            let text = plan(&sql, &query);
            assert!(!text.contains("SortExec"), "{query}:\n{text}");
            assert!(text.contains("partitions=2"), "{query}:\n{text}");
            assert_eq!(text.contains("reverse"), direction == "DESC", "{query}:\n{text}");
        }
    }
    let last = answer(&sql, "SELECT n FROM t ORDER BY time DESC LIMIT 3");
    assert_eq!(last, ["399999", "399998", "399997"]);
    let all = pairs(&support::ask(&sql, "SELECT time, n FROM t ORDER BY time").unwrap());
    assert_eq!(all, (0..ROWS).map(|n| (n * 1000, n)).collect::<Vec<_>>());
    let all = pairs(&support::ask(&sql, "SELECT time, n FROM t ORDER BY time DESC").unwrap());
    assert_eq!(all, (0..ROWS).rev().map(|n| (n * 1000, n)).collect::<Vec<_>>());
}

#[test]
fn partitions_share_the_rows() {
    let sql = sql(&several_runs(RunFormat::Cold));
    let text = plan(&sql, "SELECT sum(n) FROM t");
    assert!(text.contains("partitions=2"), "{text}");
    let sum = ROWS * (ROWS - 1) / 2;
    assert_eq!(answer(&sql, "SELECT sum(n), count(value) FROM t"), [format!("{sum} 320000")]);
    // A few rows are not worth a second thread,
    let few = format!("SELECT n % 60, sum(n) FROM t WHERE {LATE} GROUP BY 1");
    let text = plan(&sql, &few);
    assert!(text.contains("partitions=1") && !text.contains("RepartitionExec"), "{text}");
    // unless many are made of them.
    let pairs = format!(
        "WITH few AS (SELECT n FROM t WHERE {LATE}) \
         SELECT count(*) FROM few AS a JOIN few AS b ON a.n < b.n"
    );
    let text = plan(&sql, &pairs);
    assert!(text.contains("RoundRobinBatch(2)"), "{text}");
    assert_eq!(answer(&sql, &pairs), [format!("{}", 3600 * 3599 / 2)]);
}

#[test]
fn a_few_of_many_series_are_read_by_one_thread() {
    let day = "time >= '1970-01-02' AND time < '1970-01-03'";
    for format in [RunFormat::Hot, RunFormat::Cold] {
        let sql = sql(&runs_of_many_series(format));
        let asked = |condition: &str| {
            format!(
                "SELECT time_bucket('1 hour', time) AS hour, count(*) AS n, sum(n) AS sum FROM t \
                 WHERE {day} AND {condition} GROUP BY 1 ORDER BY 1"
            )
        };
        // How many series flushed runs have is looked for once as many blocks were asked for as they have.
        let asks_of_flushed = if format == RunFormat::Hot { 10 } else { 0 };
        for _ in 0..asks_of_flushed {
            answer(&sql, &asked("series = 's7'"));
        }
        for (condition, same) in [
            ("series = 's7'", "series || '' = 's7'"),
            ("series IN ('s7', 's9', 's11') AND n > 0", "series || '' IN ('s7', 's9', 's11')"),
            ("series = 'none'", "series || '' = 'none'"),
        ] {
            let text = plan(&sql, &asked(condition));
            assert!(text.contains("partitions=1"), "{format:?}: {text}");
            assert!(!text.contains("RepartitionExec"), "{format:?}: {text}");
            assert!(plan(&sql, &asked(same)).contains("partitions=2"), "{same}");
            assert_eq!(answer(&sql, &asked(condition)), answer(&sql, &asked(same)), "{format:?}");
        }
        let text = plan(&sql, &asked("series NOT IN ('s7', 's9', 's11', 's13')"));
        assert!(text.contains("partitions=2"), "{format:?}: {text}");
    }
    // One of three has a third of the rows.
    let text =
        plan(&sql(&several_runs(RunFormat::Cold)), "SELECT sum(n) FROM t WHERE series = 'a'");
    assert!(text.contains("partitions=2"), "{text}");
}

#[test]
fn rows_that_nobody_wants_in_order_are_the_same_ones() {
    let sql = sql(&runs_of_many_series(RunFormat::Cold));
    for condition in ["true", "n % 3 > 0", "series > 's5'", "n > 5 AND series <> 's7'"] {
        let asked = format!("SELECT time, n FROM t WHERE {condition}");
        let mut found = pairs(&support::ask(&sql, &asked).unwrap());
        let text = plan(&sql, &asked);
        assert!(text.contains("partitions=2") && !text.contains("Sort"), "{text}");
        found.sort_unstable();
        let ordered = pairs(&support::ask(&sql, &format!("{asked} ORDER BY time, n")).unwrap());
        assert!(ordered.is_sorted() && ordered.len() > 1_000, "{condition}");
        assert_eq!(found, ordered, "{condition}");
    }
}

#[test]
fn counts_and_ends_are_answered_without_a_scan() {
    for format in [RunFormat::Hot, RunFormat::Cold] {
        let sql = sql(&several_runs(format));
        for condition in ["true", LATE, "time < '1970-01-01T01:00:00Z' OR time > '1970-01-05Z'"] {
            let query = format!("SELECT count(*), min(time), max(time) FROM t WHERE {condition}");
            let text = plan(&sql, &query);
            assert!(!text.contains("StreamScan"), "{text}");
        }
        assert_eq!(answer(&sql, &format!("SELECT count(*) FROM t WHERE {LATE}")), ["3600"]);
        let text = plan(&sql, "SELECT count(*) FROM t WHERE n > 5");
        assert!(text.contains("StreamScan"), "{text}");
    }
}

#[test]
fn counts_of_replaced_rows_are_exact() {
    let store = support::memory();
    let stream = create(&store, "t", Merge::Latest, RunFormat::Hot);
    let times: Vec<i64> = (0..900).map(|n| n / 3 * 1000).collect();
    for round in 0..3 {
        insert(&store, stream, rows(&times, round * 900));
        store.flush().unwrap();
    }
    let sql = sql(&store);
    assert_eq!(answer(&sql, "SELECT count(*), min(n) FROM t"), ["900 1800"]);
    assert_eq!(answer(&sql, "SELECT count(*) FROM t WHERE time < '1970-01-01T00:00:10Z'"), ["30"]);
}

#[test]
fn buckets_of_ordered_rows_are_grouped_in_order() {
    let sql = sql(&several_runs(RunFormat::Hot));
    let query = "SELECT time_bucket('1 hour', time) AS hour, count(*), first(n, time), last(n, time) \
                 FROM t GROUP BY hour ORDER BY hour LIMIT 2";
    let text = plan(&sql, query);
    assert!(text.contains("ordering_mode=Sorted"), "{text}");
    let found = answer(&sql, query);
    assert_eq!(found, ["1970-01-01T00:00:00Z 3600 0 3599", "1970-01-01T01:00:00Z 3600 3600 7199"]);
}
