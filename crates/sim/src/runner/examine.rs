//! One crash state: what is found in it, and what comes after.

use std::collections::HashSet;

use timestrata_engine::{Access, Durability, Error};

use super::judge::{guarded, judge, judge_reading};
use super::{Report, Trial};
use crate::disk::{CrashPoint, CrashState, SimDisk};
use crate::story::{Found, Promises};
use crate::subject::{Session, Showing, StoryOf, Subject, open};

/// Mixtures a crash point of a second crash.
const MIXTURES_AGAIN: usize = 2;

/// Opens the store and holds it against its promises. For a sample (`name` decides) goes on:
/// reads it in other ways, commits to it, closes it, opens it again; and of these, crashes
/// some again.
pub(super) fn examine<S: Subject>(
    trial: &mut Trial<'_, S>,
    state: &CrashState,
    story: &StoryOf<S>,
    promises: &Promises,
    name: &[u64],
) -> Result<(), String> {
    let (effort, report) = (trial.effort, &mut trial.report);
    let opened = state.disk.fork();
    let found = judge::<S>(&opened, state.kind, story, promises)?;
    report.operations += opened.operations();
    if !effort.takes("go on", effort.continued_one_in, name) {
        return Ok(());
    }
    judge_reading::<S>(&state.disk, story, found)?;
    report.states_continued += 1;
    let again = effort.takes("crash again", effort.crashed_again_one_in, name);
    let story = story.continued(promises, state.kind, found);
    if again {
        state.disk.capture_from(0);
    }
    let story = guarded(|| go_on::<S>(&state.disk, story, found))?;
    if again {
        crash_again::<S>(&state.disk.take_captured(), &story, report)?;
    }
    guarded(|| open_closed::<S>(&state.disk, &story))?;
    report.operations += state.disk.operations();
    Ok(())
}

/// Crashes recovery, and what was done after it, at each of its operations.
fn crash_again<S: Subject>(
    points: &[CrashPoint],
    story: &StoryOf<S>,
    report: &mut Report,
) -> Result<(), String> {
    let mut seen = HashSet::new();
    for point in points {
        report.crash_points_again += 1;
        let promises = story.promises_at(point.operation());
        for state in point.states(MIXTURES_AGAIN) {
            if !seen.insert((state.disk.fingerprint(), state.kind, promises)) {
                continue;
            }
            report.states_opened_again += 1;
            judge::<S>(&state.disk, state.kind, story, &promises).map_err(|problem| {
                let operation = point.operation();
                format!(
                    "opened again, crashed at operation {operation} after that, {}: {problem}",
                    state.label
                )
            })?;
            report.operations += state.disk.operations();
        }
    }
    Ok(())
}

/// Opens a store that crashed, commits, and closes it.
fn go_on<S: Subject>(
    disk: &SimDisk,
    mut story: StoryOf<S>,
    found: Found,
) -> Result<StoryOf<S>, String> {
    let failed = |what: &str, error: Error| format!("after recovery {what} fails: {error}");
    let mut session =
        Session::<S>::start(disk, &mut story).map_err(|error| failed("opening", error))?;
    for action in S::after_recovery(found.seq) {
        session.act(&action, &mut story).map_err(|error| failed("going on", error))?;
    }
    session.store.close().map_err(|error| failed("closing", error))?;
    story.acknowledged(disk.operations(), Durability::Synced);
    Ok(story)
}

/// Opens a store that was closed in good order: everything is there, nothing is replayed.
fn open_closed<S: Subject>(disk: &SimDisk, story: &StoryOf<S>) -> Result<(), String> {
    let store = open::<S>(disk, Access::Write)
        .map_err(|error| format!("can't be opened after a close: {error}"))?;
    let snapshot = store.snapshot().map_err(|error| format!("after a close: {error}"))?;
    let compared = Showing::of_made(&store, &snapshot).compare::<S>(story.last());
    compared.map_err(|problem| format!("after a close: {problem}"))?;
    let report = store.recovery_report();
    if !report.clean || report.commits_replayed > 0 || report.torn_tail.is_some() {
        return Err(format!("a closed store was not clean: {report:?}"));
    }
    disk.crash_at(disk.operations());
    Ok(())
}
