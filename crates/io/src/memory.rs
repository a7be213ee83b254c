//! A disk in memory: stores that outlive nothing, and tests.
//!
//! Owns a tree of names and the bytes behind them. Invariant: every file's directory
//! exists, and no name is both a file and a directory. Behaves as the real disk does where
//! the store can tell; nothing is ever lost, so syncing only checks that the name is there.

mod file;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;

use crate::{DirEntry, Disk, DiskFile, LockGuard, LockOutcome, OpenMode};
use file::{Access, MemoryFile, Node};

/// Files in memory. Clones are the same disk.
#[derive(Debug, Clone, Default)]
pub struct MemoryDisk {
    tree: Arc<RwLock<Tree>>,
}

#[derive(Debug, Default)]
struct Tree {
    dirs: BTreeSet<PathBuf>,
    files: BTreeMap<PathBuf, Arc<Node>>,
    /// Files whose lock is held.
    locked: BTreeSet<PathBuf>,
}

impl MemoryDisk {
    /// An empty disk; only the root directory exists.
    pub fn new() -> Self {
        Self::default()
    }
}

/// The one spelling of a path: without `.`, and with `..` applied.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

fn failure(kind: io::ErrorKind, path: &Path, what: &str) -> io::Error {
    io::Error::new(kind, format!("{}: {what}", path.display()))
}

fn not_found(path: &Path) -> io::Error {
    failure(io::ErrorKind::NotFound, path, "no such file or directory")
}

impl Tree {
    fn is_dir(&self, path: &Path) -> bool {
        path.parent().is_none() || path.as_os_str().is_empty() || self.dirs.contains(path)
    }

    /// The file at `path`, which must be plain.
    fn file(&self, path: &Path) -> io::Result<&Arc<Node>> {
        if self.is_dir(path) {
            return Err(failure(io::ErrorKind::IsADirectory, path, "is a directory"));
        }
        self.files.get(path).ok_or_else(|| not_found(path))
    }

    /// Puts a file under a plain path whose directory exists.
    fn insert(&mut self, path: PathBuf, node: Arc<Node>) -> io::Result<()> {
        if self.is_dir(&path) {
            return Err(failure(io::ErrorKind::IsADirectory, &path, "is a directory"));
        }
        if !path.parent().is_some_and(|parent| self.is_dir(parent)) {
            return Err(not_found(&path));
        }
        self.files.insert(path, node);
        Ok(())
    }
}

impl Disk for MemoryDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let path = plain(path);
        let (node, access) = match mode {
            OpenMode::Read => (Arc::clone(self.tree.read().file(&path)?), Access::Read),
            OpenMode::ReadWrite => (Arc::clone(self.tree.read().file(&path)?), Access::Write),
            OpenMode::CreateNew => {
                let mut tree = self.tree.write();
                if tree.files.contains_key(&path) || tree.is_dir(&path) {
                    return Err(failure(io::ErrorKind::AlreadyExists, &path, "already exists"));
                }
                let node = Arc::new(Node::default());
                tree.insert(path, Arc::clone(&node))?;
                (node, Access::Write)
            }
        };
        Ok(Arc::new(MemoryFile { node, access }))
    }

    fn open_log(&self, path: &Path, bytes: u64) -> io::Result<Arc<dyn DiskFile>> {
        let path = plain(path);
        if bytes == 0 {
            return Err(failure(
                io::ErrorKind::InvalidInput,
                &path,
                "a log file must have a length",
            ));
        }
        let mut tree = self.tree.write();
        let node = match tree.file(&path) {
            Ok(node) => Arc::clone(node),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let node = Arc::new(Node::zeroed(bytes)?);
                tree.insert(path.clone(), Arc::clone(&node))?;
                node
            }
            Err(error) => return Err(error),
        };
        let found = node.len();
        if found != bytes {
            return Err(failure(
                io::ErrorKind::InvalidData,
                &path,
                &format!("expected a log file of {bytes} bytes, found {found} bytes"),
            ));
        }
        Ok(Arc::new(MemoryFile { node, access: Access::Log }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (plain(from), plain(to));
        let mut tree = self.tree.write();
        let node = Arc::clone(tree.file(&from)?);
        tree.insert(to.clone(), node)?;
        if from != to {
            tree.files.remove(&from);
        }
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
        let dir = plain(dir);
        let tree = self.tree.read();
        if tree.files.contains_key(&dir) {
            return Err(failure(io::ErrorKind::NotADirectory, &dir, "is not a directory"));
        }
        if !tree.is_dir(&dir) {
            return Err(not_found(&dir));
        }
        let files = tree.files.iter().map(|(path, node)| (path, node.len(), false));
        let dirs = tree.dirs.iter().map(|path| (path, 0, true));
        let mut entries: Vec<_> = files
            .chain(dirs)
            .filter(|(path, ..)| path.parent() == Some(&dir))
            .filter_map(|(path, len, is_dir)| {
                let name = path.file_name()?.to_string_lossy().into_owned();
                Some(DirEntry { name, len, is_dir })
            })
            .collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let dir = plain(dir);
        let mut tree = self.tree.write();
        if let Some(file) = dir.ancestors().find(|path| tree.files.contains_key(*path)) {
            return Err(failure(io::ErrorKind::NotADirectory, file, "is not a directory"));
        }
        for path in dir.ancestors() {
            if !tree.is_dir(path) {
                tree.dirs.insert(path.to_path_buf());
            }
        }
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let dir = plain(dir);
        let tree = self.tree.read();
        if tree.files.contains_key(&dir) {
            return Err(failure(io::ErrorKind::NotADirectory, &dir, "is not a directory"));
        }
        if tree.is_dir(&dir) { Ok(()) } else { Err(not_found(&dir)) }
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let path = plain(path);
        let tree = self.tree.read();
        Ok(tree.is_dir(&path) || tree.files.contains_key(&path))
    }

    fn try_lock(&self, path: &Path, owner: &str) -> io::Result<LockOutcome> {
        let path = plain(path);
        let mut tree = self.tree.write();
        if tree.locked.contains(&path) {
            let text = tree.file(&path).map(|node| node.text()).unwrap_or_default();
            return Ok(LockOutcome::Held(text));
        }
        let node = Arc::new(Node::holding(owner.as_bytes()));
        tree.insert(path.clone(), node)?;
        tree.locked.insert(path.clone());
        drop(tree);
        Ok(LockOutcome::Acquired(Box::new(MemoryLock { tree: Arc::clone(&self.tree), path })))
    }

    fn free_bytes(&self, _path: &Path) -> io::Result<Option<u64>> {
        Ok(None)
    }
}

#[derive(Debug)]
struct MemoryLock {
    tree: Arc<RwLock<Tree>>,
    path: PathBuf,
}

impl LockGuard for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.tree.write().locked.remove(&self.path);
    }
}
