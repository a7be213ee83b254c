//! A consistent copy of a store while it is written.
//!
//! The copy holds the commits up to one instant: runs are copied, memtables are written as
//! runs of the copy, and the manifest comes last, so that an interrupted backup is no store.
//!
//! Damage is never copied unasked, and never mended on the way: a copy that was asked for in spite of it has the
//! same damage, so that whoever reads there is told of it too.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use timestrata_format::manifest::StreamDefinition;
use timestrata_format::{RunFormat, RunId, RunMeta, SeqNo, WalId};
use timestrata_io::{Bytes, DirEntry, DiskFile, OpenMode, parts};

use crate::directory::{RUNS_DIR, WAL_DIR};
use crate::maintenance::write_memtable;
use crate::manifest::{ManifestLog, ManifestState, StreamEntry};
use crate::memtable::MemtableView;
use crate::planted::{Plant, is_planted};
use crate::run::{self, RunWriter};
use crate::state::{Engine, RunHandle, Version};
use crate::stream::to_definition;
use crate::tombstones::Tombstones;
use crate::{Error, ErrorKind, MissingRange, Result, Stream};

const COPY_BYTES: usize = 1 << 20;
/// What is given up at once where bytes can't be read.
const SECTOR_BYTES: usize = 4 << 10;
const HINT: &str = "make a sound store of what can be read by 'timestrata repair' and copy that, or copy the store as \
                    it is, damage included, by 'timestrata backup --with-damage' (with_damage)";

/// How a store is copied.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// # let temporary = tempfile::tempdir()?;
/// # let dir = temporary.path().join("store");
/// let store = Store::open(&dir, Settings::default())?;
/// let options = BackupOptions { with_damage: true };
/// store.backup_with(&temporary.path().join("copy"), options)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BackupOptions {
    /// Copy what is there where runs are damaged or missing, instead of failing. The copy is as the original is:
    /// all that is whole can be read, damaged rows give the same errors, and `repair` takes both. With a
    /// run that is missing it opens for reading only. [`BackupReport::damaged`] tells.
    pub with_damage: bool,
}

/// What a backup copied.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// # let temporary = tempfile::tempdir()?;
/// # let dir = temporary.path().join("store");
/// let store = Store::open(&dir, Settings::default())?;
/// let report = store.backup(&temporary.path().join("copy"))?;
/// assert!(report.files > 0 && report.damaged.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BackupReport {
    /// Files in the copy.
    pub files: u64,
    /// Bytes in the copy.
    pub bytes: u64,
    /// The last commit that is in the copy.
    pub seq: SeqNo,
    /// Rows that can't be read in the copy, as in the original: only
    /// with [`BackupOptions::with_damage`].
    pub damaged: Vec<MissingRange>,
}

/// Where a run is copied from.
enum RunOriginal {
    File(Arc<dyn DiskFile>),
    Mapped(Bytes),
}

impl RunOriginal {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        match self {
            Self::File(file) => file.read_at(offset, buffer),
            Self::Mapped(bytes) => parts::read_at(bytes, offset, buffer),
        }
    }

    /// Reads what can be read, with zeros for the rest, which no checksum fits.
    fn read_what_is_there(&self, offset: u64, buffer: &mut [u8]) {
        for (sector, piece) in (0_u64..).zip(buffer.chunks_mut(SECTOR_BYTES)) {
            if self.read_at(offset + sector * SECTOR_BYTES as u64, piece).is_err() {
                piece.fill(0);
            }
        }
    }
}

/// One stream at the instant of the backup.
struct FrozenStream {
    stream: Arc<Stream>,
    version: Arc<Version>,
    memtables: Vec<Arc<MemtableView>>,
}

/// A backup that is being made.
struct BackupCopy<'a> {
    destination: &'a Path,
    options: BackupOptions,
    /// The run files so far.
    made: Vec<PathBuf>,
}

impl Engine {
    /// Copies the store as it is now to a new directory.
    pub(crate) fn backup(
        &self,
        destination: &Path,
        options: BackupOptions,
    ) -> Result<BackupReport> {
        let began =
            self.began(tracing::enabled!(target: "timestrata::backup", tracing::Level::INFO));
        self.prepare_destination(destination)?;
        let mut copy = BackupCopy { destination, options, made: Vec::new() };
        let copied = self.copy_streams(&mut copy);
        if copied.is_err() {
            // So that it can be tried again. Only what it has made itself: another backup may have been
            // told the same destination.
            for path in &copy.made {
                let _ = self.io.disk.remove(path);
            }
        }
        let (state, mut report) = copied?;
        let sync = |dir: &Path| {
            self.io.disk.sync_dir(dir).map_err(|error| Error::io("sync the copy's", dir, error))
        };
        sync(&destination.join(RUNS_DIR))?;
        ManifestLog::create(&self.io, destination, self.store_id, 1, state, WalId::default())?;
        if let Some(parent) = destination.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            sync(parent)?;
        }
        report.files += 1;
        tracing::info!(
            target: "timestrata::backup",
            destination = %destination.display(),
            files = report.files,
            bytes = report.bytes,
            damaged = report.damaged.len(),
            ms = self.ms_since(began),
            "made a backup"
        );
        Ok(report)
    }

    /// Copies all runs, and makes runs of what is in memory.
    fn copy_streams(&self, copy: &mut BackupCopy<'_>) -> Result<(ManifestState, BackupReport)> {
        let (seq, frozen) = self.freeze();
        let mut report = BackupReport { seq, ..BackupReport::default() };
        let next_run = self.next_run.load(std::sync::atomic::Ordering::Relaxed);
        let mut state = ManifestState::new(RunId(next_run.saturating_add(1 << 20)));
        state.closed = Some(seq);
        // By then all that is copied had been committed.
        state.time_ms = self.wal.as_ref().map_or(0, |wal| wal.time_ms());
        for stream in &frozen {
            let entry = self.copy_stream(copy, stream, &mut state, &mut report)?;
            state.insert(entry);
        }
        Ok((state, report))
    }

    fn prepare_destination(&self, destination: &Path) -> Result<()> {
        let disk = &self.io.disk;
        let io = |what, error| Error::io(what, destination, error);
        if disk.exists(destination).map_err(|error| io("look at the destination", error))? {
            let inside =
                disk.list(destination).map_err(|error| io("list the destination", error))?;
            let is_blank = |entry: &&DirEntry| {
                let is_ours = entry.is_dir && [RUNS_DIR, WAL_DIR].contains(&entry.name.as_str());
                is_ours
                    && disk.list(&destination.join(&entry.name)).is_ok_and(|files| files.is_empty())
            };
            if let Some(entry) = inside.iter().find(|entry| !is_blank(entry)) {
                return Err(Error::new(
                    ErrorKind::AlreadyExists,
                    format!(
                        "the destination of a backup must be missing or empty; it holds '{}'",
                        entry.name
                    ),
                )
                .at(destination));
            }
        }
        for dir in [RUNS_DIR, WAL_DIR] {
            let dir = destination.join(dir);
            disk.create_dir(&dir).map_err(|error| Error::io("create", &dir, error))?;
        }
        Ok(())
    }

    fn freeze(&self) -> (SeqNo, Vec<FrozenStream>) {
        let mut core = self.core_to_view(None);
        let seq = core.last_seq;
        if is_planted(Plant::BackupOfTwoMoments) {
            drop(core);
            core = self.core.lock();
        }
        let live = core.streams.iter_mut().filter(|state| !state.dropped);
        let frozen = live.map(|state| {
            let mut memtables: Vec<_> = state.sealed.iter().cloned().collect();
            if !state.active.is_empty() {
                memtables.push(state.active.view());
            }
            FrozenStream {
                stream: Arc::clone(&state.stream),
                version: Arc::clone(&state.version),
                memtables,
            }
        });
        (seq, frozen.collect())
    }

    fn copy_stream(
        &self,
        copy: &mut BackupCopy<'_>,
        frozen: &FrozenStream,
        state: &mut ManifestState,
        report: &mut BackupReport,
    ) -> Result<StreamEntry> {
        let mut metas: Vec<RunMeta> = Vec::new();
        let left_out = usize::from(is_planted(Plant::BackupWithoutRun));
        for run in frozen.version.runs.iter().skip(left_out) {
            if self.copy_run(copy, run, report)? {
                report.files += 1;
                report.bytes += run.meta.file_bytes;
            }
            metas.push(run.meta.clone());
        }
        let of_memtables = frozen.memtables.iter().map(|memtable| &memtable.tombstones);
        let version = std::iter::once(&frozen.version.tombstones);
        let tombstones = Tombstones::union(version.chain(of_memtables));
        for memtable in &frozen.memtables {
            let id = state.next_run;
            state.next_run = id.next();
            let written = self.write_copy(copy.destination, frozen, memtable, id)?;
            if let Some(meta) = &written {
                let name = run::file_name(meta.id, meta.format);
                copy.made.push(copy.destination.join(RUNS_DIR).join(name));
            }
            report.files += u64::from(written.is_some());
            report.bytes += written.as_ref().map_or(0, |meta| meta.file_bytes);
            metas.extend(written);
        }
        let definition: StreamDefinition = to_definition(frozen.stream.id(), frozen.stream.spec());
        let runs = metas.into_iter().map(|meta| (meta.id, meta)).collect();
        let mut entry = StreamEntry::new(definition);
        tombstones.pieces().into_iter().for_each(|tombstone| entry.add_tombstone(tombstone));
        (entry.runs, entry.flushed_through) = (runs, report.seq);
        Ok(entry)
    }

    /// Copies one run file byte by byte; false if there is none. Its handle keeps it from being removed by this
    /// process; if a writer in another one has removed it, what this one has mapped is copied.
    fn copy_run(
        &self,
        copy: &mut BackupCopy<'_>,
        run: &RunHandle,
        report: &mut BackupReport,
    ) -> Result<bool> {
        let source = match self.original(run) {
            Err(error) if error.kind() == ErrorKind::Corruption && copy.options.with_damage => {
                report.damaged.extend(error.missing().cloned());
                return Ok(false);
            }
            source => source.map_err(|error| error.hinting(HINT))?,
        };
        if self.copy_bytes(copy, run, &source)? {
            return Ok(true);
        }
        let damage = self.damage_of(run)?;
        match damage.first() {
            Some(first) if !copy.options.with_damage => {
                Err(Error::of_missing("a run that is to be copied", first).hinting(HINT))
            }
            _ => {
                report.damaged.extend(damage);
                Ok(true)
            }
        }
    }

    fn original(&self, run: &RunHandle) -> Result<RunOriginal> {
        let from = self.folder.path(run.meta.id, run.meta.format);
        match self.io.disk.open(&from, OpenMode::Read) {
            Ok(file) => Ok(RunOriginal::File(file)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                run.reader.bytes().map(RunOriginal::Mapped)
            }
            Err(error) => Err(Error::io("read a run to copy", &from, error)),
        }
    }

    /// Whether what was copied is what was written.
    fn copy_bytes(
        &self,
        copy: &mut BackupCopy<'_>,
        run: &RunHandle,
        source: &RunOriginal,
    ) -> Result<bool> {
        let meta = &run.meta;
        let from = self.folder.path(meta.id, meta.format);
        let to = copy.destination.join(RUNS_DIR).join(run::file_name(meta.id, meta.format));
        let read_error = |error| Error::io("read a run to copy", &from, error).hinting(HINT);
        let write_error = |error| Error::io("write the copy of a run", &to, error);
        let file = self.io.disk.open(&to, OpenMode::CreateNew).map_err(write_error)?;
        copy.made.push(to.clone());
        let mut crc = timestrata_format::checksum::Crc32c::new();
        let mut buffer = vec![0; COPY_BYTES];
        let mut offset = 0;
        while offset < meta.file_bytes {
            let left = usize::try_from(meta.file_bytes - offset).unwrap_or(usize::MAX);
            let piece = &mut buffer[..left.min(COPY_BYTES)];
            match source.read_at(offset, piece) {
                Ok(()) => {}
                Err(_) if copy.options.with_damage => source.read_what_is_there(offset, piece),
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                    return Ok(false);
                }
                Err(error) => return Err(read_error(error)),
            }
            crc.update(piece);
            file.append(piece).map_err(write_error)?;
            offset += piece.len() as u64;
        }
        file.sync_all().map_err(write_error)?;
        Ok(crc.value() == meta.file_crc)
    }

    /// Which rows of a run are damaged, read anew.
    fn damage_of(&self, run: &RunHandle) -> Result<Vec<MissingRange>> {
        let reader = self.folder.reader(run.reader.stream(), run.meta.clone())?;
        let mut damage = Vec::new();
        let mut offset = 0;
        while offset < run.meta.file_bytes {
            match reader.scrub(offset, COPY_BYTES as u64) {
                Ok(piece) => {
                    let missing =
                        piece.damage.map(|error| reader.missing_for(&error, offset, piece.end));
                    damage.extend(missing.into_iter().flatten());
                    offset = piece.end.max(offset + 1);
                }
                Err(error) if error.kind() == ErrorKind::Corruption => {
                    damage.extend(error.missing().cloned());
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        if damage.is_empty() {
            // It is whole by now, or bytes that no checksum but the file's own covers have changed.
            let from = self.folder.path(run.meta.id, run.meta.format);
            let error = Error::corruption(&from, 0, "bad checksum of a whole run");
            let keys = (run.meta.key_min, run.meta.key_max);
            damage.push(reader.missing(&error, keys, run.meta.rows));
        }
        Ok(damage)
    }

    fn write_copy(
        &self,
        destination: &Path,
        frozen: &FrozenStream,
        memtable: &MemtableView,
        id: RunId,
    ) -> Result<Option<RunMeta>> {
        let (stream, heeded) = (&frozen.stream, &frozen.version.tombstones);
        let dir = destination.join(RUNS_DIR);
        let create = || {
            let (store_id, format) = (self.store_id, RunFormat::Hot);
            RunWriter::create(&self.io, &dir, store_id, stream, id, format, &self.settings)
        };
        write_memtable(stream, memtable, true, heeded, self.io.clock.wall_ns(), create)
    }
}
