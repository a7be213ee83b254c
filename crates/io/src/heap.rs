//! Memory that was freed, but that the process still holds.

/// Gives memory that has been freed back to the system, where the allocator keeps it and can be asked to: glibc's. It keeps
/// what lies below the last piece in use of each thread's share, and with threads that come and go that adds up.
///
/// ```
/// let freed: Vec<Vec<u8>> = (0..100).map(|_| vec![1; 10_000]).collect();
/// drop(freed);
/// timestrata_io::give_back_memory();
/// ```
pub fn give_back_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: any thread may call it at any time; it locks what it looks at, and touches nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests;
