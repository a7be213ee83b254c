//! One workload: run to its end, and crashed at each of its operations.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use timestrata_engine::Access;

use super::examine::examine;
use super::judge::guarded;
use super::{Effort, Report, faults, mix};
use crate::disk::{CrashPoint, SimDisk};
use crate::story::Story;
use crate::subject::{COPY_DIR, Session, Step, StoryOf, open_at};
use crate::workload::Workload;

/// A run of a workload without a crash.
pub(super) struct Run<S: Step> {
    pub(super) story: StoryOf<S>,
    pub(super) points: Vec<CrashPoint>,
    /// The first operation of the explored steps, and the one behind the last.
    pub(super) operations: Range<u64>,
    /// The same of reads.
    pub(super) reads: Range<u64>,
}

/// A disk for a workload, whatever others are run with it.
pub(super) fn new_disk<S: Step>(workload: &Workload<S>, effort: &Effort) -> SimDisk {
    let disk = SimDisk::new(mix(effort.seed, &[workload.number()]));
    disk.tear_anywhere();
    effort.lies.iter().for_each(|lie| disk.lie(lie.clone()));
    disk
}

/// Runs a workload, explores every crash point of its explored steps, and fails its
/// operations.
pub(super) fn explore<S: Step>(workload: &Workload<S>, index: u64, effort: &Effort) -> Report {
    let mut report = Report::new(effort);
    report.workloads = 1;
    let disk = new_disk(workload, effort);
    let backs_up = effort.takes("back up", effort.states_one_in, &[index]);
    match guarded(|| run_through(workload, &disk, backs_up)) {
        Ok(run) => {
            report.operations += disk.operations();
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
    backs_up: bool,
) -> Result<Run<S>, String> {
    let mut story = Story::new(S::Session::empty_model());
    let explored_from = workload.explored_from();
    if explored_from.is_none() {
        disk.capture_from(0);
    }
    let failed = |what: &str, error: timestrata_engine::Error| format!("{what} fails: {error}");
    let mut session =
        S::Session::start(disk, &mut story).map_err(|error| failed("making the store", error))?;
    let (mut first, mut first_read) = (0, 0);
    for (turn, step) in workload.steps().iter().enumerate() {
        if explored_from == Some(turn) {
            (first, first_read) = (disk.operations(), disk.reads());
            disk.capture_from(first);
        }
        for action in step.actions(turn) {
            session
                .act(&action, &mut story)
                .map_err(|error| failed(&format!("{step:?}"), error))?;
        }
    }
    let mut points = disk.take_captured();
    let (operations, reads) = (first..disk.operations(), first_read..disk.reads());
    points.push(disk.now());
    let snapshot = session.store().snapshot().map_err(|error| failed("a snapshot", error))?;
    S::Session::compare(session.store(), &snapshot, story.last(), true)?;
    if backs_up {
        back_up::<S>(&session, &story)?;
    }
    // The close of a dropped store is not part of the workload.
    disk.crash_at(disk.operations());
    Ok(Run { story, points, operations, reads })
}

/// A backup is a store of its own, of what the store shows.
fn back_up<S: Step>(session: &S::Session, story: &StoryOf<S>) -> Result<(), String> {
    let said = |error: timestrata_engine::Error| format!("a backup: {error}");
    let copied = session.store().backup(Path::new(COPY_DIR)).map_err(said)?.seq.0;
    let disk = &session.base().disk;
    let copy = open_at::<S::Session>(disk, Path::new(COPY_DIR), Access::Read).map_err(said)?;
    let snapshot = copy.snapshot().map_err(said)?;
    if (copied, snapshot.seq().0) != (story.last_seq(), story.last_seq()) {
        return Err(format!(
            "a backup of commit {copied} opens at commit {}, the store is at {}",
            snapshot.seq(),
            story.last_seq()
        ));
    }
    S::Session::compare(&copy, &snapshot, story.last(), true)
        .map_err(|problem| format!("a backup: {problem}"))
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
            let operation = point.operation();
            if self.effort.only_at.is_some_and(|only| only != operation) {
                continue;
            }
            self.report.crash_points += 1;
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
