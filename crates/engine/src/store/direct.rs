//! Large commits: straight to runs, without the WAL.
//!
//! The rows are written to run files without a lock. The last step (the runs' tails, which
//! carry the commit's number, and the manifest edit) is done under the commit lock, so that
//! no later commit can be acknowledged and survive a crash that this one doesn't.

use std::sync::Arc;

use timestrata_format::manifest::{ManifestOp, VersionEdit};
use timestrata_format::{RunFormat, RunMeta, SeqNo, Tombstone};

use super::commit::{Prepared, resolve};
use super::core::{Core, Slot};
use super::engine::Engine;
use super::version::RunHandle;
use crate::run::{Provenance, RunWriter};
use crate::{Result, Stream};

/// What one change of the commit has become, but for its number.
enum Written {
    Run(RunWriter),
    Delete(Tombstone),
}

impl Engine {
    /// Commits changes by writing runs. The commit is synced when this returns.
    pub(crate) fn commit_direct(&self, prepared: Vec<Prepared>) -> Result<SeqNo> {
        let prepared = merge_latest(prepared)?;
        let written = self.write_runs(&prepared)?;
        let manifest = self.check_writable()?;
        let (mut manifest, mut core) = loop {
            let manifest = manifest.lock();
            let mut core = self.core.lock();
            if !core.is_altering {
                break (manifest, core);
            }
            // Whoever alters needs the manifest.
            drop(manifest);
            self.room.wait(&mut core);
        };
        let slots = match self.check_writable().and_then(|_| resolve(&core, &prepared)) {
            Ok(slots) => slots,
            Err(error) => {
                abandon(written);
                return Err(error);
            }
        };
        let seq = core.last_seq.next();
        let mut edit = VersionEdit::default();
        let mut runs: Vec<(Slot, RunMeta)> = Vec::new();
        let mut deletes: Vec<(Slot, Tombstone)> = Vec::new();
        for (change, slot) in written.into_iter().zip(slots.iter().copied()) {
            // Rows that are older than this commit may not share a memtable with later ones.
            core.seal(slot);
            let id = core.streams[slot].stream.id();
            match change {
                Written::Run(writer) => {
                    let meta = self.finish_direct(writer, seq)?;
                    edit.ops.push(ManifestOp::AddRun(meta.clone()));
                    runs.push((slot, meta));
                }
                Written::Delete(tombstone) => {
                    let tombstone = Tombstone { seq, ..tombstone };
                    edit.ops.push(ManifestOp::AddTombstone { stream: id, tombstone });
                    deletes.push((slot, tombstone));
                }
            }
        }
        let mut settled = slots;
        settled.dedup();
        settled.retain(|slot| core.streams[*slot].unflushed_min().is_none());
        edit.ops.extend(settled.iter().map(|slot| {
            let stream = core.streams[*slot].stream.id();
            ManifestOp::FlushedThrough { stream, seq }
        }));
        self.sync_runs_dir()?;
        let before = core.last_seq;
        self.commit_edit(&mut manifest, &edit, before)?;
        core.last_seq = seq;
        self.install_direct(&mut core, runs, deletes, &settled, seq)?;
        drop(core);
        self.workers.wake();
        Ok(seq)
    }

    fn write_runs(&self, prepared: &[Prepared]) -> Result<Vec<Written>> {
        let mut written = Vec::with_capacity(prepared.len());
        for change in prepared {
            match change {
                Prepared::DeleteRange { tombstone, .. } => {
                    written.push(Written::Delete(*tombstone));
                }
                Prepared::Rows { stream, batch } => {
                    let write = || -> Result<RunWriter> {
                        let mut writer = self.new_run(stream, RunFormat::Hot)?;
                        writer.write(batch.batch())?;
                        writer.sync_data()?;
                        Ok(writer)
                    };
                    match write() {
                        Ok(writer) => written.push(Written::Run(writer)),
                        Err(error) => {
                            abandon(written);
                            return Err(self.fail(error));
                        }
                    }
                }
            }
        }
        Ok(written)
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

    fn finish_direct(&self, writer: RunWriter, seq: SeqNo) -> Result<RunMeta> {
        let provenance = Provenance::of_commits(seq, seq, self.io.clock.wall_ns());
        writer.finish(provenance).map_err(|error| self.fail(error))
    }

    fn install_direct(
        &self,
        core: &mut Core,
        runs: Vec<(Slot, RunMeta)>,
        deletes: Vec<(Slot, Tombstone)>,
        settled: &[Slot],
        seq: SeqNo,
    ) -> Result<()> {
        for (slot, meta) in runs {
            let state = &mut core.streams[slot];
            let handle: Arc<RunHandle> = self.folder.handle(&state.stream, meta)?;
            let tombstones = state.version.tombstones.clone();
            state.version = Arc::new(state.version.changed(&[], vec![handle], tombstones));
            core.touch(slot);
        }
        for (slot, tombstone) in deletes {
            let state = &mut core.streams[slot];
            let mut tombstones = state.version.tombstones.clone();
            tombstones.push(tombstone);
            state.version = Arc::new(state.version.changed(&[], Vec::new(), tombstones));
            core.touch(slot);
        }
        for slot in settled {
            core.streams[*slot].flushed_through = seq;
        }
        Ok(())
    }
}

/// Within one source of a `Latest` stream keys are unique, so several batches of one commit
/// for the same stream become one, in which the last one added wins.
fn merge_latest(prepared: Vec<Prepared>) -> Result<Vec<Prepared>> {
    let mut merged: Vec<Prepared> = Vec::with_capacity(prepared.len());
    for change in prepared {
        let Prepared::Rows { stream, batch } = change else {
            merged.push(change);
            continue;
        };
        let earlier = merged.iter_mut().find_map(|other| match other {
            Prepared::Rows { stream: other, batch } if other.id() == stream.id() => Some(batch),
            _ => None,
        });
        match earlier {
            Some(earlier) => *earlier = earlier.followed_by(&stream, &batch)?,
            None => merged.push(Prepared::Rows { stream, batch }),
        }
    }
    Ok(merged)
}

fn abandon(written: Vec<Written>) {
    for change in written {
        if let Written::Run(writer) = change {
            writer.abandon();
        }
    }
}
