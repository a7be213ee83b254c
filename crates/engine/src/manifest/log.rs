//! The manifest's file: a header, then framed edits.
//!
//! It grows by appending and is replaced, when most of it is history, by writing a new one
//! beside it, syncing that, renaming it over the old one and syncing the directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use timestrata_format::frame::{FRAME_HEADER_BYTES, FrameRead, FrameReader, append_frame};
use timestrata_format::manifest::{
    MANIFEST_HEADER_BYTES, ManifestHeader, VersionEdit, decode_edit, encode_edit,
};
use timestrata_format::{FORMAT_VERSION, StoreId};
use timestrata_io::{Disk, DiskFile, Io, OpenMode};

use super::ManifestState;
use crate::{Error, ErrorKind, Result};

/// Name of the manifest in the store's directory.
pub(crate) const MANIFEST_NAME: &str = "MANIFEST";
const NEW_NAME: &str = "MANIFEST.new";
/// A log of history this many times larger than its state is rewritten.
const HISTORY_FACTOR: u64 = 4;
/// But not below this: rewriting costs three syncs.
const REWRITE_BYTES_MIN: u64 = 256 * 1024;

/// A manifest as read.
#[derive(Debug, Clone)]
pub(crate) struct LoadedManifest {
    pub(crate) store_id: StoreId,
    pub(crate) generation: u64,
    pub(crate) state: ManifestState,
    /// Length of what is whole.
    pub(crate) bytes: u64,
    /// Where an edit begins that was never finished.
    pub(crate) torn_at: Option<u64>,
}

impl LoadedManifest {
    /// Whether the file has changed between two readings.
    pub(crate) fn differs_from(&self, other: &Self) -> bool {
        (self.generation, self.bytes) != (other.generation, other.bytes)
    }
}

/// Reads a store's manifest; `None` if there is none.
pub(crate) fn load(disk: &dyn Disk, dir: &Path) -> Result<Option<LoadedManifest>> {
    let path = dir.join(MANIFEST_NAME);
    let file = match disk.open(&path, OpenMode::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("open the manifest", &path, error)),
    };
    let length =
        file.len().map_err(|error| Error::io("read the manifest's length", &path, error))?;
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    file.read_at(0, &mut bytes).map_err(|error| Error::io("read the manifest", &path, error))?;
    parse(&path, &bytes).map(Some)
}

fn parse(path: &Path, bytes: &[u8]) -> Result<LoadedManifest> {
    let header = ManifestHeader::decode(bytes).map_err(|error| Error::header(path, error))?;
    let mut state = ManifestState::default();
    let mut torn_at = None;
    let mut end = MANIFEST_HEADER_BYTES as u64;
    let frames = bytes.get(MANIFEST_HEADER_BYTES..).unwrap_or_default();
    let mut reader = FrameReader::new(frames, end, header.store_id);
    loop {
        match reader.next_frame().map_err(|error| Error::decode(path, 0, error))? {
            FrameRead::Frame { offset, payload } => {
                let base = offset + FRAME_HEADER_BYTES as u64;
                let edit =
                    decode_edit(payload).map_err(|error| Error::decode(path, base, error))?;
                state.apply(&edit).map_err(|problem| {
                    Error::corruption(path, offset, format!("an edit makes no sense: {problem}"))
                })?;
                end = base + payload.len() as u64;
            }
            FrameRead::End { .. } => break,
            FrameRead::Torn { offset } => {
                torn_at = Some(offset);
                break;
            }
        }
    }
    let (store_id, generation) = (header.store_id, header.generation);
    Ok(LoadedManifest { store_id, generation, state, bytes: end, torn_at })
}

/// Why an edit is not durable.
#[derive(Debug)]
pub(crate) enum EditError {
    /// It has not been made, and the manifest is as it was.
    NotMade(Error),
    /// It may be found by the next open, or not.
    InDoubt(Error),
}

impl EditError {
    fn into_error(self) -> Error {
        match self {
            Self::NotMade(error) | Self::InDoubt(error) => error,
        }
    }
}

/// The manifest of a store open for writing.
#[derive(Debug)]
pub(crate) struct ManifestLog {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    file: Arc<dyn DiskFile>,
    store_id: StoreId,
    generation: u64,
    state: ManifestState,
    log_bytes: u64,
    rewritten_bytes: u64,
}

impl ManifestLog {
    /// Makes the manifest of a new store, or replaces the one of a backup's destination.
    pub(crate) fn create(
        io: &Io,
        dir: &Path,
        store_id: StoreId,
        generation: u64,
        state: ManifestState,
    ) -> Result<Self> {
        let disk = Arc::clone(&io.disk);
        let (file, bytes) = write_whole(&*disk, dir, store_id, generation, &state)
            .map_err(EditError::into_error)?;
        let dir = dir.to_owned();
        let (log_bytes, rewritten_bytes) = (bytes, bytes);
        Ok(Self { disk, dir, file, store_id, generation, state, log_bytes, rewritten_bytes })
    }

    /// Goes on with a manifest that was read, in a new file. What was read may only be in
    /// the page cache: a killed process left it there, or one whose sync failed. In the
    /// second case the system calls it clean, and no sync of the old file would write it.
    pub(crate) fn renew(io: &Io, dir: &Path, loaded: LoadedManifest) -> Result<Self> {
        let LoadedManifest { store_id, generation, state, .. } = loaded;
        Self::create(io, dir, store_id, generation.saturating_add(1), state)
    }

    /// The state that all edits so far add up to.
    pub(crate) fn state(&self) -> &ManifestState {
        &self.state
    }

    /// Makes an edit durable. If what is on disk is in doubt after an error, the caller must poison the
    /// store.
    pub(crate) fn commit(&mut self, edit: &VersionEdit) -> std::result::Result<(), EditError> {
        let path = self.dir.join(MANIFEST_NAME);
        let mut state = self.state.clone();
        state.apply(edit).map_err(|problem| {
            EditError::InDoubt(Error::corruption(
                &path,
                self.log_bytes,
                format!("a new edit makes no sense: {problem}"),
            ))
        })?;
        let is_long = self.log_bytes > REWRITE_BYTES_MIN.max(self.rewritten_bytes * HISTORY_FACTOR);
        if !is_long || !self.rewrite(&state)? {
            self.append(edit, &path)?;
        }
        self.state = state;
        Ok(())
    }

    /// Goes on in a new file; false where there is no room for one, and nothing has changed.
    fn rewrite(&mut self, state: &ManifestState) -> std::result::Result<bool, EditError> {
        let generation = self.generation + 1;
        match write_whole(&*self.disk, &self.dir, self.store_id, generation, state) {
            Ok((file, bytes)) => {
                self.generation = generation;
                self.file = file;
                self.log_bytes = bytes;
                self.rewritten_bytes = bytes;
                Ok(true)
            }
            Err(EditError::NotMade(_)) => Ok(false),
            Err(doubt) => Err(doubt),
        }
    }

    fn append(&mut self, edit: &VersionEdit, path: &Path) -> std::result::Result<(), EditError> {
        let mut bytes = Vec::new();
        append_frame(&mut bytes, self.store_id, &encode_edit(edit));
        if let Err(error) = self.file.write_at(self.log_bytes, &bytes) {
            let error = Error::io("append to the manifest", path, error);
            // A full disk took a part of the frame at most. That part is cut off again, so the file is
            // what it was; if the process ends before, it is a torn end.
            let is_restored =
                error.kind() == ErrorKind::NoSpace && self.file.set_len(self.log_bytes).is_ok();
            return Err(match is_restored {
                true => EditError::NotMade(error),
                false => EditError::InDoubt(error),
            });
        }
        self.file
            .sync_data()
            .map_err(|error| EditError::InDoubt(Error::io("sync the manifest", path, error)))?;
        self.log_bytes += bytes.len() as u64;
        Ok(())
    }
}

/// Writes a whole manifest durably under its name.
fn write_whole(
    disk: &dyn Disk,
    dir: &Path,
    store_id: StoreId,
    generation: u64,
    state: &ManifestState,
) -> std::result::Result<(Arc<dyn DiskFile>, u64), EditError> {
    let (new_path, path) = (dir.join(NEW_NAME), dir.join(MANIFEST_NAME));
    let mut bytes =
        ManifestHeader { format_version: FORMAT_VERSION, store_id, generation }.encode().to_vec();
    append_frame(&mut bytes, store_id, &encode_edit(&state.to_edit()));
    let write = || -> std::io::Result<()> {
        if disk.exists(&new_path)? {
            disk.remove(&new_path)?;
        }
        let file = disk.open(&new_path, OpenMode::CreateNew)?;
        file.write_at(0, &bytes)?;
        file.sync_all()
    };
    let install = || -> std::io::Result<Arc<dyn DiskFile>> {
        disk.rename(&new_path, &path)?;
        disk.sync_dir(dir)?;
        // By its name, for what the disk says of it from now on.
        disk.open(&path, OpenMode::ReadWrite)
    };
    let failed = |error| Error::io("write a new manifest", &path, error);
    write().map_err(|error| {
        // Nobody reads it, and the next one needs its room.
        let _ = disk.remove(&new_path);
        EditError::NotMade(failed(error))
    })?;
    let file = install().map_err(|error| EditError::InDoubt(failed(error)))?;
    Ok((file, bytes.len() as u64))
}
