//! A consistent copy of a store while it is written.
//!
//! The copy holds the commits up to one instant: runs are copied, memtables are written as
//! runs of the copy, and the manifest comes last, so that an interrupted backup is no store.

use std::path::Path;
use std::sync::Arc;

use timestrata_format::manifest::StreamDefinition;
use timestrata_format::{RunFormat, RunId, RunMeta, SeqNo, WalId};
use timestrata_io::{Bytes, DiskFile, OpenMode};

use crate::maintenance::write_memtable;
use crate::manifest::{ManifestLog, ManifestState, StreamEntry, to_definition};
use crate::memtable::MemtableView;
use crate::planted::{Plant, is_planted};
use crate::run::{self, RunWriter};
use crate::store::{Engine, RUNS_DIR, RunHandle, Version, WAL_DIR};
use crate::tombstones::Tombstones;
use crate::{Error, ErrorKind, Result, Stream};

const COPY_BYTES: usize = 1 << 20;

/// What a backup copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BackupReport {
    /// Files in the copy.
    pub files: u64,
    /// Bytes in the copy.
    pub bytes: u64,
    /// The last commit that is in the copy.
    pub seq: SeqNo,
}

/// Where a run is copied from.
enum Original {
    File(Arc<dyn DiskFile>),
    Mapped(Bytes),
}

impl Original {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        match self {
            Self::File(file) => file.read_at(offset, buffer),
            Self::Mapped(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let end = start.saturating_add(buffer.len());
                let part = bytes.get(start..end).ok_or(std::io::ErrorKind::UnexpectedEof)?;
                buffer.copy_from_slice(part);
                Ok(())
            }
        }
    }
}

/// One stream at the instant of the backup.
struct Frozen {
    stream: Arc<Stream>,
    version: Arc<Version>,
    memtables: Vec<Arc<MemtableView>>,
}

impl Engine {
    /// Copies the store as it is now to a new directory.
    pub(crate) fn backup(&self, destination: &Path) -> Result<BackupReport> {
        self.prepare_destination(destination)?;
        let (seq, frozen) = self.freeze();
        let mut report = BackupReport { seq, ..BackupReport::default() };
        let next_run = self.next_run.load(std::sync::atomic::Ordering::Relaxed);
        let mut state = ManifestState::new(RunId(next_run.saturating_add(1 << 20)));
        state.closed = Some(seq);
        for stream in &frozen {
            let entry = self.copy_stream(destination, stream, seq, &mut state, &mut report)?;
            state.insert(entry);
        }
        let sync = |dir: &Path| {
            self.io.disk.sync_dir(dir).map_err(|error| Error::io("sync the copy's", dir, error))
        };
        sync(&destination.join(RUNS_DIR))?;
        ManifestLog::create(&self.io, destination, self.store_id, 1, state, WalId::default())?;
        if let Some(parent) = destination.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            sync(parent)?;
        }
        report.files += 1;
        Ok(report)
    }

    fn prepare_destination(&self, destination: &Path) -> Result<()> {
        let disk = &self.io.disk;
        let io = |what, error| Error::io(what, destination, error);
        if disk.exists(destination).map_err(|error| io("look at the destination", error))? {
            let inside =
                disk.list(destination).map_err(|error| io("list the destination", error))?;
            if let Some(entry) = inside.first() {
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

    fn freeze(&self) -> (SeqNo, Vec<Frozen>) {
        let mut core = self.core.lock();
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
            Frozen {
                stream: Arc::clone(&state.stream),
                version: Arc::clone(&state.version),
                memtables,
            }
        });
        (seq, frozen.collect())
    }

    fn copy_stream(
        &self,
        destination: &Path,
        frozen: &Frozen,
        seq: SeqNo,
        state: &mut ManifestState,
        report: &mut BackupReport,
    ) -> Result<StreamEntry> {
        let mut metas: Vec<RunMeta> = Vec::new();
        let left_out = usize::from(is_planted(Plant::BackupWithoutRun));
        for run in frozen.version.runs.iter().skip(left_out) {
            self.copy_run(destination, run)?;
            metas.push(run.meta.clone());
        }
        let of_memtables = frozen.memtables.iter().map(|memtable| &memtable.tombstones);
        let version = std::iter::once(&frozen.version.tombstones);
        let tombstones = Tombstones::union(version.chain(of_memtables));
        for memtable in &frozen.memtables {
            let id = state.next_run;
            state.next_run = id.next();
            metas.extend(self.write_copy(destination, frozen, memtable, id)?);
        }
        report.files += metas.len() as u64;
        report.bytes += metas.iter().map(|meta| meta.file_bytes).sum::<u64>();
        let definition: StreamDefinition = to_definition(frozen.stream.id(), frozen.stream.spec());
        let runs = metas.into_iter().map(|meta| (meta.id, meta)).collect();
        let mut entry = StreamEntry::new(definition);
        tombstones.pieces().into_iter().for_each(|tombstone| entry.add_tombstone(tombstone));
        (entry.runs, entry.flushed_through) = (runs, seq);
        Ok(entry)
    }

    /// Copies one run file byte by byte. Its handle keeps it from being removed by this process; if a
    /// writer in another one has removed it, what this one has mapped is copied.
    fn copy_run(&self, destination: &Path, run: &RunHandle) -> Result<()> {
        let (disk, meta) = (&self.io.disk, &run.meta);
        let from = self.folder.path(meta.id, meta.format);
        let to = destination.join(RUNS_DIR).join(run::file_name(meta.id, meta.format));
        let read_error = |error| Error::io("read a run to copy", &from, error);
        let write_error = |error| Error::io("write the copy of a run", &to, error);
        let source = match disk.open(&from, OpenMode::Read) {
            Ok(file) => Original::File(file),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Original::Mapped(run.reader.bytes()?)
            }
            Err(error) => return Err(read_error(error)),
        };
        let copy = disk.open(&to, OpenMode::CreateNew).map_err(write_error)?;
        let mut crc = timestrata_format::checksum::Crc32c::new();
        let mut buffer = vec![0; COPY_BYTES];
        let mut offset = 0;
        while offset < meta.file_bytes {
            let left = usize::try_from(meta.file_bytes - offset).unwrap_or(usize::MAX);
            let piece = &mut buffer[..left.min(COPY_BYTES)];
            source.read_at(offset, piece).map_err(read_error)?;
            crc.update(piece);
            copy.append(piece).map_err(write_error)?;
            offset += piece.len() as u64;
        }
        if crc.value() != meta.file_crc {
            return Err(Error::corruption(
                &from,
                0,
                format!("file checksum: expected {:08x}, found {:08x}", meta.file_crc, crc.value()),
            ));
        }
        copy.sync_all().map_err(write_error)
    }

    fn write_copy(
        &self,
        destination: &Path,
        frozen: &Frozen,
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
