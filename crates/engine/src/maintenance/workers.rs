//! What threads of the store's own do where maintenance is in the background.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use timestrata_format::StreamId;

use super::compact::CompactedFor;
use super::until_done;
use crate::Result;
use crate::state::{Counters, Engine, Role, Slot, StoreState, StreamState, Version, Work};

/// Compaction and retention look for work at least this often.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// Memory is given back to the system no more often: who reads next meets its pages anew.
const GIVE_BACK_INTERVAL: Duration = Duration::from_secs(60);
/// Nor before so many bytes were flushed and compacted.
const GIVEN_BACK_AFTER: u64 = 16 << 20;

/// Starts the threads: one flushes, one compacts, retains and scrubs, one syncs, one makes the log's next
/// segment ready. Idle ones sleep.
pub(crate) fn start(engine: &Arc<Engine>) -> Result<()> {
    let sync_interval = engine.settings.sync_interval;
    let role = |name, interval, work, hears_calls| Role { name, interval, work, hears_calls };
    let roles = [
        role("timestrata-flush", LOOK_INTERVAL, Engine::flush_due as _, true),
        role("timestrata-compact", LOOK_INTERVAL, Engine::compact_due, true),
        role("timestrata-sync", sync_interval, Engine::sync_due, false),
        role("timestrata-log", LOOK_INTERVAL, Engine::prepare_log, true),
    ];
    engine.workers.start(engine, roles)
}

/// A stream that there may be something to do for.
struct DueStream {
    slot: Slot,
    id: StreamId,
    version: Weak<Version>,
    /// Whether all runs and range deletes may be touched now. Those of which some may not are looked
    /// at again, though nothing has changed.
    is_settled: bool,
}

/// Streams that have changed since they were looked at, or whose rows grow too old with time.
fn candidates(core: &StoreState) -> Vec<DueStream> {
    let is_due = |state: &StreamState| {
        let is_idle = is_version(&state.idle, &state.version);
        let ages = state.stream.spec().retention.age_ns.is_some();
        !state.version.runs.is_empty() && (!is_idle || ages)
    };
    let live = core.live().filter(|(_, state)| is_due(state));
    live.map(|(slot, state)| {
        let runs = state.version.runs.iter().map(|run| run.meta.seq_max);
        let newest = runs.max().max(state.version.tombstones.newest());
        let is_settled = newest <= Some(core.settled_through(state));
        let version = Arc::downgrade(&state.version);
        DueStream { slot, id: state.stream.id(), version, is_settled }
    })
    .collect()
}

/// Remembers that there is nothing to do for a version, if the stream still has it.
fn note_idle(core: &mut StoreState, slot: Slot, id: StreamId, version: Weak<Version>) {
    if core.at(slot, id).is_some_and(|state| is_version(&version, &state.version)) {
        core.streams[slot].idle = version;
    }
}

/// Whether it is this very version: while it is held, if weakly, no other is at its place in memory.
fn is_version(held: &Weak<Version>, version: &Arc<Version>) -> bool {
    std::ptr::eq(held.as_ptr(), Arc::as_ptr(version))
}

impl Engine {
    /// Notes what came of a try. A store that is closed or poisoned has its own word for that.
    pub(super) fn note<T>(&self, work: Work, outcome: &Result<T>) {
        if outcome.is_ok() || !(self.poison.is_set() || self.check_open().is_err()) {
            self.troubles.note(work, outcome, self.io.clock.monotonic_ns());
        }
    }

    /// Whether work failed just now. Where the caller is to do all work himself nothing is too early.
    fn is_early(&self, work: Work) -> bool {
        !self.is_manual() && self.troubles.is_early(work, self.io.clock.monotonic_ns())
    }

    /// All flushes that are due.
    fn flush_due(&self) -> Result<()> {
        if self.is_early(Work::Flush) {
            return Ok(());
        }
        let outcome = self.flush_sealed();
        if outcome.is_err() {
            // Whoever waits for room looks again. With the lock, so that none who looked before goes to
            // wait only now.
            drop(self.core.lock());
            self.room.notify_all();
        }
        outcome
    }

    /// The log's next segment.
    fn prepare_log(&self) -> Result<()> {
        let Some(wal) = &self.wal else { return Ok(()) };
        self.reserve.restore();
        // Where there is little room the log takes it when it must.
        if self.is_early(Work::LogFile) || !self.makes_room_for(self.settings.wal_segment_bytes) {
            return Ok(());
        }
        let prepared = wal.prepare_spare().map_err(|error| self.fail_unless_refused(error));
        self.note(Work::LogFile, &prepared);
        prepared
    }

    /// All compaction and retention that is due.
    pub(crate) fn compact_due(&self) -> Result<()> {
        let outcome = until_done(|| self.maintain_runs());
        self.fold_history_due();
        self.scrub_due();
        self.give_back_memory();
        outcome
    }

    /// Gives back what the allocator keeps, now and then: in two hours of small compactions beside five models' loads that came
    /// to 20 MiB.
    fn give_back_memory(&self) {
        let Counters { flush_bytes, compaction_bytes, given_back_bytes, .. } = &self.counters;
        let written =
            flush_bytes.load(Ordering::Relaxed) + compaction_bytes.load(Ordering::Relaxed);
        // Of one thread's alone.
        let since = written - given_back_bytes.load(Ordering::Relaxed);
        if since >= GIVEN_BACK_AFTER && timestrata_io::give_back_memory(GIVE_BACK_INTERVAL) {
            given_back_bytes.store(written, Ordering::Relaxed);
        }
    }

    /// How many streams the next call of [`Engine::maintain_runs`] looks at.
    #[cfg(test)]
    pub(crate) fn maintenance_candidates(&self) -> usize {
        candidates(&self.core.lock()).len()
    }

    /// One piece of compaction or retention of any stream; false if none was due. What fails of one
    /// stream is passed over until its time has come again, and told if all others have nothing to do.
    pub(crate) fn maintain_runs(&self) -> Result<bool> {
        let candidates = candidates(&self.core.lock());
        let mut trouble = None;
        for DueStream { slot, id, version, is_settled } in candidates {
            self.check_open()?;
            if self.workers.is_stopping() {
                return Ok(false);
            }
            let work = Work::Compaction(id);
            if self.is_early(work) {
                continue;
            }
            let done = self.retain_step(slot).and_then(|retained| match retained {
                true => Ok(true),
                false => self.compact_step(slot, CompactedFor::Nobody),
            });
            self.note(work, &done);
            match done {
                Ok(true) => return Ok(true),
                Ok(false) if is_settled => note_idle(&mut self.core.lock(), slot, id, version),
                Ok(false) => {}
                Err(error) if self.poison.is_set() => return Err(error),
                Err(error) => trouble = trouble.or(Some(error)),
            }
        }
        trouble.map_or(Ok(false), Err)
    }

    /// Syncs what has been written but not synced.
    pub(crate) fn sync_due(&self) -> Result<()> {
        let Some(wal) = &self.wal else { return Ok(()) };
        let appended = wal.appended_seq();
        if wal.synced_seq() < appended {
            self.sync_through(appended)?;
        }
        Ok(())
    }
}
