//! The `timestrata` command, for those who install it with cargo.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(timestrata_cli::run(std::env::args_os()))
}
