//! Workloads on a disk that something is wrong with: the store says so, loses nothing that it promised, and
//! does the same call, made again, as soon as nothing is wrong any more, or refuses it for good.

use timestrata_engine::{Error, ErrorKind};

use super::Trial;
use super::examine::examine;
use super::explore::Run;
use super::judge::guarded;
use crate::disk::{Fault, Operation, OperationKind, SimDisk};
use crate::story::Story;
use crate::subject::{Action, ActionOf, Problem, Session, StoryOf, Subject, leaves_doubt, read};
use crate::workload::{Workload, mix};

/// Reads are many, and most of them alike.
const READS_ONE_IN: u64 = 8;
/// One in so many of what a crash may leave is looked at after what loses nothing by itself.
const STATES_ONE_IN: usize = 3;
/// The second of two faults comes within so many operations of the first.
const SECOND_WITHIN: u64 = 16;
/// Bytes that are free when the disk gets full.
const FREE_BYTES: [u64; 5] = [0, 600, 3_000, 7_000, 20_000];

/// What is wrong with the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    /// An operation fails.
    Operation(u64, Fault),
    /// Two do.
    Operations([(u64, Fault); 2]),
    /// A read fails.
    Read(u64),
    /// Before this action the disk has so much room left, until something has failed.
    Full { action: usize, free_bytes: u64 },
    /// The same for files that may be open.
    OpenFiles { action: usize, more: usize },
}

impl Trouble {
    /// What is known before the first operation.
    fn begin(self, disk: &SimDisk) {
        match self {
            Self::Operation(n, fault) => disk.fail_at(n, fault),
            Self::Operations(both) => {
                both.into_iter().for_each(|(n, fault)| disk.fail_at(n, fault))
            }
            Self::Read(n) => disk.fail_read_at(n),
            Self::Full { .. } | Self::OpenFiles { .. } => {}
        }
    }

    /// What comes with an action.
    fn before(self, now: usize, disk: &SimDisk) {
        match self {
            Self::Full { action, free_bytes } if action == now => {
                disk.limit_free_bytes(Some(free_bytes));
            }
            Self::OpenFiles { action, more } if action == now => disk.limit_open_files(Some(more)),
            _ => {}
        }
    }

    /// Something has failed: there is room again.
    fn lift(disk: &SimDisk) {
        disk.limit_free_bytes(None);
        disk.limit_open_files(None);
    }

    fn comes_again(self) -> bool {
        matches!(self, Self::Operations(_))
    }
}

/// Runs a workload with troubles, a sample of all that there can be.
pub(super) fn fail<S: Subject>(trial: &mut Trial<'_, S>, run: &Run<S>, log: &[Operation]) {
    for (trouble, name) in troubles(trial, run, log) {
        trial.report.faults += 1;
        let disk = trial.new_disk();
        let failed = guarded(|| run_in_trouble(trial, &disk, trouble, &name));
        if let Err(problem) = failed {
            let of = match trouble {
                Trouble::Operation(n, _) | Trouble::Operations([(n, _), _]) => log.get(n as usize),
                _ => None,
            };
            let of = of.map(|of| format!(" ({:?} {})", of.kind, of.path.display()));
            let moment = format!("{trouble:?}{}", of.unwrap_or_default());
            if trial.violation(&moment, problem) {
                return;
            }
        }
    }
}

/// Those that belong to the sample, with their names.
fn troubles<S: Subject>(
    trial: &Trial<'_, S>,
    run: &Run<S>,
    log: &[Operation],
) -> Vec<(Trouble, Vec<u64>)> {
    let (index, effort) = (trial.index, trial.effort);
    let mut list = Vec::new();
    let one_in = effort.faults_one_in;
    for n in run.operations.clone() {
        if effort.only_at.is_some_and(|only| only != n) {
            continue;
        }
        let Some(operation) = log.get(n as usize) else { break };
        for (way, fault) in Fault::ALL.into_iter().enumerate() {
            let name = vec![index, n, way as u64];
            if !fits(fault, operation.kind) || !effort.takes("fail", one_in, &name) {
                continue;
            }
            let drawn = mix(effort.seed, &name);
            let second = (n + 1 + drawn / 8 % SECOND_WITHIN, Fault::ALL[(drawn / 2 % 4) as usize]);
            list.push((Trouble::Operation(n, fault), name.clone()));
            if drawn.is_multiple_of(4) {
                list.push((Trouble::Operations([(n, fault), second]), [name, vec![1]].concat()));
            }
        }
    }
    if effort.only_at.is_some() {
        return list;
    }
    for n in run.reads.clone() {
        let name = vec![index, n];
        if effort.takes("fail a read", one_in * READS_ONE_IN, &name) {
            list.push((Trouble::Read(n), name));
        }
    }
    for action in 0..trial.workload.actions().count() {
        let name = vec![index, action as u64];
        let drawn = mix(effort.seed, &name);
        if effort.takes("fill the disk", one_in, &name) {
            let free_bytes = FREE_BYTES[(drawn % FREE_BYTES.len() as u64) as usize];
            list.push((Trouble::Full { action, free_bytes }, name.clone()));
        }
        if effort.takes("run out of files", one_in, &name) {
            list.push((Trouble::OpenFiles { action, more: (drawn % 3) as usize }, name));
        }
    }
    list
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

fn run_in_trouble<S: Subject>(
    trial: &mut Trial<'_, S>,
    disk: &SimDisk,
    trouble: Trouble,
    name: &[u64],
) -> Result<(), String> {
    let mut story = Story::new();
    trouble.begin(disk);
    let session = match Session::<S>::start(disk, &mut story) {
        Ok(session) => Some(session),
        Err(error) => {
            expect_told(&error)?;
            match Session::<S>::start(disk, &mut story) {
                Ok(session) => Some(session),
                Err(_) if trouble.comes_again() => None,
                Err(error) => return Err(format!("opened again, the store says: {error}")),
            }
        }
    };
    if let Some(session) = session {
        let mut running = Running { session, story, disk, trouble, has_failed: false };
        running.run(trial.workload)?;
        story = running.story;
    }
    Trouble::lift(disk);
    let promises = story.promises_at(disk.operations());
    let states = disk.crash_states(trial.effort.mixtures);
    disk.crash_at(disk.operations());
    trial.report.operations += disk.operations();
    let loses_nothing = !matches!(trouble, Trouble::Operation(..) | Trouble::Operations(_));
    for (n, state) in states.into_iter().enumerate() {
        if loses_nothing && !n.is_multiple_of(STATES_ONE_IN) {
            continue;
        }
        trial.report.states_opened_after_faults += 1;
        let name = [name, &[n as u64]].concat();
        examine(trial, &state, &story, &promises, &name)
            .map_err(|problem| format!("{}: {problem}", state.label))?;
    }
    Ok(())
}

/// What comes after an action.
enum Next {
    GoesOn,
    /// The store takes no more, or is closed.
    Ends,
}

struct Running<'a, S: Subject> {
    session: Session<S>,
    story: StoryOf<S>,
    disk: &'a SimDisk,
    trouble: Trouble,
    has_failed: bool,
}

impl<S: Subject> Running<'_, S> {
    fn run(&mut self, workload: &Workload<S>) -> Result<(), String> {
        for (now, action) in workload.actions().enumerate() {
            self.trouble.before(now, self.disk);
            if let Err(error) = self.session.act(&action, &mut self.story)
                && matches!(self.after(&action, error)?, Next::Ends)
            {
                return Ok(());
            }
        }
        Trouble::lift(self.disk);
        self.read_on()?;
        if self.has_failed {
            // Whatever has failed, the store takes commits.
            let another = Action::Write(S::after_failure());
            let taken = self.session.act(&another, &mut self.story);
            if let (Err(error), false) = (taken, self.trouble.comes_again()) {
                return Err(format!("a commit after the failure is refused with: {error}"));
            }
        }
        Ok(())
    }

    /// After an action has failed: reads go on; the same call is made again, and another one.
    fn after(&mut self, action: &ActionOf<S>, error: Error) -> Result<Next, String> {
        expect_told(&error)?;
        self.has_failed = true;
        Trouble::lift(self.disk);
        if matches!(action, Action::Reopen) {
            // A reopening that failed has left a closed store, which says so.
            return Ok(Next::Ends);
        }
        self.read_on()?;
        if self.session.store.is_poisoned() {
            self.expect_refused(action, &error)?;
            return Ok(Next::Ends);
        }
        self.forget_unmade();
        let Err(error) = self.session.act(action, &mut self.story) else { return Ok(Next::GoesOn) };
        if self.session.store.is_poisoned() {
            expect_told(&error)?;
            self.read_on()?;
            self.expect_refused(action, &error)?;
            return Ok(Next::Ends);
        }
        let is_one = match action {
            Action::Write(write) => S::is_only_a_commit(write),
            _ => true,
        };
        if self.trouble.comes_again() || !is_one {
            // What has several parts may have done the first of them.
            self.forget_unmade();
            return Ok(Next::Ends);
        }
        Err(format!("made again, when nothing is wrong any more, the call fails: {error}"))
    }

    /// What failed before its commit: the next commit has its number.
    fn forget_unmade(&mut self) {
        let seen = self.session.store.snapshot();
        if seen.is_ok_and(|seen| seen.seq().0 < self.story.last_seq()) {
            self.story.commit_refused();
        }
    }

    /// Reads go on after a failure, and show all that was acknowledged.
    fn read_on(&self) -> Result<(), String> {
        let promises = self.story.promises_at(self.disk.operations());
        let read = || read::<S>(&self.session.store, &self.story, promises.is_made);
        let found = match read() {
            // The read that was to fail may be one of these.
            Err(Problem::Failed(error)) if matches!(self.trouble, Trouble::Read(_)) => {
                expect_told(&error)?;
                read()
            }
            read => read,
        };
        let found = found.map_err(|problem| format!("reading on after the failure: {problem}"))?;
        // Also what is only buffered is read.
        if found.seq + 1 < promises.begun || found.seq > promises.begun {
            return Err(format!(
                "reading on after the failure shows commit {}, the last one begun is {}",
                found.seq, promises.begun
            ));
        }
        Ok(())
    }

    /// A store that doesn't know what is on its disk takes neither the call that failed, made again,
    /// nor another: what came of it could survive without what is in doubt.
    fn expect_refused(&mut self, action: &ActionOf<S>, error: &Error) -> Result<(), String> {
        let again = match action {
            Action::Write(_) | Action::Sync => Some(action.clone()),
            _ => None,
        };
        let another = Action::Write(S::after_failure());
        for (what, call) in [("the same", again), ("another", Some(another))] {
            let Some(call) = call else { continue };
            // Not begun in the story: if it is found, that is a violation as well.
            match self.session.act(&call, &mut self.story.clone()) {
                Err(refused)
                    if matches!(refused.kind(), ErrorKind::Poisoned | ErrorKind::Closed) => {}
                Err(refused) => {
                    return Err(format!("poisoned, the store refuses {what} with: {refused}"));
                }
                Ok(()) => {
                    return Err(format!("poisoned by '{error}', the store takes {what} call"));
                }
            }
        }
        Ok(())
    }
}

/// An error that says what the disk said.
fn expect_told(error: &Error) -> Result<(), String> {
    let is_told = leaves_doubt(error)
        || matches!(error.kind(), ErrorKind::Poisoned | ErrorKind::Busy | ErrorKind::Closed);
    match is_told {
        true => Ok(()),
        false => Err(format!("an error of the disk is told as {:?}: {error}", error.kind())),
    }
}
