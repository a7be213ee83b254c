//! One workload: run to its end, and crashed at each of its operations.

use std::collections::HashSet;

use super::examine::examine;
use super::judge::guarded;
use super::{Effort, Report, faults, mix};
use crate::disk::{CrashPoint, SimDisk};
use crate::story::Story;
use crate::subject::{Session, Step, StoryOf};
use crate::workload::Workload;

/// A run of a workload without a crash.
pub(super) struct Run<S: Step> {
    pub(super) story: StoryOf<S>,
    pub(super) points: Vec<CrashPoint>,
    /// The first operation of the explored steps, and the one behind the last.
    pub(super) operations: std::ops::Range<u64>,
}

/// A disk for a workload.
pub(super) fn new_disk(index: u64, effort: &Effort) -> SimDisk {
    let disk = SimDisk::new(mix(effort.seed, &[index]));
    effort.lies.iter().for_each(|lie| disk.lie(lie.clone()));
    disk
}

/// Runs a workload, explores every crash point of its explored steps, and fails its
/// operations.
pub(super) fn explore<S: Step>(workload: &Workload<S>, index: u64, effort: &Effort) -> Report {
    let mut report = Report::new(effort);
    report.workloads = 1;
    let disk = new_disk(index, effort);
    match guarded(|| run_through(workload, &disk)) {
        Ok(run) => {
            let mut place = Place { workload, index, effort, report: &mut report };
            place.crash(&run, &disk);
            faults::fail(workload, index, effort, &disk.operation_log(), &run, &mut report);
        }
        Err(problem) => report.violation(workload, "without a crash", problem),
    }
    report
}

/// Runs a workload to its end, and sees after each step that the store holds what it should.
pub(super) fn run_through<S: Step>(
    workload: &Workload<S>,
    disk: &SimDisk,
) -> Result<Run<S>, String> {
    let mut story = Story::new(S::Session::empty_model());
    let explored_from = workload.explored_from();
    if explored_from.is_none() {
        disk.capture_from(0);
    }
    let failed = |what: &str, error: timestrata_engine::Error| format!("{what} fails: {error}");
    let mut session =
        S::Session::start(disk, &mut story).map_err(|error| failed("making the store", error))?;
    let mut first = 0;
    for (turn, step) in workload.steps().iter().enumerate() {
        if explored_from == Some(turn) {
            first = disk.operations();
            disk.capture_from(first);
        }
        for action in step.actions(turn) {
            session
                .act(&action, &mut story)
                .map_err(|error| failed(&format!("{step:?}"), error))?;
        }
    }
    let mut points = disk.take_captured();
    let operations = first..disk.operations();
    points.push(disk.now());
    let snapshot = session.store().snapshot().map_err(|error| failed("a snapshot", error))?;
    S::Session::compare(session.store(), &snapshot, story.last(), true)?;
    // The close of a dropped store is not part of the workload.
    disk.crash_at(disk.operations());
    Ok(Run { story, points, operations })
}

/// Where the exploration is.
struct Place<'a, S> {
    workload: &'a Workload<S>,
    index: u64,
    effort: &'a Effort,
    report: &'a mut Report,
}

impl<S: Step> Place<'_, S> {
    fn crash(&mut self, run: &Run<S>, disk: &SimDisk) {
        let log = disk.operation_log();
        let mut seen = HashSet::new();
        for point in &run.points {
            self.report.crash_points += 1;
            let operation = point.operation();
            let promises = run.story.promises_at(operation);
            for (n, state) in point.states(self.effort.mixtures).into_iter().enumerate() {
                if !seen.insert((state.disk.fingerprint(), state.kind, promises)) {
                    continue;
                }
                self.report.states += 1;
                let name = [self.index, operation, n as u64];
                if !self.effort.takes("open", self.effort.states_one_in, &name) {
                    continue;
                }
                let what = log.get(operation as usize).map_or("the end".to_owned(), |operation| {
                    format!("{:?} {}", operation.kind, operation.path.display())
                });
                let moment = format!("operation {operation} ({what}), {}", state.label);
                self.report.states_opened += 1;
                let story = &run.story;
                let examined =
                    examine::<S>(&state, story, &promises, &name, self.effort, self.report);
                if let Err(problem) = examined {
                    self.report.violation(self.workload, &moment, problem);
                    if self.report.violations.len() >= self.effort.violations_max {
                        return;
                    }
                }
            }
        }
    }
}
