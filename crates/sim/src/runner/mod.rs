//! The runner: every workload, crashed at every operation, found in every way that a crash
//! may leave it, opened again and held against the model.
//!
//! One run of a workload captures every crash point of its explored steps; each crash point
//! gives its crash states; a state that was seen before with the same promises is not tried
//! twice. What is too much is sampled by a hash of the seed and the place, and the report
//! says how much of it.

mod damage;
mod examine;
mod explore;
mod faults;
mod judge;
mod lock;
mod report;

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use timestrata_engine::planted::{Plant, plant};

use crate::disk::Lie;
use crate::subject::Step;
use crate::workload::Workload;

pub use report::{Report, Violation};

/// How much to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effort {
    /// Decides crash states and samples.
    pub seed: u64,
    /// Seeded mixtures a crash point, besides the extremes.
    pub mixtures: usize,
    /// One in so many crash states is opened; 1: all.
    pub states_one_in: u64,
    /// One in so many opened states goes on: a commit, a close, another open.
    pub continued_one_in: u64,
    /// One in so many of these is crashed again, at each operation from its recovery on.
    pub crashed_again_one_in: u64,
    /// One in so many operations is failed, in each way that fits; 0: none.
    pub faults_one_in: u64,
    /// One in so many bits of the files is turned over, by [`damage`].
    pub flips_one_in: u64,
    /// Crashes and fails this operation only.
    pub only_at: Option<u64>,
    /// What the disk lies about, from the start.
    pub lies: Vec<Lie>,
    /// What the engine does wrong on purpose.
    pub planted: Option<Plant>,
    /// Ends early once so many violations were found.
    pub violations_max: usize,
}

impl Effort {
    /// Everything, for a few workloads.
    pub fn full(seed: u64) -> Self {
        Self {
            seed,
            mixtures: 6,
            states_one_in: 1,
            continued_one_in: 1,
            crashed_again_one_in: 1,
            faults_one_in: 1,
            flips_one_in: 8,
            only_at: None,
            lies: Vec::new(),
            planted: None,
            violations_max: 10,
        }
    }

    /// A part of everything, for many workloads.
    pub fn sampled(seed: u64) -> Self {
        Self {
            mixtures: 3,
            states_one_in: 4,
            continued_one_in: 8,
            crashed_again_one_in: 8,
            faults_one_in: 16,
            ..Self::full(seed)
        }
    }

    /// A small part, for models: what comes after their recovery, compaction too, has many operations
    /// to crash at.
    pub fn of_models(seed: u64) -> Self {
        Self {
            states_one_in: 16,
            continued_one_in: 16,
            crashed_again_one_in: 96,
            faults_one_in: 192,
            ..Self::sampled(seed)
        }
    }

    /// More of them, for workloads of one step.
    pub fn of_short_models(seed: u64) -> Self {
        Self {
            mixtures: 6,
            states_one_in: 3,
            continued_one_in: 8,
            faults_one_in: 16,
            ..Self::of_models(seed)
        }
    }

    /// Whether the case of this name belongs to a sample. Samples for different purposes
    /// are independent of each other.
    fn takes(&self, purpose: &str, one_in: u64, name: &[u64]) -> bool {
        let salt = purpose.bytes().fold(self.seed, |salt, byte| mix(salt, &[u64::from(byte)]));
        one_in > 0 && mix(salt, name).is_multiple_of(one_in)
    }
}

/// A number that depends on all of the numbers (FNV-1a over 64-bit words, then a finish).
pub(crate) fn mix(seed: u64, numbers: &[u64]) -> u64 {
    let mut hash = seed ^ 0xCBF2_9CE4_8422_2325;
    for number in numbers {
        hash = (hash ^ number).wrapping_mul(0x0000_0100_0000_01B3);
        hash ^= hash >> 29;
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash ^ (hash >> 31)
}

/// Runs workloads and crashes them, on as many threads as there are processors.
pub fn run<S: Step>(workloads: &[Workload<S>], effort: &Effort) -> Report {
    on_all_threads(workloads, effort, explore::explore)
}

/// Runs workloads and damages what they leave, on as many threads as there are processors.
pub fn damage<S: Step>(workloads: &[Workload<S>], effort: &Effort) -> Report {
    on_all_threads(workloads, effort, damage::damage)
}

/// Runs workloads and pulls the writer's lock away behind them, on as many threads as there are processors.
pub fn pull_lock<S: Step>(workloads: &[Workload<S>], effort: &Effort) -> Report {
    on_all_threads(workloads, effort, lock::pull_lock)
}

fn on_all_threads<S: Step>(
    workloads: &[Workload<S>],
    effort: &Effort,
    work: fn(&Workload<S>, u64, &Effort) -> Report,
) -> Report {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let next = AtomicUsize::new(0);
    let total = Mutex::new(Report::new(effort));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let _planted = effort.planted.map(plant);
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(workload) = workloads.get(index) else { break };
                    if total.lock().violations.len() >= effort.violations_max {
                        break;
                    }
                    let report = work(workload, index as u64, effort);
                    total.lock().add(report);
                }
            });
        }
    });
    total.into_inner()
}
