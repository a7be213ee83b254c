//! Trying again where the store can't take more for a moment.

use std::time::Duration;

use timestrata_engine::{ErrorKind, Result, Store};

/// How long room in memory is waited for: a flush makes it.
const WAIT_MAX: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// Does `write` again as long as the store says that it is busy, in which case nothing was written. For
/// what comes as a stream: its sender can wait, and has nobody to tell that half of it was taken. To be
/// called on a thread that may block.
///
/// # Errors
/// Those of `write`; `Busy` where the store stays so.
pub(crate) fn retry_while_busy<T>(
    store: &Store,
    mut write: impl FnMut() -> Result<T>,
) -> Result<T> {
    let until_ns = store.monotonic_ns().saturating_add(WAIT_MAX.as_nanos() as u64);
    loop {
        match write() {
            Err(error) if error.kind() == ErrorKind::Busy && store.monotonic_ns() < until_ns => {
                std::thread::sleep(PAUSE);
            }
            done => return done,
        }
    }
}
