#![cfg(all(target_os = "linux", target_env = "gnu"))]

use super::give_back_memory;

/// Bytes of memory that no file is behind.
#[expect(
    clippy::disallowed_methods,
    reason = "the system's word on this process is no file of a store"
)]
fn anonymous_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

#[test]
fn memory_that_was_freed_below_what_is_in_use_is_given_back() {
    // Short of what the allocator takes from the system piece by piece.
    let mut pieces: Vec<Vec<u8>> = (0..1_024).map(|_| vec![1; 64 << 10]).collect();
    let last = pieces.pop();
    drop(pieces);
    let kept = anonymous_bytes();
    give_back_memory();
    let left = anonymous_bytes();
    drop(last);
    assert!(left + (32 << 20) < kept, "{left} bytes left of {kept}");
}
