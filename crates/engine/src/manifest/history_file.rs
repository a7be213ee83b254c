//! The file of the history: a header, and a frame a step.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use timestrata_format::frame::{FrameRead, FrameReader, append_frame};
use timestrata_format::{HISTORY_HEADER_BYTES, HistoryHeader, HistoryStep, StoreId};
use timestrata_io::{Disk, DiskFile, OpenMode};

/// Name of the history in the store's directory.
pub(super) const HISTORY_NAME: &str = "HISTORY";
const NEW_HISTORY_NAME: &str = "HISTORY.new";
/// All the names that its file may have.
pub(crate) const HISTORY_NAMES: [&str; 2] = [HISTORY_NAME, NEW_HISTORY_NAME];
/// A file this many times larger than what was last written whole is written whole again.
const GROWTH: u64 = 4;
/// But not below this.
const REWRITE_BYTES_MIN: u64 = 256 * 1024;

/// The steps in a file, but for one that was never finished; `None` where it is damaged.
pub(super) fn read_steps(
    disk: &dyn Disk,
    path: &Path,
    store_id: StoreId,
) -> Option<Vec<HistoryStep>> {
    let file = disk.open(path, OpenMode::Read).ok()?;
    let mut bytes = vec![0; usize::try_from(file.len().ok()?).ok()?];
    file.read_at(0, &mut bytes).ok()?;
    let header = HistoryHeader::decode(&bytes).ok()?;
    if header.store_id != store_id {
        return None;
    }
    let frames = bytes.get(HISTORY_HEADER_BYTES..)?;
    let mut reader = FrameReader::new(frames, HISTORY_HEADER_BYTES as u64, store_id);
    let mut steps = Vec::new();
    loop {
        match reader.next_frame().ok()? {
            FrameRead::Frame { payload, .. } => steps.push(HistoryStep::decode(payload).ok()?),
            FrameRead::End { .. } => return Some(steps),
            // Whether what is before that leads to the manifest is looked at.
            FrameRead::Torn { .. } => return Some(steps),
        }
    }
}

/// The file, as long as it can be written.
#[derive(Debug)]
pub(super) struct HistoryFile {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    store_id: StoreId,
    open: Option<Arc<dyn DiskFile>>,
    bytes: u64,
    whole_bytes: u64,
}

impl HistoryFile {
    pub(super) fn new(disk: &Arc<dyn Disk>, dir: &Path, store_id: StoreId) -> Self {
        let (disk, dir) = (Arc::clone(disk), dir.to_owned());
        Self { disk, dir, store_id, open: None, bytes: 0, whole_bytes: 0 }
    }

    /// Adds a step. What can't be written ends the file: a later one would not fit to it.
    pub(super) fn append(&mut self, step: &HistoryStep) {
        let mut frame = Vec::new();
        append_frame(&mut frame, self.store_id, &step.encode());
        let at = self.bytes;
        self.open = self.open.take().filter(|file| file.write_at(at, &frame).is_ok());
        self.bytes += frame.len() as u64;
    }

    pub(super) fn is_long(&self) -> bool {
        self.bytes > REWRITE_BYTES_MIN.max(self.whole_bytes.saturating_mul(GROWTH))
    }

    pub(super) fn write<'a>(&mut self, steps: impl Iterator<Item = &'a HistoryStep>) {
        let mut bytes = HistoryHeader { store_id: self.store_id }.encode().to_vec();
        steps.for_each(|step| append_frame(&mut bytes, self.store_id, &step.encode()));
        (self.bytes, self.whole_bytes) = (bytes.len() as u64, bytes.len() as u64);
        self.open = self.replace(&bytes).ok();
    }

    fn replace(&self, bytes: &[u8]) -> std::io::Result<Arc<dyn DiskFile>> {
        let (new_path, path) = (self.dir.join(NEW_HISTORY_NAME), self.dir.join(HISTORY_NAME));
        if self.disk.exists(&new_path)? {
            self.disk.remove(&new_path)?;
        }
        let written = self.disk.open(&new_path, OpenMode::CreateNew).and_then(|file| {
            file.write_at(0, bytes)?;
            self.disk.rename(&new_path, &path)?;
            self.disk.open(&path, OpenMode::ReadWrite)
        });
        // One of before would end with another manifest, and nobody needs the new one's name.
        written.inspect_err(|_| drop(self.disk.remove(&new_path)))
    }
}
