//! What lies in a store's directory: names, the list of files held against the manifest, and the
//! quarantine for run files that no version names.

mod files;
mod quarantine;

pub(crate) use files::list_files;
pub use quarantine::QuarantinedFile;
pub(crate) use quarantine::{QUARANTINE_DIR, list as list_quarantine, set_aside};

pub(crate) use crate::lock::LOCK_NAME;

/// Directory of run files, in the store's.
pub(crate) const RUNS_DIR: &str = "runs";
/// Directory of WAL segments, in the store's.
pub(crate) const WAL_DIR: &str = "wal";
/// Directory of the tokens that let clients of a server in, in the store's. It is the server's: the engine
/// only knows that it belongs there, and a backup leaves it out.
pub const TOKENS_DIR: &str = "tokens";
/// How far the scrubber has come.
pub(crate) const SCRUB_NAME: &str = "SCRUB";
/// Space that is held back for a full disk.
pub(crate) const RESERVE_NAME: &str = "RESERVE";
