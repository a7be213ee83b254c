//! A disk in memory: stores that outlive nothing, and tests.
//!
//! Owns a tree of names and the bytes behind them. Invariant: every file's directory
//! exists, and no name is both a file and a directory. Behaves as the real disk does where
//! the store can tell; nothing is ever lost, so syncing only checks that the name is there.

mod file;

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::locks::RwLock;

use crate::parts::{Access, Locks, Tree, plain};
use crate::{DirEntry, Disk, DiskFile, LockOutcome, OpenMode};
use file::{MemoryFile, Node};

/// Files in memory. Clones are the same disk.
#[derive(Debug, Clone, Default)]
pub struct MemoryDisk {
    tree: Arc<RwLock<Tree<Arc<Node>>>>,
    locks: Arc<Locks>,
}

impl MemoryDisk {
    /// An empty disk; only the root directory exists.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Disk for MemoryDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let path = plain(path);
        let node = if mode.creates() {
            let mut tree = self.tree.write();
            tree.check_new(&path)?;
            let node = Arc::new(Node::default());
            tree.files.insert(path, Arc::clone(&node));
            node
        } else {
            Arc::clone(self.tree.read().file(&path)?)
        };
        Ok(Arc::new(MemoryFile { node, access: mode.into() }))
    }

    fn open_log(&self, path: &Path, bytes: u64) -> io::Result<Arc<dyn DiskFile>> {
        let path = plain(path);
        let mut tree = self.tree.write();
        let node = match tree.log_file(&path, bytes, |node| node.len())? {
            Some(node) => Arc::clone(node),
            None => {
                let node = Arc::new(Node::zeroed(bytes)?);
                tree.files.insert(path, Arc::clone(&node));
                node
            }
        };
        Ok(Arc::new(MemoryFile { node, access: Access::Log }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (plain(from), plain(to));
        let mut tree = self.tree.write();
        let node = Arc::clone(tree.file(&from)?);
        tree.check_place(&to)?;
        tree.files.remove(&from);
        tree.files.insert(to, node);
        Ok(())
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        let (one, other) = (plain(one), plain(other));
        let mut tree = self.tree.write();
        let nodes = (Arc::clone(tree.file(&one)?), Arc::clone(tree.file(&other)?));
        tree.files.insert(one, nodes.1);
        tree.files.insert(other, nodes.0);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let path = plain(path);
        let mut tree = self.tree.write();
        tree.file(&path)?;
        tree.files.remove(&path);
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.tree.read().list(&plain(dir), |node| node.len())
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let mut tree = self.tree.write();
        let missing = tree.missing_dirs(&plain(dir))?;
        tree.dirs.extend(missing);
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.tree.read().check_dir(&plain(dir))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        Ok(self.tree.read().exists(&plain(path)))
    }

    fn try_lock(&self, path: &Path, owner: &str) -> io::Result<LockOutcome> {
        let path = plain(path);
        let mut tree = self.tree.write();
        if self.locks.is_held(&path) {
            let text = tree.file(&path).map(|node| node.text()).unwrap_or_default();
            return Ok(LockOutcome::Held(text));
        }
        tree.check_place(&path)?;
        let node = Arc::new(Node::holding(owner.as_bytes()));
        tree.files.insert(path.clone(), Arc::clone(&node));
        let (names, name) = (Arc::clone(&self.tree), path.clone());
        let is_there =
            move || names.read().file(&name).is_ok_and(|found| Arc::ptr_eq(found, &node));
        Ok(self.locks.take(path, is_there))
    }

    fn free_bytes(&self, _path: &Path) -> io::Result<Option<u64>> {
        Ok(None)
    }
}
