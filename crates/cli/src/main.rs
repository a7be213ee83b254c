//! The `timestrata` command, for those who install it with cargo.
#![forbid(unsafe_code)]

use std::process::ExitCode;

/// As the Python package has it: a server runs for long.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    ExitCode::from(timestrata_cli::run(std::env::args_os()))
}
