//! Who goes on: the schedule of a simulation.
//!
//! Threads that it knows are its *actors*; exactly one of them runs at a time. Before an actor takes a
//! lock, after it lets go of one and wherever else it says [`pause`], the next is drawn from a seed. An
//! actor that must wait waits here: for a lock, a condition, a time or another's end. If nobody else
//! can go on, the clock is moved to the next end of a wait; where there is none, nobody will ever go on,
//! and the schedule ends with what each waits for.

mod choice;
mod current;
mod state;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

pub use self::choice::Manner;
pub use self::current::{Joined, is_scheduled, pause};
pub(super) use self::current::{acquire, free, notify, now_ns, spawn_actor, wait};
use self::state::{ScheduleState, Status};
use crate::locks;
use crate::{Clock, ManualClock};

/// A lock or a condition, by its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LockId(usize);

impl LockId {
    pub(super) fn of<T: ?Sized>(place: &T) -> Self {
        Self(std::ptr::from_ref(place).cast::<u8>().addr())
    }
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Woken {
    ByNotice,
    ByTime,
}

/// How a schedule came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// All actors have ended. Those that panicked, with their messages.
    Done(Vec<String>),
    /// Nobody can go on: what each waits for. Their threads are left as they are, for ever.
    Stuck(String),
}

/// A schedule that has run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub end: End,
    /// Places at which another actor could have gone on.
    pub steps: u64,
    /// How often another did.
    pub switches: u64,
    /// A number that tells different orders apart.
    pub fingerprint: u64,
}

/// What all actors of a schedule share.
#[derive(Debug)]
pub(super) struct SharedSchedule {
    state: locks::Mutex<ScheduleState>,
    /// Who runs.
    running: AtomicUsize,
    clock: Arc<ManualClock>,
    ended: Sender<End>,
}

/// Nobody: before the first actor, and after the last.
const NOBODY: usize = usize::MAX;

/// Steps after which a schedule is held to be one that never ends.
const STEPS_MAX: u64 = 20_000_000;

/// An order of actors, drawn from a seed.
#[derive(Debug)]
pub struct Schedule {
    shared: Arc<SharedSchedule>,
    end: Receiver<End>,
}

impl Schedule {
    /// A schedule whose waits end by `clock`, which nobody else moves back.
    pub fn new(seed: u64, manner: Manner, clock: Arc<ManualClock>) -> Self {
        let (ended, end) = channel();
        let state = locks::Mutex::new(ScheduleState::new(seed, manner));
        let running = AtomicUsize::new(NOBODY);
        Self { shared: Arc::new(SharedSchedule { state, running, clock, ended }), end }
    }

    /// Runs `body` as the first actor, and all that it spawns, until all have ended or nobody can go
    /// on.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub fn run(self, body: impl FnOnce() + Send + 'static) -> std::io::Result<Ran> {
        let (_, thread) = self.shared.start("main", body);
        let thread = thread?;
        self.shared.hand_on(0);
        // The shared part, and so the sender, is held here: there is always an end.
        let end = self.end.recv().unwrap_or_else(|_| End::Stuck("nobody is left".to_owned()));
        if matches!(end, End::Done(_)) {
            // Panics are caught and told of.
            let _ = thread.join();
        }
        let state = self.shared.state.lock();
        let (steps, switches) = (state.steps, state.switches);
        Ok(Ran { end, steps, switches, fingerprint: state.fingerprint })
    }
}

impl SharedSchedule {
    /// Makes one more actor, which waits for its first turn.
    fn start(
        self: &Arc<Self>,
        name: &str,
        body: impl FnOnce() + Send + 'static,
    ) -> (usize, std::io::Result<JoinHandle<()>>) {
        let id = self.state.lock().add(name);
        let shared = Arc::clone(self);
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            shared.wait_for_turn(id);
            current::enter(&shared, id);
            let outcome = catch_unwind(AssertUnwindSafe(body));
            current::leave();
            shared.end(id, outcome.err().map(|payload| message_of(&*payload)));
        });
        let mut state = self.state.lock();
        match &thread {
            Ok(thread) => state.actors[id].begin(thread.thread().clone()),
            Err(_) => state.actors[id].status = Status::Ended,
        }
        drop(state);
        (id, thread)
    }

    fn end(&self, id: usize, panic: Option<String>) {
        let mut state = self.state.lock();
        state.end(id, panic);
        if state.actors.iter().all(|actor| actor.status == Status::Ended) {
            let panics = std::mem::take(&mut state.panics);
            drop(state);
            // Nobody listens any more where the schedule was given up.
            let _ = self.ended.send(End::Done(panics));
            return;
        }
        let next = state.choose(id, &self.clock);
        drop(state);
        match next {
            Some(next) => self.hand_on(next),
            None => self.give_up(),
        }
    }

    /// The actor is now as `status` says, and another goes on, or it does itself.
    fn step(&self, id: usize, status: Status) {
        let mut state = self.state.lock();
        state.actors[id].status = status;
        let next = state.choose(id, &self.clock);
        drop(state);
        match next {
            Some(next) if next == id => {}
            Some(next) => {
                self.hand_on(next);
                self.wait_for_turn(id);
            }
            None => {
                self.give_up();
                self.wait_for_turn(id);
            }
        }
    }

    fn hand_on(&self, next: usize) {
        let thread = self.state.lock().actors[next].thread.clone();
        self.running.store(next, Ordering::Release);
        if let Some(thread) = thread {
            thread.unpark();
        }
    }

    fn wait_for_turn(&self, id: usize) {
        while self.running.load(Ordering::Acquire) != id {
            std::thread::park();
        }
    }

    fn give_up(&self) {
        self.running.store(NOBODY, Ordering::Release);
        let waits = self.state.lock().waits();
        let _ = self.ended.send(End::Stuck(waits));
    }

    fn now_ns(&self) -> i64 {
        self.clock.wall_ns()
    }
}

fn message_of(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}

pub(super) fn as_ns(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
