//! Pieces of work that have numbers, on as many threads as there are processors.

use std::sync::atomic::{AtomicU64, Ordering};

/// Does the pieces one after the other, from 0 on; a thread ends at the first that says there is no more.
pub(crate) fn on_all_threads(work: impl Fn(u64) -> bool + Sync) {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| while work(next.fetch_add(1, Ordering::Relaxed)) {});
        }
    });
}
