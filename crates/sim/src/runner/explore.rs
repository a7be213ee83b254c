//! One workload: run to its end, and crashed at each of its operations.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use timestrata_engine::Access;

use super::examine::examine;
use super::judge::guarded;
use super::{Trial, faults};
use crate::disk::{CrashPoint, Operation, SimDisk};
use crate::letter::actions;
use crate::story::Story;
use crate::subject::{COPY_DIR, Session, Showing, StoryOf, Subject, open_at};
use crate::workload::Workload;

/// A run of a workload without a crash.
pub(super) struct Run<S: Subject> {
    pub(super) story: StoryOf<S>,
    pub(super) points: Vec<CrashPoint>,
    /// The first operation of the explored steps, and the one behind the last.
    pub(super) operations: Range<u64>,
    /// The same of reads.
    pub(super) reads: Range<u64>,
}

/// Runs a workload, explores every crash point of its explored steps, and fails its
/// operations.
pub(super) fn explore<S: Subject>(trial: &mut Trial<'_, S>) {
    let disk = trial.new_disk();
    let backs_up = trial.effort.takes("back up", trial.effort.states_one_in, &[trial.index]);
    match guarded(|| run_through(trial.workload, &disk, backs_up)) {
        Ok(run) => {
            trial.report.operations += disk.operations();
            let log = disk.operation_log();
            crash(trial, &run, &log);
            faults::fail(trial, &run, &log);
        }
        Err(problem) => {
            trial.violation("without a crash", problem);
        }
    }
}

/// Runs a workload to its end, and sees after each step that the store holds what it should.
pub(super) fn run_through<S: Subject>(
    workload: &Workload<S>,
    disk: &SimDisk,
    backs_up: bool,
) -> Result<Run<S>, String> {
    let mut story = Story::new();
    let explored_from = workload.explored_from();
    if explored_from.is_none() {
        disk.capture_from(0);
    }
    let failed = |what: &str, error: timestrata_engine::Error| format!("{what} fails: {error}");
    let mut session =
        Session::<S>::start(disk, &mut story).map_err(|error| failed("making the store", error))?;
    let (mut first, mut first_read) = (0, 0);
    for (turn, letter) in workload.letters().iter().enumerate() {
        if explored_from == Some(turn) {
            (first, first_read) = (disk.operations(), disk.reads());
            disk.capture_from(first);
        }
        for action in actions::<S>(*letter, turn) {
            session
                .act(&action, &mut story)
                .map_err(|error| failed(&format!("step '{letter}'"), error))?;
        }
    }
    let mut points = disk.take_captured();
    let (operations, reads) = (first..disk.operations(), first_read..disk.reads());
    points.push(disk.now());
    let snapshot = session.store.snapshot().map_err(|error| failed("a snapshot", error))?;
    Showing::of_made(&session.store, &snapshot).compare::<S>(story.last())?;
    if backs_up {
        back_up(&session, &story)?;
    }
    // The close of a dropped store is not part of the workload.
    disk.crash_at(disk.operations());
    Ok(Run { story, points, operations, reads })
}

/// A backup is a store of its own, of what the store shows.
fn back_up<S: Subject>(session: &Session<S>, story: &StoryOf<S>) -> Result<(), String> {
    let said = |error: timestrata_engine::Error| format!("a backup: {error}");
    let copied = session.store.backup(Path::new(COPY_DIR)).map_err(said)?.seq.0;
    let copy = open_at::<S>(&session.disk, Path::new(COPY_DIR), Access::Read).map_err(said)?;
    let snapshot = copy.snapshot().map_err(said)?;
    if (copied, snapshot.seq().0) != (story.last_seq(), story.last_seq()) {
        return Err(format!(
            "a backup of commit {copied} opens at commit {}, the store is at {}",
            snapshot.seq(),
            story.last_seq()
        ));
    }
    let compared = Showing::of_made(&copy, &snapshot).compare::<S>(story.last());
    compared.map_err(|problem| format!("a backup: {problem}"))
}

fn crash<S: Subject>(trial: &mut Trial<'_, S>, run: &Run<S>, log: &[Operation]) {
    let effort = trial.effort;
    let mut seen = HashSet::new();
    for point in &run.points {
        let operation = point.operation();
        if effort.only_at.is_some_and(|only| only != operation) {
            continue;
        }
        trial.report.crash_points += 1;
        let promises = run.story.promises_at(operation);
        for (n, state) in point.states(effort.mixtures).into_iter().enumerate() {
            if !seen.insert((state.disk.fingerprint(), state.kind, promises)) {
                continue;
            }
            trial.report.states += 1;
            let name = [trial.index, operation, n as u64];
            if !effort.takes("open", effort.states_one_in, &name) {
                continue;
            }
            let what = log.get(operation as usize).map_or("the end".to_owned(), |operation| {
                format!("{:?} {}", operation.kind, operation.path.display())
            });
            let moment = format!("operation {operation} ({what}), {}", state.label);
            trial.report.states_opened += 1;
            if let Err(problem) = examine(trial, &state, &run.story, &promises, &name)
                && trial.violation(&moment, problem)
            {
                return;
            }
        }
    }
}
