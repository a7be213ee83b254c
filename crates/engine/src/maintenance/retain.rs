//! Retention: drops whole runs that the stream's rule lets go.

use std::sync::Arc;

use timestrata_format::{RunId, StreamId};

use crate::Result;
use crate::compaction;
use crate::state::{Engine, Slot};

impl Engine {
    /// Drops the runs of a stream that its retention lets go; false if there are none.
    pub(crate) fn retain_step(&self, slot: Slot) -> Result<bool> {
        let _compacting = self.compacting.lock();
        // Mostly there is nothing: no need to wait for the manifest, then.
        if self.expired_of(slot).is_none() {
            return Ok(false);
        }
        let mut manifest = self.lock_manifest()?;
        match self.expired_of(slot) {
            None => Ok(false),
            Some((id, runs)) => self.replace_runs_locked(&mut manifest, (slot, id), &runs, &[]),
        }
    }

    /// The stream of a slot and its runs that retention lets go, if there are any.
    fn expired_of(&self, slot: Slot) -> Option<(StreamId, Vec<RunId>)> {
        let (stream, version, settled_through) = {
            let core = self.core.lock();
            let state = core.streams.get(slot).filter(|state| !state.dropped)?;
            let settled_through = core.settled_through(state);
            (Arc::clone(&state.stream), Arc::clone(&state.version), settled_through)
        };
        let rule = stream.spec().retention;
        if rule.age_ns.is_none() && rule.bytes.is_none() {
            return None;
        }
        let mut metas = version.metas();
        metas.retain(|meta| meta.seq_max <= settled_through);
        let runs = compaction::expired(&stream, &metas, &rule, self.io.clock.wall_ns()).runs;
        (!runs.is_empty()).then(|| (stream.id(), runs))
    }
}
