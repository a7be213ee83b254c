//! Large commits: straight to runs, without the WAL.
//!
//! The rows are written to run files without a lock. The last step (the runs' tails, which
//! carry the commit's number, and the manifest edit) is done under the commit lock, so that
//! no later commit can be acknowledged and survive a crash that this one doesn't.

use std::sync::Arc;

use timestrata_format::manifest::ManifestOp;
use timestrata_format::{RunMeta, SeqNo, Tombstone};
use timestrata_io::sync::MutexGuard;

use super::bulk_load::BulkLoad;
use super::write::{Prepared, slot_for_range, slot_for_rows};
use crate::manifest::ManifestLog;
use crate::run::{Lineage, Provenance, RunWriter};
use crate::state::{Edit, Engine, RunHandle, Slot, StoreState};
use crate::{Durability, Result};

/// What a commit adds to its streams.
#[derive(Default)]
struct Additions {
    runs: Vec<(Slot, RunMeta)>,
    deletes: Vec<(Slot, Tombstone)>,
}

impl Engine {
    /// Commits changes by writing runs. The commit is synced when this returns.
    pub(crate) fn commit_direct(&self, prepared: Vec<Prepared>) -> Result<SeqNo> {
        let mut load = BulkLoad::default();
        for change in prepared {
            load.add(self, change)?;
        }
        self.commit_runs(load)
    }

    /// Commits what was given batch by batch: through the log if it is small.
    pub(crate) fn commit_bulk_load(&self, load: BulkLoad, durability: Durability) -> Result<SeqNo> {
        if load.has_runs() || load.bytes() >= self.direct_bytes_min() {
            // Runs are made durable before the manifest names them.
            return self.commit_runs(load);
        }
        self.commit_prepared(load.into_prepared()?, durability)
    }

    fn commit_runs(&self, mut load: BulkLoad) -> Result<SeqNo> {
        load.write_all(self)?;
        let (mut manifest, mut core) = self.lock_for_runs()?;
        // Dropped by an error, the load removes its files.
        let slots_of_rows = load.streams.iter().map(|rows| slot_for_rows(&core, rows.stream()));
        let slots_of_rows: Vec<Slot> = slots_of_rows.collect::<Result<_>>()?;
        let slots_of_deletes = load.deletes.iter().map(|(stream, _)| slot_for_range(&core, stream));
        let slots_of_deletes: Vec<Slot> = slots_of_deletes.collect::<Result<_>>()?;
        load.conditions.iter().try_for_each(|key| core.check_unchanged(key))?;
        let mut settled: Vec<Slot> =
            slots_of_rows.iter().chain(&slots_of_deletes).copied().collect();
        settled.sort_unstable();
        settled.dedup();
        for slot in &settled {
            // Rows that are older than this commit may not share a memtable with later ones.
            core.seal(*slot);
        }
        settled.retain(|slot| core.streams[*slot].unflushed_min().is_none());
        let seq = core.last_seq.next();
        let mut edit = Edit::begin(self, &mut manifest);
        let mut added = Additions::default();
        for ((stream, tombstone), slot) in load.deletes.drain(..).zip(slots_of_deletes) {
            let tombstone = Tombstone { seq, ..tombstone };
            edit.change(ManifestOp::AddTombstone { stream: stream.id(), tombstone });
            added.deletes.push((slot, tombstone));
        }
        let mut finished = Vec::new();
        for (rows, slot) in load.streams.drain(..).zip(slots_of_rows) {
            let own = added.deletes.iter().filter(|(of, _)| *of == slot).map(|(_, delete)| delete);
            let mut heeded = core.streams[slot].version.tombstones.pieces();
            heeded.extend(own);
            for run in rows.into_runs() {
                let finish = self.finish_direct(run, seq, &heeded);
                let meta = finish.inspect_err(|_| self.remove_unnamed(&finished))?;
                edit.change(ManifestOp::AddRun(meta.clone()));
                finished.push(meta.clone());
                added.runs.push((slot, meta));
            }
        }
        for stream in &load.rewritten {
            edit.change(ManifestOp::Rewritten(stream.id()));
        }
        for slot in &settled {
            let stream = core.streams[*slot].stream.id();
            edit.change(ManifestOp::FlushedThrough { stream, seq });
        }
        edit.adds_commit(seq);
        self.sync_runs_dir()?;
        crate::planted::placed(seq);
        edit.waits_for(core.last_seq);
        edit.commit().inspect_err(|_| self.remove_unnamed(&finished))?.recycle();
        core.last_seq = seq;
        self.install_direct(&mut core, added, &settled, seq)?;
        drop(core);
        self.committed.announce();
        self.workers.wake();
        Ok(seq)
    }

    /// The locks that the last step needs, while no stream is getting other columns.
    fn lock_for_runs(&self) -> Result<(MutexGuard<'_, ManifestLog>, MutexGuard<'_, StoreState>)> {
        loop {
            let manifest = self.lock_manifest()?;
            let mut core = self.core.lock();
            if !core.is_altering {
                self.check_writable()?;
                return Ok((manifest, core));
            }
            // Whoever alters needs the manifest.
            drop(manifest);
            self.room.wait(&mut core);
        }
    }

    fn finish_direct(
        &self,
        writer: RunWriter,
        seq: SeqNo,
        heeded: &[Tombstone],
    ) -> Result<RunMeta> {
        let provenance = Provenance::of_commits(seq, seq, self.io.clock.wall_ns());
        let tombstones = heeded.to_vec();
        writer.finish(provenance, Lineage { tombstones, ..Lineage::default() })
    }

    fn install_direct(
        &self,
        core: &mut StoreState,
        added: Additions,
        settled: &[Slot],
        seq: SeqNo,
    ) -> Result<()> {
        for (slot, meta) in added.runs {
            let state = &mut core.streams[slot];
            let handle: Arc<RunHandle> = self.folder.handle(&state.stream, meta)?;
            let tombstones = state.version.tombstones.clone();
            state.version = Arc::new(state.version.changed(&[], vec![handle], tombstones));
            if let Some(changes) = &mut state.key_changes {
                changes.forget(seq);
            }
            core.touch(slot);
        }
        for (slot, tombstone) in added.deletes {
            let state = &mut core.streams[slot];
            let mut tombstones = state.version.tombstones.clone();
            tombstones.add(tombstone);
            if let Some(changes) = &mut state.key_changes {
                changes.note_range(seq, tombstone.range);
            }
            state.version = Arc::new(state.version.changed(&[], Vec::new(), tombstones));
            core.touch(slot);
        }
        for slot in settled {
            core.streams[*slot].flushed_through = seq;
        }
        Ok(())
    }
}
