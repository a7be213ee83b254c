//! The commit lock for those who look: what a view would have to merge first is merged without it.
//!
//! One reader of a stream merges at a time, under the stream's `merging` lock, which is taken before the
//! commit lock; the others wait for what it makes, and writers for nobody.

use std::sync::Arc;

use timestrata_format::StreamId;
use timestrata_io::sync::{Mutex, MutexGuard};

use super::engine::Engine;
use super::store_state::{Slot, StoreState};

/// Large merges before a view, at most: rows that come faster than they are merged would have a reader merge
/// for ever. What is left then is merged under the commit lock.
const MERGES_MAX: usize = 8;

/// A stream with a large merge to be made, and the lock for that.
pub(crate) struct ToMerge {
    pub(crate) slot: Slot,
    pub(crate) stream: StreamId,
    pub(crate) merging: Arc<Mutex<()>>,
}

impl Engine {
    /// The commit lock, with little left to do for a view of some streams, or of all.
    pub(crate) fn core_to_view(&self, of: Option<&[StreamId]>) -> MutexGuard<'_, StoreState> {
        let mut core = self.core.lock();
        for _ in 0..MERGES_MAX {
            let Some(to_merge) = core.merge_due(of) else { break };
            drop(core);
            self.merge_apart(&to_merge);
            core = self.core.lock();
        }
        core
    }

    fn merge_apart(&self, ToMerge { slot, stream, merging }: &ToMerge) {
        let _merging = merging.lock();
        let mut core = self.core.lock();
        // Asked again: whoever had the lock before may have done it.
        let Some(state) = core.at_mut(*slot, *stream) else { return };
        let Some(parts) = state.active.next_large_merge() else { return };
        drop(core);
        let merged = parts.run();
        let mut core = self.core.lock();
        if let Some(state) = core.at_mut(*slot, *stream) {
            state.active.adopt(&parts, merged);
            core.count(*slot);
        }
        // The parts are let go of after the lock.
        drop(core);
    }
}
