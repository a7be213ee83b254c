//! Every disk behaves alike: the disk in memory and the real one.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

#[path = "contract/behaviours.rs"]
mod behaviours;

use std::path::Path;

use timestrata_io::{Disk, MemoryDisk, OsDisk};

/// Runs `behaviour` on each disk, in an empty directory.
fn on_every_disk(behaviour: impl Fn(&dyn Disk, &Path)) {
    let memory = MemoryDisk::new();
    let dir = Path::new("/store");
    memory.create_dir(dir).unwrap();
    behaviour(&memory, dir);

    let dir = tempfile::tempdir().unwrap();
    behaviour(&OsDisk::new(), dir.path());
}

#[test]
fn free_bytes_is_known_only_where_there_is_an_end() {
    let dir = tempfile::tempdir().unwrap();
    assert!(OsDisk::new().free_bytes(dir.path()).unwrap().is_some_and(|bytes| bytes > 0));
    assert!(OsDisk::new().free_bytes(&dir.path().join("missing")).is_err());
    assert_eq!(MemoryDisk::new().free_bytes(Path::new("/")).unwrap(), None);
}
