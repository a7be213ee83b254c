//! Locks and threads, as surroundings: the engine and the models take theirs from here and from
//! nowhere else, so that whoever drives them may also own the order in which threads get on.
//!
//! Locks ([`crate::locks`]) and threads are the system's. With the feature `schedule`, which the simulator
//! alone asks for, they are thin covers of the same: to a thread that is an actor of a
//! [`schedule::Schedule`] each lock is a place where another actor may go on, chosen by a seed; to all
//! other threads they are what they cover.

#[cfg(feature = "schedule")]
mod condvar;
#[cfg(feature = "schedule")]
mod guard;
#[cfg(feature = "schedule")]
mod mutex;
mod once;
mod processors;
#[cfg(feature = "schedule")]
mod rw_lock;
#[cfg(feature = "schedule")]
#[doc(hidden)]
pub mod schedule;
#[cfg(feature = "schedule")]
mod thread;

#[cfg(feature = "schedule")]
pub use self::condvar::Condvar;
#[cfg(feature = "schedule")]
pub use self::mutex::{Mutex, MutexGuard};
#[cfg(feature = "schedule")]
pub use self::rw_lock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(feature = "schedule")]
pub use self::schedule::is_scheduled;
#[cfg(feature = "schedule")]
pub use self::thread::{JoinHandle, spawn};

pub use self::once::get_or_try_init;
pub use self::processors::processors;

#[cfg(not(feature = "schedule"))]
pub use self::plain::{JoinHandle, is_scheduled, spawn};
#[cfg(not(feature = "schedule"))]
pub use crate::locks::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

#[cfg(not(feature = "schedule"))]
mod plain {
    use std::io;
    pub use std::thread::JoinHandle;

    /// Starts a thread.
    ///
    /// # Errors
    /// If the system has no more of them.
    pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
        std::thread::Builder::new().name(name.to_owned()).spawn(body)
    }

    /// Whether this thread is an actor of a simulated schedule, which may not wait for threads that
    /// the schedule doesn't know.
    #[must_use]
    pub const fn is_scheduled() -> bool {
        false
    }
}
