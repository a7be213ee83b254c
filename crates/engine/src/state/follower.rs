//! A read-only store's memory of how far it has read: [`crate::recovery`] reads on from there.

use std::path::PathBuf;

use timestrata_io::sync::Mutex;

use crate::manifest::{LoadedManifest, ManifestStamp};
use crate::wal::WalPosition;

/// How far a read-only store has read.
#[derive(Debug)]
pub(crate) struct FollowerProgress {
    pub(crate) manifest: ManifestStamp,
    pub(crate) position: WalPosition,
}

/// What a read-only store needs to catch up with the writer.
#[derive(Debug)]
pub(crate) struct Follower {
    pub(crate) wal_dir: PathBuf,
    pub(crate) progress: Mutex<FollowerProgress>,
}

impl Follower {
    pub(crate) fn new(wal_dir: PathBuf, loaded: &LoadedManifest, position: WalPosition) -> Self {
        let progress = FollowerProgress { manifest: loaded.stamp(), position };
        Self { wal_dir, progress: Mutex::new(progress) }
    }
}
