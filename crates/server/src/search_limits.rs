//! How much searches of logs have in memory, all of a server together.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// So many searches of a server read at once. Others wait their turn, which is a read of one batch.
pub(crate) const READING_MAX: usize = 4;
/// So many have read ahead.
pub(crate) const AHEAD_MAX: usize = 16;

/// How much all searches of a server have in memory: so many read at once, and so many may have read ahead. What one has read may be
/// 32 MiB, and hundreds may come together whose clients take nothing.
#[derive(Debug)]
pub(crate) struct SearchLimits {
    pub(crate) reading: Semaphore,
    pub(crate) ahead: Arc<Semaphore>,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self { reading: Semaphore::new(READING_MAX), ahead: Arc::new(Semaphore::new(AHEAD_MAX)) }
    }
}
