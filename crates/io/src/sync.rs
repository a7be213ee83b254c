//! Locks, as surroundings: the engine and the models take theirs from here and from nowhere else,
//! so that whoever drives them may also own the order in which threads get on.

pub use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
