//! How much searches of logs have in memory, all of a server together.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};

/// So many searches of a server read at once, as long as none reads for long.
const READING_MAX: usize = 4;
/// How long one waits for its turn.
const TURN_WAIT_MAX: Duration = Duration::from_millis(500);
/// So many have read ahead.
pub(crate) const AHEAD_MAX: usize = 16;

/// How much all searches of a server have in memory: so many read at once, and so many may have read ahead. What one has read may be
/// 32 MiB, and hundreds may come together whose clients take nothing.
#[derive(Debug)]
pub(crate) struct SearchLimits {
    reading: Semaphore,
    pub(crate) ahead: Arc<Semaphore>,
}

impl SearchLimits {
    /// Waits for a turn to read, within a thread that may. Others may read for minutes that find little: whoever has waited for a
    /// while reads without one.
    pub(crate) fn turn(&self, runtime: &Handle) -> Option<SemaphorePermit<'_>> {
        let turn = async { tokio::time::timeout(TURN_WAIT_MAX, self.reading.acquire()).await };
        runtime.block_on(turn).ok()?.ok()
    }
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self { reading: Semaphore::new(READING_MAX), ahead: Arc::new(Semaphore::new(AHEAD_MAX)) }
    }
}
