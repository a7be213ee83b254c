//! Names: which file or directory is where. Paths given to a tree are plain.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::DirEntry;

/// Which names exist, and the file behind each; the root directory always does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree<File> {
    /// Files by path.
    pub files: BTreeMap<PathBuf, File>,
    /// Directories, without the root.
    pub dirs: BTreeSet<PathBuf>,
}

impl<File> Default for Tree<File> {
    fn default() -> Self {
        Self { files: BTreeMap::new(), dirs: BTreeSet::new() }
    }
}

/// The one spelling of a path: without `.`, and with `..` applied.
pub fn plain(path: &Path) -> PathBuf {
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

/// An error that names the file.
pub fn failure(kind: io::ErrorKind, path: &Path, what: &str) -> io::Error {
    io::Error::new(kind, format!("{}: {what}", path.display()))
}

fn not_found(path: &Path) -> io::Error {
    failure(io::ErrorKind::NotFound, path, "no such file or directory")
}

fn is_a_directory(path: &Path) -> io::Error {
    failure(io::ErrorKind::IsADirectory, path, "is a directory")
}

fn not_a_directory(path: &Path) -> io::Error {
    failure(io::ErrorKind::NotADirectory, path, "is not a directory")
}

impl<File> Tree<File> {
    /// Whether this is a directory.
    pub fn is_dir(&self, path: &Path) -> bool {
        path.parent().is_none() || path.as_os_str().is_empty() || self.dirs.contains(path)
    }

    /// Whether something has this name.
    pub fn exists(&self, path: &Path) -> bool {
        self.is_dir(path) || self.files.contains_key(path)
    }

    /// The file of this name.
    pub fn file(&self, path: &Path) -> io::Result<&File> {
        if self.is_dir(path) {
            return Err(is_a_directory(path));
        }
        self.files.get(path).ok_or_else(|| not_found(path))
    }

    /// The log file of this name, if there is one, which `len` must find to have `bytes`.
    pub fn log_file(
        &self,
        path: &Path,
        bytes: u64,
        len: impl Fn(&File) -> u64,
    ) -> io::Result<Option<&File>> {
        if bytes == 0 {
            let what = "a log file must have a length";
            return Err(failure(io::ErrorKind::InvalidInput, path, what));
        }
        let file = match self.file(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return self.check_place(path).map(|()| None);
            }
            Err(error) => return Err(error),
        };
        let found = len(file);
        if found != bytes {
            let what = format!("expected a log file of {bytes} bytes, found {found} bytes");
            return Err(failure(io::ErrorKind::InvalidData, path, &what));
        }
        Ok(Some(file))
    }

    /// Refuses anything but a directory that exists.
    pub fn check_dir(&self, path: &Path) -> io::Result<()> {
        if self.files.contains_key(path) {
            return Err(not_a_directory(path));
        }
        if self.is_dir(path) { Ok(()) } else { Err(not_found(path)) }
    }

    /// Refuses a name under which no file can be put, be it over another.
    pub fn check_place(&self, path: &Path) -> io::Result<()> {
        if self.is_dir(path) {
            return Err(is_a_directory(path));
        }
        match path.parent() {
            Some(parent) if self.is_dir(parent) => Ok(()),
            _ => Err(not_found(path)),
        }
    }

    /// Refuses a name under which no new file can be put.
    pub fn check_new(&self, path: &Path) -> io::Result<()> {
        if self.exists(path) {
            return Err(failure(io::ErrorKind::AlreadyExists, path, "already exists"));
        }
        self.check_place(path)
    }

    /// Those of a directory and the ones above it that don't exist, the topmost first.
    pub fn missing_dirs(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        if let Some(file) = dir.ancestors().find(|path| self.files.contains_key(*path)) {
            return Err(not_a_directory(file));
        }
        let missing = dir.ancestors().filter(|path| !self.is_dir(path)).map(Path::to_path_buf);
        let mut missing: Vec<PathBuf> = missing.collect();
        missing.reverse();
        Ok(missing)
    }

    /// What is in a directory, sorted by name; `len` gives the length of a file.
    pub fn list(&self, dir: &Path, len: impl Fn(&File) -> u64) -> io::Result<Vec<DirEntry>> {
        self.check_dir(dir)?;
        let files = self.files.iter().map(|(path, file)| (path, len(file), false));
        let dirs = self.dirs.iter().map(|path| (path, 0, true));
        let mut entries: Vec<_> = files
            .chain(dirs)
            .filter(|(path, ..)| path.parent() == Some(dir))
            .filter_map(|(path, len, is_dir)| {
                let name = path.file_name()?.to_string_lossy().into_owned();
                Some(DirEntry { name, len, is_dir })
            })
            .collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }
}
