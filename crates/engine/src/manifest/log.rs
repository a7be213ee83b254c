//! The manifest's file: a header, then framed edits.
//!
//! It grows by appending, into room made ahead, and is replaced, when most of it is history, by writing a new one
//! beside it, syncing that, renaming it over the old one and syncing the directory.
//!
//! A second file gets what the first has, after it and without a sync: see [`super::load`] for what
//! that is good for. A store goes on without it where it can't be written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use timestrata_format::frame::append_frame;
use timestrata_format::manifest::{ManifestHeader, ManifestOp, VersionEdit, encode_edit};
use timestrata_format::{FORMAT_VERSION, RunId, StoreId, WalId};
use timestrata_io::{Disk, DiskFile, Io, OpenMode};

use super::history::{EditTime, Folded, History, HistoryLimits, retired_by};
use super::{LoadedManifest, ManifestStamp, ManifestState};
use crate::error::NotDurable;
use crate::{Error, ErrorKind, Result};

/// Name of the manifest in the store's directory.
pub(crate) const MANIFEST_NAME: &str = "MANIFEST";
const NEW_NAME: &str = "MANIFEST.new";
/// Name of its copy.
pub(crate) const COPY_NAME: &str = "MANIFEST.copy";
const NEW_COPY_NAME: &str = "MANIFEST.copy.new";
/// All the names that a manifest's files may have.
pub(crate) const MANIFEST_NAMES: [&str; 4] = [MANIFEST_NAME, NEW_NAME, COPY_NAME, NEW_COPY_NAME];
/// A log of history this many times larger than its state is rewritten.
const HISTORY_FACTOR: u64 = 4;
/// But not below this: rewriting costs three syncs.
const REWRITE_BYTES_MIN: u64 = 256 * 1024;
/// The file grows to multiples of this, by zeros behind its last edit: a sync of a file that has grown took 1.4 to 1.8 times as
/// long as one of a file that had not.
const ROOM_BYTES: u64 = 16 * 1024;

/// The manifest of a store open for writing.
#[derive(Debug)]
pub(crate) struct ManifestLog {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    file: Arc<dyn DiskFile>,
    /// `None` where it could not be written: until the manifest is rewritten.
    copy: Option<Arc<dyn DiskFile>>,
    header: ManifestHeader,
    state: ManifestState,
    /// `None` where none is kept.
    history: Option<History>,
    log_bytes: u64,
    /// With the room behind the last edit.
    file_bytes: u64,
    rewritten_bytes: u64,
}

impl ManifestLog {
    /// Makes the manifest of a new store, or replaces the one of a backup's destination.
    /// `log_begins` is the segment with which the log is going to begin; 0 if there is to be none.
    pub(crate) fn create(
        io: &Io,
        dir: &Path,
        store_id: StoreId,
        generation: u64,
        state: ManifestState,
        log_begins: WalId,
    ) -> Result<Self> {
        let disk = Arc::clone(&io.disk);
        let format_version = FORMAT_VERSION;
        let log_begun = false;
        let header = ManifestHeader { format_version, store_id, generation, log_begins, log_begun };
        let written = write_whole(&*disk, dir, &header, &state).map_err(NotDurable::into_error)?;
        let WrittenManifest { file, copy, bytes, file_bytes } = written;
        let dir = dir.to_owned();
        let (log_bytes, rewritten_bytes) = (bytes, bytes);
        let history = None;
        Ok(Self {
            disk,
            dir,
            file,
            copy,
            header,
            state,
            history,
            log_bytes,
            file_bytes,
            rewritten_bytes,
        })
    }

    /// Goes on with a manifest that was read, in a new file. What was read may only be in
    /// the page cache: a killed process left it there, or one whose sync failed. In the
    /// second case the system calls it clean, and no sync of the old file would write it.
    pub(crate) fn renew(
        io: &Io,
        dir: &Path,
        loaded: &LoadedManifest,
        log_begins: WalId,
    ) -> Result<Self> {
        let generation = loaded.generation.saturating_add(1);
        Self::create(io, dir, loaded.store_id, generation, loaded.state.clone(), log_begins)
    }

    /// The state that all edits so far add up to.
    pub(crate) fn state(&self) -> &ManifestState {
        &self.state
    }

    /// Which state this is.
    fn stamp(&self) -> ManifestStamp {
        ManifestStamp { generation: self.header.generation, bytes: self.log_bytes }
    }

    /// Keeps what the manifest said, from the end of this history on.
    pub(crate) fn keep_history(&mut self, mut history: History) {
        history.go_on_at(self.stamp());
        self.history = Some(history);
    }

    /// What the manifest said, where that is kept.
    pub(crate) fn history(&self) -> Option<&History> {
        self.history.as_ref()
    }

    /// Whether something needs a run that is in no stream: a pin, or the history.
    pub(crate) fn keeps(&self, run: RunId) -> bool {
        self.state.is_pinned(run) || self.history.as_ref().is_some_and(|history| history.needs(run))
    }

    /// Lets go of history beyond these limits. Without one there is nothing to let go of but the log.
    /// `log_bytes` tells what segments from one on and below another take.
    pub(crate) fn fold_history(
        &mut self,
        limits: HistoryLimits,
        log_bytes: &dyn Fn(WalId, WalId) -> u64,
    ) -> Folded {
        let (state, floor) = (&self.state, self.state.wal_floor);
        match &mut self.history {
            None => Folded { runs: Vec::new(), floor },
            Some(history) => history.fold_to(limits, floor, log_bytes, &|run| state.is_pinned(run)),
        }
    }

    /// Writes the manifest and its history anew, with nothing but what holds now. Where there is no room for that all stays.
    pub(crate) fn write_anew(&mut self) -> std::result::Result<bool, NotDurable> {
        let is_written = self.rewrite()?;
        let stamp = self.stamp();
        if let Some(history) = &mut self.history {
            history.go_on_at(stamp);
        }
        Ok(is_written)
    }

    /// Notes durably that the log has begun: from now on the store isn't closed in good order,
    /// and the segment that the log begins with is expected to be there.
    pub(crate) fn note_open(&mut self, time: EditTime) -> Result<()> {
        let floor = ManifestOp::WalFloor(self.state.wal_floor);
        self.commit(&VersionEdit { ops: vec![floor] }, time).map_err(NotDurable::into_error)
    }

    /// Makes an edit durable. If what is on disk is in doubt after an error, the caller must poison the
    /// store.
    pub(crate) fn commit(
        &mut self,
        edit: &VersionEdit,
        time: EditTime,
    ) -> std::result::Result<(), NotDurable> {
        let path = self.dir.join(MANIFEST_NAME);
        if self.log_bytes > REWRITE_BYTES_MIN.max(self.rewritten_bytes * HISTORY_FACTOR) {
            // Before the edit is in the state: the history of who is killed behind it is found to lack one edit, which is in the file.
            self.rewrite()?;
        }
        // In place, and taken back if it isn't made: a copy of all streams an edit would cost the square
        // of their number to make them.
        let before = self.state.before(edit);
        let retired = self.history.as_ref().map(|_| retired_by(&self.state, edit));
        let applied = self.state.apply(edit).map_err(|problem| {
            NotDurable::InDoubt(Error::corruption(
                &path,
                self.log_bytes,
                format!("a new edit makes no sense: {problem}"),
            ))
        });
        let made = applied.and_then(|()| self.append(edit, &path));
        match (&made, retired) {
            (Err(_), _) => self.state.take_back(before),
            (Ok(()), Some(retired)) => {
                let stamp = self.stamp();
                if let Some(history) = &mut self.history {
                    history.note(edit, retired, time, stamp);
                }
            }
            (Ok(()), None) => {}
        }
        made
    }

    /// Goes on in a new file; false where there is no room for one, and nothing has changed.
    fn rewrite(&mut self) -> std::result::Result<bool, NotDurable> {
        let header = ManifestHeader {
            generation: self.header.generation + 1,
            // Nothing but the log's first segment comes before an edit.
            log_begun: true,
            ..self.header
        };
        match write_whole(&*self.disk, &self.dir, &header, &self.state) {
            Ok(WrittenManifest { file, copy, bytes, file_bytes }) => {
                self.header = header;
                self.file = file;
                self.copy = copy;
                self.log_bytes = bytes;
                self.file_bytes = file_bytes;
                self.rewritten_bytes = bytes;
                Ok(true)
            }
            Err(NotDurable::NotMade(_)) => Ok(false),
            Err(doubt) => Err(doubt),
        }
    }

    /// Adds an edit that the state has already.
    fn append(&mut self, edit: &VersionEdit, path: &Path) -> std::result::Result<(), NotDurable> {
        let mut bytes = Vec::new();
        append_frame(&mut bytes, self.header.store_id, &encode_edit(edit));
        if let Err(error) = self.put(&bytes) {
            let error = Error::io("append to the manifest", path, error);
            // A full disk took a part of the frame at most. That part is cut off again, so the file is
            // what it was; if the process ends before, it is a torn end.
            let is_restored = error.kind() == ErrorKind::NoSpace && self.cut().is_ok();
            return Err(match is_restored {
                true => NotDurable::NotMade(error),
                false => NotDurable::InDoubt(error),
            });
        }
        self.file
            .sync_data()
            .map_err(|error| NotDurable::InDoubt(Error::io("sync the manifest", path, error)))?;
        // Only now: what the copy has and the manifest hasn't was lost from the manifest.
        let at = self.log_bytes;
        self.copy = self.copy.take().filter(|copy| copy.write_at(at, &bytes).is_ok());
        self.log_bytes += bytes.len() as u64;
        Ok(())
    }

    /// Writes a frame behind the last edit, with room behind it where the file has to grow.
    ///
    /// ```text
    ///    header  edit  edit  0 0 0 0 0 0 0 0     room of the last growth
    ///    header  edit  edit  frame 0 0 0 0 0     no growth, and a sync of what was written alone
    /// ```
    fn put(&mut self, frame: &[u8]) -> std::io::Result<()> {
        let end = self.log_bytes + frame.len() as u64;
        if end > self.file_bytes {
            let with_room = with_room(frame, self.log_bytes);
            match self.file.write_at(self.log_bytes, &with_room) {
                // Without room then.
                Err(error) if error.kind() == std::io::ErrorKind::StorageFull => self.cut()?,
                written => {
                    self.file_bytes = self.log_bytes + with_room.len() as u64;
                    return written;
                }
            }
        }
        self.file.write_at(self.log_bytes, frame)?;
        self.file_bytes = self.file_bytes.max(end);
        Ok(())
    }

    /// Cuts off what is behind the last edit.
    fn cut(&mut self) -> std::io::Result<()> {
        self.file.set_len(self.log_bytes)?;
        self.file_bytes = self.log_bytes;
        Ok(())
    }

    /// Leaves both files as they are to be found in a store that is closed: without room, and the copy durable as well. What the system
    /// writes back by itself does for one that is open.
    pub(crate) fn settle(&mut self) {
        // Room that stays does no harm.
        let _ = self.cut();
        self.copy = self.copy.take().filter(|copy| copy.sync_data().is_ok());
    }
}

/// Bytes that are to stand at an offset, and room behind them.
fn with_room(bytes: &[u8], offset: u64) -> Vec<u8> {
    let end = offset.saturating_add(bytes.len() as u64);
    let room = end.next_multiple_of(ROOM_BYTES) - end;
    let mut with_room = bytes.to_vec();
    with_room.resize(bytes.len() + usize::try_from(room).unwrap_or(0), 0);
    with_room
}

/// What [`write_whole`] wrote.
struct WrittenManifest {
    file: Arc<dyn DiskFile>,
    copy: Option<Arc<dyn DiskFile>>,
    /// Of the header and the edits.
    bytes: u64,
    /// With the room behind them.
    file_bytes: u64,
}

/// Writes a whole manifest durably under its name, and then its copy.
fn write_whole(
    disk: &dyn Disk,
    dir: &Path,
    header: &ManifestHeader,
    state: &ManifestState,
) -> std::result::Result<WrittenManifest, NotDurable> {
    let (new_path, path) = (dir.join(NEW_NAME), dir.join(MANIFEST_NAME));
    let mut bytes = header.encode().to_vec();
    append_frame(&mut bytes, header.store_id, &encode_edit(&state.to_edit()));
    let install = || -> std::io::Result<Arc<dyn DiskFile>> {
        disk.rename(&new_path, &path)?;
        disk.sync_dir(dir)?;
        // By its name, for what the disk says of it from now on.
        disk.open(&path, OpenMode::ReadWrite)
    };
    let failed = |error| Error::io("write a new manifest", &path, error);
    let with_room = with_room(&bytes, 0);
    // Where the disk is full, without room.
    let written = write_new(disk, &new_path, &with_room)
        .map(|file| (file, with_room.len()))
        .or_else(|error| match error.kind() {
            std::io::ErrorKind::StorageFull => {
                Ok((write_new(disk, &new_path, &bytes)?, bytes.len()))
            }
            _ => Err(error),
        })
        .and_then(|(file, length)| file.sync_all().map(|()| length));
    let file_bytes = written.map_err(|error| {
        // Nobody reads it, and the next one needs its room.
        let _ = disk.remove(&new_path);
        NotDurable::NotMade(failed(error))
    })?;
    let file = install().map_err(|error| NotDurable::InDoubt(failed(error)))?;
    let copy = write_copy(disk, dir, &bytes);
    let (bytes, file_bytes) = (bytes.len() as u64, file_bytes as u64);
    Ok(WrittenManifest { file, copy, bytes, file_bytes })
}

/// Writes the copy of a manifest that has its name; `None` where that can't be done.
fn write_copy(disk: &dyn Disk, dir: &Path, bytes: &[u8]) -> Option<Arc<dyn DiskFile>> {
    let (new_path, path) = (dir.join(NEW_COPY_NAME), dir.join(COPY_NAME));
    let replace = || -> std::io::Result<Arc<dyn DiskFile>> {
        write_new(disk, &new_path, bytes)?;
        disk.rename(&new_path, &path)?;
        disk.open(&path, OpenMode::ReadWrite)
    };
    replace().inspect_err(|_| drop(disk.remove(&new_path))).ok()
}

/// Writes a file that replaces whatever an earlier attempt has left under its name.
fn write_new(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> std::io::Result<Arc<dyn DiskFile>> {
    if disk.exists(path)? {
        disk.remove(path)?;
    }
    let file = disk.open(path, OpenMode::CreateNew)?;
    file.write_at(0, bytes)?;
    Ok(file)
}
