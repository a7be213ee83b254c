//! Who goes on, drawn from a seed.

use crate::{Rng, SeededRng};

/// One in so many steps lets the time of a wait pass, though others could go on.
const TIME_PASSES_ONE_IN: u64 = 64;
/// Among so many steps the changes of priorities are spread.
const CHANGES_WITHIN: u64 = 3_000;

/// How the next actor is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Any that can, with the same chance; but one in so many steps only, else who runs runs on.
    Walk {
        /// 1: at each step.
        one_in: u64,
    },
    /// Each has a priority, and the highest of those that can go on does. At so many steps, who runs
    /// comes last from then on: few changes find what needs a few steps in an unlikely order.
    Priorities {
        /// How many.
        changes: usize,
    },
}

#[derive(Debug)]
pub(super) struct Chooser {
    rng: SeededRng,
    manner: Manner,
    /// By actor; for a walk unused.
    priorities: Vec<i64>,
    /// Steps left to each change, and to the one before.
    changes: Vec<u64>,
    step: u64,
    lowest: i64,
}

impl Chooser {
    pub(super) fn new(seed: u64, manner: Manner) -> Self {
        let rng = SeededRng::new(seed);
        let count = match manner {
            Manner::Priorities { changes } => changes,
            Manner::Walk { .. } => 0,
        };
        let changes = (0..count).map(|_| rng.next_u64() % CHANGES_WITHIN).collect();
        Self { rng, manner, priorities: Vec::new(), changes, step: 0, lowest: 0 }
    }

    /// One more actor.
    pub(super) fn meet(&mut self) {
        self.priorities.push((self.rng.next_u64() >> 2) as i64);
    }

    pub(super) fn below(&self, count: usize) -> usize {
        (self.rng.next_u64() % count.max(1) as u64) as usize
    }

    pub(super) fn is_time_to_pass(&self) -> bool {
        self.rng.next_u64().is_multiple_of(TIME_PASSES_ONE_IN)
    }

    /// One of those that can go on, of whom there is one at least.
    pub(super) fn choose(&mut self, current: usize, ready: &[usize]) -> usize {
        self.step += 1;
        match self.manner {
            Manner::Walk { one_in } => {
                let runs_on = !self.rng.next_u64().is_multiple_of(one_in.max(1));
                match runs_on && ready.contains(&current) {
                    true => current,
                    false => ready[self.below(ready.len())],
                }
            }
            Manner::Priorities { .. } => {
                if self.changes.contains(&self.step) {
                    self.lowest -= 1;
                    self.priorities[current] = self.lowest;
                }
                let highest = ready.iter().max_by_key(|id| self.priorities[**id]);
                highest.copied().unwrap_or(current)
            }
        }
    }
}
