//! Actors take turns as a seed says: the same seed gives the same order, other seeds find others, and
//! what can never go on is told of.
#![expect(clippy::expect_used, reason = "the helpers of a test fail as the test does")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use timestrata_io::sync::schedule::{End, Manner, Ran, Schedule, pause};
use timestrata_io::sync::{Condvar, Mutex, RwLock, spawn};
use timestrata_io::{Clock, ManualClock};

const WALK: Manner = Manner::Walk { one_in: 2 };

fn run(seed: u64, manner: Manner, body: impl FnOnce() + Send + 'static) -> Ran {
    Schedule::new(seed, manner, Arc::new(ManualClock::new(0))).run(body).expect("threads")
}

/// Three actors each write their number twice; what they have written.
fn order(seed: u64, manner: Manner) -> Vec<u32> {
    let written = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&written);
    let ran = run(seed, manner, move || {
        let actor = |number: u32| {
            let list = Arc::clone(&list);
            spawn("writer", move || {
                for _ in 0..2 {
                    list.lock().push(number);
                }
            })
        };
        let actors = [actor(0), actor(1), actor(2)].map(|actor| actor.expect("a thread"));
        actors.into_iter().for_each(|actor| actor.join().expect("no panic"));
        list.lock().push(3);
    });
    assert_eq!(ran.end, End::Done(Vec::new()));
    let written = written.lock();
    assert_eq!(written.len(), 7);
    assert_eq!(written.last(), Some(&3), "who waits for all ends comes last");
    written.clone()
}

#[test]
fn the_same_seed_gives_the_same_order_and_others_give_others() {
    for manner in [WALK, Manner::Priorities { changes: 3 }] {
        let orders: BTreeSet<_> = (0..40).map(|seed| order(seed, manner)).collect();
        assert!(orders.len() > 3, "{orders:?}");
        assert_eq!(order(7, manner), order(7, manner));
    }
}

#[test]
fn a_lost_update_between_two_locks_is_found() {
    let is_lost = |seed| {
        let count = Arc::new(Mutex::new(0));
        let shared = Arc::clone(&count);
        run(seed, WALK, move || {
            let add = |count: &Mutex<u32>| {
                let before = *count.lock();
                *count.lock() = before + 1;
            };
            let other = Arc::clone(&shared);
            let actor = spawn("other", move || add(&other)).expect("a thread");
            add(&shared);
            actor.join().expect("no panic");
        });
        let count = *count.lock();
        count == 1
    };
    let lost = (0..50).filter(|seed| is_lost(*seed)).count();
    assert!((1..50).contains(&lost), "{lost}");
}

#[test]
fn two_locks_taken_in_two_orders_are_told_of() {
    let is_stuck = |seed| {
        let ran = run(seed, WALK, || {
            let (a, b) = (Arc::new(Mutex::new(())), Arc::new(RwLock::new(())));
            let (other_a, other_b) = (Arc::clone(&a), Arc::clone(&b));
            let other = spawn("other", move || {
                let _b = other_b.write();
                let _a = other_a.lock();
            });
            let first = a.lock();
            drop(b.read());
            drop(first);
            other.expect("a thread").join().expect("no panic");
        });
        matches!(ran.end, End::Stuck(waits) if waits.contains("other waits for lock"))
    };
    let stuck = (0..50).filter(|seed| is_stuck(*seed)).count();
    assert!((1..50).contains(&stuck), "{stuck}");
}

#[test]
fn a_wait_ends_by_notice_or_by_the_clock_of_the_schedule() {
    let clock = Arc::new(ManualClock::new(0));
    let schedule = Schedule::new(1, WALK, Arc::clone(&clock));
    let ran = schedule.run(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let mut state = shared.0.lock();
        let waited = shared.1.wait_for(&mut state, Duration::from_secs(3600));
        assert!(waited.timed_out());
        drop(state);
        let other = Arc::clone(&shared);
        let actor = spawn("teller", move || {
            *other.0.lock() = true;
            other.1.notify_all();
        });
        let mut state = shared.0.lock();
        while !*state {
            shared.1.wait(&mut state);
        }
        drop(state);
        actor.expect("a thread").join().expect("no panic");
    });
    assert_eq!(ran.expect("threads").end, End::Done(Vec::new()));
    assert!(clock.monotonic_ns() >= 3_600_000_000_000);
}

#[test]
fn a_panic_of_an_actor_is_told_of() {
    let ran = run(1, WALK, || {
        pause();
        panic!("on purpose");
    });
    assert_eq!(ran.end, End::Done(vec!["main: on purpose".to_owned()]));
}

#[test]
fn a_thread_of_no_schedule_takes_locks_as_ever() {
    let count = Arc::new(Mutex::new(0));
    let adders: Vec<_> = (0..4)
        .map(|_| {
            let count = Arc::clone(&count);
            spawn("adder", move || (0..1000).for_each(|_| *count.lock() += 1)).expect("a thread")
        })
        .collect();
    adders.into_iter().for_each(|adder| adder.join().expect("no panic"));
    assert_eq!(*count.lock(), 4000);
}
