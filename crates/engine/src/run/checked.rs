//! The bytes of a run file, none of which is looked at before its checksum was.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::ArrayRef;
use bytes::Bytes;
use timestrata_format::checksum::crc32c;
use timestrata_format::{BlockExtent, RunMeta};
use timestrata_io::sync::Mutex;
use timestrata_io::{Disk, OpenMode};

use super::tail::{RunTail, Zone};
use crate::key::KeyView;
use crate::planted::{Plant, is_planted};
use crate::{Error, ErrorKind, Result};

/// A mapped run file whose tail has been verified; data is verified block by block, once,
/// when somebody asks for it.
#[derive(Debug)]
pub(super) struct CheckedFile {
    path: PathBuf,
    bytes: Bytes,
    block_bytes: u64,
    block_crcs: Vec<u32>,
    /// One bit a block: its checksum was right.
    verified: Vec<AtomicU64>,
    /// Parts that are whole by a checksum of their own, though one of the blocks that they touch is
    /// not: what is damaged in that lies beside them.
    trusted: Mutex<Vec<Range<u64>>>,
    data_end: u64,
}

/// Where the tail begins, after a look at the length and the tail's checksum.
pub(super) fn check_tail(path: &Path, bytes: &Bytes, meta: &RunMeta) -> Result<usize> {
    let found = bytes.len() as u64;
    if found != meta.file_bytes {
        let message =
            format!("run file has the wrong length: expected {}, found {found}", meta.file_bytes);
        return Err(Error::corruption(path, found.min(meta.file_bytes), message));
    }
    let tail = usize::try_from(meta.tail_offset).ok().and_then(|start| bytes.get(start..));
    let Some(tail) = tail else {
        let message = format!("a tail is said to begin behind the file's {found} bytes");
        return Err(Error::corruption(path, meta.tail_offset, message));
    };
    let crc = crc32c(tail);
    if crc != meta.tail_crc {
        let message = format!(
            "bad checksum of a run's tail: expected {:#010x}, found {crc:#010x}",
            meta.tail_crc
        );
        return Err(Error::corruption(path, meta.tail_offset, message));
    }
    Ok(bytes.len() - tail.len())
}

/// Whether the tail of a run's file, and nothing else of it, is what the manifest says.
pub(crate) fn has_whole_tail(disk: &dyn Disk, path: &Path, meta: &RunMeta) -> bool {
    let read = || -> Option<u32> {
        let file = disk.open(path, OpenMode::Read).ok()?;
        // The manifest vouches for both numbers; the file has this length.
        let bytes = meta.file_bytes.checked_sub(meta.tail_offset)?;
        let mut tail = vec![0; usize::try_from(bytes).ok()?];
        file.read_at(meta.tail_offset, &mut tail).ok()?;
        Some(crc32c(&tail))
    };
    read() == Some(meta.tail_crc)
}

impl CheckedFile {
    /// `tail` is the file's own and agrees with the manifest.
    pub(super) fn new(path: PathBuf, bytes: Bytes, tail: &RunTail) -> Self {
        let words = tail.block_crcs.len().div_ceil(64);
        Self {
            path,
            bytes,
            block_bytes: u64::from(tail.block_checksum_bytes.max(1)),
            block_crcs: tail.block_crcs.clone(),
            verified: std::iter::repeat_with(AtomicU64::default).take(words).collect(),
            trusted: Mutex::default(),
            data_end: tail.data_bytes,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The first byte behind the data.
    pub(super) fn data_end(&self) -> u64 {
        self.data_end
    }

    /// Bytes that one checksum covers.
    pub(super) fn unit_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// The first place where bytes that were read from `start` on, where a checksum's bytes begin, don't
    /// fit their checksums.
    pub(super) fn first_bad_unit(&self, start: u64, bytes: &[u8]) -> Option<Error> {
        let (unit, expected, found) = self.bad_units(start, bytes).next()?;
        Some(self.bad_unit(unit, expected, found))
    }

    /// All such places, with the checksums that are expected and found.
    pub(super) fn bad_units(
        &self,
        start: u64,
        bytes: &[u8],
    ) -> impl Iterator<Item = (Range<u64>, u32, u32)> {
        let unit = usize::try_from(self.block_bytes).unwrap_or(usize::MAX);
        let first = usize::try_from(start / self.block_bytes).unwrap_or(usize::MAX);
        let expected = self.block_crcs.get(first..).unwrap_or_default();
        bytes.chunks(unit).zip(expected).zip(0_u64..).filter_map(
            move |((bytes, expected), index)| {
                let found = crc32c(bytes);
                let at = start + index * self.block_bytes;
                (found != *expected).then(|| (at..at + bytes.len() as u64, *expected, found))
            },
        )
    }

    fn bad_unit(&self, range: Range<u64>, expected: u32, found: u32) -> Error {
        let Range { start, end } = range;
        let message = format!(
            "bad checksum of bytes {start} to {end} of a run: expected {expected:#010x}, found \
             {found:#010x}"
        );
        self.bad(start, message)
    }

    /// The whole file. Only bytes that [`CheckedFile::verify`] has passed may be trusted.
    pub(super) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// A range of the data, verified.
    pub(super) fn slice(&self, range: Range<u64>) -> Result<&[u8]> {
        self.verify(range.clone())?;
        let start = usize::try_from(range.start).unwrap_or(usize::MAX);
        let end = usize::try_from(range.end).unwrap_or(usize::MAX);
        self.bytes.get(start..end).ok_or_else(|| self.outside(&range))
    }

    /// Compares the checksums of all blocks that the range touches, those that were not
    /// compared before.
    pub(super) fn verify(&self, range: Range<u64>) -> Result<()> {
        if range.start > range.end || range.end > self.data_end {
            return Err(self.outside(&range));
        }
        if range.is_empty() {
            return Ok(());
        }
        let blocks = range.start / self.block_bytes..range.end.div_ceil(self.block_bytes);
        let verified = blocks.into_iter().try_for_each(|block| self.verify_block(block));
        match verified {
            Err(_) if self.is_trusted(&range) => Ok(()),
            verified => verified,
        }
    }

    fn is_trusted(&self, range: &Range<u64>) -> bool {
        let trusted = self.trusted.lock();
        trusted.iter().any(|part| part.start <= range.start && range.end <= part.end)
    }

    /// Takes a part for whole if its own checksum is right; false if it is not, or was known.
    pub(super) fn trust(&self, part: &BlockExtent) -> bool {
        let range = part.start..part.end;
        if part.start >= part.end || part.end > self.data_end || self.is_trusted(&range) {
            return false;
        }
        let bytes = self.bytes.get(part.start as usize..part.end as usize);
        let is_whole = bytes.is_some_and(|bytes| crc32c(bytes) == part.crc);
        if is_whole {
            self.trusted.lock().push(range);
        }
        is_whole
    }

    fn verify_block(&self, block: u64) -> Result<()> {
        let start = block * self.block_bytes;
        let end = (start + self.block_bytes).min(self.data_end);
        let index = usize::try_from(block).unwrap_or(usize::MAX);
        let (Some(seen), Some(expected), Some(bytes)) = (
            self.verified.get(index / 64),
            self.block_crcs.get(index),
            self.bytes.get(start as usize..end as usize),
        ) else {
            return Err(self.outside(&(start..end)));
        };
        let bit = 1_u64 << (index % 64);
        // The bit guards nothing but work: the bytes are immutable.
        if seen.load(Ordering::Relaxed) & bit != 0 {
            return Ok(());
        }
        let found = crc32c(bytes);
        if found != *expected && !is_planted(Plant::SkippedChecksum) {
            return Err(self.bad_unit(start..end, *expected, found));
        }
        seen.fetch_or(bit, Ordering::Relaxed);
        Ok(())
    }

    /// An error about bytes that passed their checksum, and make no sense all the same.
    pub(super) fn bad(&self, offset: u64, message: impl Into<String>) -> Error {
        Error::corruption(&self.path, offset, message)
    }

    /// The leading keys of a block must be what the zone map says, else a scan that trusted the zone map gave wrong rows. The
    /// ends suffice here; `verify_all` looks at each key.
    pub(super) fn check_ends(&self, zone: &Zone, leads: &ArrayRef) -> Result<()> {
        let keys = KeyView::of_column(leads.as_ref())?;
        let are_ends = (keys.first(), keys.last()) == (Some(zone.key_min), Some(zone.key_max));
        self.expect_in_zone(are_ends)
    }

    /// The same for rows that are some of a block's, or in another order.
    pub(super) fn check_within(&self, zone: &Zone, leads: &ArrayRef) -> Result<()> {
        let keys = KeyView::of_column(leads.as_ref())?;
        self.expect_in_zone(keys.are_within(zone.key_min, zone.key_max))
    }

    fn expect_in_zone(&self, are: bool) -> Result<()> {
        match are {
            true => Ok(()),
            false => Err(self.bad(0, "keys of a run are outside their zone map")),
        }
    }

    pub(super) fn no_block(&self, block: usize) -> Error {
        self.bad(0, format!("a run has no block {block}"))
    }

    fn outside(&self, range: &Range<u64>) -> Error {
        let message = format!(
            "a run refers to bytes {} to {}, outside its {} bytes of data",
            range.start, range.end, self.data_end
        );
        self.bad(range.start, message)
    }

    /// How many blocks have been compared so far.
    #[cfg(test)]
    pub(super) fn blocks_verified(&self) -> u32 {
        self.verified.iter().map(|word| word.load(Ordering::Relaxed).count_ones()).sum()
    }
}

/// What a filter or a dictionary says that only spares work; `otherwise` where it is damaged, for the
/// rows are whole, or whoever reads them is told.
pub(super) fn unless_damaged<T>(outcome: Result<T>, otherwise: T) -> Result<T> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::Corruption => Ok(otherwise),
        outcome => outcome,
    }
}

/// `length` bytes from `start`, in whatever numbers a format gives them; `None` where one is
/// negative or the end is too far.
pub(super) fn byte_range(
    start: impl TryInto<u64>,
    length: impl TryInto<u64>,
) -> Option<Range<u64>> {
    let start = start.try_into().ok()?;
    let end = start.checked_add(length.try_into().ok()?)?;
    Some(start..end)
}

/// Runs a decoder of the Arrow or Parquet libraries over a file's bytes.
///
/// They check what they read and return errors, but where bytes with right checksums were
/// made up by somebody hostile, an index or an assertion in them may still panic. Disk is
/// input: such a panic becomes a corruption error of this one file. `AssertUnwindSafe`
/// holds because decoders only read the immutable file and build values that are lost
/// with the panic.
pub(super) fn guarded<T>(path: &Path, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|payload| {
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("unknown reason");
        Err(Error::corruption(path, 0, format!("a run file could not be decoded: {text}")))
    })
}
