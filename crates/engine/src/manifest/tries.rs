//! How long somebody who reads beside a live writer tries anew.

use std::path::Path;
use std::time::Duration;

use timestrata_io::Clock;

use crate::{Error, ErrorKind};

/// A reader tries at least so often,
const TRIES_MIN: usize = 16;

/// and for so long.
const TRYING_MIN: Duration = Duration::from_secs(10);

/// The tries of a reader that finds files replaced by a live writer while it reads them. Each of them has
/// failed because the writer went on, which one that is opened and closed all the time does dozens of times
/// while a reader waits for a processor: so it is counted and timed.
pub(crate) struct Tries<'a> {
    clock: &'a dyn Clock,
    made: usize,
    began_ns: u64,
}

impl<'a> Tries<'a> {
    pub(crate) fn begin(clock: &'a dyn Clock) -> Self {
        Self { clock, made: 0, began_ns: clock.monotonic_ns() }
    }

    /// Called after each try that failed: whether another one is worth it.
    pub(crate) fn goes_on(&mut self) -> bool {
        self.made += 1;
        let took_ns = self.clock.monotonic_ns().saturating_sub(self.began_ns);
        self.made < TRIES_MIN || u128::from(took_ns) < TRYING_MIN.as_nanos()
    }
}

/// The error of a reader that gives up on a writer.
pub(crate) fn too_fast(dir: &Path) -> Error {
    let message = "the writer replaces the store's files faster than they can be read";
    Error::new(ErrorKind::Io, message).at(dir).hinting("try again")
}
