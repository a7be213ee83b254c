//! `timestrata verify-consistency`.

use std::path::{Path, PathBuf};

use clap::Args;
use timestrata::topic::{hashes_of_text, verify_checkpoints};

use super::vkey;
use crate::failure::{Failure, Result};
use crate::input::read_text;
use crate::message::tell;

/// Verify that a log was only appended to between two checkpoints. Needs no store.
#[derive(Debug, Args)]
#[command(after_help = "\
Both checkpoints must be signed by the key, and be of one log. Where they have the same number of records the proof is \
left out: their roots must be the same. The exit code is 1 if it isn't shown.

Example:
  timestrata verify-consistency old.checkpoint new.checkpoint --proof 1000-2000.proof --vkey 'example.org/events+...'")]
pub(crate) struct VerifyConsistencyArgs {
    /// The file with the earlier checkpoint.
    old: PathBuf,
    /// The file with the later one.
    new: PathBuf,
    /// The file with the proof, as 'consistency' printed it.
    #[arg(long, value_name = "FILE")]
    proof: Option<PathBuf>,
    /// The public key that is trusted: the log's own, or the one that signs for several.
    #[arg(long, value_name = "KEY")]
    vkey: String,
}

pub(crate) fn run(arguments: &VerifyConsistencyArgs) -> Result<()> {
    let key = vkey::trusted(&arguments.vkey)?;
    let old = read_text(&arguments.old, "the earlier checkpoint")?;
    let new = read_text(&arguments.new, "the later checkpoint")?;
    let proof = arguments.proof.as_deref().map(hashes).transpose()?.unwrap_or_default();
    let (old, new) = verify_checkpoints(old.as_bytes(), new.as_bytes(), &proof, &key).map_err(
        |error| {
            Failure::failed(
                format!("not proved: {error}"),
                "the checkpoints, the proof or the key are not of one log that was only appended to: keep both \
                 checkpoints, as they may show what was changed",
            )
        },
    )?;
    tell(format_args!(
        "proved: {} has {} records and begins with the {} that it had",
        new.origin, new.size, old.size
    ));
    Ok(())
}

fn hashes(path: &Path) -> Result<Vec<timestrata::merkle::Hash>> {
    let text = read_text(path, "the proof")?;
    hashes_of_text(&text).map_err(|error| {
        Failure::failed(
            format!("{}: {error}", path.display()),
            "give the file as 'consistency' printed it",
        )
    })
}
