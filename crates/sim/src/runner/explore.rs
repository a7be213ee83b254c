//! One workload: its crash points, their states, and what comes after.

use std::collections::HashSet;

use timestrata_engine::{Access, Durability};

use super::judge::{guarded, judge, judge_reading};
use super::{Effort, Report, faults, mix};
use crate::disk::{CrashPoint, CrashState, SimDisk};
use crate::model::ModelChange;
use crate::session::{Session, compare, empty_model, open};
use crate::story::{Found, Promises, Story};
use crate::workload::{Action, EVENTS, Workload};

/// Mixtures a crash point of a second crash.
const MIXTURES_AGAIN: usize = 2;

/// A run of a workload without a crash.
pub(super) struct Run {
    pub(super) story: Story,
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
pub(super) fn explore(workload: &Workload, index: u64, effort: &Effort) -> Report {
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
pub(super) fn run_through(workload: &Workload, disk: &SimDisk) -> Result<Run, String> {
    let mut story = Story::new(empty_model());
    let explored_from = workload.explored_from();
    if explored_from.is_none() {
        disk.capture_from(0);
    }
    let failed = |what: &str, error: timestrata_engine::Error| format!("{what} fails: {error}");
    let mut session =
        Session::start(disk, &mut story).map_err(|error| failed("making the store", error))?;
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
    compare(session.store(), &snapshot, story.last(), true)?;
    // The close of a dropped store is not part of the workload.
    disk.crash_at(disk.operations());
    Ok(Run { story, points, operations })
}

/// Where the exploration is.
struct Place<'a> {
    workload: &'a Workload,
    index: u64,
    effort: &'a Effort,
    report: &'a mut Report,
}

impl Place<'_> {
    fn crash(&mut self, run: &Run, disk: &SimDisk) {
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
                if let Err(problem) = self.state(&state, &run.story, &promises, &name) {
                    self.report.violation(self.workload, &moment, problem);
                    if self.report.violations.len() >= self.effort.violations_max {
                        return;
                    }
                }
            }
        }
    }

    fn state(
        &mut self,
        state: &CrashState,
        story: &Story,
        promises: &Promises,
        name: &[u64],
    ) -> Result<(), String> {
        self.report.states_opened += 1;
        let found = judge(&state.disk.fork(), state.kind, story, promises)?;
        if !self.effort.takes("go on", self.effort.continued_one_in, name) {
            return Ok(());
        }
        judge_reading(&state.disk, story, found)?;
        self.report.states_continued += 1;
        let again = self.effort.takes("crash again", self.effort.crashed_again_one_in, name);
        let story = story.continued(promises, state.kind, found);
        if again {
            state.disk.capture_from(0);
        }
        let story = guarded(|| go_on(&state.disk, story, found))?;
        if again {
            self.crash_again(&state.disk.take_captured(), &story)?;
        }
        guarded(|| open_closed(&state.disk, &story))
    }

    /// Crashes recovery, and what was done after it, at each of its operations.
    fn crash_again(&mut self, points: &[CrashPoint], story: &Story) -> Result<(), String> {
        let mut seen = HashSet::new();
        for point in points {
            self.report.crash_points_again += 1;
            let promises = story.promises_at(point.operation());
            for state in point.states(MIXTURES_AGAIN) {
                if !seen.insert((state.disk.fingerprint(), state.kind, promises)) {
                    continue;
                }
                self.report.states_opened_again += 1;
                judge(&state.disk, state.kind, story, &promises).map_err(|problem| {
                    let operation = point.operation();
                    format!(
                        "opened again, crashed at operation {operation} after that, {}: {problem}",
                        state.label
                    )
                })?;
            }
        }
        Ok(())
    }
}

/// Opens a store that crashed, commits, and closes it.
fn go_on(disk: &SimDisk, mut story: Story, found: Found) -> Result<Story, String> {
    let failed = |what: &str, error: timestrata_engine::Error| {
        format!("after recovery {what} fails: {error}")
    };
    let mut session = Session::start(disk, &mut story).map_err(|error| failed("opening", error))?;
    for (n, durability) in [Durability::Written, Durability::Synced].into_iter().enumerate() {
        let row = (1000 + n as i64, format!("after recovery to commit {}", found.seq));
        let changes = vec![ModelChange::Insert(EVENTS, vec![row])];
        session
            .act(&Action::Commit { changes, durability }, &mut story)
            .map_err(|error| failed("a commit", error))?;
    }
    session.store().close().map_err(|error| failed("closing", error))?;
    story.acknowledged(disk.operations(), Durability::Synced);
    Ok(story)
}

/// Opens a store that was closed in good order: everything is there, nothing is replayed.
fn open_closed(disk: &SimDisk, story: &Story) -> Result<(), String> {
    let store = open(disk, Access::Write)
        .map_err(|error| format!("can't be opened after a close: {error}"))?;
    let snapshot = store.snapshot().map_err(|error| format!("after a close: {error}"))?;
    compare(&store, &snapshot, story.last(), true)
        .map_err(|problem| format!("after a close: {problem}"))?;
    let report = store.recovery_report();
    if !report.clean || report.commits_replayed > 0 || report.torn_tail.is_some() {
        return Err(format!("a closed store was not clean: {report:?}"));
    }
    disk.crash_at(disk.operations());
    Ok(())
}

/// Holds all that a fault may leave against the promises; used where the run has ended.
pub(super) fn judge_all(
    states: Vec<CrashState>,
    story: &Story,
    promises: &Promises,
    opened: &mut u64,
) -> Result<(), String> {
    for state in states {
        *opened += 1;
        judge(&state.disk, state.kind, story, promises)
            .map_err(|problem| format!("{}: {problem}", state.label))?;
    }
    Ok(())
}
