//! Decay: a bit of some file turned over, which no crash explains.
//!
//! A damaged store gives right rows, or an error that names the file. The one thing that
//! can't be told from a crash is damage to the last records of the log: those may be cut,
//! and then the recovery report says so.

use timestrata_engine::{Access, Error, ErrorKind};

use super::Trial;
use super::explore::run_through;
use super::judge::{check_kept, guarded, run_files};
use crate::disk::SimDisk;
use crate::subject::{Problem, StoryOf, Subject, open, read};

/// Bits that are turned over, for each place that can't be read.
const SPOILED_ONE_IN: u64 = 4;

/// Runs a workload and turns over bits of what it leaves, one in so many at a time.
pub(super) fn damage<S: Subject>(trial: &mut Trial<'_, S>) {
    let (index, effort) = (trial.index, trial.effort);
    let disk = trial.new_disk();
    let run = match guarded(|| run_through(trial.workload, &disk, false)) {
        Ok(run) => run,
        Err(problem) => {
            trial.violation("without damage", problem);
            return;
        }
    };
    for (path, bytes) in disk.files() {
        for bit in 0..bytes * 8 {
            if !effort.takes("flip", effort.flips_one_in, &[index, bit, bytes]) {
                continue;
            }
            let decayed = disk.copy();
            let flipped = guarded(|| {
                decayed.flip_bit(&path, bit).map_err(|error| error.to_string())?;
                judge::<S>(&decayed, &run.story, named)
            });
            trial.report.flips += 1;
            match flipped {
                Ok(noticed) => trial.report.flips_noticed += u64::from(noticed),
                Err(problem) => {
                    let moment =
                        format!("bit {} of byte {} of {}", bit % 8, bit / 8, path.display());
                    if trial.violation(&moment, problem) {
                        return;
                    }
                }
            }
        }
    }
    spoil(trial, &disk, &run.story);
}

/// Makes places of the files unreadable, one at a time: what is read is right, or an error that names
/// the file; and all is there once they can be read again.
fn spoil<S: Subject>(trial: &mut Trial<'_, S>, disk: &SimDisk, story: &StoryOf<S>) {
    let (index, effort) = (trial.index, trial.effort);
    for (path, bytes) in disk.files() {
        let places = (0..bytes).filter(|byte| {
            effort.takes("spoil", effort.flips_one_in * SPOILED_ONE_IN, &[index, *byte, bytes])
        });
        for byte in places {
            let spoiled = disk.copy();
            let judged = guarded(|| {
                spoiled.spoil(&path, byte).map_err(|error| error.to_string())?;
                judge::<S>(&spoiled, story, unread)?;
                // A copy is readable everywhere.
                let found = judge::<S>(&spoiled.fork(), story, unread);
                match found {
                    Ok(false) => Ok(()),
                    Ok(true) => Err("once it can be read again, something is missing".to_owned()),
                    Err(problem) => Err(format!("once it can be read again: {problem}")),
                }
            });
            trial.report.spoiled += 1;
            if let Err(problem) = judged {
                let moment = format!("byte {byte} of {} can't be read", path.display());
                if trial.violation(&moment, problem) {
                    return;
                }
            }
        }
    }
}

/// Whether the damage was noticed; a problem if it shows in the rows.
fn judge<S: Subject>(
    disk: &SimDisk,
    story: &StoryOf<S>,
    expected: fn(&Error) -> Result<(), String>,
) -> Result<bool, String> {
    let runs = run_files(disk);
    let opened = open::<S>(disk, Access::Write);
    check_kept(&runs, disk)?;
    let store = match opened {
        Ok(store) => store,
        Err(error) => return expected(&error).map(|()| true),
    };
    let found = match read::<S>(&store, story, false) {
        Ok(found) => found,
        Err(Problem::Failed(error)) => {
            disk.crash_at(disk.operations());
            return expected(&error).map(|()| true);
        }
        Err(Problem::Wrong(message)) => return Err(message),
    };
    let cut = store.recovery_report().torn_tail.is_some();
    disk.crash_at(disk.operations());
    if found.seq < story.last_seq() && !cut {
        return Err(format!(
            "the store is at commit {} of {} and doesn't say that anything was cut",
            found.seq,
            story.last_seq()
        ));
    }
    Ok(cut)
}

/// The error of a place that can't be read.
fn unread(error: &Error) -> Result<(), String> {
    match error.kind() == ErrorKind::Io && error.path().is_some() {
        true => Ok(()),
        false => Err(format!("what can't be read gives {:?}, or no file: {error}", error.kind())),
    }
}

fn named(error: &Error) -> Result<(), String> {
    let fits = matches!(
        error.kind(),
        ErrorKind::Corruption | ErrorKind::UnsupportedVersion | ErrorKind::NotAStore
    );
    if fits && error.path().is_some() {
        return Ok(());
    }
    Err(format!("damage gives {:?}, or no file: {error}", error.kind()))
}
