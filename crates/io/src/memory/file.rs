//! The bytes of one file in memory.
//!
//! A file that is mapped is sealed: its bytes become shared memory without a copy. A later
//! write takes them back, copying only if somebody still holds the map.

use std::io;
use std::sync::Arc;

use crate::locks::RwLock;
use bytes::Bytes;

use crate::DiskFile;
use crate::parts::{Access, read_at};

#[derive(Debug)]
enum MemoryContent {
    Open(Vec<u8>),
    Sealed(Bytes),
}

/// A file, whatever its names.
#[derive(Debug)]
pub(super) struct Node {
    content: RwLock<MemoryContent>,
}

impl Default for Node {
    fn default() -> Self {
        Self { content: RwLock::new(MemoryContent::Open(Vec::new())) }
    }
}

impl MemoryContent {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Open(bytes) => bytes,
            Self::Sealed(bytes) => bytes,
        }
    }

    fn bytes_mut(&mut self) -> &mut Vec<u8> {
        if let Self::Sealed(bytes) = self {
            *self = Self::Open(Vec::from(std::mem::take(bytes)));
        }
        match self {
            Self::Open(bytes) => bytes,
            Self::Sealed(_) => unreachable!("it was opened just above"),
        }
    }
}

impl Node {
    pub(super) fn zeroed(bytes: u64) -> io::Result<Self> {
        let mut content = Vec::new();
        resize(&mut content, bytes)?;
        Ok(Self { content: RwLock::new(MemoryContent::Open(content)) })
    }

    pub(super) fn holding(bytes: &[u8]) -> Self {
        Self { content: RwLock::new(MemoryContent::Open(bytes.to_vec())) }
    }

    pub(super) fn len(&self) -> u64 {
        self.content.read().bytes().len() as u64
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(self.content.read().bytes()).into_owned()
    }
}

/// Zero-extends or cuts; a length that memory can't hold is a full disk.
fn resize(content: &mut Vec<u8>, bytes: u64) -> io::Result<()> {
    let full = |_| io::Error::new(io::ErrorKind::StorageFull, "no memory for so long a file");
    let length = usize::try_from(bytes).map_err(|_| full(()))?;
    content.try_reserve(length.saturating_sub(content.len())).map_err(|_| full(()))?;
    content.resize(length, 0);
    Ok(())
}

/// An open file.
#[derive(Debug)]
pub(super) struct MemoryFile {
    pub(super) node: Arc<Node>,
    pub(super) access: Access,
}

impl DiskFile for MemoryFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.node.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        read_at(self.node.content.read().bytes(), offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut content = self.node.content.write();
        let length = content.bytes().len() as u64;
        self.access.check_write(offset, bytes.len(), length)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let end = offset.saturating_add(bytes.len() as u64);
        if end > length {
            resize(content.bytes_mut(), end)?;
        }
        let start = offset as usize;
        content.bytes_mut()[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        self.access.check_resize("appended to")?;
        let mut content = self.node.content.write();
        let start = content.bytes().len() as u64;
        content.bytes_mut().extend_from_slice(bytes);
        Ok(start)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.access.check_resize("cut or extended")?;
        resize(self.node.content.write().bytes_mut(), bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }

    fn map(&self) -> io::Result<Bytes> {
        let mut content = self.node.content.write();
        if let MemoryContent::Open(bytes) = &mut *content {
            *content = MemoryContent::Sealed(Bytes::from(std::mem::take(bytes)));
        }
        match &*content {
            MemoryContent::Sealed(bytes) => Ok(bytes.clone()),
            MemoryContent::Open(_) => unreachable!("it was sealed just above"),
        }
    }
}
