//! Whatever is asked of the time, the scan gives the rows that a filter over all rows would:
//! with late rows, replaced rows, deletes, hot and cold runs, and several partitions.

use crate::support::{self, ask, create, insert, pairs, pairs_of, rows, settings, sql};
use proptest::prelude::*;
use timestrata_engine::{
    Changes, Durability, KeyRange, Merge, RunFormat, Settings, Store, StreamId,
};

/// What is asked of the time, in milliseconds.
#[derive(Debug, Clone)]
enum Filter {
    Compare(&'static str, i64, Form),
    Between(i64, i64),
    In(Vec<i64>),
    And(Box<Filter>, Box<Filter>),
    Or(Box<Filter>, Box<Filter>),
    Not(Box<Filter>),
    /// Not about the time.
    Number(i64),
    Bucket(i64),
    Day(&'static str, i64),
}

/// How the literal is written.
#[derive(Debug, Clone, Copy)]
enum Form {
    Text,
    Zone,
    Cast,
    Coarse,
    Reverse,
}

const DAY: i64 = 86_400_000;

/// A time as people write it.
fn text(millis: i64, zone: &str) -> String {
    let shift = if zone == "+02:00" { 7_200_000 } else { 0 };
    let local = millis + shift;
    let (days, rest) = (local.div_euclid(DAY), local.rem_euclid(DAY));
    // Days around 1970 only.
    let date = match days {
        -1 => "1969-12-31".to_owned(),
        -2 => "1969-12-30".to_owned(),
        day => format!("1970-01-{:02}", day + 1),
    };
    let (hours, minutes) = (rest / 3_600_000, rest / 60_000 % 60);
    format!("{date}T{hours:02}:{minutes:02}:{:02}.{:03}{zone}", rest / 1000 % 60, rest % 1000)
}

impl Filter {
    fn sql(&self) -> String {
        match self {
            Self::Compare(op, at, Form::Text) => format!("time {op} '{}'", text(*at, "Z")),
            Self::Compare(op, at, Form::Zone) => format!("time {op} '{}'", text(*at, "+02:00")),
            Self::Compare(op, at, Form::Cast) => {
                format!("time {op} CAST('{}' AS TIMESTAMP)", text(*at, ""))
            }
            Self::Compare(op, at, Form::Coarse) => format!(
                "date_trunc('second', time) {op} TIMESTAMP '{}'",
                text(at.div_euclid(1000) * 1000, "")
            ),
            Self::Compare(op, at, Form::Reverse) => format!("'{}' {op} time", text(*at, "Z")),
            Self::Between(lo, hi) => {
                format!("time BETWEEN '{}' AND '{}'", text(*lo, "Z"), text(*hi, "Z"))
            }
            Self::In(times) => {
                let times: Vec<_> = times.iter().map(|t| format!("'{}'", text(*t, "Z"))).collect();
                format!("time IN ({})", times.join(", "))
            }
            Self::And(a, b) => format!("({} AND {})", a.sql(), b.sql()),
            Self::Or(a, b) => format!("({} OR {})", a.sql(), b.sql()),
            Self::Not(a) => format!("NOT ({})", a.sql()),
            Self::Number(n) => format!("n % 7 <> {n}"),
            Self::Bucket(at) => {
                format!("time_bucket('90 seconds', time) = '{}'", text(bucket(*at), "Z"))
            }
            Self::Day(op, day) => format!("time::date {op} '{}'", &text(day * DAY, "")[..10]),
        }
    }

    fn holds(&self, time: i64, n: i64) -> bool {
        let compare = |op: &str, a: i64, b: i64| match op {
            "=" => a == b,
            "<>" => a != b,
            "<" => a < b,
            "<=" => a <= b,
            ">" => a > b,
            _ => a >= b,
        };
        match self {
            Self::Compare(op, at, Form::Reverse) => compare(op, *at, time),
            Self::Compare(op, at, Form::Coarse) => {
                compare(op, time.div_euclid(1000), at.div_euclid(1000))
            }
            Self::Compare(op, at, _) => compare(op, time, *at),
            Self::Between(lo, hi) => (*lo..=*hi).contains(&time),
            Self::In(times) => times.contains(&time),
            Self::And(a, b) => a.holds(time, n) && b.holds(time, n),
            Self::Or(a, b) => a.holds(time, n) || b.holds(time, n),
            Self::Not(a) => !a.holds(time, n),
            Self::Number(rest) => n % 7 != *rest,
            Self::Bucket(at) => bucket(time) == bucket(*at),
            Self::Day(op, day) => compare(op, time.div_euclid(DAY), *day),
        }
    }
}

fn bucket(time: i64) -> i64 {
    // 946857600 s, the origin, is a multiple of 90 s.
    time.div_euclid(90_000) * 90_000
}

fn time() -> impl Strategy<Value = i64> {
    prop_oneof![
        -DAY..2 * DAY,
        (-5_i64..5).prop_map(|t| t * 500),
        (0_i64..40).prop_map(|t| t * 60_000)
    ]
}

fn filter() -> impl Strategy<Value = Filter> {
    let op = || prop_oneof![Just("="), Just("<>"), Just("<"), Just("<="), Just(">"), Just(">=")];
    let form = prop_oneof![
        Just(Form::Text),
        Just(Form::Zone),
        Just(Form::Cast),
        Just(Form::Coarse),
        Just(Form::Reverse)
    ];
    let leaf = prop_oneof![
        4 => (op(), time(), form).prop_map(|(op, at, form)| Filter::Compare(op, at, form)),
        2 => (time(), time()).prop_map(|(lo, hi)| Filter::Between(lo, hi)),
        1 => proptest::collection::vec(time(), 1..5).prop_map(Filter::In),
        1 => (0_i64..7).prop_map(Filter::Number),
        1 => time().prop_map(Filter::Bucket),
        1 => (op(), -2_i64..3).prop_map(|(op, day)| Filter::Day(op, day)),
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        let two = || (inner.clone(), inner.clone());
        prop_oneof![
            two().prop_map(|(a, b)| Filter::And(Box::new(a), Box::new(b))),
            two().prop_map(|(a, b)| Filter::Or(Box::new(a), Box::new(b))),
            inner.clone().prop_map(|a| Filter::Not(Box::new(a))),
        ]
    })
}

#[derive(Debug, Clone)]
enum Step {
    Insert(Vec<i64>),
    DeleteRange(i64, i64),
    Flush,
    Compact,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => proptest::collection::vec(time(), 1..60).prop_map(Step::Insert),
        1 => (time(), time()).prop_map(|(a, b)| Step::DeleteRange(a.min(b), a.max(b))),
        2 => Just(Step::Flush),
        1 => Just(Step::Compact),
    ];
    proptest::collection::vec(step, 1..12)
}

fn carry_out(store: &Store, stream: StreamId, steps: &[Step]) {
    let mut number = 0;
    for step in steps {
        match step {
            Step::Insert(times) => {
                insert(store, stream, rows(times, number));
                number += times.len() as i64;
            }
            Step::DeleteRange(lo, hi) => {
                let changes = Changes::new().delete_range(stream, KeyRange::times(*lo, *hi));
                store.commit(changes, Durability::Written).unwrap();
            }
            Step::Flush => store.flush().unwrap(),
            Step::Compact => store.compact(Some(stream)).unwrap(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_filter_gives_what_it_gives_over_all_rows(
        steps in steps(),
        latest in any::<bool>(),
        cold in any::<bool>(),
        filters in proptest::collection::vec(filter(), 1..6),
    ) {
        let settings = Settings { run_batch_rows: 16, level0_runs_max: 2, ..settings() };
        let store = Store::memory(settings).unwrap();
        let merge = if latest { Merge::Latest } else { Merge::Keep };
        let format = if cold { RunFormat::Cold } else { RunFormat::Hot };
        let stream = create(&store, "t", merge, format);
        carry_out(&store, stream, &steps);
        let all = pairs_of(&store, stream, KeyRange::ALL);
        let sql = sql(&store);
        for filter in &filters {
            let mut expected: Vec<_> =
                all.iter().copied().filter(|(time, n)| filter.holds(*time, *n)).collect();
            expected.sort_unstable();
            let condition = filter.sql();
            let query = format!("SELECT time, n FROM t WHERE {condition} ORDER BY time");
            let found = pairs(&ask(&sql, &query).unwrap());
            prop_assert!(found.is_sorted_by_key(|(time, _)| *time), "{query}");
            let mut found = found;
            found.sort_unstable();
            prop_assert_eq!(&found, &expected, "{}", query);

            let query = format!("SELECT time, n FROM t WHERE {condition} ORDER BY time DESC LIMIT 3");
            let found = pairs(&ask(&sql, &query).unwrap());
            let times: Vec<_> = found.iter().map(|(time, _)| *time).collect();
            let last: Vec<_> = expected.iter().rev().take(3).map(|(time, _)| *time).collect();
            prop_assert_eq!(times, last, "{}", query);

            let query = format!("SELECT count(*), min(time)::bigint, max(time)::bigint FROM t WHERE {condition}");
            let end = |pair: Option<&(i64, i64)>| pair.map_or("NULL".to_owned(), |p| p.0.to_string());
            let summary =
                format!("{} {} {}", expected.len(), end(expected.first()), end(expected.last()));
            prop_assert_eq!(support::answer(&sql, &query), vec![summary], "{}", query);
        }
    }
}

/// `'1970-01-01 00:00'` was refused here, and taken by every other face.
#[test]
fn a_time_is_compared_with_text_in_every_form_that_other_faces_read() {
    let store = support::memory();
    let stream = create(&store, "t", Merge::Keep, RunFormat::Hot);
    insert(&store, stream, rows(&[0, 60_000, 120_000], 0));
    let sql = sql(&store);
    for text in [
        "1970-01-01 00:01",
        "1970-01-01T00:01",
        "1970/01/01 00:01:00",
        "1970-01-01 00:01 UTC",
        "1970-01-01T02:01+02",
        "1970-01-01T02:01+0200",
        "1970-01-01 00:01:00.000000000Z",
        " 1970-01-01 00:01:00 ",
    ] {
        let query = format!("SELECT n FROM t WHERE time = '{text}'");
        assert_eq!(support::answer(&sql, &query), ["1"], "{text}");
        let query = format!("SELECT n FROM t WHERE time < TIMESTAMP '{text}'");
        assert_eq!(support::answer(&sql, &query), ["0"], "{text}");
    }
}
