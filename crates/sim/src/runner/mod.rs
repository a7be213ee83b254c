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

use timestrata_engine::planted::{Plant, plant};
use timestrata_io::locks::Mutex;

use crate::disk::{Lie, SimDisk};
use crate::subject::Subject;
use crate::threads::on_all_threads;
use crate::workload::{Workload, mix};

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

/// A workload that is tried, and what came of it so far.
struct Trial<'a, S> {
    workload: &'a Workload<S>,
    /// Its place among all.
    index: u64,
    effort: &'a Effort,
    report: Report,
}

impl<S: Subject> Trial<'_, S> {
    /// A disk for the workload, whatever others are run with it.
    fn new_disk(&self) -> SimDisk {
        let disk = SimDisk::new(mix(self.effort.seed, &[self.workload.number()]));
        disk.tear_anywhere();
        self.effort.lies.iter().for_each(|lie| disk.lie(lie.clone()));
        disk
    }

    /// Takes down a promise that was not kept; whether there are enough of them now.
    fn violation(&mut self, moment: &str, problem: String) -> bool {
        self.report.violations.push(Violation {
            kind: S::KIND,
            workload: self.workload.to_string(),
            moment: moment.to_owned(),
            problem,
        });
        self.report.violations.len() >= self.effort.violations_max
    }
}

/// Runs workloads and crashes them, on as many threads as there are processors.
pub fn run<S: Subject>(workloads: &[Workload<S>], effort: &Effort) -> Report {
    run_all(workloads, effort, explore::explore)
}

/// Runs workloads and damages what they leave, on as many threads as there are processors.
pub fn damage<S: Subject>(workloads: &[Workload<S>], effort: &Effort) -> Report {
    run_all(workloads, effort, damage::damage)
}

/// Runs workloads and pulls the writer's lock away behind them, on as many threads as there are processors.
pub fn pull_lock<S: Subject>(workloads: &[Workload<S>], effort: &Effort) -> Report {
    run_all(workloads, effort, lock::pull_lock)
}

fn run_all<S: Subject>(
    workloads: &[Workload<S>],
    effort: &Effort,
    work: fn(&mut Trial<'_, S>),
) -> Report {
    let total = Mutex::new(Report::new(effort));
    on_all_threads(|index| {
        let Some(workload) = workloads.get(index as usize) else { return false };
        if total.lock().violations.len() >= effort.violations_max {
            return false;
        }
        let _planted = effort.planted.map(plant);
        let report = Report { workloads: 1, ..Report::new(effort) };
        let mut trial = Trial { workload, index, effort, report };
        work(&mut trial);
        total.lock().add(trial.report);
        true
    });
    total.into_inner()
}
