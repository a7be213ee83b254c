use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use timestrata_io::Clock;

use super::{Queries, QueryState, RunningQuery};
use crate::ErrorKind;

#[derive(Debug)]
struct Hand(AtomicU64);

impl Hand {
    fn at(&self, ms: u64) {
        self.0.store(ms * 1_000_000, Ordering::Relaxed);
    }
}

impl Clock for Hand {
    fn wall_ns(&self) -> i64 {
        7
    }

    fn monotonic_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

fn begun(time_max_ms: Option<u64>) -> (Arc<Hand>, Queries, RunningQuery) {
    let hand = Arc::new(Hand(AtomicU64::new(0)));
    hand.at(1_000);
    let queries = Queries::default();
    let clock = Arc::clone(&hand) as Arc<dyn Clock>;
    let query = queries.begin(&clock, "what?", time_max_ms.map(Duration::from_millis), None);
    (hand, queries, query)
}

fn kind(query: &RunningQuery) -> Option<ErrorKind> {
    query.check().err().map(|error| error.kind())
}

#[test]
fn a_query_is_listed_until_the_last_who_works_for_it_lets_go() {
    let (_hand, queries, query) = begun(None);
    let other = query.clone();
    query.check().unwrap();
    other.grow(10);
    let list = queries.list();
    assert_eq!((list.len(), list[0].id, list[0].text.as_str()), (1, 1, "what?"));
    assert_eq!((list[0].state, list[0].steps, list[0].memory_bytes), (QueryState::Running, 1, 10));
    assert!(queries.cancel(1) && !queries.cancel(2));
    assert_eq!(kind(&other), Some(ErrorKind::Cancelled));
    drop(query);
    assert_eq!(queries.list()[0].state, QueryState::Ending);
    drop(other);
    assert!(queries.list().is_empty() && !queries.cancel(1));
}

#[test]
fn only_the_time_that_is_worked_counts() {
    let (hand, _queries, query) = begun(Some(100));
    hand.at(1_090);
    assert_eq!(kind(&query), None);
    query.rest();
    hand.at(5_000);
    assert_eq!(kind(&query), None, "who works ahead doesn't count what is waited for");
    assert_eq!(query.info().state, QueryState::Waiting);
    query.resume();
    assert_eq!(query.time_left(), Some(Duration::from_millis(10)));
    assert_eq!(kind(&query), None);
    hand.at(5_011);
    assert_eq!(kind(&query), Some(ErrorKind::TimedOut));
    assert!(query.check().unwrap_err().to_string().contains("100 ms"));
    // The first reason stays.
    query.cancel();
    assert_eq!(kind(&query), Some(ErrorKind::TimedOut));
}

#[test]
fn whoever_asked_is_listened_to_now_and_then() {
    let hand = Arc::new(Hand(AtomicU64::new(0)));
    let clock = Arc::clone(&hand) as Arc<dyn Clock>;
    let (stays, asked) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU64::new(0)));
    let (stays_too, counts) = (Arc::clone(&stays), Arc::clone(&asked));
    let ear = move || {
        counts.fetch_add(1, Ordering::Relaxed);
        stays_too.load(Ordering::Relaxed)
    };
    let query = Queries::default().begin(&clock, "", None, Some(Box::new(ear)));
    for ms in 0..100 {
        hand.at(ms);
        assert_eq!(kind(&query), None);
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    stays.store(false, Ordering::Relaxed);
    hand.at(101);
    assert_eq!(kind(&query), Some(ErrorKind::Cancelled));
}

/// Where only the thread that waits could hear Ctrl-C, those that worked took its turns.
#[test]
fn the_thread_that_waits_hears_whoever_else_has_listened() {
    thread_local!(static WAITS: Cell<bool> = const { Cell::new(false) });
    let hand = Arc::new(Hand(AtomicU64::new(0)));
    let clock = Arc::clone(&hand) as Arc<dyn Clock>;
    let ear = || !WAITS.get();
    let query = Queries::default().begin(&clock, "", None, Some(Box::new(ear)));
    hand.at(60);
    std::thread::scope(|scope| scope.spawn(|| query.check().unwrap()).join().unwrap());
    WAITS.set(true);
    assert_eq!(kind(&query), None, "its turn was taken");
    assert_eq!(query.listen().unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn who_would_have_taken_the_answer_gives_it_up_by_going() {
    let (_hand, _queries, query) = begun(None);
    query.given_up_on_drop().keep();
    query.check().unwrap();
    drop(query.given_up_on_drop());
    assert!(query.check().unwrap_err().to_string().contains("given up"));
    query.listen().expect("who waits for what is made of the answer has not gone");
}
