//! Retention: drops whole runs that the stream's rule lets go.

use std::sync::Arc;

use timestrata_format::RunId;

use super::compact::RunsReplaced;
use crate::compaction;
use crate::state::{Engine, Slot};
use crate::{Result, Stream};

/// What a stream's retention lets go.
struct Expired {
    stream: Arc<Stream>,
    runs: Vec<RunId>,
    bytes: u64,
}

impl Engine {
    /// Drops the runs of a stream that its retention lets go; false if there are none.
    pub(crate) fn retain_step(&self, slot: Slot) -> Result<bool> {
        let _compacting = self.compacting.lock();
        // Mostly there is nothing: no need to wait for the manifest, then.
        if self.expired_of(slot).is_none() {
            return Ok(false);
        }
        let mut manifest = self.lock_manifest()?;
        let Some(Expired { stream, runs, bytes }) = self.expired_of(slot) else { return Ok(false) };
        let at = (slot, stream.id());
        let is_done = self.replace_runs_locked(&mut manifest, at, &RunsReplaced::expired(&runs))?;
        drop(manifest);
        if is_done {
            tracing::debug!(
                target: "timestrata::retention",
                stream = stream.name(),
                runs = runs.len(),
                bytes,
                "let go of runs that have expired"
            );
        }
        Ok(is_done)
    }

    /// The stream of a slot and its runs that retention lets go, if there are any.
    fn expired_of(&self, slot: Slot) -> Option<Expired> {
        let target = self.compaction_target(slot, &[])?;
        let rule = target.stream.spec().retention;
        if rule.age_ns.is_none() && rule.bytes.is_none() {
            return None;
        }
        let now_ns = self.io.clock.wall_ns();
        let runs = compaction::expired(&target.stream, &target.metas(), &rule, now_ns);
        let bytes = target.bytes_of(&runs);
        (!runs.is_empty()).then_some(Expired { stream: target.stream, runs, bytes })
    }
}
