#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::give_back_memory;

/// What a process holds without need is looked at by one test at a time.
pub(super) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of memory that no file is behind.
#[expect(
    clippy::disallowed_methods,
    reason = "the system's word on this process is no file of a store"
)]
fn anonymous_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

#[test]
fn memory_that_was_freed_below_what_is_in_use_is_given_back() {
    let _alone = alone();
    // Short of what the allocator takes from the system piece by piece.
    let mut pieces: Vec<Vec<u8>> = (0..1_024).map(|_| vec![1; 64 << 10]).collect();
    let last = pieces.pop();
    drop(pieces);
    let kept = anonymous_bytes();
    assert!(give_back_memory(Duration::ZERO));
    let left = anonymous_bytes();
    drop(last);
    assert!(left + (32 << 20) < kept, "{left} bytes left of {kept}");
}

#[test]
fn memory_is_given_back_once_in_an_interval_by_all_of_a_process() {
    let _alone = alone();
    assert!(give_back_memory(Duration::ZERO));
    let others: Vec<_> =
        (0..4).map(|_| std::thread::spawn(|| give_back_memory(Duration::MAX))).collect();
    assert!(others.into_iter().all(|other| !other.join().unwrap()));
}
