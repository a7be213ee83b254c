//! What is made at its first use and may fail to be.

use std::sync::OnceLock;

/// What a cell holds, which `make` makes the first time. A failure is not remembered. Of threads that
/// come at the same time each may make it: one value stays.
///
/// # Errors
/// Those of `make`.
#[inline]
pub fn get_or_try_init<T, E>(
    cell: &OnceLock<T>,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<&T, E> {
    if let Some(held) = cell.get() {
        return Ok(held);
    }
    let made = make()?;
    Ok(cell.get_or_init(|| made))
}
