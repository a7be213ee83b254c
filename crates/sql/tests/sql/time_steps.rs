//! Buckets by the clock of a zone, gaps from a start to an end, and the nearest row of another table.

use crate::support::{answer, ask, create, insert, memory, plan, rows, sql};
use timestrata_engine::{ErrorKind, Merge, RunFormat, Store};
use timestrata_io::{Rng, SeededRng};
use timestrata_sql::{Sql, SqlOptions};

/// A reading an hour, from the 30th of March to the second of April 2024; in Berlin clocks were put forward on the 31st.
fn hourly() -> (Store, Sql) {
    let store = memory();
    let stream = create(&store, "t", Merge::Keep, RunFormat::Cold);
    let first = 1_711_756_800_000;
    insert(&store, stream, rows(&(0..72).map(|n| first + n * 3_600_000).collect::<Vec<_>>(), 1));
    store.flush().unwrap();
    let sql = sql(&store);
    (store, sql)
}

#[test]
fn days_of_a_zone_have_the_hours_that_its_clock_has() {
    let (_store, sql) = hourly();
    let query = "SELECT time_bucket('1 day', time, 'Europe/Berlin') AS day, count(*) FROM t GROUP BY day ORDER BY day";
    assert_eq!(
        answer(&sql, query),
        [
            "2024-03-30T00:00:00+01:00 23",
            "2024-03-31T00:00:00+01:00 23",
            "2024-04-01T00:00:00+02:00 24",
            "2024-04-02T00:00:00+02:00 2"
        ]
    );
    let query =
        "SELECT DISTINCT time_bucket('1 month', time, 'Europe/Berlin') AS m FROM t ORDER BY m";
    assert_eq!(answer(&sql, query), ["2024-03-01T00:00:00+01:00", "2024-04-01T00:00:00+02:00"]);
    // What a bucket begins with is the local day.
    let query = "SELECT time_bucket('1 day', time, 'Europe/Berlin')::date AS d, min(n) FROM t GROUP BY d ORDER BY d LIMIT 2";
    assert_eq!(answer(&sql, query), ["2024-03-30 1", "2024-03-31 24"]);
    let fixed = "SELECT min(time_bucket(INTERVAL '1 day', time, '+05:30')) AS d FROM t";
    assert_eq!(answer(&sql, fixed), ["2024-03-30T00:00:00+05:30"]);
    let asked = "SELECT count(DISTINCT time_bucket('1 hour', time, $1)) FROM t";
    let answered = sql.query_blocking(asked, vec!["Europe/Berlin".into()].into()).unwrap();
    assert_eq!(crate::support::lines(&answered.collect::<Result<Vec<_>, _>>().unwrap()), ["72"]);
}

#[test]
fn a_filter_on_local_days_reads_their_range_alone() {
    let (_store, sql) = hourly();
    let of = "time_bucket('1 day', time, 'Europe/Berlin') = TIMESTAMP '2024-03-30T23:00:00Z'";
    let counted = answer(&sql, &format!("SELECT count(*), min(n) FROM t WHERE {of}"));
    assert_eq!(counted, ["23 24"]);
    let told = plan(&sql, &format!("SELECT n FROM t WHERE {of}"));
    assert!(told.contains("range=") && !told.contains("FilterExec"), "{told}");
    // No local day begins at midnight in UTC.
    let none = of.replace("30T23", "31T00");
    assert_eq!(answer(&sql, &format!("SELECT count(*) FROM t WHERE {none}")), ["0"]);
}

#[test]
fn what_is_no_zone_is_refused_and_views_keep_to_utc() {
    let (_store, sql) = hourly();
    for (query, told) in [
        ("SELECT time_bucket('1 day', time, 'Europe/Nowhere') FROM t", "there is no time zone"),
        ("SELECT date_bin('1 day', time, 'Europe/Berlin') FROM t", "is no time"),
        ("SELECT time_bucket('1 day', time, series) FROM t", "must be the same for all rows"),
        ("SELECT * FROM gap_fill(t, time, '1 day', zone => 'Nowhere')", "there is no time zone"),
    ] {
        let error = ask(&sql, query).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{query}");
        assert!(error.to_string().contains(told), "{query}: {error}");
    }
    let store = memory();
    let sql = Sql::open(&store, SqlOptions::default()).unwrap();
    answer(&sql, "CREATE TABLE m (time TIMESTAMP NOT NULL, n BIGINT)");
    let view = "CREATE MATERIALIZED VIEW v AS SELECT time_bucket('1 day', time, 'Europe/Berlin') AS day, count(*) AS c \
                FROM m GROUP BY day";
    let error = ask(&sql, view).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
}

#[test]
fn gaps_are_filled_from_a_start_to_an_end() {
    let store = memory();
    let stream = create(&store, "t", Merge::Keep, RunFormat::Hot);
    insert(&store, stream, rows(&[20, 50, 60], 1));
    let sql = sql(&store);
    let ends = "start => '1970-01-01T00:00:00.005Z', end => TIMESTAMP '1970-01-01T00:00:00.090Z'";
    let of = |input: &str, more: &str| {
        let query = format!(
            "SELECT CAST(CAST(time AS VARCHAR) AS VARCHAR) AS t, series, n FROM \
             gap_fill({input}, time, '10 milliseconds', {more}) ORDER BY time, series"
        );
        let short = |line: String| line.replace("1970-01-01T00:00:00.", "");
        answer(&sql, &query).into_iter().map(short).collect::<Vec<_>>()
    };
    assert_eq!(
        of("t", &format!("fill => 'previous', {ends}")),
        [
            "010Z NULL NULL",
            "020Z s1 1",
            "030Z s1 1",
            "040Z s1 1",
            "050Z s2 2",
            "060Z s0 3",
            "070Z s0 3",
            "080Z s0 3"
        ]
    );
    // Between rows on a line, and nothing beyond them.
    assert_eq!(
        of(
            "(SELECT time, 'a' AS series, n * 10 AS n FROM t WHERE n < 3)",
            &format!("'linear', 'series', {ends}")
        ),
        [
            "010Z a NULL",
            "020Z a 10",
            "030Z a 13",
            "040Z a 17",
            "050Z a 20",
            "060Z a NULL",
            "070Z a NULL",
            "080Z a NULL"
        ]
    );
    // Each series from the start to the end.
    assert_eq!(
        of(
            "(SELECT * FROM t WHERE n > 1)",
            "by => series, start => '1970-01-01T00:00:00.030Z', end => '1970-01-01T00:00:00.070Z'"
        ),
        [
            "030Z s0 NULL",
            "030Z s2 NULL",
            "040Z s0 NULL",
            "040Z s2 NULL",
            "050Z s0 NULL",
            "050Z s2 2",
            "060Z s0 3",
            "060Z s2 NULL"
        ]
    );
    // No row is taken away, and none is added where there is one.
    assert_eq!(of("t", "start => '1970-01-01T00:00:00.040Z'").len(), 5);
    let wrong =
        "SELECT * FROM gap_fill(t, time, '1 day', start => '2024-01-02', end => '2024-01-01')";
    assert!(ask(&sql, wrong).unwrap_err().to_string().contains("later than the end"));
}

#[test]
fn gaps_of_nothing_are_filled_where_both_ends_are_said() {
    let (_store, sql) = hourly();
    let of = |input: &str, more: &str| {
        answer(
            &sql,
            &format!(
                "SELECT count(*), count(n), min(time) FROM gap_fill({input}, time, '1 day', {more})"
            ),
        )
    };
    let ends = "start => '2024-01-01T05:00:00Z', end => '2024-01-05'";
    assert_eq!(of("(SELECT * FROM t WHERE n < 0)", ends), ["3 0 2024-01-02T00:00:00Z"]);
    assert_eq!(of("(SELECT * FROM t WHERE n < 0)", "start => '2024-01-01'"), ["0 0 NULL"]);
    assert_eq!(of("(SELECT * FROM t WHERE n < 0)", &format!("by => series, {ends}")), ["0 0 NULL"]);
    let error = ask(&sql, "SELECT * FROM gap_fill(t, time, '1 day', start => 'x')").unwrap_err();
    assert!(error.to_string().contains("start, x, is no time"), "{error}");
}

#[test]
fn gaps_between_local_days_are_days_of_the_clock() {
    let (_store, sql) = hourly();
    let query = "SELECT day, c FROM gap_fill(\
        (SELECT time_bucket('1 day', time, 'Europe/Berlin') AS day, count(*) AS c FROM t WHERE n < 10 OR n > 60 GROUP BY day), \
        day, '1 day', zone => 'Europe/Berlin', end => '2024-04-03T22:00:00Z') ORDER BY day";
    assert_eq!(
        answer(&sql, query),
        [
            "2024-03-30T00:00:00+01:00 9",
            "2024-03-31T00:00:00+01:00 NULL",
            "2024-04-01T00:00:00+02:00 10",
            "2024-04-02T00:00:00+02:00 2",
            "2024-04-03T00:00:00+02:00 NULL"
        ]
    );
}

/// The nearest row as a plain loop finds it.
fn nearest(
    left: &[(i64, i64)],
    right: &[(i64, i64)],
    exact: bool,
    most: Option<i64>,
) -> Vec<String> {
    let of = |(time, n): &(i64, i64)| {
        let mut best: Option<(i64, i64)> = None;
        for (other, m) in right {
            let apart = (other - time).abs();
            let same = crate::support::series(*n) == crate::support::series(*m);
            if !same || (!exact && apart == 0) || most.is_some_and(|most| apart > most) {
                continue;
            }
            let is_later = other > time;
            // Of two that are as near the earlier one, and of those of one time the last.
            let wins = best.is_none_or(|(best, _)| apart < best || (apart == best && !is_later));
            if wins {
                best = Some((apart, *m));
            }
        }
        format!("{n} {}", best.map_or("NULL".to_owned(), |(_, m)| m.to_string()))
    };
    left.iter().map(of).collect()
}

#[test]
fn the_nearest_row_is_the_one_that_a_plain_search_finds() {
    let rng = SeededRng::new(7);
    for round in 0..20 {
        let store = memory();
        let (left, right) = (
            create(&store, "l", Merge::Keep, RunFormat::Hot),
            create(&store, "r", Merge::Keep, RunFormat::Hot),
        );
        let times = |count: u64, within: u64| {
            let mut times: Vec<i64> =
                (0..count).map(|_| (rng.next_u64() % within) as i64).collect();
            times.sort_unstable();
            times
        };
        let within = if round % 2 == 0 { 50 } else { 5_000 };
        let (ours, theirs) =
            (times(60, within), times(if round % 5 == 0 { 3 } else { 200 }, within));
        insert(&store, left, rows(&ours, 1));
        insert(&store, right, rows(&theirs, 1_000));
        let sql = sql(&store);
        let ours: Vec<(i64, i64)> = ours.into_iter().zip(1..).collect();
        let theirs: Vec<(i64, i64)> = theirs.into_iter().zip(1_000..).collect();
        for (exact, most) in [(true, None), (false, None), (true, Some(3)), (false, Some(40))] {
            let tolerance =
                most.map_or(String::new(), |most| format!(", tolerance => '{most} milliseconds'"));
            let query = format!(
                "SELECT n, n_right FROM asof_join(l, r, time, series, direction => 'nearest', exact => {exact}{tolerance}) ORDER BY n"
            );
            assert_eq!(
                answer(&sql, &query),
                nearest(&ours, &theirs, exact, most),
                "round {round}: {query}"
            );
        }
    }
}
