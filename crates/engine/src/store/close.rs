//! Closing a store.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use crate::Result;
use crate::state::{Edit, Engine};

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
        self.committed.wake();
        self.bulks.give_up();
        *self.writer_lock.lock() = None;
        if self.moment.is_some() {
            return outcome;
        }
        let store = self.dir.display();
        match &outcome {
            Ok(()) => tracing::info!(target: "timestrata::close", %store, "closed a store"),
            Err(error) => tracing::warn!(
                target: "timestrata::close",
                %store,
                %error,
                "closed a store, not in good order"
            ),
        }
        self.telling(outcome)
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
        let mut edit = Edit::begin(self, &mut manifest);
        edit.close(last_seq);
        let released = match edit.commit() {
            Ok(released) => released,
            // With no room for the edit the store is as a process leaves it that is killed: all there.
            Err(error) => return if self.poison.is_set() { Err(error) } else { Ok(()) },
        };
        manifest.settle();
        released.recycle();
        if let Some(wal) = &self.wal {
            wal.remove_spares();
            if !self.settings.history_min.is_zero() {
                wal.leave_short();
            }
        }
        Ok(())
    }
}
