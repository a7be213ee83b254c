//! Queries end when nobody wants them any more, whatever they do, and leave nothing.
//!
//! A cross join, an endless recursion, and joins that let no pair of rows through went on for ever once
//! they had begun: DataFusion ends what gives up its turn now and then, and these don't.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use timestrata_engine::{ErrorKind, KeyRange, Merge, QueryState, Result, RunFormat, Store};
use timestrata_sql::{Params, Sql, SqlOptions};

use crate::support::{self, answer, create, insert, pairs_of, rows};
use crate::until::until;

/// Longer than anything here takes that ends at all.
const PATIENCE: Duration = Duration::from_secs(60);
const ENDLESS: [(&str, &str); 8] = [
    ("a cross join", "SELECT count(*) FROM t CROSS JOIN range(1000000000)"),
    (
        "an endless recursion",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n % 7 FROM r) SELECT max(n) FROM r",
    ),
    (
        "a join that lets nothing through",
        "SELECT n FROM t JOIN range(1000000000) r(x) ON n + x < -1",
    ),
    (
        "a join of equal keys that lets nothing through",
        "SELECT n FROM t JOIN range(1000000000) r(x) ON n % 2 = x % 2 AND n + x < -1",
    ),
    (
        "an aggregate in groups",
        "SELECT n % 10, sum(value) FROM t CROSS JOIN range(1000000000) r(x) GROUP BY 1",
    ),
    ("a sort", "SELECT n FROM t CROSS JOIN range(1000000000) r(x) ORDER BY value + x LIMIT 3"),
    (
        "rows one by one",
        "SELECT count(*) FROM (SELECT unnest(range(0, 10000)) AS y FROM t CROSS JOIN \
         range(1000000000) r(x))",
    ),
    (
        "a window",
        "SELECT count(*) FROM (SELECT row_number() OVER () AS y FROM t CROSS JOIN \
         range(1000000000) r(x))",
    ),
];

fn filled() -> (Store, Sql) {
    let store = support::memory();
    let stream = create(&store, "t", Merge::Keep, RunFormat::Hot);
    let times: Vec<i64> = (0..100_000).collect();
    insert(&store, stream, rows(&times, 0));
    store.flush().unwrap();
    let options = SqlOptions { threads: 2, ..SqlOptions::default() };
    let sql = Sql::open(&store, options).unwrap();
    (store, sql)
}

/// Asks on a thread of its own; what comes of it.
fn asked(sql: &Sql, query: &str) -> Receiver<Result<usize>> {
    let (sender, receiver) = channel();
    let (sql, query) = (sql.clone(), query.to_owned());
    std::thread::spawn(move || {
        let result = sql.query_blocking(&query, Params::none());
        let rows = result.and_then(|mut rows| {
            rows.try_fold(0, |sum, batch| batch.map(|batch| sum + batch.num_rows()))
        });
        let _ = sender.send(rows);
    });
    receiver
}

/// Waits until a query is under way, beyond its planning.
fn under_way(store: &Store) -> u64 {
    until(|| store.queries().first().is_some_and(|query| query.steps > 200));
    let list = store.queries();
    assert_eq!((list.len(), list[0].state), (1, QueryState::Running), "{list:?}");
    list[0].id
}

/// Nothing is left of any query.
fn assert_all_is_free(store: &Store, sql: &Sql) {
    until(|| store.queries().is_empty());
    assert_eq!(sql.memory_bytes(), 0);
    assert_eq!(answer(sql, "SELECT count(*) FROM t WHERE n >= 0"), ["100000"]);
}

#[test]
fn whatever_it_does_a_query_ends_when_it_is_cancelled_by_name() {
    let (store, sql) = filled();
    for (what, query) in ENDLESS {
        let end = asked(&sql, query);
        let id = under_way(&store);
        assert!(store.cancel_query(id), "{what}");
        let error = end.recv_timeout(PATIENCE).expect(what).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{what}: {error}");
        assert!(error.to_string().contains(&format!("query {id} was cancelled")), "{error}");
        assert_all_is_free(&store, &sql);
        assert!(!store.cancel_query(id));
    }
}

#[test]
fn a_query_that_threads_share_is_answered_beside_others_that_keep_them_busy() {
    let (store, sql) = filled();
    let busy: Vec<_> = (0..3).map(|_| asked(&sql, ENDLESS[0].1)).collect();
    until(|| store.queries().iter().filter(|query| query.steps > 200).count() == busy.len());
    // One of the threads that are busy has to start it.
    let query = "SELECT n % 3, sum(value) FROM t WHERE n >= 0 GROUP BY 1";
    assert!(support::plan(&sql, query).contains("RepartitionExec"));
    let rows = asked(&sql, query).recv_timeout(PATIENCE).expect("an answer");
    assert_eq!(rows.unwrap(), 3);
    for query in store.queries() {
        assert!(store.cancel_query(query.id));
    }
    for end in busy {
        let error = end.recv_timeout(PATIENCE).expect("an end").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    }
    assert_all_is_free(&store, &sql);
}

#[test]
fn at_its_limit_of_time_a_query_ends() {
    let (store, sql) = filled();
    for (what, query) in ENDLESS {
        let limited = store.begin_query(query, Some(Duration::from_millis(200)));
        let end = asked(&sql.for_query(&limited), query);
        drop(limited);
        let error = end.recv_timeout(PATIENCE).expect(what).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{what}: {error}");
        assert!(error.to_string().contains("200 ms"), "{error}");
        assert_all_is_free(&store, &sql);
    }
}

#[test]
fn a_query_ends_when_whoever_asked_has_gone() {
    let (store, sql) = filled();
    for (what, query) in ENDLESS {
        let stays = Arc::new(AtomicBool::new(true));
        let hears = Arc::clone(&stays);
        let given = store.begin_query_for(query, None, move || hears.load(Ordering::SeqCst));
        let end = asked(&sql.for_query(&given), query);
        drop(given);
        under_way(&store);
        stays.store(false, Ordering::SeqCst);
        let error = end.recv_timeout(PATIENCE).expect(what).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{what}: {error}");
        assert_all_is_free(&store, &sql);
    }
}

#[test]
fn dropping_an_answer_ends_what_works_for_it() {
    let (store, sql) = filled();
    let query = "SELECT n FROM t CROSS JOIN range(1000000000)";
    let mut answer = sql.query_blocking(query, Params::none()).unwrap();
    answer.next().unwrap().unwrap();
    let list = store.queries();
    assert_eq!((list.len(), list[0].state), (1, QueryState::Waiting));
    assert_eq!(list[0].text, query);
    drop(answer);
    assert_all_is_free(&store, &sql);
}

/// An answer kept its query on the list until it was dropped, as an iterator in Python may never be.
#[test]
fn an_answer_that_was_read_to_its_end_is_off_the_list_though_it_is_kept() {
    let (store, sql) = filled();
    let mut answer = sql.query_blocking("SELECT n FROM t", Params::none()).unwrap();
    for batch in answer.by_ref() {
        batch.unwrap();
    }
    until(|| store.queries().is_empty());
    drop(answer);
}

#[test]
fn what_waits_to_be_read_takes_no_time() {
    let (store, sql) = filled();
    let limited = store.begin_query("q", Some(Duration::from_millis(500)));
    let query = "SELECT n FROM t ORDER BY n % 7";
    let mut answer = sql.for_query(&limited).query_blocking(query, Params::none()).unwrap();
    let worked = limited.info().worked;
    // Longer than the query may take: somebody else's work.
    let other = store.begin_query("other", Some(Duration::from_millis(600)));
    until(|| other.check().is_err());
    assert_eq!(limited.info().worked, worked);
    assert!(answer.next().unwrap().is_ok());
    drop((answer, limited, other));
    assert_all_is_free(&store, &sql);
}

#[test]
fn a_statement_that_is_given_up_writes_nothing() {
    let (store, _) = filled();
    let sql = support::sql(&store);
    let stream = store.expect_stream("t").unwrap().id();
    let insert =
        "INSERT INTO t SELECT time, series, n, value FROM t CROSS JOIN range(1000000000) r(x)";
    let end = asked(&sql, insert);
    let id = under_way(&store);
    assert!(store.cancel_query(id));
    let error = end.recv_timeout(PATIENCE).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    assert_all_is_free(&store, &sql);
    // The rows that had come already counted as all, and were written.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let statement = sql.query(insert, Params::none());
    runtime.block_on(async {
        let gone = async { until_async(|| store.queries().iter().any(|q| q.steps > 200)).await };
        tokio::select! {
            done = statement => panic!("{done:?}"),
            () = gone => {}
        }
    });
    until(|| store.queries().is_empty());
    drop(runtime);
    assert_eq!(pairs_of(&store, stream, KeyRange::ALL).len(), 100_000);
}

async fn until_async(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}

#[test]
fn errors_of_a_query_do_not_talk_of_commits() {
    let (_store, sql) = filled();
    let error = support::ask(&sql, "SELECT 1 / (n - n) FROM t").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
    assert!(!error.hint().contains("commit") && error.hint().contains("expression"), "{error:?}");
}
