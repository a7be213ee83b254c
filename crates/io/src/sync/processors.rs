//! How many threads can run at once.

use std::sync::OnceLock;

use super::is_scheduled;

/// Processors that the process may use; found out once, because to ask the system takes longer than
/// to read a few rows. One to whoever may not wait for threads that a simulated schedule doesn't know.
pub fn processors() -> usize {
    if is_scheduled() {
        return 1;
    }
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}
