//! Files of topics outside of a store: keys, the checkpoints beside them, and exported tiles.

use std::io::ErrorKind as IoKind;
use std::path::{Path, PathBuf};

use timestrata_engine::{Disk, Error, ErrorKind, OpenMode, Result};

fn failed(what: &str, path: &Path, error: std::io::Error) -> Error {
    let kind = match error.kind() {
        IoKind::NotFound => ErrorKind::NotFound,
        IoKind::AlreadyExists => ErrorKind::AlreadyExists,
        IoKind::StorageFull => ErrorKind::NoSpace,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("{} can't be {what}: {error}", path.display())).caused_by(error)
}

/// The bytes of a file; `None` if there is none.
pub(super) fn read(disk: &dyn Disk, path: &Path) -> Result<Option<Vec<u8>>> {
    let file = match disk.open(path, OpenMode::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == IoKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("opened", path, error)),
    };
    let read = || {
        let length = usize::try_from(file.len()?).map_err(std::io::Error::other)?;
        let mut bytes = vec![0; length];
        file.read_at(0, &mut bytes)?;
        Ok(bytes)
    };
    read().map(Some).map_err(|error| failed("read", path, error))
}

/// Makes a file that isn't there, durably.
pub(super) fn create(disk: &dyn Disk, path: &Path, mode: OpenMode, bytes: &[u8]) -> Result<()> {
    let create = || {
        let file = disk.open(path, mode)?;
        file.append(bytes)?;
        file.sync_all()?;
        disk.sync_dir(folder_of(path))
    };
    create().map_err(|error| failed("made", path, error))
}

/// Makes a file, or puts other bytes in its place: whoever reads it finds all the old ones or all the
/// new, after a power cut too, where it may be as if nothing had been done. Makes its folder too.
pub(super) fn place(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    disk.create_dir(folder_of(path)).map_err(|error| failed("made", folder_of(path), error))?;
    let place = || {
        match disk.remove(&new) {
            Err(error) if error.kind() != IoKind::NotFound => return Err(error),
            _ => {}
        }
        let file = disk.open(&new, OpenMode::CreateNew)?;
        file.append(bytes)?;
        file.sync_data()?;
        disk.rename(&new, path)
    };
    place().map_err(|error| failed("written", path, error))
}

/// As [`place`], and durably.
pub(super) fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<()> {
    place(disk, path, bytes)?;
    disk.sync_dir(folder_of(path)).map_err(|error| failed("written", path, error))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}
