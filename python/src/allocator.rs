//! The allocator of the native part: Python's own objects have another.

use pyo3::prelude::*;

/// The system's, where that is glibc's, keeps what is free in a share for each thread, and what little lives on in a share keeps
/// all of it: under a mixed load the memory of a process grew by the hour. ARCHITECTURE.md has the figures. Elsewhere it has not been
/// tried: on arm64 it has to be built for the largest pages that a system may have.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What is set of it before it begins: two shares for all threads, as many threads allocate little each; and pieces of a mebibyte
/// and more go back to the system when they are freed. Else what a list that grew left behind stayed for ten seconds: 53 bytes a row of
/// a time log in memory, and 21 so. The words are jemalloc's (`man jemalloc`, TUNING).
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
// SAFETY: jemalloc declares this symbol as a pointer to a string that ends with a zero, for programs to define, and
// reads it only. A reference to an array is such a pointer.
#[unsafe(export_name = "_rjem_malloc_conf")]
static CONFIGURATION: &[u8; 37] = b"narenas:2,oversize_threshold:1048576\0";

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
    Some(of_jemalloc()?.0)
}

/// Bytes that the native part's allocator has given out, those of pages that hold some of them, and those that it has of the system
/// (with what is free and kept, and its own records). None where it does not tell. For who measures; not part of the package's surface.
#[pyfunction]
#[pyo3(name = "_allocator_bytes")]
pub(crate) fn allocator_bytes() -> Option<(usize, usize, usize)> {
    of_jemalloc()
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn of_jemalloc() -> Option<(usize, usize, usize)> {
    use tikv_jemalloc_ctl::{epoch, stats};
    // What is told is as of then.
    epoch::advance().ok()?;
    Some((
        stats::allocated::read().ok()?,
        stats::active::read().ok()?,
        stats::resident::read().ok()?,
    ))
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
const fn of_jemalloc() -> Option<(usize, usize, usize)> {
    None
}
