//! Memory that was freed, but that the process still holds; and memory of which much is wanted at once.

mod arena;

use std::sync::Mutex;
use std::time::Duration;

pub use self::arena::{Arena, ArenaBytes};
use crate::{Clock, OsClock};

/// A clock that began when this process last gave memory back: its stores share one heap.
static LAST: Mutex<Option<OsClock>> = Mutex::new(None);

/// Gives memory that has been freed back to the system, where the allocator keeps it and can be asked to: glibc's. It keeps
/// what lies below the last piece in use of each thread's share, and with threads that come and go that adds up. Does nothing,
/// and says false, if that was done less than `interval` ago, for whatever store.
///
/// ```
/// use std::time::Duration;
///
/// assert!(timestrata_io::give_back_memory(Duration::from_secs(60)));
/// assert!(!timestrata_io::give_back_memory(Duration::from_secs(60)));
/// ```
pub fn give_back_memory(interval: Duration) -> bool {
    // Whoever holds it is about it.
    let Ok(mut last) = LAST.try_lock() else { return false };
    let is_early = |last: &OsClock| Duration::from_nanos(last.monotonic_ns()) < interval;
    if last.as_ref().is_some_and(is_early) {
        return false;
    }
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: any thread may call it at any time; it locks what it looks at, and touches nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
    arena::give_back();
    *last = Some(OsClock::new());
    true
}

#[cfg(test)]
mod tests;
