//! What each actor of a schedule is doing, and which one goes on.

use std::fmt::Write;
use std::thread::Thread;

use super::choice::{Chooser, Manner};
use super::{LockId, STEPS_MAX};
use crate::{Clock, ManualClock};

/// Time that passes with each step, so that no two are at the same moment.
const STEP_NS: i64 = 1_000;

/// What an actor is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// It has no thread yet.
    Starting,
    /// It runs, or may.
    Ready,
    Locked(LockId),
    Waiting {
        place: LockId,
        until: Option<i64>,
    },
    /// It waits for the end of another.
    Joining(usize),
    Ended,
}

#[derive(Debug)]
pub(super) struct Actor {
    name: String,
    pub(super) status: Status,
    pub(super) thread: Option<Thread>,
    /// Whether its last wait was ended by time.
    pub(super) is_late: bool,
}

impl Actor {
    pub(super) fn begin(&mut self, thread: Thread) {
        self.thread = Some(thread);
        self.status = Status::Ready;
    }
}

#[derive(Debug)]
pub(super) struct ScheduleState {
    pub(super) actors: Vec<Actor>,
    pub(super) panics: Vec<String>,
    pub(super) steps: u64,
    pub(super) switches: u64,
    pub(super) fingerprint: u64,
    chooser: Chooser,
    /// Kept, so that a step allocates nothing.
    ready: Vec<usize>,
}

impl ScheduleState {
    pub(super) fn new(seed: u64, manner: Manner) -> Self {
        Self {
            actors: Vec::new(),
            panics: Vec::new(),
            steps: 0,
            switches: 0,
            fingerprint: 0,
            chooser: Chooser::new(seed, manner),
            ready: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, name: &str) -> usize {
        let (name, status) = (name.to_owned(), Status::Starting);
        self.actors.push(Actor { name, status, thread: None, is_late: false });
        self.chooser.meet();
        self.actors.len() - 1
    }

    pub(super) fn has_ended(&self, id: usize) -> bool {
        self.actors[id].status == Status::Ended
    }

    pub(super) fn end(&mut self, id: usize, panic: Option<String>) {
        self.actors[id].status = Status::Ended;
        if let Some(message) = panic {
            self.panics.push(format!("{}: {message}", self.actors[id].name));
        }
        self.wake_all(Status::Joining(id));
    }

    /// Those who wait like this may go on.
    pub(super) fn wake_all(&mut self, status: Status) {
        let waiting = self.actors.iter_mut().filter(|actor| actor.status == status);
        waiting.for_each(|actor| actor.status = Status::Ready);
    }

    /// Wakes those who wait for a condition; who is first is drawn.
    pub(super) fn notify(&mut self, place: LockId, at_most: usize) -> usize {
        let waits = |actor: &Actor| matches!(actor.status, Status::Waiting { place: at, .. } if at == place);
        let mut waiting: Vec<usize> =
            (0..self.actors.len()).filter(|id| waits(&self.actors[*id])).collect();
        let mut woken = 0;
        while woken < at_most && !waiting.is_empty() {
            let id = waiting.swap_remove(self.chooser.below(waiting.len()));
            self.actors[id].status = Status::Ready;
            woken += 1;
        }
        woken
    }

    /// Who goes on after this actor's step; `None` if nobody ever can. Moves the clock.
    pub(super) fn choose(&mut self, current: usize, clock: &ManualClock) -> Option<usize> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return None;
        }
        clock.advance_ns(STEP_NS);
        if self.chooser.is_time_to_pass() {
            self.pass_time(clock);
        }
        if !self.find_ready() {
            self.pass_time(clock);
            if !self.find_ready() {
                return None;
            }
        }
        let next = self.chooser.choose(current, &self.ready);
        self.switches += u64::from(next != current);
        self.fingerprint = (self.fingerprint ^ next as u64).wrapping_mul(0x0100_0000_01B3);
        Some(next)
    }

    fn find_ready(&mut self) -> bool {
        self.ready.clear();
        let ids = 0..self.actors.len();
        self.ready.extend(ids.filter(|id| self.actors[*id].status == Status::Ready));
        !self.ready.is_empty()
    }

    /// Moves the clock to the first end of a wait, and ends the waits that end then.
    fn pass_time(&mut self, clock: &ManualClock) {
        let end = |actor: &Actor| match actor.status {
            Status::Waiting { until, .. } => until,
            _ => None,
        };
        let Some(first) = self.actors.iter().filter_map(end).min() else { return };
        clock.advance_ns((first - clock.wall_ns()).max(0));
        let now = clock.wall_ns();
        for actor in &mut self.actors {
            if end(actor).is_some_and(|until| until <= now) {
                actor.status = Status::Ready;
                actor.is_late = true;
            }
        }
    }

    /// What each actor waits for, in words.
    pub(super) fn waits(&self) -> String {
        let mut text = match self.steps > STEPS_MAX {
            true => format!("after {STEPS_MAX} steps there is no end"),
            false => "nobody can go on".to_owned(),
        };
        for actor in self.actors.iter().filter(|actor| actor.status != Status::Ended) {
            // Writing to a string never fails.
            let _ = match actor.status {
                Status::Locked(LockId(at)) => {
                    write!(text, "; {} waits for lock {at:x}", actor.name)
                }
                Status::Waiting { place: LockId(at), .. } => {
                    write!(text, "; {} waits for condition {at:x}", actor.name)
                }
                Status::Joining(other) => {
                    write!(text, "; {} waits for {} to end", actor.name, self.actors[other].name)
                }
                _ => write!(text, "; {} could go on", actor.name),
            };
        }
        text
    }
}
