use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use super::*;

/// A thread that doesn't settle by then never will.
const LONG: Duration = Duration::from_secs(20);

/// How many threads wait, and how many have ended, once so many do.
fn settled(threads: &SharedThreads, wanted: (usize, usize)) -> (usize, usize) {
    let now = |waiting: &WaitingThreads| (waiting.idle, waiting.ended);
    let mut waiting = threads.waiting.lock();
    threads.settled.wait_while_for(&mut waiting, |waiting| now(waiting) != wanted, LONG);
    now(&waiting)
}

#[test]
fn a_thread_that_has_nothing_to_do_is_taken_before_a_new_one() {
    let threads = ReadingThreads::default();
    let (sender, ids) = channel();
    let mut seen = Vec::new();
    for _ in 0..5 {
        let sender = sender.clone();
        threads.begin(move || sender.send(thread::current().id()).unwrap()).unwrap().join();
        seen.push(ids.recv().unwrap());
        assert_eq!(settled(&threads.0, (1, 0)), (1, 0));
    }
    seen.dedup();
    assert_eq!(seen.len(), 1);
}

#[test]
fn jobs_at_the_same_time_have_a_thread_each() {
    let threads = ReadingThreads::default();
    for _ in 0..3 {
        let (left, of_right) = channel();
        let (right, of_left) = channel();
        // Neither ends without the other.
        let one = threads.begin(move || {
            left.send(()).unwrap();
            of_left.recv().unwrap();
        });
        let other = threads.begin(move || {
            right.send(()).unwrap();
            of_right.recv().unwrap();
        });
        one.unwrap().join();
        other.unwrap().join();
        assert_eq!(settled(&threads.0, (2, 0)), (2, 0));
    }
}

#[test]
fn a_job_that_panics_has_ended_and_its_thread_goes_on() {
    let threads = ReadingThreads::default();
    threads.begin(|| panic!("as it should")).unwrap().join();
    assert_eq!(settled(&threads.0, (1, 0)), (1, 0));
    threads.begin(|| ()).unwrap().join();
    assert_eq!(settled(&threads.0, (1, 0)), (1, 0));
}

#[test]
fn threads_end_with_the_store() {
    let threads = ReadingThreads::default();
    threads.begin(|| ()).unwrap().join();
    let shared = Arc::clone(&threads.0);
    assert_eq!(settled(&shared, (1, 0)), (1, 0));
    drop(threads);
    assert_eq!(settled(&shared, (0, 1)), (0, 1));
}

#[test]
fn no_more_threads_stay_than_there_are_processors() {
    let threads = ReadingThreads::default();
    let kept = processors().max(IDLE_MIN);
    let (begun, all_begun) = channel();
    let gate = Arc::new(Ending::default());
    let jobs: Vec<_> = (0..kept + 6)
        .map(|_| {
            let (begun, gate) = (begun.clone(), Begun(Arc::clone(&gate)));
            threads.begin(move || {
                begun.send(()).unwrap();
                gate.join();
            })
        })
        .collect();
    (0..kept + 6).for_each(|_| all_begun.recv().unwrap());
    drop(EndOnDrop(gate));
    jobs.into_iter().for_each(|job| job.unwrap().join());
    assert_eq!(settled(&threads.0, (kept, 6)), (kept, 6));
}
