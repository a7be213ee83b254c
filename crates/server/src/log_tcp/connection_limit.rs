//! How many clients may be connected: where all slots are taken, that of a silent client goes to a new one.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use timestrata_engine::Clock;
use timestrata_engine::locks::Mutex;
use tokio::sync::Notify;

/// All slots.
#[derive(Debug)]
pub(super) struct ConnectionLimit {
    /// How many there are.
    pub(super) max: usize,
    idle_grace: Duration,
    clock: Arc<dyn Clock>,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    last: u64,
    holders: HashMap<u64, Arc<Holder>>,
}

/// What is known of the client that has a slot.
#[derive(Debug, Default)]
struct Holder {
    /// Since when nothing came from it or went to it.
    silent_since_ns: AtomicU64,
    /// Whether nothing of it is under way.
    waits: AtomicBool,
    leave: Notify,
}

/// One client's right to be connected; free again when dropped.
#[derive(Debug)]
pub(super) struct Slot {
    limit: Arc<ConnectionLimit>,
    number: u64,
    holder: Arc<Holder>,
}

impl ConnectionLimit {
    pub(super) fn new(max: usize, idle_grace: Duration, clock: Arc<dyn Clock>) -> Self {
        Self { max, idle_grace, clock, taken: Mutex::default() }
    }

    /// A place, if one is free or can be had: that of whoever has been silent for longest, and for
    /// longer than the grace.
    pub(super) fn take(self: &Arc<Self>) -> Option<Slot> {
        let mut taken = self.taken.lock();
        if taken.holders.len() >= self.max {
            let (number, _) = self.longest_silent(&taken)?;
            taken.holders.remove(&number)?.leave.notify_one();
        }
        taken.last += 1;
        let (number, holder) = (taken.last, Arc::<Holder>::default());
        holder.silent_since_ns.store(self.clock.monotonic_ns(), Ordering::Relaxed);
        taken.holders.insert(number, Arc::clone(&holder));
        Some(Slot { limit: Arc::clone(self), number, holder })
    }

    fn longest_silent(&self, taken: &Taken) -> Option<(u64, u64)> {
        let grace_ns = u64::try_from(self.idle_grace.as_nanos()).unwrap_or(u64::MAX);
        let latest_ns = self.clock.monotonic_ns().checked_sub(grace_ns)?;
        let waiting =
            taken.holders.iter().filter(|(_, holder)| holder.waits.load(Ordering::Relaxed));
        waiting
            .map(|(number, holder)| (*number, holder.silent_since_ns.load(Ordering::Relaxed)))
            .filter(|(_, since_ns)| *since_ns <= latest_ns)
            .min_by_key(|(_, since_ns)| *since_ns)
    }
}

impl Slot {
    /// Says that the client was heard of just now, and whether nothing of it is under way.
    pub(super) fn heard(&self, waits: bool) {
        self.holder.silent_since_ns.store(self.limit.clock.monotonic_ns(), Ordering::Relaxed);
        self.holder.waits.store(waits, Ordering::Relaxed);
    }

    /// Waits until the place is another's.
    pub(super) async fn lost(&self) {
        self.holder.leave.notified().await;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.limit.taken.lock().holders.remove(&self.number);
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
        let limit =
            Arc::new(ConnectionLimit::new(2, Duration::from_nanos(10), Arc::clone(&clock) as _));
        let (first, second) = (limit.take().unwrap(), limit.take().unwrap());
        first.heard(true);
        second.heard(true);
        assert!(limit.take().is_none(), "nobody has been silent for long");
        clock.0.store(20, Ordering::Relaxed);
        first.heard(true);
        second.heard(false);
        clock.0.store(40, Ordering::Relaxed);
        let third = limit.take().unwrap();
        assert!(first.lost().now_or_never().is_some() && second.lost().now_or_never().is_none());
        assert!(limit.take().is_none(), "what one asked for is under way, and one is new");
        drop(first);
        assert!(limit.take().is_none(), "its place is another's");
        drop(third);
        assert!(limit.take().is_some());
    }
}
