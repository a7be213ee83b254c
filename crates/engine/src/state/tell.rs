//! What the engine tells whoever listens: events of the crate `tracing`, under `timestrata`.
//!
//! Each is said where the work is done, once neither the commit lock nor the manifest's is held: who
//! listens may write to this very store. Nothing is said of single commits, and no clock is asked where
//! nobody listens.

use super::engine::Engine;
use crate::Result;

impl Engine {
    /// When a piece of work begins, if somebody wants to hear of it.
    pub(crate) fn began(&self, is_heard: bool) -> Option<u64> {
        is_heard.then(|| self.io.clock.monotonic_ns())
    }

    /// Milliseconds since then.
    pub(crate) fn ms_since(&self, began: Option<u64>) -> u64 {
        began.map_or(0, |began| self.io.clock.monotonic_ns().saturating_sub(began) / 1_000_000)
    }

    /// Passes on what came of a call, and tells of the store's failure if it was that. For calls that hold
    /// no lock any more.
    pub(crate) fn telling<T>(&self, outcome: Result<T>) -> Result<T> {
        if outcome.is_err() {
            self.tell_failure();
        }
        outcome
    }

    /// Tells once of the failure since which the store takes no writes.
    pub(crate) fn tell_failure(&self) {
        if let Some(cause) = self.poison.untold() {
            let store = self.dir.display();
            tracing::error!(
                target: "timestrata::poison",
                %store,
                %cause,
                "the store takes no more writes: what is on disk is in doubt, and opening it again recovers"
            );
        }
    }
}
