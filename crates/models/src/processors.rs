//! How many threads can run at once.

use std::sync::OnceLock;

/// Processors that the process may use; found out once, because to ask the system takes longer than
/// to read a few rows.
pub(crate) fn processors() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}
