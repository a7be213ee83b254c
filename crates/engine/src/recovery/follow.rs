//! Following a writer: a read-only store catches up with what another process commits.

use std::path::PathBuf;

use timestrata_format::SeqNo;
use timestrata_io::sync::Mutex;

use super::RecoveryReport;
use super::load::{LogFrom, catch_up, load_core};
use crate::manifest;
use crate::store::Engine;
use crate::wal::{ReadMode, WalPosition};
use crate::{Error, ErrorKind, Result};

/// Tries before giving up on a writer that changes files faster than we read them.
const TRIES: usize = 16;

/// How far a read-only store has read.
#[derive(Debug)]
struct Progress {
    generation: u64,
    manifest_bytes: u64,
    position: WalPosition,
}

/// A read-only store's memory of how far it has read.
#[derive(Debug)]
pub(crate) struct Follower {
    wal_dir: PathBuf,
    progress: Mutex<Progress>,
}

impl Follower {
    pub(crate) fn new(
        wal_dir: PathBuf,
        loaded: &manifest::LoadedManifest,
        position: WalPosition,
    ) -> Self {
        Self {
            wal_dir,
            progress: Mutex::new(Progress {
                generation: loaded.generation,
                manifest_bytes: loaded.bytes,
                position,
            }),
        }
    }

    /// Catches up; gives the last commit seen.
    pub(crate) fn refresh(&self, engine: &Engine) -> Result<SeqNo> {
        let mut progress = self.progress.lock();
        let mut last_error = None;
        for _ in 0..TRIES {
            match self.try_refresh(engine, &mut progress) {
                Ok(seq) => return Ok(seq),
                // The writer may have replaced files between our reading of the manifest and
                // of what it names; then the manifest has changed too.
                Err(error) if self.manifest_moved(engine, &progress)? => last_error = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last_error.unwrap_or_else(|| {
            Error::new(ErrorKind::Io, "the writer changes the store faster than it can be read")
        }))
    }

    fn manifest_moved(&self, engine: &Engine, progress: &Progress) -> Result<bool> {
        let loaded = manifest::load_again(&*engine.io.disk, &engine.dir)?;
        Ok(loaded.is_some_and(|loaded| {
            (loaded.generation, loaded.bytes) != (progress.generation, progress.manifest_bytes)
        }))
    }

    fn try_refresh(&self, engine: &Engine, progress: &mut Progress) -> Result<SeqNo> {
        let Some(loaded) = manifest::load_again(&*engine.io.disk, &engine.dir)? else {
            return Err(Error::new(ErrorKind::NotFound, "the store has gone").at(&engine.dir));
        };
        let unchanged =
            loaded.generation == progress.generation && loaded.bytes == progress.manifest_bytes;
        let mut report = RecoveryReport::default();
        if unchanged {
            let mut core = engine.core.lock();
            let tail = catch_up(
                &engine.folder,
                &self.wal_dir,
                ReadMode::Follower,
                LogFrom::Position(progress.position),
                &mut core,
                &mut report,
            )?;
            progress.position = tail.position;
            core.recount();
            return Ok(core.last_seq);
        }
        let known = engine.core.lock().run_handles();
        let (fresh, _, tail) = load_core(
            &engine.folder,
            &engine.dir,
            &self.wal_dir,
            ReadMode::Follower,
            &loaded,
            &known,
        )?;
        let seq = fresh.last_seq;
        let old = std::mem::replace(&mut *engine.core.lock(), fresh);
        drop(old);
        *progress = Progress {
            generation: loaded.generation,
            manifest_bytes: loaded.bytes,
            position: tail.position,
        };
        Ok(seq)
    }
}
