//! The one place where edits of the manifest are put together and made durable.
//!
//! Whoever holds the manifest's lock begins an [`Edit`], says what is to change by the methods here, and
//! ends it with [`Edit::commit`]: all of it is durable then, or nothing has changed. What an edit makes
//! durable may not outrun the log: every commit up to the one that it was told of ([`Edit::waits_for`])
//! is synced first, or the store would come back without a prefix of its commits.
//!
//! ```text
//! put together   runs added and removed, range deletes settled, flushed through, floor of the log
//! commit         sync the log through `waits_for` -> look at the lock -> append to the manifest, sync
//!                    (where the disk is full and the edit frees space: once more, with the reserve)
//! afterwards     the caller shows it to readers -> the log below the floor is history, and used again once that goes
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use timestrata_format::manifest::{ManifestOp, VersionEdit};
use timestrata_format::{SeqNo, StreamId, Tombstone, WalId};

use super::engine::Engine;
use super::version::RunHandle;
use crate::error::NotDurable;
use crate::lock::still_ours;
use crate::manifest::{EditTime, Folded, History, ManifestLog};
use crate::{ErrorKind, Result};

/// An edit of the manifest that is being put together.
pub(crate) struct Edit<'engine, 'locked> {
    engine: &'engine Engine,
    manifest: &'locked mut ManifestLog,
    edit: VersionEdit,
    /// What has to survive a power cut before the edit does.
    through: SeqNo,
    /// The log's segments below are let go by it.
    floor: Option<WalId>,
    /// Runs that it takes from streams or pins.
    retired: Vec<Arc<RunHandle>>,
}

/// Log that a durable edit has let go: used again once readers see what took its place.
#[must_use = "the log's segments are used again only by `recycle`"]
pub(crate) struct ReleasedLog<'a> {
    engine: &'a Engine,
    floor: Option<WalId>,
    folded: Option<Folded>,
}

impl ReleasedLog<'_> {
    /// Lets the log use the segments again that the history does not need.
    pub(crate) fn recycle(self) {
        if let (Some(wal), Some(floor)) = (&self.engine.wal, self.floor) {
            wal.let_go_below(floor);
        }
        if let Some(folded) = self.folded {
            self.engine.remove_folded(folded);
        }
    }
}

impl<'engine, 'locked> Edit<'engine, 'locked> {
    /// An edit that changes nothing yet. `manifest` is that of `engine`, locked.
    pub(crate) fn begin(engine: &'engine Engine, manifest: &'locked mut ManifestLog) -> Self {
        let edit = VersionEdit::default();
        Self { engine, manifest, edit, through: SeqNo::default(), floor: None, retired: Vec::new() }
    }

    /// Every commit up to this has to survive a power cut before the edit does.
    pub(crate) fn waits_for(&mut self, seq: SeqNo) {
        self.through = self.through.max(seq);
    }

    /// One operation more.
    pub(crate) fn change(&mut self, op: ManifestOp) {
        self.edit.ops.push(op);
    }

    /// Takes a run from a stream or a pin, by an operation of its own: its file goes once nothing needs it.
    pub(crate) fn retires(&mut self, run: &Arc<RunHandle>) {
        self.retired.push(Arc::clone(run));
    }

    /// Leaves a stream these range deletes, which are all different, and no others: those that some run
    /// still has to heed.
    pub(crate) fn settle_tombstones(&mut self, stream: StreamId, kept: &[Tombstone]) {
        if let Some(entry) = self.manifest.state().streams.get(&stream) {
            self.edit.ops.extend(entry.to_tombstones(kept));
        }
    }

    /// Lets go of the log before a commit, which [`super::StoreState::log_needed_from`] gives.
    pub(crate) fn release_log(&mut self, needed_from: SeqNo) -> Result<()> {
        let Some(wal) = &self.engine.wal else { return Ok(()) };
        let through = SeqNo(needed_from.0.saturating_sub(1));
        let released = wal.release_through(through).map_err(|error| self.engine.fail(error))?;
        self.set_floor(released);
        Ok(())
    }

    /// Notes that the store is closed in good order: nothing is left to replay.
    pub(crate) fn close(&mut self, last_seq: SeqNo) {
        self.set_floor(self.engine.wal.as_ref().map(|wal| wal.next_id()));
        self.change(ManifestOp::Closed { last_seq });
        self.waits_for(last_seq);
    }

    fn set_floor(&mut self, floor: Option<WalId>) {
        self.floor = floor;
        self.edit.ops.extend(floor.map(ManifestOp::WalFloor));
    }

    /// Notes the commit that it adds, past the log, and gives that its time.
    pub(crate) fn adds_commit(&mut self, seq: SeqNo) {
        self.change(ManifestOp::Committed(seq));
        if let Some(wal) = &self.engine.wal {
            wal.tick();
        }
    }

    /// Whether it changes nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.edit.ops.is_empty()
    }

    /// Makes the edit durable. After an error it has not been made, unless the store is poisoned.
    pub(crate) fn commit(self) -> Result<ReleasedLog<'engine>> {
        let Self { engine, manifest, mut edit, through, floor, retired } = self;
        // The log that says it may go: else a clock that was set back could date later commits earlier.
        let time_ms = engine.wal.as_ref().map_or(0, |wal| wal.time_ms());
        if time_ms > manifest.state().time_ms {
            edit.ops.push(ManifestOp::CommitTime(time_ms));
        }
        engine.sync_through(through)?;
        engine.check_lock()?;
        let time = engine.edit_time(manifest);
        let mut outcome = manifest.commit(&edit, time);
        if let Err(NotDurable::NotMade(error)) = &outcome
            && error.kind() == ErrorKind::NoSpace
            && frees_space(&edit)
            && engine.reserve.release()
        {
            outcome = manifest.commit(&edit, time);
        }
        outcome.map_err(|why| why.failing_in_doubt(|error| engine.fail(error)))?;
        engine.let_go(manifest, retired);
        let folded = engine.fold_history(manifest);
        Ok(ReleasedLog { engine, floor, folded })
    }
}

impl Engine {
    /// Of an edit that is made now. Whoever makes it may hold the commit lock.
    fn edit_time(&self, manifest: &ManifestLog) -> EditTime {
        let in_log = self.wal.as_ref().map(|wal| wal.appended_seq());
        let in_runs = manifest.history().map(History::newest);
        EditTime {
            last_seq: in_log.max(in_runs).unwrap_or_default(),
            wall_ns: self.io.clock.wall_ns(),
        }
    }

    /// An error, and the end of all writing, if another writer may have been let in.
    fn check_lock(&self) -> Result<()> {
        let lock = self.writer_lock.lock().clone();
        let Some(lock) = lock else { return Ok(()) };
        still_ours(&*lock, &self.dir).map_err(|error| self.fail(error))
    }

    /// Lets go of the log that no stream needs any more, now that one has been dropped. What can't be
    /// done goes with the next flush.
    pub(crate) fn release_log(&self, manifest: &mut ManifestLog) -> Result<()> {
        let needed_from = self.core.lock().log_needed_from(&BTreeMap::new());
        let mut edit = Edit::begin(self, manifest);
        edit.release_log(needed_from)?;
        if !edit.is_empty() {
            edit.commit()?.recycle();
        }
        Ok(())
    }
}

/// Whether an edit lets files go, or the log.
fn frees_space(edit: &VersionEdit) -> bool {
    edit.ops.iter().any(|op| {
        matches!(
            op,
            ManifestOp::DropStream(_)
                | ManifestOp::RemoveRun { .. }
                | ManifestOp::RemovePin(_)
                | ManifestOp::SetRetention { .. }
                | ManifestOp::AddTombstone { .. }
                | ManifestOp::WalFloor(_)
                | ManifestOp::Closed { .. }
        )
    })
}
