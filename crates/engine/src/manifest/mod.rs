//! The manifest: which streams, runs, tombstones and pins make the store.
//!
//! [`ManifestState`] is what the edits add up to; [`ManifestLog`] is the file. An edit is
//! durable before anything it describes is shown to readers or its WAL is let go. [`History`] has what they added up to a
//! while ago.

mod history;
mod history_edit;
mod history_file;
mod load;
mod log;
mod refine;
mod state;
mod tries;

pub(crate) use history::{EditTime, Folded, History, HistoryLimits, check_not_stale, runs_named};
pub(crate) use history_edit::HistoryEdit;
pub(crate) use history_file::HISTORY_NAMES;
pub(crate) use load::{LoadedManifest, ManifestStamp, load, load_again, salvage};
pub(crate) use log::{COPY_NAME, MANIFEST_NAME, MANIFEST_NAMES, ManifestLog};
pub(crate) use state::{ManifestState, StreamEntry};
pub(crate) use tries::{Tries, too_fast};
