//! Retention: drops whole runs that the stream's rule lets go.

use crate::Result;
use crate::compaction;
use crate::store::{Engine, Slot};

impl Engine {
    /// Drops the runs of a stream that its retention lets go; false if there are none.
    pub(crate) fn retain_step(&self, slot: Slot) -> Result<bool> {
        let _compacting = self.compacting.lock();
        let mut manifest = self.lock_manifest()?;
        let expired = {
            let core = self.core.lock();
            let Some(state) = core.streams.get(slot).filter(|state| !state.dropped) else {
                return Ok(false);
            };
            let mut metas = state.version.metas();
            let settled_through = core.settled_through(state);
            metas.retain(|meta| meta.seq_max <= settled_through);
            let rule = state.stream.spec().retention;
            compaction::expired(&state.stream, &metas, &rule, self.io.clock.wall_ns()).runs
        };
        if expired.is_empty() {
            return Ok(false);
        }
        self.replace_runs_locked(&mut manifest, slot, &expired, &[])
    }
}
