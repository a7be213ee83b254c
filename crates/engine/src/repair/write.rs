//! Writing the repaired store: runs first, its manifest last.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use timestrata_format::manifest::PinnedStream;
use timestrata_format::{LeadKey, RunFormat, RunId, RunMeta, StreamId, WalId};
use timestrata_io::{Io, OpenMode};

use super::log::FromLog;
use super::report::{RepairReport, RepairedStream};
use super::state::{RepairPlan, manifest_path};
use crate::directory::{RUNS_DIR, WAL_DIR};
use crate::key::KeyView;
use crate::maintenance::write_memtable;
use crate::manifest::{ManifestLog, ManifestState, StreamEntry};
use crate::run::{self, BlockCache, Lineage, Provenance, RunReader, RunWriter, writer_in};
use crate::scan::Source;
use crate::stream::open_definition;
use crate::tombstones::Tombstones;
use crate::{Error, ErrorKind, Result, Settings, Stream};

const COPY_BYTES: usize = 1 << 20;
const CACHE_BYTES: u64 = 1 << 20;

/// Refuses a destination that holds something.
pub(super) fn check_destination(io: &Io, to: &Path) -> Result<()> {
    let failed = |error| Error::io("look at the destination", to, error);
    if !io.disk.exists(to).map_err(failed)? {
        return Ok(());
    }
    match io.disk.list(to).map_err(failed)?.first() {
        None => Ok(()),
        Some(entry) => {
            let message = format!(
                "the destination of a repair must be missing or empty; it holds '{}'",
                entry.name
            );
            Err(Error::new(ErrorKind::AlreadyExists, message).at(to))
        }
    }
}

/// Reads all that would be taken over.
pub(super) fn try_out(
    io: &Io,
    plan: RepairPlan,
    log: FromLog,
    report: &mut RepairReport,
) -> Result<()> {
    let work =
        RepairWriter { io, store_id: plan.store_id, runs_dir: None, settings: Settings::default() };
    let (mut state, log) = (plan.state, log);
    work.streams(&mut state, &plan.files, &log, report)
}

/// Writes the store and looks through it.
pub(super) fn write(
    io: &Io,
    to: &Path,
    plan: RepairPlan,
    log: FromLog,
    report: &mut RepairReport,
) -> Result<()> {
    let runs_dir = to.join(RUNS_DIR);
    for dir in [runs_dir.clone(), to.join(WAL_DIR)] {
        io.disk.create_dir(&dir).map_err(|error| Error::io("create", &dir, error))?;
    }
    let sync = |dir: &Path| {
        io.disk.sync_dir(dir).map_err(|error| Error::io("sync the repaired store's", dir, error))
    };
    let mut state = plan.state;
    let work = RepairWriter {
        io,
        store_id: plan.store_id,
        runs_dir: Some(runs_dir.clone()),
        settings: Settings::default(),
    };
    work.streams(&mut state, &plan.files, &log, report)?;
    state.wal_floor = WalId(1);
    state.closed = Some(state.last_seq().max(log.last_seq));
    sync(&runs_dir)?;
    sync(to)?;
    let generation = plan.generation.saturating_add(1);
    ManifestLog::create(io, to, plan.store_id, generation, state, WalId::default())?;
    if let Some(parent) = to.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        sync(parent)?;
    }
    let checked = crate::check::check(io, to)?;
    match checked.findings.into_iter().find(|finding| finding.is_damage) {
        None => Ok(()),
        Some(finding) => {
            let message = format!("the repaired store is not sound: {}", finding.message);
            Err(Error::corruption(&finding.path, finding.offset.unwrap_or(0), message))
        }
    }
}

struct RepairWriter<'a> {
    io: &'a Io,
    store_id: timestrata_format::StoreId,
    /// `None`: nothing is written.
    runs_dir: Option<PathBuf>,
    settings: Settings,
}

/// What became of one run.
struct TakenOver {
    /// `None`: no row of it could be read.
    meta: Option<RunMeta>,
    rows: u64,
}

impl RepairWriter<'_> {
    /// Takes all runs over, and what only the log has; `state` then says what there is.
    fn streams(
        &self,
        state: &mut ManifestState,
        files: &BTreeMap<RunId, (PathBuf, bool)>,
        log: &FromLog,
        report: &mut RepairReport,
    ) -> Result<()> {
        let mut next_run = state.next_run;
        let mut taken_over = BTreeMap::new();
        let ids: Vec<StreamId> = state.streams.keys().copied().collect();
        for id in ids {
            let Some(entry) = state.streams.get_mut(&id) else { continue };
            let stream = open_definition(&entry.definition, &files_of(files, entry))?;
            let mut told =
                RepairedStream { name: stream.name().to_owned(), ..RepairedStream::default() };
            for (run, meta) in std::mem::take(&mut entry.runs) {
                let Some((path, is_whole)) = files.get(&run) else { continue };
                let taken = match is_whole {
                    true => self.copy(path, &meta)?,
                    false => self.salvage(path, &stream, &meta, &entry.to_heed(), report)?,
                };
                told.rows += taken.rows;
                told.runs += u64::from(taken.rows > 0);
                taken_over.insert(run, taken.meta.clone());
                entry.runs.extend(taken.meta.map(|meta| (run, meta)));
            }
            self.log(&stream, entry, log, &mut next_run)?;
            told.commits_from_log = log.commits.get(&id).copied().unwrap_or(0);
            entry.flushed_through = entry.flushed_through.max(log.last_seq);
            report.streams.push(told);
        }
        report.streams.sort_by(|a, b| a.name.cmp(&b.name));
        state.next_run = next_run;
        let mut pins = std::mem::take(&mut state.pins);
        let pinned = pins.values_mut().flat_map(|pin| &mut pin.streams);
        for pinned in pinned {
            self.pinned(pinned, state, files, &mut taken_over, report)?;
        }
        state.pins = pins;
        Ok(())
    }

    /// Takes the runs over that only pins keep.
    fn pinned(
        &self,
        pinned: &mut PinnedStream,
        state: &ManifestState,
        files: &BTreeMap<RunId, (PathBuf, bool)>,
        taken_over: &mut BTreeMap<RunId, Option<RunMeta>>,
        report: &mut RepairReport,
    ) -> Result<()> {
        let Some(entry) = state.streams.get(&pinned.stream) else { return Ok(()) };
        let stream = open_definition(&entry.definition, &files_of(files, entry))?;
        for meta in std::mem::take(&mut pinned.runs) {
            let taken = match (taken_over.get(&meta.id), files.get(&meta.id)) {
                (Some(taken), _) => taken.clone(),
                (None, None) => None,
                (None, Some((path, true))) => self.copy(path, &meta)?.meta,
                (None, Some((path, false))) => {
                    let heeded = Tombstones::of(pinned.tombstones.iter().copied());
                    self.salvage(path, &stream, &meta, &heeded, report)?.meta
                }
            };
            taken_over.insert(meta.id, taken.clone());
            pinned.runs.extend(taken);
        }
        Ok(())
    }

    /// What only the log has, as runs.
    fn log(
        &self,
        stream: &Arc<Stream>,
        entry: &mut StreamEntry,
        log: &FromLog,
        next_run: &mut RunId,
    ) -> Result<()> {
        for memtable in log.memtables.get(&stream.id()).into_iter().flatten() {
            if let Some(runs_dir) = &self.runs_dir {
                let id = *next_run;
                *next_run = id.next();
                let create = || self.create(runs_dir, stream, id, RunFormat::Hot);
                let now_ns = self.io.clock.wall_ns();
                let heeded = &entry.to_heed();
                let meta = write_memtable(stream, memtable, true, heeded, now_ns, create)?;
                entry.runs.extend(meta.map(|meta| (id, meta)));
            }
            let deletes = memtable.tombstones.pieces();
            deletes.into_iter().for_each(|tombstone| entry.add_tombstone(tombstone));
        }
        Ok(())
    }

    fn create(
        &self,
        runs_dir: &Path,
        stream: &Arc<Stream>,
        id: RunId,
        format: RunFormat,
    ) -> Result<RunWriter> {
        RunWriter::create(self.io, runs_dir, self.store_id, stream, id, format, &self.settings)
    }

    /// Copies a whole run, byte by byte.
    fn copy(&self, from: &Path, meta: &RunMeta) -> Result<TakenOver> {
        let taken = TakenOver { meta: Some(meta.clone()), rows: meta.rows };
        let Some(runs_dir) = &self.runs_dir else { return Ok(taken) };
        let to = runs_dir.join(run::file_name(meta.id, meta.format));
        let read_error = |error| Error::io("read a run to copy", from, error);
        let write_error = |error| Error::io("write the copy of a run", &to, error);
        let source = self.io.disk.open(from, OpenMode::Read).map_err(read_error)?;
        let copy = self.io.disk.open(&to, OpenMode::CreateNew).map_err(write_error)?;
        let mut buffer = vec![0; COPY_BYTES];
        let mut offset = 0;
        while offset < meta.file_bytes {
            let left = usize::try_from(meta.file_bytes - offset).unwrap_or(usize::MAX);
            let piece = &mut buffer[..left.min(COPY_BYTES)];
            source.read_at(offset, piece).map_err(read_error)?;
            copy.append(piece).map_err(write_error)?;
            offset += piece.len() as u64;
        }
        copy.sync_all().map_err(write_error)?;
        Ok(taken)
    }

    /// Writes what can be read of a damaged run, block by block, as a run of the same place.
    fn salvage(
        &self,
        path: &Path,
        stream: &Arc<Stream>,
        meta: &RunMeta,
        tombstones: &Tombstones,
        report: &mut RepairReport,
    ) -> Result<TakenOver> {
        let cache = Arc::new(BlockCache::new(CACHE_BYTES));
        let id = self.store_id;
        let reader = RunReader::open(self.io, path.to_owned(), id, stream, meta.clone(), cache)?;
        let blocks = match reader.blocks() {
            Ok(blocks) => blocks.len(),
            Err(error) => {
                lost(error, report)?;
                return Ok(TakenOver { meta: None, rows: 0 });
            }
        };
        let columns: Vec<usize> = (0..stream.stored_schema().fields().len()).collect();
        let mut writer = None;
        let (mut rows, mut last_key) = (0, None);
        for block in 0..blocks {
            let batch =
                reader.read(block, &columns).and_then(|batch| in_order(stream, batch, last_key));
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) => {
                    lost(error, report)?;
                    continue;
                }
            };
            last_key = KeyView::of(stream, &batch)?.last();
            rows += batch.num_rows() as u64;
            if let Some(runs_dir) = &self.runs_dir {
                let create = || self.create(runs_dir, stream, meta.id, meta.format);
                writer_in(&mut writer, create)?.write(&batch)?;
            }
        }
        let Some(writer) = writer else { return Ok(TakenOver { meta: None, rows }) };
        let provenance = Provenance {
            seq_min: meta.seq_min,
            seq_max: meta.seq_max,
            tombstones_applied_through: meta.tombstones_applied_through,
            level: meta.level,
            created_wall_ns: meta.created_wall_ns,
        };
        let lineage = Lineage { tombstones: tombstones.pieces(), ..Lineage::default() };
        Ok(TakenOver { meta: Some(writer.finish(provenance, lineage)?), rows })
    }
}

fn files_of(files: &BTreeMap<RunId, (PathBuf, bool)>, entry: &StreamEntry) -> PathBuf {
    let first = entry.runs.keys().find_map(|run| files.get(run));
    first.map_or_else(|| manifest_path(Path::new("")), |(path, _)| path.clone())
}

/// A block whose checksum is right is in order, unless somebody has made it up.
fn in_order(stream: &Stream, batch: RecordBatch, last: Option<LeadKey>) -> Result<RecordBatch> {
    let keys = KeyView::of(stream, &batch)?;
    let follows = last.is_none_or(|last| keys.first().is_none_or(|first| last <= first));
    match follows && keys.is_sorted() {
        true => Ok(batch),
        false => Err(Error::new(ErrorKind::Corruption, "rows of a block are out of order")),
    }
}

fn lost(error: Error, report: &mut RepairReport) -> Result<()> {
    if error.kind() != ErrorKind::Corruption {
        return Err(error);
    }
    match error.missing() {
        Some(missing) => report.missing.push(missing.clone()),
        None => report.lost.push(error.to_string()),
    }
    Ok(())
}
