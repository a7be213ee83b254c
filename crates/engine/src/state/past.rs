//! What is kept of the past: runs that no stream has any more, and log that no recovery needs.
//!
//! ```text
//!    an edit takes run 4 from its stream      its handle is kept, the file stays
//!    a reader asks for commit 25              shares the handle, or makes one of a run of an earlier process
//!    the history folds the edit               the handle is marked: the file goes with the last reader
//! ```

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use timestrata_format::RunId;
use timestrata_io::sync::Mutex;

use super::engine::Engine;
use super::version::{RunFolder, RunHandle};
use crate::directory::WAL_DIR;
use crate::manifest::{Folded, History, HistoryLimits, LoadedManifest, ManifestLog};
use crate::wal::segment_path;

/// Handles on runs of the past, and who reads there.
#[derive(Debug, Default)]
pub(crate) struct Past {
    runs: Mutex<HashMap<RunId, Arc<RunHandle>>>,
    /// So many are reading manifest and log of the past just now: nothing of it goes meanwhile.
    readers: AtomicUsize,
}

/// While it is held the history is not folded.
#[derive(Debug)]
pub(crate) struct PastHeld<'a>(&'a Past);

impl Drop for PastHeld<'_> {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::Release);
    }
}

impl Past {
    /// Keeps all of it as it is. To be called with the manifest's lock.
    pub(crate) fn hold(&self) -> PastHeld<'_> {
        self.readers.fetch_add(1, Ordering::Acquire);
        PastHeld(self)
    }

    fn is_held(&self) -> bool {
        self.readers.load(Ordering::Acquire) > 0
    }

    /// Keeps a run that no stream has; gives the handle to be used, which is the one that was there already.
    pub(crate) fn keep(&self, run: &Arc<RunHandle>) -> Arc<RunHandle> {
        Arc::clone(self.runs.lock().entry(run.meta.id).or_insert_with(|| Arc::clone(run)))
    }

    /// The handles there are.
    pub(crate) fn handles(&self) -> HashMap<RunId, Arc<RunHandle>> {
        self.runs.lock().clone()
    }

    fn take(&self, run: RunId) -> Option<Arc<RunHandle>> {
        self.runs.lock().remove(&run)
    }
}

/// The history of a store, as far back as the files are there that it names.
pub(crate) fn readable_history(
    folder: &RunFolder,
    dir: &Path,
    loaded: &LoadedManifest,
) -> Option<History> {
    let (disk, wal_dir) = (&folder.io.disk, dir.join(WAL_DIR));
    let is_there = |path: &Path| disk.exists(path).unwrap_or(false);
    let mut history = History::load(disk, dir, loaded)?;
    // What it lets go of by that is an orphan.
    let _ = history.keep_readable(
        |meta| is_there(&folder.path(meta.id, meta.format)),
        |segment| is_there(&segment_path(&wal_dir, segment)),
        loaded.state.wal_floor,
    );
    Some(history)
}

impl Engine {
    /// Runs that an edit has taken from streams or pins: those that nothing needs go with their last reader.
    pub(crate) fn let_go(&self, manifest: &ManifestLog, runs: Vec<Arc<RunHandle>>) {
        for run in runs {
            if manifest.keeps(run.meta.id) {
                self.past.keep(&run);
                continue;
            }
            run.mark_obsolete();
            if let Some(other) = self.past.take(run.meta.id) {
                other.mark_obsolete();
            }
        }
    }

    /// Lets go of history that is too old or too much, or of all of it where the disk is nearly full; the files go by
    /// [`Engine::remove_folded`].
    pub(crate) fn fold_history(&self, manifest: &mut ManifestLog) -> Option<Folded> {
        let age_ns = i64::try_from(self.settings.history_min.as_nanos()).unwrap_or(i64::MAX);
        let limits = HistoryLimits {
            oldest_wall_ns: self.io.clock.wall_ns().saturating_sub(age_ns),
            bytes_max: self.settings.history_bytes_max,
            followed: manifest.state().followers.values().min().copied(),
            followed_bytes_max: self.settings.followed_bytes_max,
        };
        let is_kept = manifest.history().is_some() && self.reserve.leaves_room_for(0);
        self.fold_to(manifest, if is_kept { limits } else { HistoryLimits::NOTHING })
    }

    /// Whether `bytes` can be written for work that can wait, where history gives way to it.
    pub(crate) fn makes_room_for(&self, bytes: u64) -> bool {
        if self.reserve.leaves_room_for(bytes) {
            return true;
        }
        if self.settings.history_min.is_zero() {
            return false;
        }
        let Ok(mut manifest) = self.lock_manifest() else { return false };
        let folded = self.fold_to(&mut manifest, HistoryLimits::NOTHING);
        drop(manifest);
        folded.into_iter().for_each(|folded| self.remove_folded(folded));
        self.reserve.leaves_room_for(bytes)
    }

    /// Lets go of all history; `None` while somebody reads there.
    pub(crate) fn fold_all(&self, manifest: &mut ManifestLog) -> Option<Folded> {
        self.fold_to(manifest, HistoryLimits::NOTHING)
    }

    fn fold_to(&self, manifest: &mut ManifestLog, limits: HistoryLimits) -> Option<Folded> {
        let is_held = self.past.is_held();
        let log_bytes =
            |from, floor| self.wal.as_ref().map_or(0, |wal| wal.bytes_between(from, floor));
        (!is_held).then(|| manifest.fold_history(limits, &log_bytes))
    }

    /// Removes what the history has let go of.
    pub(crate) fn remove_folded(&self, folded: Folded) {
        if let Some(wal) = &self.wal {
            wal.recycle_below(folded.floor);
        }
        for meta in folded.runs {
            match self.past.take(meta.id) {
                Some(handle) => handle.mark_obsolete(),
                // An earlier process's, which nobody has asked for.
                None => {
                    let _ = self.io.disk.remove(&self.folder.path(meta.id, meta.format));
                }
            }
        }
    }

    /// Lets go of history whose time has come, where no edit does it.
    pub(crate) fn fold_history_due(&self) {
        if self.settings.history_min.is_zero() {
            return;
        }
        let Ok(mut manifest) = self.lock_manifest() else { return };
        if let Some(folded) = self.fold_history(&mut manifest) {
            // With the manifest, as all do it: a purge could pass over files of the log that are on their way to be used again.
            self.remove_folded(folded);
        }
    }
}
