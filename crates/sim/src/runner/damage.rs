//! Decay: a bit of some file turned over, which no crash explains.
//!
//! A damaged store gives right rows, or an error that names the file. The one thing that
//! can't be told from a crash is damage to the last records of the log: those may be cut,
//! and then the recovery report says so.

use timestrata_engine::{Access, Error, ErrorKind};

use super::explore::{new_disk, run_through};
use super::judge::guarded;
use super::{Effort, Report};
use crate::disk::SimDisk;
use crate::subject::{Problem, Step, StoryOf, open, read};
use crate::workload::Workload;

/// Runs a workload and turns over bits of what it leaves, one in so many at a time.
pub(super) fn damage<S: Step>(workload: &Workload<S>, index: u64, effort: &Effort) -> Report {
    let mut report = Report::new(effort);
    report.workloads = 1;
    let disk = new_disk(index, effort);
    let run = match guarded(|| run_through(workload, &disk)) {
        Ok(run) => run,
        Err(problem) => {
            report.violation(workload, "without damage", problem);
            return report;
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
                judge::<S>(&decayed, &run.story)
            });
            report.flips += 1;
            match flipped {
                Ok(noticed) => report.flips_noticed += u64::from(noticed),
                Err(problem) => {
                    let moment =
                        format!("bit {} of byte {} of {}", bit % 8, bit / 8, path.display());
                    report.violation(workload, &moment, problem);
                    if report.violations.len() >= effort.violations_max {
                        return report;
                    }
                }
            }
        }
    }
    report
}

/// Whether the damage was noticed; a problem if it shows in the rows.
fn judge<S: Step>(disk: &SimDisk, story: &StoryOf<S>) -> Result<bool, String> {
    let store = match open(disk, Access::Write) {
        Ok(store) => store,
        Err(error) => return named(&error).map(|()| true),
    };
    let found = match read::<S::Session>(&store, story, false) {
        Ok(found) => found,
        Err(Problem::Failed(error)) => return named(&error).map(|()| true),
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
