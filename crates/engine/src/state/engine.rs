//! What all clones of a store share.
//!
//! Order of locks: `flushing`, `compacting`, `manifest`, `core`. The WAL has its own lock
//! below `core`. I/O is done under `manifest`, never under `core`, but for the WAL's memory
//! copy and the last step of a commit that goes straight to a run.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use timestrata_format::{RunFormat, RunId, RunMeta, SeqNo, StoreId};
use timestrata_io::sync::{Condvar, Mutex, MutexGuard};
use timestrata_io::{Io, LockGuard};

use super::bulks::OpenBulks;
use super::committed::Committed;
use super::follower::Follower;
use super::past::Past;
use super::poison::Poison;
use super::report::RecoveryReport;
use super::reserve::Reserve;
use super::scrubber::Scrubber;
use super::store_state::{Slot, StoreState};
use super::troubles::Troubles;
use super::version::RunFolder;
use super::workers::Workers;
use crate::manifest::ManifestLog;
use crate::planted::{Plant, is_planted};
use crate::query::Queries;
use crate::run::RunWriter;
use crate::wal::Wal;
use crate::{Error, ErrorKind, Maintenance, Result, Settings, Stream};

/// Counters since open.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) flushes: AtomicU64,
    pub(crate) flush_bytes: AtomicU64,
    pub(crate) compactions: AtomicU64,
    pub(crate) compaction_bytes: AtomicU64,
    pub(crate) stalls: AtomicU64,
    /// What the two of bytes came to when memory was last given back to the system.
    pub(crate) given_back_bytes: AtomicU64,
}

/// An open store.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) io: Io,
    /// `None`: memory only.
    pub(crate) path: Option<PathBuf>,
    pub(crate) dir: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) store_id: StoreId,
    pub(crate) report: RecoveryReport,
    pub(crate) folder: RunFolder,
    /// One flush at a time, in commit order.
    pub(crate) flushing: Mutex<()>,
    /// One compaction at a time.
    pub(crate) compacting: Mutex<()>,
    /// `None`: read-only.
    pub(crate) manifest: Option<Mutex<ManifestLog>>,
    pub(crate) core: Mutex<StoreState>,
    /// `None`: read-only or memory only.
    pub(crate) wal: Option<Wal>,
    /// Read-only stores follow the writer.
    pub(crate) follower: Option<Follower>,
    /// Runs that only the history needs.
    pub(crate) past: Past,
    /// Of a store for reading that stays as it was: its last commit.
    pub(crate) moment: Option<SeqNo>,
    pub(crate) next_run: AtomicU64,
    pub(crate) poison: Poison,
    /// Work that failed and will be tried again.
    pub(crate) troubles: Troubles,
    pub(crate) scrubber: Scrubber,
    pub(crate) reserve: Reserve,
    pub(crate) closed: AtomicBool,
    /// Told, with the core's lock, whenever a flush has freed memory or the store fails or closes.
    pub(crate) room: Condvar,
    /// Told of each commit.
    pub(crate) committed: Committed,
    pub(crate) workers: Workers,
    pub(crate) bulks: OpenBulks,
    /// What models keep, by its type: see [`crate::Store::model_state`].
    pub(crate) model_states: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    pub(crate) counters: Counters,
    pub(crate) queries: Queries,
    /// Released when the store is closed, or dropped.
    pub(crate) writer_lock: Mutex<Option<Arc<dyn LockGuard>>>,
}

impl Engine {
    /// An error if the store is closed.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Closed, "the store is closed"));
        }
        Ok(())
    }

    /// An error if the store takes no writes; else its manifest.
    pub(crate) fn check_writable(&self) -> Result<&Mutex<ManifestLog>> {
        self.check_open()?;
        self.poison.check()?;
        self.manifest.as_ref().ok_or_else(|| {
            let why = match self.moment {
                Some(seq) => format!("this is the store as of commit {seq}, which does not change"),
                None => "the store was opened for reading".to_owned(),
            };
            Error::new(ErrorKind::ReadOnly, why).at(&self.dir)
        })
    }

    /// The manifest, locked, of a store that takes writes: it is not closed while the lock is held.
    pub(crate) fn lock_manifest(&self) -> Result<MutexGuard<'_, ManifestLog>> {
        let manifest = self.check_writable()?.lock();
        self.check_writable()?;
        Ok(manifest)
    }

    /// The engine of these streams, with nothing to write to.
    pub(crate) fn reading(
        dir: PathBuf,
        path: Option<PathBuf>,
        settings: Settings,
        folder: RunFolder,
        core: StoreState,
        report: RecoveryReport,
    ) -> Self {
        // Without maintenance of its own a store has no threads that nobody asks for.
        core.threads.set_unasked(settings.maintenance == Maintenance::Background);
        Self {
            reserve: Reserve::new(&folder.io, &dir, &settings),
            io: folder.io.clone(),
            path,
            dir,
            settings,
            store_id: folder.store_id,
            report,
            folder,
            flushing: Mutex::new(()),
            compacting: Mutex::new(()),
            manifest: None,
            core: Mutex::new(core),
            wal: None,
            follower: None,
            past: Past::default(),
            moment: None,
            next_run: AtomicU64::new(1),
            poison: Poison::default(),
            troubles: Troubles::default(),
            scrubber: Scrubber::default(),
            closed: AtomicBool::new(false),
            room: Condvar::new(),
            committed: Committed::default(),
            workers: Workers::default(),
            bulks: OpenBulks::default(),
            model_states: Mutex::default(),
            counters: Counters::default(),
            queries: Queries::default(),
            writer_lock: Mutex::new(None),
        }
    }

    /// The engine of a store for reading that stays as these streams are.
    pub(crate) fn frozen(&self, core: StoreState) -> Self {
        let moment = Some(core.last_seq);
        let report =
            RecoveryReport { last_seq: core.last_seq, clean: true, ..RecoveryReport::default() };
        let (dir, path, folder) = (self.dir.clone(), self.path.clone(), self.folder.clone());
        let then = Self::reading(dir, path, self.settings.clone(), folder, core, report);
        Self { moment, ..then }
    }

    /// Whether a large or full memtable is flushed by the thread that notices.
    pub(crate) fn is_manual(&self) -> bool {
        self.settings.maintenance == Maintenance::Manual
    }

    /// Remembers a failure after which nobody knows what is on disk, and wakes all who wait.
    pub(crate) fn fail(&self, error: Error) -> Error {
        if is_planted(Plant::UnheededFailure) {
            return error;
        }
        let error = self.poison.set(error);
        self.room.notify_all();
        error
    }

    /// What the log refuses has not been written; a log that has failed leaves it in doubt.
    pub(crate) fn fail_unless_refused(&self, error: Error) -> Error {
        if let Some(wal) = self.wal.as_ref().filter(|wal| wal.has_failed()) {
            self.fail(wal.failure());
        }
        error
    }

    /// An identity for a new run.
    pub(crate) fn new_run_id(&self) -> RunId {
        RunId(self.next_run.fetch_add(1, Ordering::Relaxed))
    }

    /// A writer for a new run of a stream.
    pub(crate) fn new_run(&self, stream: &Arc<Stream>, format: RunFormat) -> Result<RunWriter> {
        let folder = &self.folder;
        RunWriter::create(
            &self.io,
            &folder.dir,
            folder.store_id,
            stream,
            self.new_run_id(),
            format,
            &self.settings,
        )
    }

    /// Removes files of runs that no manifest names, as far as that works: the next open does the rest.
    /// Where the store is poisoned the manifest may name them.
    pub(crate) fn remove_unnamed(&self, runs: &[RunMeta]) {
        if self.poison.is_set() {
            return;
        }
        for meta in runs {
            let _ = self.io.disk.remove(&self.folder.path(meta.id, meta.format));
        }
    }

    /// Makes all commits up to `seq` survive a power cut.
    pub(crate) fn sync_through(&self, seq: SeqNo) -> Result<SeqNo> {
        match &self.wal {
            None => Ok(seq),
            Some(wal) => wal.sync_through(seq).map_err(|error| self.fail(error)),
        }
    }

    /// The same for a caller, whom the setting has wait for others to join.
    pub(crate) fn sync_commit(&self, seq: SeqNo) -> Result<SeqNo> {
        match &self.wal {
            None => Ok(seq),
            Some(wal) => {
                let delay = self.settings.group_commit_delay;
                wal.sync_commit(seq, delay).map_err(|error| self.fail(error))
            }
        }
    }

    /// Makes the names of new run files durable.
    pub(crate) fn sync_runs_dir(&self) -> Result<()> {
        self.io.disk.sync_dir(&self.folder.dir).map_err(|error| {
            self.fail(Error::io("sync the directory of runs", &self.folder.dir, error))
        })
    }

    /// The stream to flush so that the WAL can shrink: the one with the oldest change that is
    /// only in memory.
    pub(crate) fn oldest_unflushed(core: &StoreState) -> Option<Slot> {
        let with_seq = core.live().filter_map(|(slot, state)| Some((state.unflushed_min()?, slot)));
        with_seq.min().map(|(_, slot)| slot)
    }
}
