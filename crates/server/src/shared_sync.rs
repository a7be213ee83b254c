//! Small writes that many connections ask for at once: they are made one behind the other and then synced together,
//! by one thread, which is woken once for all of them. With a thread for each the waking took longer than the writes.
//!
//! Invariant: a write is answered after a sync that began when it had been made.

use std::panic::{AssertUnwindSafe, catch_unwind};

use timestrata_engine::locks::Mutex;
use timestrata_engine::{Result as StoreResult, Store};
use tokio::sync::oneshot;

use crate::error::{Failure, Result};

/// Makes a write, and gives what is to be told of whether it was synced.
type Write = Box<dyn FnOnce() -> Told + Send>;
type Told = Box<dyn FnOnce(StoreResult<()>) + Send>;

/// Writes that wait, and whether a thread is at work on those before.
#[derive(Default)]
struct Queue {
    waiting: Vec<Write>,
    is_worked_on: bool,
}

/// Cheap to clone: one for all.
#[derive(Clone)]
pub(crate) struct SharedSync {
    store: Store,
    queue: std::sync::Arc<Mutex<Queue>>,
}

impl std::fmt::Debug for SharedSync {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SharedSync")
    }
}

/// At work. If that dies, those who wait are told so, and the next write begins anew.
struct Working<'a>(&'a SharedSync);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let given_up = std::mem::take(&mut *self.0.queue.lock());
            drop(given_up);
        }
    }
}

impl SharedSync {
    pub(crate) fn new(store: &Store) -> Self {
        Self { store: store.clone(), queue: std::sync::Arc::default() }
    }

    /// Does `write`, which leaves its sync to this, and has it synced. It is done also if nobody waits for it any
    /// more; it should be short, as others wait behind it.
    ///
    /// # Errors
    /// Those of `write`, and of the sync.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, answer) = oneshot::channel();
        let write: Write = Box::new(move || {
            let done = write();
            Box::new(move |synced| {
                let told = done.and_then(|value| synced.map(|()| value).map_err(Failure::from));
                // Who has gone away needs no answer.
                let _ = sender.send(told);
            })
        });
        let is_first = {
            let mut queue = self.queue.lock();
            queue.waiting.push(write);
            !std::mem::replace(&mut queue.is_worked_on, true)
        };
        if is_first {
            let all = self.clone();
            tokio::task::spawn_blocking(move || all.work());
        }
        answer.await.unwrap_or_else(|_| Err(Failure::of_a_bug()))
    }

    /// Works on what waits, until nothing does.
    fn work(&self) {
        let _working = Working(self);
        loop {
            let writes = {
                let mut queue = self.queue.lock();
                if queue.waiting.is_empty() {
                    queue.is_worked_on = false;
                    return;
                }
                std::mem::take(&mut queue.waiting)
            };
            // One that dies takes no other along; who waits for it is told so.
            let made = writes.into_iter().filter_map(|write| {
                catch_unwind(AssertUnwindSafe(write))
                    .inspect_err(|_| tracing::error!("a write died"))
                    .ok()
            });
            let made: Vec<Told> = made.collect();
            // The first syncs, the others find it done, or hear that it has failed.
            for told in made {
                told(self.store.sync().map(drop));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use timestrata_engine::Settings;

    use super::*;

    #[test]
    fn a_write_that_dies_takes_no_other_along() {
        let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
        let all = SharedSync::new(&Store::memory(Settings::default()).unwrap());
        runtime.block_on(async {
            for round in 0..20 {
                let dies = all.write(|| -> Result<u32> { panic!("on purpose") });
                let (before, died, behind) = tokio::join!(
                    all.write(move || Ok(round)),
                    dies,
                    all.write(move || Ok(round + 1))
                );
                assert_eq!((before.unwrap(), behind.unwrap()), (round, round + 1));
                assert!(died.is_err());
            }
        });
    }

    #[test]
    fn work_that_dies_leaves_nobody_waiting() {
        let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
        let all = SharedSync::new(&Store::memory(Settings::default()).unwrap());
        let worker = all.clone();
        let died = std::thread::spawn(move || {
            worker.queue.lock().is_worked_on = true;
            let _working = Working(&worker);
            panic!("on purpose");
        });
        assert!(died.join().is_err());
        assert_eq!(runtime.block_on(all.write(|| Ok(7))).unwrap(), 7);
    }
}
