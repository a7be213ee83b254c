//! Opens a disk as a crash left it, and holds what is found against what was promised.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use timestrata_engine::Access;

use crate::disk::{CrashKind, SimDisk};
use crate::story::{Found, PinPromise, Promises};
use crate::subject::{STORE_DIR, StoryOf, Subject, open, read};

/// Does `work`; a panic is a problem like any other.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let message = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied());
        Err(format!("panic: {}", message.unwrap_or("without a message")))
    })
}

/// Opens the store, which changes the disk, and reads everything. A problem is what breaks
/// one of the promises after such a crash.
pub(super) fn judge<S: Subject>(
    disk: &SimDisk,
    kind: CrashKind,
    story: &StoryOf<S>,
    promises: &Promises,
) -> Result<Found, String> {
    guarded(|| {
        let runs = run_files(disk);
        let store =
            open::<S>(disk, Access::Write).map_err(|error| format!("can't be opened: {error}"))?;
        check_kept(&runs, disk)?;
        let found = read::<S>(&store, story, promises.is_made)?;
        check_promises(&found, promises, kind)?;
        let strays = &store.recovery_report().strays;
        if !strays.is_empty() {
            return Err(format!("takes its own files for strays: {strays:?}"));
        }
        // Closing would flush; nobody looks at that here.
        disk.crash_at(disk.operations());
        Ok(found)
    })
}

/// The run files of a store, and those that it has set aside.
pub(super) fn run_files(disk: &SimDisk) -> Vec<(PathBuf, u64)> {
    let dirs = ["runs", "quarantine"].map(|name| Path::new(STORE_DIR).join(name));
    let is_run = |path: &Path| dirs.iter().any(|dir| path.parent() == Some(dir));
    disk.files().into_iter().filter(|(path, _)| is_run(path)).collect()
}

/// Opening may set run files aside, and removes none.
pub(super) fn check_kept(before: &[(PathBuf, u64)], disk: &SimDisk) -> Result<(), String> {
    let after = run_files(disk);
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let is_kept = |(path, bytes): &(PathBuf, u64)| {
        let name_before = name(path).unwrap_or_default();
        let is_same = |found: &Path| name(found).is_some_and(|found| found.ends_with(&name_before));
        after.iter().any(|(found, length)| length == bytes && is_same(found))
    };
    match before.iter().find(|file| !is_kept(file)) {
        None => Ok(()),
        Some((path, _)) => Err(format!("opening has removed the run file {}", path.display())),
    }
}

fn check_promises(found: &Found, promises: &Promises, kind: CrashKind) -> Result<(), String> {
    let (seq, least) = (found.seq, promises.least(kind));
    if seq < least {
        return Err(format!(
            "commit {least} was acknowledged and is lost; the last one found is {seq}"
        ));
    }
    if seq > promises.begun {
        return Err(format!("commit {seq} was found; the last one begun is {}", promises.begun));
    }
    let kept = match promises.pin {
        PinPromise::Absent => found.pin.is_none(),
        PinPromise::Present(at) => found.pin == Some(at),
        PinPromise::InDoubt(at) => found.pin.is_none_or(|pin| pin == at),
    };
    if kept {
        return Ok(());
    }
    Err(format!("the pin found is {:?}, promised was {:?}", found.pin, promises.pin))
}

/// Reads the store without changing the disk, in the two ways there are: what a reader sees
/// must be what the writer will find, and `check` must call it sound.
pub(super) fn judge_reading<S: Subject>(
    disk: &SimDisk,
    story: &StoryOf<S>,
    found: Found,
) -> Result<(), String> {
    guarded(|| {
        let before = disk.fingerprint();
        let checked =
            timestrata_engine::check(&crate::io_on(disk, 0), std::path::Path::new(STORE_DIR));
        if found.seq > 0 {
            let report = checked.map_err(|error| format!("can't be checked: {error}"))?;
            if !report.is_sound() {
                return Err(format!("check finds damage: {:?}", report.findings));
            }
            let store = open::<S>(disk, Access::Read)
                .map_err(|error| format!("can't be opened for reading: {error}"))?;
            let seen = read::<S>(&store, story, false)
                .map_err(|problem| format!("a reader: {problem}"))?;
            if seen != found {
                return Err(format!("a reader sees {seen:?}, the writer {found:?}"));
            }
        }
        if disk.fingerprint() != before {
            return Err("reading has changed the disk".to_owned());
        }
        Ok(())
    })
}
