//! One crash state: what is found in it, and what comes after.

use std::collections::HashSet;

use timestrata_engine::{Access, Durability};

use super::judge::{guarded, judge, judge_reading};
use super::{Effort, Report};
use crate::disk::{CrashPoint, CrashState, SimDisk};
use crate::model::ModelChange;
use crate::session::{Session, compare, open};
use crate::story::{Found, Promises, Story};
use crate::workload::{Action, EVENTS};

/// Mixtures a crash point of a second crash.
const MIXTURES_AGAIN: usize = 2;

/// Opens the store and holds it against its promises. For a sample (`name` decides) goes on:
/// reads it in other ways, commits to it, closes it, opens it again; and of these, crashes
/// some again.
pub(super) fn examine(
    state: &CrashState,
    story: &Story,
    promises: &Promises,
    name: &[u64],
    effort: &Effort,
    report: &mut Report,
) -> Result<(), String> {
    let found = judge(&state.disk.fork(), state.kind, story, promises)?;
    if !effort.takes("go on", effort.continued_one_in, name) {
        return Ok(());
    }
    judge_reading(&state.disk, story, found)?;
    report.states_continued += 1;
    let again = effort.takes("crash again", effort.crashed_again_one_in, name);
    let story = story.continued(promises, state.kind, found);
    if again {
        state.disk.capture_from(0);
    }
    let story = guarded(|| go_on(&state.disk, story, found))?;
    if again {
        crash_again(&state.disk.take_captured(), &story, report)?;
    }
    guarded(|| open_closed(&state.disk, &story))
}

/// Crashes recovery, and what was done after it, at each of its operations.
fn crash_again(points: &[CrashPoint], story: &Story, report: &mut Report) -> Result<(), String> {
    let mut seen = HashSet::new();
    for point in points {
        report.crash_points_again += 1;
        let promises = story.promises_at(point.operation());
        for state in point.states(MIXTURES_AGAIN) {
            if !seen.insert((state.disk.fingerprint(), state.kind, promises)) {
                continue;
            }
            report.states_opened_again += 1;
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
