//! Flush: the oldest sealed memtable of a stream becomes a run.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use timestrata_format::manifest::{ManifestOp, VersionEdit};
use timestrata_format::{RunFormat, RunMeta, SeqNo, Tombstone};

use super::troubles::Work;
use crate::memtable::MemtableView;
use crate::planted::{Plant, is_planted};
use crate::run::{Lineage, Provenance, RunWriter};
use crate::scan::merge_sources;
use crate::store::{Engine, Slot, Version};
use crate::{Result, Stream};

/// What is flushed next.
struct Flush {
    slot: Slot,
    stream: Arc<Stream>,
    memtable: Arc<MemtableView>,
    /// The runs there are.
    version: Arc<Version>,
}

impl Engine {
    /// Flushes everything in memory.
    pub(crate) fn flush_all(&self) -> Result<()> {
        self.check_writable()?;
        {
            let mut core = self.core.lock();
            let slots: Vec<Slot> = core.live().map(|(slot, _)| slot).collect();
            for slot in slots {
                core.seal(slot);
            }
        }
        self.flush_sealed()
    }

    /// Flushes every sealed memtable there is now.
    pub(crate) fn flush_sealed(&self) -> Result<()> {
        let outcome = loop {
            match self.flush_step() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.note(Work::Flush, &outcome);
        if outcome.is_ok() {
            self.reserve.restore();
        }
        outcome
    }

    /// Flushes one sealed memtable; false if there was none.
    pub(crate) fn flush_step(&self) -> Result<bool> {
        let _flushing = self.flushing.lock();
        self.flush_oldest()
    }

    /// As [`Engine::flush_step`], for callers who hold the flush lock.
    pub(crate) fn flush_oldest(&self) -> Result<bool> {
        self.check_writable()?;
        let Some(Flush { slot, stream, memtable, version }) = self.choose_flush() else {
            return Ok(false);
        };
        if let Some(wal) = &self.wal {
            // The edit that installs the run waits for the log; let the two be written side
            // by side.
            wal.start_writing_back();
        }
        let run = self.write_flush(&stream, &memtable, &version)?;
        self.install_flush(slot, &stream, &memtable, run)?;
        Ok(true)
    }

    /// The sealed memtable with the oldest change, and the runs of its stream.
    fn choose_flush(&self) -> Option<Flush> {
        let core = self.core.lock();
        let sealed = core
            .live()
            .filter_map(|(slot, state)| Some((state.sealed.front()?.first_seq(), slot)))
            .min();
        let (_, slot) = sealed?;
        let state = core.streams.get(slot)?;
        let memtable = state.sealed.front()?;
        let (stream, version) = (Arc::clone(&state.stream), Arc::clone(&state.version));
        Some(Flush { slot, stream, memtable: Arc::clone(memtable), version })
    }

    /// The memtable as a run of the store, durable with its name.
    fn write_flush(
        &self,
        stream: &Arc<Stream>,
        memtable: &MemtableView,
        version: &Version,
    ) -> Result<Option<RunMeta>> {
        let now = self.io.clock.wall_ns();
        let create = || self.new_run(stream, RunFormat::Hot);
        // Until the manifest names it nothing depends on the run: it is written anew, by another name.
        let (over_older, heeded) = (!version.runs.is_empty(), &version.tombstones);
        let meta = write_memtable(stream, memtable, over_older, heeded, now, create)?;
        if let Some(meta) = &meta {
            self.counters.flush_bytes.fetch_add(meta.file_bytes, Ordering::Relaxed);
            self.sync_runs_dir()?;
        }
        Ok(meta)
    }

    fn install_flush(
        &self,
        slot: Slot,
        stream: &Arc<Stream>,
        memtable: &Arc<MemtableView>,
        run: Option<RunMeta>,
    ) -> Result<()> {
        let mut manifest = self.lock_manifest()?;
        // All at one moment: whatever is committed from here on comes behind `log_needed_from`.
        let (version, mut log_needed_from, last_seq, dropped) = {
            let core = self.core.lock();
            let state = &core.streams[slot];
            let needed_from = core.log_needed_from(Some(memtable));
            (Arc::clone(&state.version), needed_from, core.last_seq, state.dropped)
        };
        if is_planted(Plant::StaleFloor) && log_needed_from > last_seq {
            log_needed_from = self.stale_floor(log_needed_from)?;
        }
        if dropped {
            self.remove_unnamed(run.as_slice());
            return Ok(());
        }
        let mut edit = VersionEdit::default();
        edit.ops.extend(run.clone().map(ManifestOp::AddRun));
        let heeded: Vec<Tombstone> = memtable
            .tombstones
            .iter()
            .filter(|tombstone| version.heeds(tombstone) && !is_planted(Plant::LostTombstone))
            .copied()
            .collect();
        edit.ops.extend(heeded.iter().map(|tombstone| ManifestOp::AddTombstone {
            stream: stream.id(),
            tombstone: *tombstone,
        }));
        let seq = memtable.last_seq();
        edit.ops.push(ManifestOp::FlushedThrough { stream: stream.id(), seq });
        let floor = self.wal_floor_op(log_needed_from)?;
        edit.ops.extend(floor.clone());
        self.commit_edit(&mut manifest, &edit, seq)
            .inspect_err(|_| self.remove_unnamed(run.as_slice()))?;
        let handle = run.map(|meta| self.folder.handle(stream, meta)).transpose()?;
        let replaced = {
            let mut core = self.core.lock();
            let state = &mut core.streams[slot];
            let mut tombstones = state.version.tombstones.clone();
            tombstones.extend(heeded);
            let added = handle.into_iter().collect();
            let version = Arc::new(state.version.changed(&[], added, tombstones));
            let old = std::mem::replace(&mut state.version, version);
            let flushed = state.sealed.pop_front();
            state.flushed_through = seq;
            core.touch(slot);
            core.recount();
            (old, flushed)
        };
        self.room.notify_all();
        drop(replaced);
        self.recycle_wal(floor);
        self.counters.flushes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Engine {
    /// What [`Plant::StaleFloor`] takes for the floor: the end of the log some time after it was found
    /// that nothing waits in memory. A call of the disk comes in between, at which simulated writers
    /// get their turn.
    fn stale_floor(&self, found: SeqNo) -> Result<SeqNo> {
        self.sync_runs_dir()?;
        Ok(self.wal.as_ref().map_or(found, |wal| wal.appended_seq().next()))
    }
}

/// Writes a memtable to a run that `create` begins; `None`, and no file, where its range
/// deletes leave no row of it. `over_older` says that older rows of its keys may lie in runs,
/// so that delete markers must stay. `heeded` are earlier range deletes that runs must heed.
pub(crate) fn write_memtable(
    stream: &Arc<Stream>,
    memtable: &MemtableView,
    over_older: bool,
    heeded: &[Tombstone],
    created_wall_ns: i64,
    create: impl Fn() -> Result<RunWriter>,
) -> Result<Option<RunMeta>> {
    let sources = memtable.sources.to_vec();
    let mut merged = merge_sources(stream, sources, &memtable.tombstones, over_older);
    let mut writer = None;
    let outcome = merged.try_for_each(|batch| {
        let batch = batch?;
        let writer = match &mut writer {
            Some(writer) => writer,
            None => writer.insert(create()?),
        };
        writer.write(&batch)
    });
    let Some(writer) = writer else { return outcome.map(|()| None) };
    if let Err(error) = outcome {
        writer.abandon();
        return Err(error);
    }
    let provenance =
        Provenance::of_commits(memtable.first_seq(), memtable.last_seq(), created_wall_ns);
    let tombstones = heeded.iter().chain(memtable.tombstones.iter()).copied().collect();
    writer.finish(provenance, Lineage { tombstones, ..Lineage::default() }).map(Some)
}
