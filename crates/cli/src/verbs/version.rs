//! `timestrata version`.

use clap::Args;

use crate::failure::Result;
use crate::output::print;

/// Print the versions of the software and of its file formats.
#[derive(Debug, Args)]
pub(crate) struct VersionArgs {}

pub(crate) fn run(_arguments: &VersionArgs) -> Result<()> {
    let (version, format) = (env!("CARGO_PKG_VERSION"), timestrata::FORMAT_VERSION);
    print(format_args!("timestrata {version} (store format {format})\n"))
}
