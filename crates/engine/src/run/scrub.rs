//! Comparing a run's file with its checksums, piece by piece, from the disk and not from its map.
//!
//! A sector that can't be read is an error here; under a map it would be the end of the process.

use std::ops::Range;

use timestrata_format::BlockExtent;
use timestrata_format::checksum::crc32c;
use timestrata_io::{DiskFile, OpenMode};

use super::checked::CheckedFile;
use super::reader::RunReader;
use crate::scan::Source;
use crate::{Error, MissingRange, Result};

/// What a piece of a run's file was like.
#[derive(Debug)]
pub(crate) struct ScrubbedPiece {
    /// The first byte behind it.
    pub(crate) end: u64,
    /// What is wrong with it.
    pub(crate) damage: Option<Error>,
}

impl RunReader {
    /// Compares the piece of the file that begins at `offset`, of about `bytes_max` bytes.
    ///
    /// # Errors
    /// Those of opening the run, which say that all of it is missing; those of the disk, but for
    /// bytes that can't be read.
    pub(crate) fn scrub(&self, offset: u64, bytes_max: u64) -> Result<ScrubbedPiece> {
        let meta = self.meta();
        let file = self.opened()?.content.file();
        let (unit, data_end) = (file.unit_bytes(), meta.tail_offset);
        let start = offset.min(meta.file_bytes);
        // The tail is one piece, and was compared when the file was opened; its bytes may have changed.
        let end = match start < data_end {
            true => data_end.min(start.saturating_add(bytes_max.max(unit)) / unit * unit),
            false => meta.file_bytes,
        };
        let end = if end <= start { data_end } else { end };
        let disk_file = self.open_file()?;
        let mut bytes = vec![0; usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX)];
        if let Err(error) = disk_file.read_at(start, &mut bytes) {
            let message = format!("bytes {start} to {end} of a run can't be read: {error}");
            let damage = Some(file.bad(start, message).caused_by(error));
            return Ok(ScrubbedPiece { end, damage });
        }
        let damage = match start < data_end {
            true => file.first_bad_unit(start, &bytes),
            false if crc32c(&bytes) != meta.tail_crc => {
                Some(file.bad(start, "bad checksum of a run's tail"))
            }
            false => None,
        };
        Ok(ScrubbedPiece { end, damage })
    }

    fn open_file(&self) -> Result<std::sync::Arc<dyn timestrata_io::DiskFile>> {
        let path = self.path();
        let opened = self.io().disk.open(path, OpenMode::Read);
        opened.map_err(|error| Error::io("open a run", path, error))
    }

    /// What is missing for damage that lies in the bytes from `start` to `end`.
    pub(crate) fn missing_for(&self, error: &Error, start: u64, end: u64) -> Vec<MissingRange> {
        let Ok(opened) = self.opened() else { return Vec::new() };
        let origin = self.origin(opened).ok().flatten();
        let Some(origin) = origin.filter(|_| end <= self.meta().tail_offset) else {
            // Nobody knows which blocks: all of them may be.
            let keys = (self.meta().key_min, self.meta().key_max);
            return vec![self.missing(error, keys, self.meta().rows)];
        };
        let Ok(blocks) = self.blocks() else { return Vec::new() };
        let Ok(file) = self.open_file() else { return Vec::new() };
        let mut missing = Vec::new();
        for (group, extent) in origin.blocks.iter().enumerate() {
            if extent.start >= end || start >= extent.end {
                continue;
            }
            let Some(bad) = bad_parts(opened.content.file(), file.as_ref(), extent) else {
                continue;
            };
            let of_group = opened.content.blocks_of(group);
            let damaged = of_group.filter(|block| opened.content.has_bytes_in(*block, &bad));
            missing.extend(damaged.filter_map(|block| blocks.get(block)).map(|zone| {
                self.missing(error, (zone.key_min, zone.key_max), u64::from(zone.rows))
            }));
        }
        match missing.is_empty() {
            // A filter, or bytes between blocks.
            true => vec![self.missing(error, (self.meta().key_min, self.meta().key_max), 0)],
            false => missing,
        }
    }
}

/// The parts of a row group's bytes, as they are on the disk, that are damaged; `None` if it is whole by itself.
fn bad_parts(
    file: &CheckedFile,
    disk_file: &dyn DiskFile,
    extent: &BlockExtent,
) -> Option<Vec<Range<u64>>> {
    let all = extent.start..extent.end;
    let read = |range: &Range<u64>| {
        let mut bytes = vec![0; usize::try_from(range.end.checked_sub(range.start)?).ok()?];
        disk_file.read_at(range.start, &mut bytes).is_ok().then_some(bytes)
    };
    let is_in_file = all.start <= all.end && all.end <= file.data_end();
    let Some(bytes) = Some(&all).filter(|_| is_in_file).and_then(read) else {
        return Some(vec![all]);
    };
    if crc32c(&bytes) == extent.crc {
        return None;
    }
    let unit = file.unit_bytes();
    let start = all.start / unit * unit;
    let units = start..all.end.next_multiple_of(unit).min(file.data_end());
    let Some(bytes) = read(&units) else { return Some(vec![all]) };
    let bad: Vec<_> = file.bad_units(start, &bytes).map(|(unit, ..)| unit).collect();
    Some(if bad.is_empty() { vec![all] } else { bad })
}
