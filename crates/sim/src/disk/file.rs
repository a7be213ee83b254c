//! An open file of the simulated disk.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use timestrata_io::DiskFile;

use super::world::{OperationKind, World};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    /// Reads and writes within a fixed length.
    Log,
}

#[derive(Debug)]
pub(super) struct SimFile {
    pub(super) world: Arc<Mutex<World>>,
    pub(super) id: u64,
    /// The name it was opened by.
    pub(super) path: PathBuf,
    pub(super) access: Access,
}

impl SimFile {
    fn must_be_writable(&self) -> io::Result<()> {
        if self.access == Access::Read {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the file was opened for reading",
            ));
        }
        Ok(())
    }

    fn must_not_be_log(&self, what: &str) -> io::Result<()> {
        if self.access == Access::Log {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("a log file has a fixed length and can't be {what}"),
            ));
        }
        Ok(())
    }
}

impl DiskFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.world.lock().node(self.id)?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut world = self.world.lock();
        let seen = &world.node(self.id)?.seen;
        let found = usize::try_from(offset).ok().and_then(|start| {
            let end = start.checked_add(buffer.len())?;
            seen.get(start..end)
        });
        match found {
            Some(found) => {
                buffer.copy_from_slice(found);
                Ok(())
            }
            None => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!(
                    "{} bytes at byte {offset} of a file of {} bytes",
                    buffer.len(),
                    seen.len()
                ),
            )),
        }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.must_be_writable()?;
        let mut world = self.world.lock();
        let length = world.node(self.id)?.len();
        if self.access == Access::Log && offset.saturating_add(bytes.len() as u64) > length {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "a log file of {length} bytes can't take {} bytes at byte {offset}",
                    bytes.len()
                ),
            ));
        }
        world.write(self.id, &self.path, offset, bytes)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        self.must_be_writable()?;
        self.must_not_be_log("appended to")?;
        let mut world = self.world.lock();
        let start = world.node(self.id)?.len();
        world.write(self.id, &self.path, start, bytes)?;
        Ok(start)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.must_be_writable()?;
        self.must_not_be_log("cut or extended")?;
        let mut world = self.world.lock();
        world.begin(OperationKind::SetLen, &self.path)?;
        world.node(self.id)?.set_len(bytes);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.world.lock().sync_file(self.id, &self.path)
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn map(&self) -> io::Result<Bytes> {
        let seen = Arc::clone(&self.world.lock().node(self.id)?.seen);
        Ok(Bytes::from_owner(Shared(seen)))
    }
}

struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
