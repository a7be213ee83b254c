//! Following a writer: a read-only store catches up with what another process commits.

use std::path::Path;

use timestrata_format::SeqNo;

use super::load::{KnownRuns, LoadedStore, LogFrom, catch_up, load_core};
use crate::manifest::{self, LoadedManifest, ManifestStamp, Tries, too_fast};
use crate::state::{Engine, Follower, FollowerProgress, RecoveryReport, RunFolder};
use crate::wal::ReadMode;
use crate::{Error, ErrorKind, Result};

/// Catches up; gives the last commit seen.
pub(crate) fn refresh(engine: &Engine, follower: &Follower) -> Result<SeqNo> {
    let mut progress = follower.progress.lock();
    let mut tries = Tries::begin(&*engine.io.clock);
    loop {
        match try_refresh(engine, &follower.wal_dir, &mut progress) {
            Ok(seq) => return Ok(seq),
            // The writer may have replaced files between our reading of the manifest and
            // of what it names; then the manifest has changed too.
            Err(error) if !has_moved(engine, progress.manifest)? => return Err(error),
            Err(_) if tries.goes_on() => {}
            Err(_) => return Err(too_fast(&engine.dir)),
        }
    }
}

fn try_refresh(engine: &Engine, wal_dir: &Path, progress: &mut FollowerProgress) -> Result<SeqNo> {
    let Some(loaded) = manifest::load_again(&*engine.io.disk, &engine.dir)? else {
        return Err(Error::new(ErrorKind::NotFound, "the store has gone").at(&engine.dir));
    };
    check_is_it(engine, &loaded)?;
    let mut report = RecoveryReport::default();
    if loaded.stamp() == progress.manifest {
        // What is missing before a commit went straight to runs meanwhile, unless the manifest is
        // the same even now.
        let manifest = progress.manifest;
        let mut at_gap = || match has_moved(engine, manifest)? {
            true => Err(Error::new(ErrorKind::NotFound, "the writer has moved on")),
            false => Ok(()),
        };
        let mut core = engine.core.lock();
        let tail = catch_up(
            &engine.folder,
            wal_dir,
            ReadMode::Follower,
            LogFrom::Position(progress.position),
            &mut core,
            &mut report,
            &mut at_gap,
        )?;
        progress.position = tail.position;
        core.recount();
        return Ok(core.last_seq);
    }
    let known = engine.core.lock().run_handles();
    let (loaded, fresh) = load_beside(&engine.folder, &engine.dir, wal_dir, loaded, &known)?;
    if let Some(error) = fresh.damage.first()
        && has_moved(engine, loaded.stamp())?
    {
        // The writer may have removed what seems to be missing.
        return Err(error.duplicate());
    }
    let seq = fresh.core.last_seq;
    let old = std::mem::replace(&mut *engine.core.lock(), fresh.core);
    drop(old);
    *progress = FollowerProgress { manifest: loaded.stamp(), position: fresh.tail.position };
    Ok(seq)
}

/// An error if another store lies where the one was that was opened.
pub(crate) fn check_is_it(engine: &Engine, loaded: &LoadedManifest) -> Result<()> {
    if loaded.store_id == engine.folder.store_id {
        return Ok(());
    }
    let message = "another store has taken the place of the one that was opened";
    let error = Error::new(ErrorKind::NotFound, message).at(&engine.dir);
    Err(error.hinting("open the path again"))
}

fn has_moved(engine: &Engine, manifest: ManifestStamp) -> Result<bool> {
    let loaded = manifest::load_again(&*engine.io.disk, &engine.dir)?;
    Ok(loaded.is_some_and(|loaded| loaded.stamp() != manifest))
}

/// Loads the store beside a writer that may be alive, so that manifest and log agree: all commits up to
/// the last one are there. Gives the manifest that was loaded, `loaded` or a newer one.
///
/// A commit that goes straight to runs is in the manifest alone. If it is made after the manifest
/// was read, the log may still have a later one; then a commit is missing before that. So the manifest is
/// read once more: it has by now all that went to runs before the last commit that was found in
/// the log. With it, the log is enough through there, and through the last commit that the manifest itself
/// knows: one that goes to runs after that is behind both. Hence the second reading is the last, whatever
/// the writer does, unless it removes files on the way.
pub(crate) fn load_beside(
    folder: &RunFolder,
    dir: &Path,
    wal_dir: &Path,
    loaded: LoadedManifest,
    known: &KnownRuns,
) -> Result<(LoadedManifest, LoadedStore)> {
    let load = |manifest: &LoadedManifest, through| {
        load_core(folder, dir, wal_dir, ReadMode::Follower, manifest, known, through)
    };
    let first = load(&loaded, None)?;
    if !first.has_gap {
        return Ok((loaded, first));
    }
    match manifest::load_again(&*folder.io.disk, dir)? {
        Some(newer) if newer.differs_from(&loaded) => {
            let through = first.core.last_seq.max(newer.state.last_seq());
            let second = load(&newer, Some(through))?;
            Ok((newer, second))
        }
        _ => Ok((loaded, first)),
    }
}
