//! A simulated disk with one directory.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::path::Path;
use std::sync::Arc;

use timestrata_io::{Disk, DiskFile, OpenMode};
use timestrata_sim::SimDisk;

pub(crate) fn disk_with_dir() -> SimDisk {
    let disk = SimDisk::new(42);
    disk.create_dir(Path::new("/d")).unwrap();
    disk.sync_dir(Path::new("/")).unwrap();
    disk
}

pub(crate) fn create(disk: &SimDisk, path: &str) -> Arc<dyn DiskFile> {
    disk.open(Path::new(path), OpenMode::CreateNew).unwrap()
}
