//! Opening a store: which files, in which order; recovery does what is between.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use timestrata_format::{RunId, SeqNo, StoreId, WalId};
use timestrata_io::sync::Mutex;
use timestrata_io::{Io, LockGuard, LockOutcome};

use super::Access;
use crate::directory::{
    self, LOCK_NAME, QUARANTINE_DIR, RESERVE_NAME, RUNS_DIR, SCRUB_NAME, WAL_DIR,
};
use crate::maintenance;
use crate::manifest::{
    self, COPY_NAME, EditTime, HISTORY_NAMES, History, LoadedManifest, MANIFEST_NAME,
    MANIFEST_NAMES, ManifestLog, ManifestState, Tries,
};
use crate::recovery::{self, KnownRuns, LoadedStore, Recovered};
use crate::run::BlockCache;
use crate::state::{Engine, Follower, Reserve, RunFolder, StoreState, fit};
use crate::wal::{OldSegments, Wal, WalStart};
use crate::{Error, ErrorKind, Maintenance, RecoveryReport, Result, Settings};

/// Where and how a store is opened.
pub(crate) struct Opening {
    pub(crate) io: Io,
    pub(crate) dir: PathBuf,
    pub(crate) access: Access,
    pub(crate) settings: Settings,
    /// Nothing outlives the store: no WAL, no lock.
    pub(crate) memory_only: bool,
}

impl Opening {
    /// Opens the store.
    pub(crate) fn open(mut self) -> Result<Arc<Engine>> {
        self.settings.validate()?;
        // Files are opened by their paths all the time that the store is open, and the process may go to
        // another directory meanwhile.
        let absolute = self.io.disk.absolute(&self.dir);
        self.dir =
            absolute.map_err(|error| Error::io("find the store's directory", &self.dir, error))?;
        let start_ns = self.io.clock.monotonic_ns();
        let engine = match self.access {
            Access::Read => self.open_reading(start_ns)?,
            Access::Write | Access::WriteExisting => self.open_writing(start_ns)?,
        };
        tell_report(&engine);
        let engine = Arc::new(engine);
        if engine.manifest.is_some() && engine.settings.maintenance == Maintenance::Background {
            maintenance::start(&engine)?;
        }
        Ok(engine)
    }

    fn open_reading(self, start_ns: u64) -> Result<Engine> {
        let known = KnownRuns::new();
        let mut tries = Tries::begin(&*self.io.clock);
        let (loaded, folder, LoadedStore { core, mut report, tail, damage, .. }) = loop {
            let Some(loaded) = self.load_existing()? else {
                if tries.goes_on() {
                    continue;
                }
                let message = "the manifest comes and goes";
                return Err(Error::new(ErrorKind::Io, message).at(&self.dir));
            };
            let folder = self.folder(loaded.store_id);
            let stamp = loaded.stamp();
            match recovery::load_beside(&folder, &self.dir, &self.wal_dir(), loaded, &known) {
                Ok((loaded, store)) if store.damage.is_empty() => break (loaded, folder, store),
                outcome => {
                    let stamp = outcome.as_ref().map_or(stamp, |(loaded, _)| loaded.stamp());
                    let newer = manifest::load(&*self.io.disk, &self.dir)?;
                    if newer.is_some_and(|newer| newer.stamp() != stamp) {
                        // A live writer may have replaced files since we read what it names.
                        match tries.goes_on() {
                            true => continue,
                            false => return Err(manifest::too_fast(&self.dir)),
                        }
                    }
                    let (loaded, store) = outcome.map_err(not_moved)?;
                    self.accept_damage(&loaded)?;
                    break (loaded, folder, store);
                }
            }
        };
        report.damaged_runs = damage.iter().filter_map(Error::path).map(Path::to_owned).collect();
        report.clean = loaded.state.closed.is_some()
            && report.commits_replayed == 0
            && loaded.damage.is_none();
        report.manifest_mended = loaded.damage.as_ref().map(ToString::to_string);
        report.took = self.took(start_ns);
        let follower = Some(Follower::new(self.wal_dir(), &loaded, tail.position));
        let engine = self.engine(folder, core, report, loaded.state.next_run);
        Ok(Engine { follower, ..engine })
    }

    /// For reading a store with damaged or missing runs: nothing else may be wrong with it.
    fn accept_damage(&self, loaded: &LoadedManifest) -> Result<()> {
        let of_history = manifest::runs_named(&self.io.disk, &self.dir, loaded);
        directory::list_files(&*self.io.disk, &self.dir, &loaded.state, &of_history)?
            .expect_current(&self.dir, &loaded.state)
    }

    fn open_writing(mut self, start_ns: u64) -> Result<Engine> {
        let writer_lock = self.prepare_dir()?;
        if let Ok(Some(free_bytes)) = self.io.disk.free_bytes(&self.dir) {
            self.settings = fit(self.settings, free_bytes);
        }
        let reserve = Reserve::new(&self.io, &self.dir, &self.settings);
        let (loaded, new_manifest) = match manifest::load(&*self.io.disk, &self.dir)? {
            Some(loaded) => (loaded, None),
            None => self.create().map(|(loaded, manifest)| (loaded, Some(manifest)))?,
        };
        let created = new_manifest.is_some();
        let folder = self.folder(loaded.store_id);
        let Recovered { core, mut report, orphans, next_run, wal_start, mut history } =
            recovery::recover(&folder, &self.dir, &self.wal_dir(), &loaded)?;
        history.iter_mut().for_each(History::write_missing);
        report.created = created;
        let replayed = report.commits_replayed > 0 || report.torn_tail.is_some();
        let unchanged = loaded.state.closed.is_some() && loaded.damage.is_none();
        report.clean = created || (unchanged && !replayed);
        let mut manifest = match new_manifest {
            Some(manifest) => manifest,
            None => {
                let begins = wal_start.id;
                let renew = || ManifestLog::renew(&self.io, &self.dir, &loaded, begins);
                reserve.with_room(renew)?
            }
        };
        // Only now: before, a power cut could bring back a manifest that needs them. And only
        // where all that the manifest names is whole: then nobody can want them.
        let is_sound = report.damaged_runs.is_empty();
        if is_sound {
            let aside = directory::set_aside(&self.io, &self.dir, &orphans, &self.settings)?;
            report.orphans_quarantined = aside.kept;
            report.orphans_removed = aside.removed;
        }
        let history = self.history(&folder, history, &loaded, core.last_seq);
        let past = history.as_ref().map_or(wal_start.id, History::floor);
        let start = || self.start_wal(&folder, wal_start.clone(), past, is_sound);
        let wal = (!self.memory_only).then(|| reserve.with_room(start)).transpose()?;
        if let Some(history) = history {
            manifest.keep_history(history);
        }
        if wal.is_some() && !created {
            let (last_seq, wall_ns) = (core.last_seq, self.io.clock.wall_ns());
            reserve.with_room(|| manifest.note_open(EditTime { last_seq, wall_ns }))?;
        }
        reserve.restore();
        if let (Some(wal), Some(lock)) = (&wal, &writer_lock) {
            wal.guard_by(lock, &self.dir);
        }
        report.took = self.took(start_ns);
        let manifest = Some(Mutex::new(manifest));
        let writer_lock = Mutex::new(writer_lock);
        let engine = self.engine(folder, core, report, next_run);
        let engine = Engine { manifest, wal, writer_lock, ..engine };
        engine.settle_provisional()?;
        Ok(engine)
    }

    /// The history to go on with, which may be one that begins now. Where none is to be kept, what there was goes.
    fn history(
        &self,
        folder: &RunFolder,
        found: Option<History>,
        loaded: &LoadedManifest,
        last_seq: SeqNo,
    ) -> Option<History> {
        if self.memory_only || self.settings.history_min.is_zero() {
            let retired = found.iter().flat_map(History::retired);
            for meta in retired.filter(|meta| !loaded.state.is_pinned(meta.id)) {
                // What can't be removed is in no version, and set aside by the next opening.
                let _ = self.io.disk.remove(&folder.path(meta.id, meta.format));
            }
            for name in HISTORY_NAMES {
                let _ = self.io.disk.remove(&self.dir.join(name));
            }
            return None;
        }
        let begin = || History::begin(&self.io.disk, &self.dir, loaded, last_seq);
        Some(found.unwrap_or_else(begin))
    }

    /// A fresh segment, so that nothing is ever written behind a torn tail.
    /// Segments that are no longer needed are used again only if `is_sound`.
    /// Those from `past` on stay for the history.
    fn start_wal(
        &self,
        folder: &RunFolder,
        start: WalStart,
        past: WalId,
        is_sound: bool,
    ) -> Result<Wal> {
        let old = if is_sound { OldSegments::ReuseBelow(past) } else { OldSegments::Keep };
        let dir = self.wal_dir();
        Wal::create(&self.io, &dir, folder.store_id, &self.settings, start, old)
    }

    /// Makes the directory if it may, refuses one that holds something else, and takes the
    /// writer's lock.
    fn prepare_dir(&self) -> Result<Option<Arc<dyn LockGuard>>> {
        let disk = &self.io.disk;
        let exists = disk.exists(&self.dir).map_err(|e| Error::io("look at", &self.dir, e))?;
        if !exists {
            if self.access == Access::WriteExisting {
                return Err(self.no_store()?);
            }
            disk.create_dir(&self.dir).map_err(|e| Error::io("create", &self.dir, e))?;
        } else if !self.holds_manifest()? {
            // Before the lock file is made: a directory that isn't ours is not touched. One in
            // which another process makes a store just now is ours by the time it has a manifest.
            self.refuse_foreign().or_else(|error| match self.holds_manifest()? {
                true => Ok(()),
                false => Err(error),
            })?;
            if self.access == Access::WriteExisting {
                return Err(self.no_store()?);
            }
        }
        if self.memory_only { Ok(None) } else { self.lock().map(Some) }
    }

    fn lock(&self) -> Result<Arc<dyn LockGuard>> {
        let path = self.dir.join(LOCK_NAME);
        let owner = format!("{}\n", std::process::id());
        match self.io.disk.try_lock(&path, &owner) {
            Ok(LockOutcome::Acquired(guard)) => Ok(Arc::from(guard)),
            Ok(LockOutcome::Held(owner)) => {
                let owner = owner.trim();
                let who = if owner == std::process::id().to_string() {
                    "this process already has it open for writing".to_owned()
                } else {
                    format!("process {owner} has it open for writing")
                };
                Err(Error::new(ErrorKind::Locked, format!("the store is locked: {who}"))
                    .at(&self.dir))
            }
            Err(error) => Err(Error::io("lock the store", &path, error)),
        }
    }

    fn holds_manifest(&self) -> Result<bool> {
        for name in [MANIFEST_NAME, COPY_NAME] {
            let path = self.dir.join(name);
            let exists = self.io.disk.exists(&path);
            if exists.map_err(|error| Error::io("look for", &path, error))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// For reading: the manifest; `None` if it has just come into being, so look again.
    fn load_existing(&self) -> Result<Option<LoadedManifest>> {
        if let Some(loaded) = manifest::load(&*self.io.disk, &self.dir)? {
            return Ok(Some(loaded));
        }
        // Somebody may be making the store: what was seen of it is judged only if there still is
        // no manifest.
        let error = self.no_store().unwrap_or_else(|error| error);
        match self.holds_manifest()? {
            true => Ok(None),
            false => Err(error),
        }
    }

    /// An error if the directory, which has no manifest, holds anything that an interrupted
    /// creation can't have left.
    fn refuse_foreign(&self) -> Result<()> {
        let list = |dir: &Path| {
            self.io.disk.list(dir).map_err(|error| Error::io("list the directory", dir, error))
        };
        for entry in list(&self.dir)? {
            let ours = match (entry.name.as_str(), entry.is_dir) {
                (LOCK_NAME | RESERVE_NAME | SCRUB_NAME, false) | (QUARANTINE_DIR, true) => true,
                (name, false) if MANIFEST_NAMES.contains(&name) => true,
                (name, false) if HISTORY_NAMES.contains(&name) => true,
                (RUNS_DIR | WAL_DIR, true) => {
                    let inside = self.dir.join(&entry.name);
                    if !list(&inside)?.is_empty() {
                        return Err(Error::corruption(
                            &self.dir.join(MANIFEST_NAME),
                            0,
                            format!(
                                "the manifest is missing, but there is data in '{}'",
                                entry.name
                            ),
                        ));
                    }
                    true
                }
                _ => false,
            };
            if !ours {
                return Err(Error::new(
                    ErrorKind::NotAStore,
                    format!(
                        "the directory is not a store: it has no manifest, and holds '{}'",
                        entry.name
                    ),
                )
                .at(&self.dir));
            }
        }
        Ok(())
    }

    /// The error for a place without a store.
    fn no_store(&self) -> Result<Error> {
        let exists = self.io.disk.exists(&self.dir);
        if !exists.map_err(|error| Error::io("look at", &self.dir, error))? {
            return Ok(Error::new(ErrorKind::NotFound, "there is no such store").at(&self.dir));
        }
        self.refuse_foreign()?;
        let message = "there is no store in the directory, or one that is being made just now";
        Ok(Error::new(ErrorKind::NotFound, message).at(&self.dir))
    }

    /// Makes an empty store. Each name is durable before anything relies on it, the
    /// manifest's last: whoever finds a manifest finds the directories.
    fn create(&self) -> Result<(LoadedManifest, ManifestLog)> {
        for dir in [self.dir.join(RUNS_DIR), self.wal_dir()] {
            self.io.disk.create_dir(&dir).map_err(|error| Error::io("create", &dir, error))?;
        }
        self.sync_dir(&self.dir)?;
        // Also where the directory was there before: a killed process may have just made it,
        // and those above it.
        for above in self.dir.ancestors().skip(1) {
            let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            match self.io.disk.sync_dir(above) {
                // Not ours to read, hence not made by us.
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => break,
                synced => synced.map_err(|error| Error::io("sync the directory", above, error))?,
            }
        }
        let mut id = StoreId::default();
        self.io.rng.fill(&mut id.0);
        let state = ManifestState::new(RunId(1));
        let begins = state.wal_floor;
        let manifest = ManifestLog::create(&self.io, &self.dir, id, 1, state, begins)?;
        match manifest::load(&*self.io.disk, &self.dir)? {
            Some(loaded) => Ok((loaded, manifest)),
            None => Err(Error::new(ErrorKind::Io, "the new manifest has vanished").at(&self.dir)),
        }
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        let synced = self.io.disk.sync_dir(dir);
        synced.map_err(|error| Error::io("sync the directory", dir, error))
    }

    fn wal_dir(&self) -> PathBuf {
        self.dir.join(WAL_DIR)
    }

    fn folder(&self, store_id: StoreId) -> RunFolder {
        RunFolder {
            io: self.io.clone(),
            dir: self.dir.join(RUNS_DIR),
            store_id,
            cache: Arc::new(BlockCache::new(self.settings.cache_bytes_max)),
            damage: Arc::default(),
        }
    }

    fn took(&self, start_ns: u64) -> std::time::Duration {
        std::time::Duration::from_nanos(self.io.clock.monotonic_ns().saturating_sub(start_ns))
    }

    /// The engine of what was found, with nothing to write to yet.
    fn engine(
        self,
        folder: RunFolder,
        core: StoreState,
        report: RecoveryReport,
        next_run: RunId,
    ) -> Engine {
        let path = (!self.memory_only).then(|| self.dir.clone());
        let engine = Engine::reading(self.dir, path, self.settings, folder, core, report);
        Engine { next_run: AtomicU64::new(next_run.0.max(1)), ..engine }
    }
}

/// The error of a reader for which a segment was not there, and no writer has moved on.
fn not_moved(error: Error) -> Error {
    match (error.kind(), error.path()) {
        (ErrorKind::NotFound, Some(path)) => {
            Error::corruption(path, 0, "a log segment that must be there is missing")
        }
        _ => error,
    }
}

/// Tells what opening found and did.
fn tell_report(engine: &Engine) {
    let (report, store) = (&engine.report, engine.dir.display());
    let ms = u64::try_from(report.took.as_millis()).unwrap_or(u64::MAX);
    let last_seq = report.last_seq.0;
    if let Some((path, offset)) = &report.torn_tail {
        let file = path.display();
        tracing::info!(target: "timestrata::recovery", %file, offset, "cut a torn end");
    }
    if let Some(damage) = &report.manifest_mended {
        tracing::warn!(
            target: "timestrata::recovery",
            damage,
            "the manifest was damaged: its copy stood in for it"
        );
    }
    for run in &report.damaged_runs {
        tracing::warn!(target: "timestrata::recovery", file = %run.display(), "a run is damaged");
    }
    for file in &report.orphans_quarantined {
        let file = file.display();
        tracing::info!(target: "timestrata::quarantine", %file, "set a run aside that no version names");
    }
    for file in &report.orphans_removed {
        let file = file.display();
        tracing::info!(target: "timestrata::quarantine", %file, "let go of a run for good");
    }
    if !report.clean {
        tracing::info!(
            target: "timestrata::recovery",
            %store,
            commits = report.commits_replayed,
            bytes = report.bytes_replayed,
            last_seq,
            ms,
            "recovered a store that was not closed in good order"
        );
    }
    tracing::info!(
        target: "timestrata::open",
        %store,
        created = report.created,
        read_only = engine.manifest.is_none(),
        last_seq,
        ms,
        "opened a store"
    );
}
