//! Tables that are being made by bodies whose rows tell the columns. Of two bodies for one table that come at once the
//! second waits, so that it is held to what the first has made; those for others don't.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Mutex;

/// A lock for each table that is being made.
#[derive(Debug, Default)]
pub(crate) struct MakingTables(Mutex<HashMap<String, Arc<Mutex<()>>>>);

impl MakingTables {
    /// Does `make` while nobody else does for a table of this name. To be called on a thread that may block.
    pub(crate) fn alone<T>(&self, table: &str, make: impl FnOnce() -> T) -> T {
        let lock = Arc::clone(self.0.blocking_lock().entry(table.to_owned()).or_default());
        let made = {
            let _alone = lock.blocking_lock();
            make()
        };
        let mut all = self.0.blocking_lock();
        // Let go of before the others are, so that the last one sees that it is; who waits for it has one too.
        drop(lock);
        if all.get(table).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            all.remove(table);
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn one_table_is_made_by_one_at_a_time_and_leaves_no_lock_behind() {
        let (making, is_busy) = (MakingTables::default(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        making.alone("t", || {
                            assert!(!is_busy.swap(true, Ordering::SeqCst));
                            assert!(is_busy.swap(false, Ordering::SeqCst));
                        });
                    }
                });
            }
        });
        assert!(making.0.blocking_lock().is_empty());
    }

    #[test]
    fn tables_of_two_names_are_made_at_once() {
        let (making, both) = (MakingTables::default(), Barrier::new(2));
        std::thread::scope(|scope| {
            for name in ["t", "u"] {
                // Each waits for the other within.
                scope.spawn(|| making.alone(name, || both.wait()));
            }
        });
        assert!(making.0.blocking_lock().is_empty());
    }
}
