//! `timestrata vkey`.

use std::path::Path;

use clap::Args;
use timestrata::Io;
use timestrata::merkle::Verifier;
use timestrata::topic::{KeyFile, verifier_of_log};

use crate::failure::{Failure, Result};
use crate::output::print;
use crate::secret;

/// Print the public half of a key, or that of one log which it signs.
#[derive(Debug, Args)]
#[command(after_help = "\
Checkpoints are signed in the name of the log, NAME/TOPIC/PARTITION, so software of others wants the key under that \
name. Anybody can make it of the public key; 'verify-proof' takes both.

Examples:
  timestrata vkey ./signing.key
  timestrata vkey ./signing.key --topic payments --partition 3
  timestrata vkey 'example.org/events+1a2b3c4d+...' --topic payments")]
pub(crate) struct VkeyArgs {
    /// The file with the private key, or a public key as text.
    key: String,
    /// The topic whose log it is; default: the key as it is.
    #[arg(long)]
    topic: Option<String>,
    /// The topic's partition.
    #[arg(long, requires = "topic", default_value_t = 0)]
    partition: u32,
}

pub(crate) fn run(arguments: &VkeyArgs) -> Result<()> {
    let key = public_key(&arguments.key)?;
    let key = match &arguments.topic {
        None => key,
        Some(topic) => verifier_of_log(&key, topic, arguments.partition)?,
    };
    print(format_args!("{key}\n"))
}

/// The key that is written out, or that of a file.
fn public_key(text: &str) -> Result<Verifier> {
    // A path may have a plus sign too: the file counts.
    if let Ok(key) = text.trim().parse() {
        return Ok(key);
    }
    of_file(Path::new(text))
}

/// The public half of the key in a file.
pub(crate) fn of_file(path: &Path) -> Result<Verifier> {
    secret::check(path, "the signing key")?;
    Ok(KeyFile::open(&Io::os(), path)?.signer().verifier().clone())
}

/// A public key that is trusted, from the command line.
pub(super) fn trusted(text: &str) -> Result<Verifier> {
    text.trim().parse().map_err(|error| {
        Failure::usage(format!("--vkey: {error}"), "give it as 'keygen' or 'vkey' printed it")
    })
}
