//! What a run has tried and found.

use std::fmt;

use super::Effort;

/// A promise that was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// What was driven.
    pub kind: &'static str,
    /// The letters of the workload.
    pub workload: String,
    /// Where it was stopped, and what was found afterwards.
    pub moment: String,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} '{}', {}: {}", self.kind, self.workload, self.moment, self.problem)
    }
}

/// Figures of a run, and its violations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The seed of the run.
    pub seed: u64,
    /// Workloads run.
    pub workloads: u64,
    /// Operations of the simulated disk, in workloads and in what was opened after crashes and faults.
    pub operations: u64,
    /// Operations before which the machine was stopped.
    pub crash_points: u64,
    /// Crash states of these that differ from those seen before, in contents or promises.
    pub states: u64,
    /// Of these, opened and held against the model.
    pub states_opened: u64,
    /// Of these, and of those after faults, written to, closed and opened again.
    pub states_continued: u64,
    /// Crash points in recovery and after it.
    pub crash_points_again: u64,
    /// Crash states of these, opened and held against the model.
    pub states_opened_again: u64,
    /// Runs with a failing operation.
    pub faults: u64,
    /// Crash states after these, opened and held against the model.
    pub states_opened_after_faults: u64,
    /// Bits turned over.
    pub flips: u64,
    /// Of these, found out about.
    pub flips_noticed: u64,
    /// Places made unreadable.
    pub spoiled: u64,
    /// Promises that were not kept.
    pub violations: Vec<Violation>,
}

impl Report {
    pub(super) fn new(effort: &Effort) -> Self {
        Self { seed: effort.seed, ..Self::default() }
    }

    /// Adds the figures of another run.
    pub fn add(&mut self, other: Self) {
        self.workloads += other.workloads;
        self.operations += other.operations;
        self.crash_points += other.crash_points;
        self.states += other.states;
        self.states_opened += other.states_opened;
        self.states_continued += other.states_continued;
        self.crash_points_again += other.crash_points_again;
        self.states_opened_again += other.states_opened_again;
        self.faults += other.faults;
        self.states_opened_after_faults += other.states_opened_after_faults;
        self.flips += other.flips;
        self.flips_noticed += other.flips_noticed;
        self.spoiled += other.spoiled;
        self.violations.extend(other.violations);
    }

    /// Disks that crashes left, opened and held against the model.
    #[must_use]
    pub fn images(&self) -> u64 {
        self.states_opened + self.states_opened_after_faults + self.states_opened_again
    }

    /// One line of JSON.
    #[must_use]
    pub fn json(&self) -> String {
        format!(
            "{{\"kind\":\"simulator\",\"workloads\":{},\"operations\":{},\"crashes\":{},\
             \"images\":{},\"faults\":{},\"found\":{}}}",
            self.workloads,
            self.operations,
            self.crash_points + self.crash_points_again,
            self.images(),
            self.faults,
            self.violations.len()
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |part: u64, whole: u64| match whole {
            0 => 100.0,
            _ => 100.0 * part as f64 / whole as f64,
        };
        writeln!(
            f,
            "seed {}: {} workloads, {} operations of their disks, {} crash points",
            self.seed, self.workloads, self.operations, self.crash_points
        )?;
        writeln!(
            f,
            "{} different crash states, {} opened ({:.0} %)",
            self.states,
            self.states_opened,
            percent(self.states_opened, self.states),
        )?;
        writeln!(
            f,
            "{} runs with a failing operation, {} crash states after these opened",
            self.faults, self.states_opened_after_faults
        )?;
        let opened = self.states_opened + self.states_opened_after_faults;
        writeln!(
            f,
            "{} of all opened states written to, closed and reopened ({:.0} %)",
            self.states_continued,
            percent(self.states_continued, opened),
        )?;
        writeln!(
            f,
            "{} crash points in recovery and after it, {} crash states of these opened",
            self.crash_points_again, self.states_opened_again
        )?;
        if self.flips > 0 {
            writeln!(f, "{} bits turned over, {} noticed", self.flips, self.flips_noticed)?;
            writeln!(f, "{} places made unreadable", self.spoiled)?;
        }
        write!(f, "{} violations", self.violations.len())?;
        self.violations.iter().try_for_each(|violation| write!(f, "\n  {violation}"))?;
        let Some(Violation { kind, workload, .. }) = self.violations.first() else { return Ok(()) };
        write!(
            f,
            "\nagain: cargo run -p timestrata-sim -- --of {kind} --workload '{workload}' --seed {}",
            self.seed
        )
    }
}
