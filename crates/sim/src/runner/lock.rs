//! A writer whose lock was pulled away: another process has the store now, and what that one
//! acknowledges is kept whatever the first one does, which may acknowledge nothing more.

use std::path::Path;

use super::Trial;
use super::judge::{guarded, judge};
use crate::disk::{CrashKind, SimDisk};
use crate::story::Story;
use crate::subject::{Action, ActionOf, STORE_DIR, Session, Subject, read};

/// Runs a workload, and has another process take the store from it, for each of the things that the first
/// one does next.
pub(super) fn pull_lock<S: Subject>(trial: &mut Trial<'_, S>) {
    let commit = Action::Write(S::after_failure());
    for (what, next) in [("commits", commit), ("syncs", Action::Sync), ("flushes", Action::Flush)] {
        let disk = trial.new_disk();
        if let Err(problem) = guarded(|| pull(trial, &disk, &next)) {
            trial.violation(&format!("its lock pulled away, it {what}"), problem);
        }
    }
}

fn pull<S: Subject>(
    trial: &mut Trial<'_, S>,
    disk: &SimDisk,
    next: &ActionOf<S>,
) -> Result<(), String> {
    let said = |error: timestrata_engine::Error| error.to_string();
    let mut story = Story::new();
    let mut first = Session::<S>::start(disk, &mut story).map_err(said)?;
    for action in trial.workload.actions() {
        first.act(&action, &mut story).map_err(said)?;
    }
    let found = read::<S>(&first.store, &story, true)?;
    let promises = story.promises_at(disk.operations());
    disk.pull_lock(&Path::new(STORE_DIR).join("LOCK"));

    let mut others = story.continued(&promises, CrashKind::Killed, found);
    let mut second = Session::<S>::start(disk, &mut others)
        .map_err(|error| format!("a second process can't open the store: {error}"))?;
    let fails = |error| format!("the second process fails: {error}");
    for action in S::after_recovery(found.seq) {
        second.act(&action, &mut others).map_err(fails)?;
    }
    // Not a part of the other's story: if it is found, that is a violation as well.
    let mut aside = story.clone();
    match first.act(next, &mut aside) {
        Ok(()) if matches!(next, Action::Write(_)) => {
            return Err("a commit is acknowledged as synced by a writer without a lock".to_owned());
        }
        // There may have been nothing to sync or to flush.
        Ok(()) => {}
        // Of its lock, or of files that the other has made meanwhile.
        Err(_) => {}
    }
    if matches!(next, Action::Write(_)) {
        // What was appended and refused is in a file that both have here. On a real disk the lock can be
        // pulled away only with the whole directory, and the files of the two are not the same.
        return Ok(());
    }
    second.act(&Action::Write(S::after_failure()), &mut others).map_err(fails)?;
    let promises = others.promises_at(disk.operations());
    let states = disk.crash_states(trial.effort.mixtures);
    disk.crash_at(disk.operations());
    for state in states {
        trial.report.states_opened += 1;
        judge::<S>(&state.disk, state.kind, &others, &promises)
            .map_err(|problem| format!("{}: {problem}", state.label))?;
    }
    Ok(())
}
