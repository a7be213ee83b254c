//! Streams that are made for one commit: not there until it is.
//!
//! ```text
//! made      in the manifest, with the property `provisional`: the same value for all that are made together
//! unmade    no commit has changed any of them: hidden from all but their maker; none, after a crash
//! changed   by the commit: there, for everybody, as long as that commit is
//! settled   without the property, by the next opening or by whoever needs them to be durable by themselves
//! ```

use std::sync::Arc;

use super::store_state::{Slot, StoreState, StreamState};
use crate::Stream;

/// Tells those who make streams apart.
pub(crate) type Maker = u64;

/// What somebody sees who looks for a stream.
#[derive(Debug)]
pub(crate) enum Seen {
    No,
    Yes(Arc<Stream>),
    /// Somebody else is making it.
    BeingMade(Arc<Stream>),
}

impl StreamState {
    /// Whether any commit has changed it that is still known.
    fn has_been_changed(&self) -> bool {
        self.flushed_through.0 > 0
            || !self.active.is_empty()
            || !self.sealed.is_empty()
            || !self.version.runs.is_empty()
            || !self.version.tombstones.is_empty()
    }
}

impl StoreState {
    /// Whether a stream was made for a commit that is not there.
    pub(crate) fn is_unmade(&self, slot: Slot) -> bool {
        let Some(state) = self.streams.get(slot).filter(|state| !state.dropped) else {
            return false;
        };
        let Some(group) = state.stream.provisional_group() else { return false };
        // Mostly that is enough, and no other stream has to be looked at.
        if state.has_been_changed() {
            return false;
        }
        let mut others = self.made_together(group);
        !others.any(|(_, state)| state.has_been_changed())
    }

    /// The streams that were made together for one commit, and not settled since.
    pub(crate) fn made_together(&self, group: &str) -> impl Iterator<Item = (Slot, &StreamState)> {
        self.live().filter(move |(_, state)| state.stream.provisional_group() == Some(group))
    }

    /// What is seen of a slot by somebody who makes streams, or by anybody.
    pub(crate) fn seen(&self, slot: Slot, by: Option<Maker>) -> Seen {
        let Some(state) = self.streams.get(slot).filter(|state| !state.dropped) else {
            return Seen::No;
        };
        let stream = Arc::clone(&state.stream);
        if !self.is_unmade(slot) {
            return Seen::Yes(stream);
        }
        match self.provisional.get(&stream.id()) {
            None => Seen::No,
            Some(maker) if Some(*maker) == by => Seen::Yes(stream),
            Some(_) => Seen::BeingMade(stream),
        }
    }

    /// The slots of streams that a maker has made, which are let go of.
    pub(crate) fn take_made_by(&mut self, maker: Maker) -> Vec<Slot> {
        let mine: Vec<_> = self.provisional.extract_if(|_, by| *by == maker).collect();
        mine.iter().filter_map(|(stream, _)| self.slot_of(*stream).ok()).collect()
    }
}
