//! Places for clients: so many, and where all are taken a silent client's goes to a new one.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use timestrata_engine::Clock;
use tokio::sync::Notify;

/// All places.
#[derive(Debug)]
pub(super) struct Seats {
    max: usize,
    idle_grace: Duration,
    clock: Arc<dyn Clock>,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    last: u64,
    sitters: HashMap<u64, Arc<Sitter>>,
}

/// What is known of who sits somewhere.
#[derive(Debug, Default)]
struct Sitter {
    /// Since when nothing came from it or went to it.
    silent_since_ns: AtomicU64,
    /// Whether nothing of it is under way.
    waits: AtomicBool,
    leave: Notify,
}

/// A client's place; free again when dropped.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Arc<Seats>,
    number: u64,
    sitter: Arc<Sitter>,
}

impl Seats {
    pub(super) fn new(max: usize, idle_grace: Duration, clock: Arc<dyn Clock>) -> Self {
        Self { max, idle_grace, clock, taken: Mutex::default() }
    }

    /// How many there are.
    pub(super) fn max(&self) -> usize {
        self.max
    }

    /// A place, if one is free or can be had: that of whoever has been silent for longest, and for
    /// longer than the grace.
    pub(super) fn take(self: &Arc<Self>) -> Option<Seat> {
        let mut taken = self.taken.lock();
        if taken.sitters.len() >= self.max {
            let (number, _) = self.longest_silent(&taken)?;
            taken.sitters.remove(&number)?.leave.notify_one();
        }
        taken.last += 1;
        let (number, sitter) = (taken.last, Arc::<Sitter>::default());
        sitter.silent_since_ns.store(self.clock.monotonic_ns(), Ordering::Relaxed);
        taken.sitters.insert(number, Arc::clone(&sitter));
        Some(Seat { seats: Arc::clone(self), number, sitter })
    }

    fn longest_silent(&self, taken: &Taken) -> Option<(u64, u64)> {
        let grace_ns = u64::try_from(self.idle_grace.as_nanos()).unwrap_or(u64::MAX);
        let latest_ns = self.clock.monotonic_ns().checked_sub(grace_ns)?;
        let waiting =
            taken.sitters.iter().filter(|(_, sitter)| sitter.waits.load(Ordering::Relaxed));
        waiting
            .map(|(number, sitter)| (*number, sitter.silent_since_ns.load(Ordering::Relaxed)))
            .filter(|(_, since_ns)| *since_ns <= latest_ns)
            .min_by_key(|(_, since_ns)| *since_ns)
    }
}

impl Seat {
    /// Says that the client was heard of just now, and whether nothing of it is under way.
    pub(super) fn heard(&self, waits: bool) {
        self.sitter.silent_since_ns.store(self.seats.clock.monotonic_ns(), Ordering::Relaxed);
        self.sitter.waits.store(waits, Ordering::Relaxed);
    }

    /// Waits until the place is another's.
    pub(super) async fn lost(&self) {
        self.sitter.leave.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.taken.lock().sitters.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use futures::FutureExt;

    use super::*;

    #[derive(Debug, Default)]
    struct Hand(AtomicU64);

    impl Clock for Hand {
        fn wall_ns(&self) -> i64 {
            0
        }

        fn monotonic_ns(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn only_a_client_that_is_silent_for_long_loses_its_place() {
        let clock = Arc::new(Hand::default());
        let seats = Arc::new(Seats::new(2, Duration::from_nanos(10), Arc::clone(&clock) as _));
        let (first, second) = (seats.take().unwrap(), seats.take().unwrap());
        first.heard(true);
        second.heard(true);
        assert!(seats.take().is_none(), "nobody has been silent for long");
        clock.0.store(20, Ordering::Relaxed);
        first.heard(true);
        second.heard(false);
        clock.0.store(40, Ordering::Relaxed);
        let third = seats.take().unwrap();
        assert!(first.lost().now_or_never().is_some() && second.lost().now_or_never().is_none());
        assert!(seats.take().is_none(), "what one asked for is under way, and one is new");
        drop(first);
        assert!(seats.take().is_none(), "its place is another's");
        drop(third);
        assert!(seats.take().is_some());
    }
}
