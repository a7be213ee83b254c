//! Kills: what is left of a store before each call of the disk.

use std::io;
use std::path::Path;
use std::sync::Arc;

use timestrata_engine::Io;
use timestrata_io::Disk;
use timestrata_io::sync::Mutex;

use crate::support::Machine;
use crate::watched_disk::{Step, WatchedDisk, Watcher};

/// What a kill would leave before each call of the disk, with what had been seen by then.
#[derive(Debug, Default)]
pub(crate) struct Kills<T> {
    pub(crate) machine: Mutex<Option<Machine>>,
    pub(crate) seen: Mutex<T>,
    pub(crate) left: Mutex<Vec<(Machine, T, String)>>,
}

impl<T: Clone + std::fmt::Debug + Send + Sync + 'static> Watcher for Kills<T> {
    fn before(&self, step: Step, path: &Path) -> io::Result<()> {
        if let Some(machine) = &*self.machine.lock() {
            let what = format!("killed before {step:?} of {}", path.display());
            self.left.lock().push((machine.copy(), self.seen.lock().clone(), what));
        }
        Ok(())
    }
}

/// The surroundings of a machine in which kills are noted.
pub(crate) fn watched<T: Clone + std::fmt::Debug + Send + Sync + 'static>(
    machine: &Machine,
    kills: &Arc<Kills<T>>,
) -> Io {
    let disk = WatchedDisk::new(Arc::clone(&machine.io.disk), Arc::clone(kills) as _);
    let disk: Arc<dyn Disk> = Arc::new(disk);
    Io { disk, ..machine.io.clone() }
}
