//! Closing a store.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use timestrata_format::manifest::{ManifestOp, VersionEdit};

use crate::Result;
use crate::state::Engine;

impl Engine {
    /// Flushes, syncs, notes the good order, and lets go of the lock. A second call does
    /// nothing.
    pub(crate) fn close(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Ok(());
        }
        self.workers.stop();
        let outcome = match self.manifest {
            Some(_) => self.settle(),
            None => Ok(()),
        };
        self.closed.store(true, Ordering::Release);
        self.room.notify_all();
        self.bulks.give_up();
        *self.writer_lock.lock() = None;
        outcome
    }

    /// Leaves nothing for recovery to replay, and takes no more commits.
    fn settle(&self) -> Result<()> {
        self.check_writable()?;
        if let Err(error) = self.flush_all()
            && (self.poison.is_set() || self.wal.is_none())
        {
            return Err(error);
        }
        // What there was no room to flush is safe in the log: the next open replays it.
        let mut manifest = self.lock_manifest()?;
        let (last_seq, log_needed_from) = {
            let core = self.core.lock();
            // Whoever commits looks at this under the same lock: none comes behind the last.
            self.closed.store(true, Ordering::Release);
            (core.last_seq, core.log_needed_from(&BTreeMap::new()))
        };
        if log_needed_from <= last_seq {
            // Or somebody committed while we flushed.
            return self.sync_through(last_seq).map(|_| ());
        }
        let floor = self.wal.as_ref().map(|wal| ManifestOp::WalFloor(wal.next_id()));
        let mut edit = VersionEdit { ops: floor.clone().into_iter().collect() };
        edit.ops.push(ManifestOp::Closed { last_seq });
        if let Err(error) = self.commit_edit(&mut manifest, &edit, last_seq) {
            // With no room for the edit the store is as a process leaves it that is killed: all there.
            return if self.poison.is_set() { Err(error) } else { Ok(()) };
        }
        manifest.sync_copy();
        self.recycle_wal(floor);
        if let Some(wal) = &self.wal {
            wal.shed_spares();
        }
        Ok(())
    }
}
