//! Waiting for what other threads bring about: shared by tests of several crates.

use std::time::Duration;

use timestrata_engine::Io;

const WITHIN: Duration = Duration::from_secs(60);

/// Asks again and again until it is so, a minute at most; between, other threads have their turn.
pub(crate) fn until(mut is_so: impl FnMut() -> bool) {
    let clock = Io::os().clock;
    let begun_ns = clock.monotonic_ns();
    while !is_so() {
        let waited = Duration::from_nanos(clock.monotonic_ns().saturating_sub(begun_ns));
        assert!(waited < WITHIN, "it did not come to be so within {WITHIN:?}");
        std::thread::yield_now();
    }
}
