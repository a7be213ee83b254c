//! An open file of the simulated disk.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use timestrata_io::locks::{Mutex, MutexGuard};
use timestrata_io::parts::{Access, read_at};
use timestrata_io::sync::schedule::pause;
use timestrata_io::{Bytes, DiskFile};

use super::world::World;

#[derive(Debug)]
pub(super) struct SimFile {
    pub(super) world: Arc<Mutex<World>>,
    pub(super) id: u64,
    /// The name it was opened by.
    pub(super) path: PathBuf,
    pub(super) access: Access,
}

impl SimFile {
    /// The disk, for a call of a store's: another actor may go on before it.
    fn turn(&self) -> MutexGuard<'_, World> {
        pause();
        self.world.lock()
    }
}

impl DiskFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        let mut world = self.turn();
        world.begin_read()?;
        Ok(world.node(self.id)?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut world = self.turn();
        world.begin_read_at(self.id, offset, buffer.len())?;
        read_at(&world.node(self.id)?.seen, offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut world = self.turn();
        self.access.check_write(offset, bytes.len(), world.node(self.id)?.len())?;
        world.write(self.id, &self.path, offset, bytes)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        self.access.check_resize("appended to")?;
        let mut world = self.turn();
        let start = world.node(self.id)?.len();
        world.write(self.id, &self.path, start, bytes)?;
        Ok(start)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.access.check_resize("cut or extended")?;
        self.turn().set_len(self.id, &self.path, bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.turn().sync_file(self.id, &self.path)
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn map(&self) -> io::Result<Bytes> {
        let mut world = self.turn();
        world.begin_read()?;
        let seen = Arc::clone(&world.node(self.id)?.seen);
        Ok(Bytes::from_owner(FileBytes(seen)))
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        self.world.lock().limits.open_files -= 1;
    }
}

/// What a file had in it when it was mapped.
struct FileBytes(Arc<Vec<u8>>);

impl AsRef<[u8]> for FileBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
