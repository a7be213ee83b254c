//! What handles on an open store share: with the last of them it closes.

use std::sync::Arc;

use crate::state::Engine;

/// A reference that closes the engine when the last store handle goes.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) engine: Arc<Engine>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Nobody is left to hear of a failure; what was acknowledged is safe in the WAL.
        let _ = self.engine.close();
    }
}
