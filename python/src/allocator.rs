//! The allocator of the native part: Python's own objects have another.

use pyo3::prelude::*;

/// The system's, where that is glibc's, keeps what is free in a share for each thread, and what little lives on in a share keeps
/// all of it: under a mixed load the memory of a process grew by the hour. ARCHITECTURE.md has the figures. Elsewhere it has not been
/// tried: on arm64 it has to be built for the largest pages that a system may have.
#[cfg(all(feature = "jemalloc", target_arch = "x86_64", target_os = "linux"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Bytes that the native part has of its allocator, for all stores of the process. Python's own objects are not among them, nor is
/// what is free and kept.
///
/// Returns
/// -------
/// int or None
///     None where the allocator does not tell.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> store = timestrata.open()
/// >>> allocated = timestrata.allocated_bytes()
/// >>> allocated is None or allocated > 0
/// True
#[pyfunction]
pub(crate) fn allocated_bytes() -> Option<usize> {
    #[cfg(all(feature = "jemalloc", target_arch = "x86_64", target_os = "linux"))]
    {
        // What is told is as of then.
        tikv_jemalloc_ctl::epoch::advance().ok()?;
        tikv_jemalloc_ctl::stats::allocated::read().ok()
    }
    #[cfg(not(all(feature = "jemalloc", target_arch = "x86_64", target_os = "linux")))]
    None
}
