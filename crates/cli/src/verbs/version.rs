//! `timestrata version`.

use std::io::{self, Write};

use clap::Args;

use crate::failure::{Failure, Result};

/// Print the versions of the software and of its file formats.
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_arguments: &Arguments) -> Result<()> {
    writeln!(
        io::stdout(),
        "timestrata {} (store format {})",
        env!("CARGO_PKG_VERSION"),
        timestrata::FORMAT_VERSION
    )
    .map_err(|cause| Failure::output(&cause))
}
