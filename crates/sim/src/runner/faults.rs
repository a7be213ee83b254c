//! Workloads with a failing operation: the store says so, and loses nothing it promised.

use timestrata_engine::ErrorKind;

use super::examine::examine;
use super::explore::{Run, new_disk};
use super::judge::guarded;
use super::{Effort, Report};
use crate::disk::{Fault, Operation, OperationKind, SimDisk};
use crate::story::Story;
use crate::subject::{Action, Session, Step, StoryOf, leaves_doubt, read};
use crate::workload::Workload;

/// Fails the operations of the explored steps, one a run, in each way that fits.
pub(super) fn fail<S: Step>(
    workload: &Workload<S>,
    index: u64,
    effort: &Effort,
    log: &[Operation],
    run: &Run<S>,
    report: &mut Report,
) {
    for n in run.operations.clone() {
        let Some(operation) = log.get(n as usize) else { return };
        for (way, fault) in Fault::ALL.into_iter().enumerate() {
            let name = [index, n, way as u64];
            if !fits(fault, operation.kind) || !effort.takes("fail", effort.faults_one_in, &name) {
                continue;
            }
            report.faults += 1;
            let disk = new_disk(index, effort);
            disk.fail_at(n, fault);
            let failed = guarded(|| fail_once(workload, &disk, &name, effort, report));
            if let Err(problem) = failed {
                let moment = format!(
                    "{fault:?} at operation {n} ({:?} {})",
                    operation.kind,
                    operation.path.display()
                );
                report.violation(workload, &moment, problem);
                if report.violations.len() >= effort.violations_max {
                    return;
                }
            }
        }
    }
}

/// Faults that are no more than [`Fault::Io`] or [`Fault::NoSpace`] for an operation are
/// not tried.
fn fits(fault: Fault, kind: OperationKind) -> bool {
    match fault {
        Fault::Io => true,
        Fault::NoSpace => !matches!(kind, OperationKind::Remove | OperationKind::SyncDir),
        Fault::ShortWrite => kind == OperationKind::Write,
        Fault::SyncLosesPages => kind == OperationKind::SyncFile,
    }
}

fn fail_once<S: Step>(
    workload: &Workload<S>,
    disk: &SimDisk,
    name: &[u64],
    effort: &Effort,
    report: &mut Report,
) -> Result<(), String> {
    let mut story = Story::new(S::Session::empty_model());
    let mut session = S::Session::start(disk, &mut story).ok();
    let mut failure = None;
    let steps = workload.steps().iter().enumerate();
    let mut actions = steps.flat_map(|(turn, step)| step.actions(turn));
    while let (Some(open), None) = (&mut session, &failure) {
        let Some(action) = actions.next() else { break };
        if let Err(error) = open.act(&action, &mut story) {
            failure = Some((action, error));
        }
    }
    if let Some(session) = &mut session {
        // A reopening that failed has left a closed store, which says so.
        let closed = matches!(&failure, Some((Action::Reopen, _)));
        if !closed {
            read_on::<S>(session, &story, disk)?;
        }
        if let Some((action, error)) = &failure {
            let doubt = match action {
                Action::Write(write) => {
                    let is_poisoned = session.store().is_poisoned();
                    S::Session::is_only_a_commit(write) && leaves_doubt(error) && is_poisoned
                }
                _ => false,
            };
            write_on::<S>(session, &mut story, doubt)?;
        }
    }
    let promises = story.promises_at(disk.operations());
    let states = disk.crash_states(effort.mixtures);
    disk.crash_at(disk.operations());
    for (n, state) in states.into_iter().enumerate() {
        report.states_opened_after_faults += 1;
        let name = [name, &[n as u64]].concat();
        examine::<S>(&state, &story, &promises, &name, effort, report)
            .map_err(|problem| format!("{}: {problem}", state.label))?;
    }
    Ok(())
}

/// Reads go on after a failure, and show all that was acknowledged.
fn read_on<S: Step>(
    session: &S::Session,
    story: &StoryOf<S>,
    disk: &SimDisk,
) -> Result<(), String> {
    let promises = story.promises_at(disk.operations());
    let found = read::<S::Session>(session.store(), story, promises.is_made)
        .map_err(|problem| format!("reading on after the failure: {problem}"))?;
    // Also what is only buffered is read.
    if found.seq + 1 < promises.begun || found.seq > promises.begun {
        return Err(format!(
            "reading on after the failure shows commit {}, the last one begun is {}",
            found.seq, promises.begun
        ));
    }
    Ok(())
}

/// After a commit that is in doubt no other may be taken: it could survive without the first.
fn write_on<S: Step>(
    session: &mut S::Session,
    story: &mut StoryOf<S>,
    doubt: bool,
) -> Result<(), String> {
    let action = Action::Write(S::Session::after_failure());
    let mut aside = story.clone();
    if doubt {
        // Not begun in the story: if it is found, that is a violation as well.
        return match session.act(&action, &mut aside) {
            Err(error) if error.kind() == ErrorKind::Poisoned => Ok(()),
            Err(error) => Err(format!("the store is not poisoned, but says: {error}")),
            Ok(()) => Err("a commit was taken after one in doubt".to_owned()),
        };
    }
    if session.store().snapshot().is_ok_and(|seen| seen.seq().0 < aside.last_seq()) {
        // What failed before its commit: the next commit has its number, or is refused.
        aside.commit_refused();
    }
    // Whatever else has failed: a commit is refused, or keeps its promise.
    match session.act(&action, &mut aside) {
        Ok(()) => {
            *story = aside;
            Ok(())
        }
        Err(error) if matches!(error.kind(), ErrorKind::Poisoned | ErrorKind::Closed) => Ok(()),
        Err(error) => Err(format!("a commit after the failure is refused with: {error}")),
    }
}
