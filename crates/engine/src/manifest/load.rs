//! Reading the manifest: the file itself, and its copy where that tells more.
//!
//! Every edit is in two files. The copy gets it second, after the manifest's own sync, so a whole
//! edit that only the copy has was lost from the manifest by damage, never by a crash; then the
//! copy is the truth. An edit that only the manifest has is as good: the copy may be behind.

use std::path::{Path, PathBuf};

use timestrata_format::frame::{FRAME_HEADER_BYTES, FrameRead, FrameReader};
use timestrata_format::manifest::{
    MANIFEST_HEADER_BYTES, ManifestHeader, VersionEdit, decode_edit,
};
use timestrata_format::{StoreId, StreamId, WalId};
use timestrata_io::{Disk, DiskFile, OpenMode};

use super::{COPY_NAME, MANIFEST_NAME, ManifestState};
use crate::{Error, ErrorKind, Result};

/// Room is looked at in pieces of so many bytes, each at once.
const ROOM_PIECE_BYTES: usize = 64;

/// A manifest as read.
#[derive(Debug)]
pub(crate) struct LoadedManifest {
    pub(crate) store_id: StoreId,
    pub(crate) generation: u64,
    pub(crate) state: ManifestState,
    /// Length of what is whole.
    pub(crate) bytes: u64,
    /// Where an edit begins that was never finished.
    pub(crate) torn_at: Option<u64>,
    /// A segment of the log that must be there.
    pub(crate) log_expected: Option<WalId>,
    /// What is wrong with the manifest, where the copy stands in for it.
    pub(crate) damage: Option<Error>,
    /// The last edit behind the state with which the file begins.
    pub(crate) last_edit: Option<VersionEdit>,
}

/// Which state of a store's manifest was read: where its file ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ManifestStamp {
    pub(crate) generation: u64,
    pub(crate) bytes: u64,
}

impl ManifestStamp {
    /// Whether an edit leads from the other state to this one.
    pub(crate) fn is_behind(self, other: Self) -> bool {
        (self.generation, self.bytes) > (other.generation, other.bytes)
    }
}

impl LoadedManifest {
    /// What changes with each edit: tells two readings of a store's manifest apart.
    pub(crate) fn stamp(&self) -> ManifestStamp {
        ManifestStamp { generation: self.generation, bytes: self.bytes }
    }

    /// Whether the file has changed between two readings.
    pub(crate) fn differs_from(&self, other: &Self) -> bool {
        self.stamp() != other.stamp()
    }
}

/// Reads a store's manifest; `None` if there is none.
///
/// # Errors
/// `Corruption` where neither file tells the whole state.
pub(crate) fn load(disk: &dyn Disk, dir: &Path) -> Result<Option<LoadedManifest>> {
    // The copy first: beside a living writer it is never ahead of what is read later.
    let copy = read_copy(disk, &dir.join(COPY_NAME));
    let main = match read(disk, &dir.join(MANIFEST_NAME))? {
        Some(file) => parse(file, usize::MAX).map(Some),
        None => Ok(None),
    };
    choose(dir, main, copy)
}

/// As [`load`], of the manifest alone if that is whole: for who reads it again and again.
pub(crate) fn load_again(disk: &dyn Disk, dir: &Path) -> Result<Option<LoadedManifest>> {
    let main = read(disk, &dir.join(MANIFEST_NAME))?.map(|file| parse(file, usize::MAX));
    match main {
        Some(Ok(parsed)) if matches!(parsed.stop, Stop::End) => Ok(Some(parsed.into_loaded(None))),
        _ => load(disk, dir),
    }
}

/// What can be read of a manifest that [`load`] refuses: the edits before the damage, of the file or of
/// its copy, whichever has more; `None` where neither begins as a manifest does.
pub(crate) fn salvage(disk: &dyn Disk, dir: &Path) -> Option<LoadedManifest> {
    let names = [MANIFEST_NAME, COPY_NAME];
    let parsed = names.iter().filter_map(|name| {
        let content = read(disk, &dir.join(name)).ok().flatten()?;
        parse(content, usize::MAX).ok().filter(|parsed| parsed.frames > 0)
    });
    let best = parsed.max_by_key(|parsed| (parsed.header.generation, parsed.frames))?;
    Some(best.into_loaded(None))
}

/// The manifest, unless the copy tells more.
fn choose(
    dir: &Path,
    main: Result<Option<Parsed>>,
    copy: Result<Option<Parsed>>,
) -> Result<Option<LoadedManifest>> {
    let path = dir.join(MANIFEST_NAME);
    if let (Ok(None), Err(_)) = (&main, &copy) {
        // No store that is being made has a copy of its manifest already.
        return copy.map(|_| None);
    }
    // Of the two only the manifest has to be there and to be readable.
    let copy = copy.ok().flatten();
    let main = match main {
        Err(error) if error.kind() != ErrorKind::Corruption => return Err(error),
        Err(error) => {
            return copy.map(|copy| Some(copy.into_loaded(Some(error.duplicate())))).ok_or(error);
        }
        Ok(None) => {
            let missing = || Error::corruption(&path, 0, "the manifest is missing");
            return Ok(copy.map(|copy| copy.into_loaded(Some(missing()))));
        }
        Ok(Some(main)) => main,
    };
    match copy {
        Some(copy) if copy.tells_more_than(&main) => {
            if copy.header.generation == main.header.generation && !copy.begins_as(&main) {
                let message = "the manifest and its copy tell of different stores";
                return Err(Error::corruption(&path, main.end, message));
            }
            let damage = main.what_is_wrong(&copy);
            Ok(Some(copy.into_loaded(Some(damage))))
        }
        _ => main.into_result().map(Some),
    }
}

/// A file that was read whole.
struct ManifestFile {
    path: PathBuf,
    bytes: Vec<u8>,
}

fn read(disk: &dyn Disk, path: &Path) -> Result<Option<ManifestFile>> {
    let file = match disk.open(path, OpenMode::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("open the manifest", path, error)),
    };
    let bytes = read_to_end(&*file);
    let bytes = bytes.map_err(|error| Error::io("read the manifest", path, error))?;
    Ok(Some(ManifestFile { path: path.to_owned(), bytes }))
}

/// All bytes of a file from whose end a writer may cut room in the meantime.
fn read_to_end(file: &dyn DiskFile) -> std::io::Result<Vec<u8>> {
    let mut length = file.len()?;
    loop {
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        match file.read_at(0, &mut bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                let shorter = file.len()?;
                if shorter >= length {
                    return Err(error);
                }
                length = shorter;
            }
            read => return read.map(|()| bytes),
        }
    }
}

fn read_copy(disk: &dyn Disk, path: &Path) -> Result<Option<Parsed>> {
    let Some(content) = read(disk, path)? else { return Ok(None) };
    let copy = parse(content, usize::MAX)?;
    if copy.frames == 0 {
        return Err(Error::corruption(path, copy.end, "the manifest's copy has no whole edit"));
    }
    Ok(Some(copy))
}

/// Why no further edit was read.
#[derive(Debug)]
enum Stop {
    End,
    /// No whole edit stands here or behind.
    Torn(u64),
    Bad(Error),
}

/// A manifest as far as it could be read.
#[derive(Debug)]
pub(crate) struct Parsed {
    path: PathBuf,
    bytes: Vec<u8>,
    header: ManifestHeader,
    pub(crate) state: ManifestState,
    /// Edits read.
    frames: usize,
    last_edit: Option<VersionEdit>,
    /// Where the last of them ends.
    end: u64,
    stop: Stop,
}

/// Reads what can be read, up to a number of edits. An error is one of the header.
fn parse(content: ManifestFile, frames_max: usize) -> Result<Parsed> {
    let ManifestFile { path, bytes } = content;
    let header = ManifestHeader::decode(&bytes).map_err(|error| Error::header(&path, error))?;
    let mut state = ManifestState::default();
    let mut end = MANIFEST_HEADER_BYTES as u64;
    let (mut frames, mut last_edit) = (0, None);
    let rest = bytes.get(MANIFEST_HEADER_BYTES..).unwrap_or_default();
    let mut reader = FrameReader::new(rest, end, header.store_id);
    let stop = loop {
        // In room no edit is searched for: whoever follows a writer comes by here at each look.
        if frames == frames_max || is_room(&bytes, end) {
            break Stop::End;
        }
        let (offset, payload) = match reader.next_frame() {
            Ok(FrameRead::Frame { offset, payload }) => (offset, payload),
            Ok(FrameRead::End { .. }) => break Stop::End,
            Ok(FrameRead::Torn { offset }) => break Stop::Torn(offset),
            Err(error) => break Stop::Bad(Error::decode(&path, 0, error)),
        };
        let base = offset + FRAME_HEADER_BYTES as u64;
        let edit = match decode_edit(payload) {
            Ok(edit) => edit,
            Err(error) => break Stop::Bad(Error::decode(&path, base, error)),
        };
        if let Err(problem) = state.apply(&edit) {
            let message = format!("an edit makes no sense: {problem}");
            let bad = Error::corruption(&path, offset, message);
            // What the half of it has left is no state: that of the edits before is.
            let before = parse(ManifestFile { path, bytes }, frames)?;
            return Ok(Parsed { stop: Stop::Bad(bad), ..before });
        }
        end = base + payload.len() as u64;
        last_edit = (frames > 0).then_some(edit);
        frames += 1;
    };
    Ok(Parsed { path, bytes, header, state, frames, last_edit, end, stop })
}

/// Whether there is nothing from an offset on but room for edits: no edit begins with a zero length.
fn is_room(bytes: &[u8], offset: u64) -> bool {
    let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..));
    let is_blank = |piece: &[u8]| piece.iter().fold(0, |all, byte| all | byte) == 0;
    rest.is_some_and(|rest| rest.chunks(ROOM_PIECE_BYTES).all(is_blank))
}

impl Parsed {
    fn tells_more_than(&self, other: &Self) -> bool {
        self.header.store_id == other.header.store_id
            && (self.header.generation, self.frames) > (other.header.generation, other.frames)
    }

    /// Whether the other's edits are the first of this one's.
    fn begins_as(&self, other: &Self) -> bool {
        let edits = |parsed: &Self| {
            let range = MANIFEST_HEADER_BYTES..usize::try_from(other.end).unwrap_or(usize::MAX);
            parsed.bytes.get(range).map(<[u8]>::to_vec)
        };
        edits(self) == edits(other)
    }

    fn what_is_wrong(self, copy: &Self) -> Error {
        match self.stop {
            Stop::Bad(error) => error,
            Stop::Torn(_) | Stop::End => {
                let message = format!(
                    "the manifest ends after {} of the {} edits that its copy has",
                    self.frames, copy.frames
                );
                Error::corruption(&self.path, self.end, message)
            }
        }
    }

    fn into_result(self) -> Result<LoadedManifest> {
        match self.stop {
            Stop::Bad(error) => Err(error),
            Stop::Torn(_) | Stop::End => Ok(self.into_loaded(None)),
        }
    }

    fn into_loaded(self, damage: Option<Error>) -> LoadedManifest {
        let torn_at = match self.stop {
            Stop::Torn(offset) if damage.is_none() => Some(offset),
            _ => None,
        };
        LoadedManifest {
            store_id: self.header.store_id,
            generation: self.header.generation,
            log_expected: self.log_expected(),
            bytes: self.end,
            torn_at,
            damage,
            state: self.state,
            last_edit: self.last_edit,
        }
    }

    /// The segment of the log that an open store can't be without. Its writer begins one before
    /// its first edit (all but the file's first), and the first stream, without which there is
    /// no commit, is such an edit; from then on there is a segment until the store is closed.
    fn log_expected(&self) -> Option<WalId> {
        let (state, header) = (&self.state, &self.header);
        if state.closed.is_some() {
            return None;
        }
        let has_begun = header.log_begun || self.frames > 1;
        if has_begun && header.log_begins > WalId(0) {
            return Some(state.wal_floor.max(header.log_begins));
        }
        (state.next_stream > StreamId(1)).then_some(state.wal_floor)
    }
}
