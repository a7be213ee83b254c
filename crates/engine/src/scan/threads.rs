//! Threads that read ahead, kept for the scans to come.
//!
//! The system's allocator gives each thread a share of memory of its own while there are few threads, and another's in turn once
//! there were many. So what threads that come and go had read lay in another share each time, which was then given back
//! page by page: where another library had many threads too, a scan of 336 MB met 53,000 page faults and took 68 ms, and 22
//! with threads that stay.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use timestrata_io::sync::{Condvar, Mutex, is_scheduled, processors, spawn};

/// So many threads without a job are kept in any case, and no more than there are processors.
const IDLE_MIN: usize = 2;

type Job = Box<dyn FnOnce() + Send>;

/// The threads of one store. They end with it.
#[derive(Default)]
pub(crate) struct ReadingThreads(Arc<SharedThreads>);

#[derive(Default)]
struct SharedThreads {
    waiting: Mutex<WaitingThreads>,
    changed: Condvar,
    /// Whether they may read what nobody has asked for yet.
    may_unasked: AtomicBool,
    /// Told when a thread begins to wait, and when one has nothing more to do for good.
    #[cfg(test)]
    settled: Condvar,
}

#[derive(Default)]
struct WaitingThreads {
    /// Each is for one of those that have nothing to do.
    jobs: VecDeque<Job>,
    idle: usize,
    is_over: bool,
    /// Those that have ended.
    #[cfg(test)]
    ended: usize,
}

/// A job that was begun, and may have ended.
pub(super) struct Begun(Arc<Ending>);

#[derive(Default)]
struct Ending {
    has_ended: Mutex<bool>,
    changed: Condvar,
}

impl Begun {
    /// Waits until the job has ended, also where that was in a panic.
    pub(super) fn join(self) {
        let mut has_ended = self.0.has_ended.lock();
        while !*has_ended {
            self.0.changed.wait(&mut has_ended);
        }
    }
}

/// Tells that a job has ended, whatever its end was.
struct EndOnDrop(Arc<Ending>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        *self.0.has_ended.lock() = true;
        self.0.changed.notify_all();
    }
}

impl ReadingThreads {
    /// Says whether they may read what nobody has asked for yet; as long as nobody says so they may not.
    pub(crate) fn set_unasked(&self, may: bool) {
        self.0.may_unasked.store(may, Ordering::Relaxed);
    }

    /// Whether reading ahead of who asks is worth it.
    pub(super) fn may_unasked(&self) -> bool {
        processors() > 1 && self.0.may_unasked.load(Ordering::Relaxed)
    }

    /// Does something on a thread that has nothing to do, or on a new one.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub(super) fn begin(&self, job: impl FnOnce() + Send + 'static) -> io::Result<Begun> {
        let ending = Arc::new(Ending::default());
        let end = EndOnDrop(Arc::clone(&ending));
        let job = move || {
            let _end = end;
            // What reads tells of its panic itself.
            let _ = catch_unwind(AssertUnwindSafe(job));
        };
        let mut waiting = self.0.waiting.lock();
        if waiting.idle > waiting.jobs.len() {
            waiting.jobs.push_back(Box::new(job));
            drop(waiting);
            self.0.changed.notify_one();
            return Ok(Begun(ending));
        }
        drop(waiting);
        let shared = Arc::clone(&self.0);
        spawn("timestrata-read", move || shared.work(Box::new(job)))?;
        Ok(Begun(ending))
    }
}

impl Drop for ReadingThreads {
    fn drop(&mut self) {
        self.0.waiting.lock().is_over = true;
        self.0.changed.notify_all();
    }
}

impl SharedThreads {
    /// What each thread does: one job, and then those that come.
    fn work(&self, first: Job) {
        let mut job = first;
        loop {
            job();
            // A simulated schedule ends when its threads have.
            if is_scheduled() {
                return;
            }
            let mut waiting = self.waiting.lock();
            // Many scans at the same time had more threads than one wants.
            if waiting.idle >= processors().max(IDLE_MIN) && waiting.jobs.is_empty() {
                self.settle(&mut waiting, true);
                return;
            }
            waiting.idle += 1;
            self.settle(&mut waiting, false);
            job = loop {
                if let Some(job) = waiting.jobs.pop_front() {
                    break job;
                }
                if waiting.is_over {
                    waiting.idle -= 1;
                    self.settle(&mut waiting, true);
                    return;
                }
                self.changed.wait(&mut waiting);
            };
            waiting.idle -= 1;
        }
    }

    /// Tells tests that a thread waits, or has ended.
    #[cfg(test)]
    fn settle(&self, waiting: &mut WaitingThreads, has_ended: bool) {
        waiting.ended += usize::from(has_ended);
        self.settled.notify_all();
    }

    #[cfg(not(test))]
    #[inline]
    fn settle(&self, _: &mut WaitingThreads, _: bool) {}
}

impl std::fmt::Debug for ReadingThreads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadingThreads").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
