//! What a thread asks of the schedule that it is an actor of. Threads that are none get no answer at
//! the cost of a look at a flag.

use std::cell::{Cell, RefCell};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::state::Status;
use super::{LockId, SharedSchedule, Woken, as_ns};

thread_local! {
    static IS_ACTOR: Cell<bool> = const { Cell::new(false) };
    static ACTOR: RefCell<Option<(Arc<SharedSchedule>, usize)>> = const { RefCell::new(None) };
}

pub(super) fn enter(shared: &Arc<SharedSchedule>, id: usize) {
    ACTOR.set(Some((Arc::clone(shared), id)));
    IS_ACTOR.set(true);
}

pub(super) fn leave() {
    IS_ACTOR.set(false);
    ACTOR.set(None);
}

/// Whether this thread is an actor of a simulated schedule, which may not wait for threads that
/// the schedule doesn't know.
#[must_use]
pub fn is_scheduled() -> bool {
    IS_ACTOR.get()
}

/// This thread's schedule, and who it is there.
fn current() -> Option<(Arc<SharedSchedule>, usize)> {
    match is_scheduled() {
        true => ACTOR.with_borrow(Clone::clone),
        false => None,
    }
}

/// A place where another actor may go on.
pub fn pause() {
    if let Some((shared, id)) = current() {
        shared.step(id, Status::Ready);
    }
}

/// Tries until it has what it wants, and waits in between until the place is free.
pub(in crate::sync) fn acquire<G>(place: LockId, attempt: impl Fn() -> Option<G>) -> G {
    loop {
        if let Some(guard) = attempt() {
            return guard;
        }
        match current() {
            Some((shared, id)) => shared.step(id, Status::Locked(place)),
            // Only actors come here.
            None => std::thread::yield_now(),
        }
    }
}

/// A lock is free: who waits for it may try again.
pub(in crate::sync) fn free(place: LockId) {
    if let Some((shared, _)) = current() {
        shared.state.lock().wake_all(Status::Locked(place));
    }
}

/// Waits for a condition.
pub(in crate::sync) fn wait(place: LockId, timeout: Option<Duration>) -> Woken {
    let Some((shared, id)) = current() else { return Woken::ByNotice };
    let until = timeout.map(|timeout| shared.now_ns().saturating_add(as_ns(timeout)));
    shared.step(id, Status::Waiting { place, until });
    match std::mem::take(&mut shared.state.lock().actors[id].is_late) {
        true => Woken::ByTime,
        false => Woken::ByNotice,
    }
}

/// Wakes up to so many who wait for a condition; whether anyone did.
pub(in crate::sync) fn notify(place: LockId, at_most: usize) -> bool {
    let Some((shared, _)) = current() else { return false };
    let woken = shared.state.lock().notify(place, at_most);
    pause();
    woken > 0
}

/// The schedule's time.
pub(in crate::sync) fn now_ns() -> i64 {
    current().map_or(0, |(shared, _)| shared.now_ns())
}

/// An actor whose end can be waited for.
#[derive(Debug)]
pub struct Joined {
    shared: Arc<SharedSchedule>,
    id: usize,
}

impl Joined {
    /// Waits for its end, if this thread is an actor of the same schedule.
    pub(in crate::sync) fn wait(&self) {
        let Some((shared, id)) = current().filter(|(shared, _)| Arc::ptr_eq(shared, &self.shared))
        else {
            return;
        };
        if !shared.state.lock().has_ended(self.id) {
            shared.step(id, Status::Joining(self.id));
        }
    }
}

type Started = (io::Result<JoinHandle<()>>, Joined);

/// Starts an actor, if this thread is one; else gives the body back.
pub(in crate::sync) fn spawn_actor<F>(name: &str, body: F) -> Result<Started, F>
where
    F: FnOnce() + Send + 'static,
{
    let Some((shared, _)) = current() else { return Err(body) };
    let (id, thread) = shared.start(name, body);
    pause();
    Ok((thread, Joined { shared, id }))
}
