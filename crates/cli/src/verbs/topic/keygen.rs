//! `timestrata keygen`.

use std::path::PathBuf;

use clap::Args;
use timestrata::Io;
use timestrata::topic::KeyFile;

use crate::failure::Result;
use crate::output::print;

/// Make a key that signs checkpoints, and print its public half.
#[derive(Debug, Args)]
#[command(after_help = "\
The file is made for its owner alone, and never overwritten. Keep it outside of the store: a store \
that is put back to an older copy signs nothing against what is kept beside the key.

Example:
  timestrata keygen ./signing.key --name example.org/events")]
pub(crate) struct KeygenArgs {
    /// The file to make.
    file: PathBuf,
    /// What signatures call the key: best a domain and path of yours; no spaces, no plus sign.
    #[arg(long)]
    name: String,
}

pub(crate) fn run(arguments: &KeygenArgs) -> Result<()> {
    let key = KeyFile::generate(&Io::os(), &arguments.file, &arguments.name)?;
    print(format_args!("{}\n", key.signer().verifier()))
}
