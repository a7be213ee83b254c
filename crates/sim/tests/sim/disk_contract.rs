//! The simulated disk, as long as nothing fails, behaves as the others do.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

#[path = "../../../io/tests/io/contract/behaviours.rs"]
mod behaviours;

use std::path::Path;

use timestrata_io::Disk;
use timestrata_sim::SimDisk;

/// Runs `behaviour` on the simulated disk, in an empty directory.
fn on_every_disk(behaviour: impl Fn(&dyn Disk, &Path)) {
    let disk = SimDisk::new(1);
    let dir = Path::new("/store");
    disk.create_dir(dir).unwrap();
    behaviour(&disk, dir);
}
