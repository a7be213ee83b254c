//! The bytes of one segment, a window at a time. They are read and not mapped: a sector that can't be
//! read is an error then, and not the end of the process.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use timestrata_format::checksum::crc32c;
use timestrata_format::wal::{
    END_MARK_BYTES, PAYLOAD_ALIGNMENT, RECORD_ALIGNMENT, RECORD_HEADER_BYTES, RecordHeader,
    RecordSeed, SEGMENT_HEADER_BYTES, SegmentHeader,
};
use timestrata_format::{HeaderError, SeqNo, StoreId, WalId};
use timestrata_io::{Bytes, DiskFile, Io, OpenMode};

use super::ahead::Windows;
use crate::planted::{Plant, is_planted};
use crate::wal::segment::FIRST_COMMIT_OFFSET;
use crate::{Error, ErrorKind, Result};

/// What is read at a time, if no record needs more.
const WINDOW_BYTES: u64 = 256 * 1024;
/// Where windows begin, so that what is aligned in the file is aligned in memory too: columns can
/// then be used where they are.
const WINDOW_ALIGNMENT: u64 = PAYLOAD_ALIGNMENT as u64;

/// What a search goes past at once where all is zero.
const BLANK_BYTES: usize = 512;

/// One segment that is read.
#[derive(Debug)]
pub(super) struct SegmentCursor {
    pub(super) id: WalId,
    pub(super) path: PathBuf,
    file: Arc<dyn DiskFile>,
    seed: RecordSeed,
    pub(super) len: u64,
    /// A copy of a part.
    pub(super) window: Bytes,
    window_start: u64,
    /// Memory that others have given back.
    pub(super) windows: Option<Arc<Windows>>,
}

/// What is behind the last record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// The zeros that the writer leaves there.
    Nothing,
    /// The beginning of a record.
    Torn,
}

impl SegmentCursor {
    /// Opens a segment and checks its header. `Ok(None)` if there is no such file any more.
    pub(super) fn open(
        io: &Io,
        path: PathBuf,
        store_id: StoreId,
        id: WalId,
    ) -> Result<Option<Self>> {
        let failed = |source| Error::io("read the log", &path, source);
        let file = match io.disk.open(&path, OpenMode::Read) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(failed)?,
        };
        let len = file.len().map_err(failed)?;
        let window = Bytes::new();
        let seed = RecordSeed::new(store_id, id);
        let (window_start, windows) = (0, None);
        let mut cursor = Self { id, path, file, seed, len, window, window_start, windows };
        cursor.check_header(store_id)?;
        Ok(Some(cursor))
    }

    fn check_header(&mut self, store_id: StoreId) -> Result<()> {
        let bytes = self.view(0, self.len.min(SEGMENT_HEADER_BYTES as u64))?;
        let header =
            SegmentHeader::decode(bytes.unwrap_or_default()).map_err(|error| match error {
                HeaderError::NewerVersion { .. } => {
                    Error::new(ErrorKind::UnsupportedVersion, format!("a log segment of {error}"))
                        .at(&self.path)
                }
                HeaderError::Damaged(error) => Error::decode(&self.path, 0, error),
            })?;
        // The header's checksum vouches for the length: what stands behind it is not the log's.
        self.len = self.len.min(header.segment_bytes);
        let expected = SegmentHeader {
            format_version: header.format_version,
            store_id,
            wal_id: self.id,
            segment_bytes: self.len,
        };
        if header == expected {
            return Ok(());
        }
        Err(Error::corruption(
            &self.path,
            16,
            format!(
                "bad segment header: expected segment {} of store {store_id} with {} bytes, \
                 found segment {} of store {} with {} bytes",
                self.id, self.len, header.wal_id, header.store_id, header.segment_bytes
            ),
        ))
    }

    /// Whether the file still is this segment, and not used again for another.
    pub(super) fn is_current(&self) -> Result<bool> {
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        let read = self.file.read_at(0, &mut bytes);
        read.map_err(|source| Error::io("read the log", &self.path, source))?;
        Ok(SegmentHeader::decode(&bytes).is_ok_and(|header| header.wal_id == self.id))
    }

    /// Drops the copied part, so that what is read next is as it is now.
    pub(super) fn forget(&mut self) {
        self.window = Bytes::new();
    }

    /// `length` bytes at `offset`; `None` if the segment ends before.
    #[inline]
    fn view(&mut self, offset: u64, length: u64) -> Result<Option<&[u8]>> {
        let Some(end) = offset.checked_add(length).filter(|end| *end <= self.len) else {
            return Ok(None);
        };
        let window_end = self.window_start + self.window.len() as u64;
        if offset < self.window_start || end > window_end {
            self.load(offset, length)?;
        }
        let start = (offset - self.window_start) as usize;
        Ok(self.window.get(start..start + length as usize))
    }

    fn load(&mut self, offset: u64, length: u64) -> Result<()> {
        let start = offset / WINDOW_ALIGNMENT * WINDOW_ALIGNMENT;
        let take = (offset - start + length).max(WINDOW_BYTES).min(self.len - start);
        let mut bytes = self.take_window();
        if bytes.capacity() < take as usize {
            // New memory is zero without being written to.
            bytes = vec![0; take as usize];
        } else {
            bytes.resize(take as usize, 0);
        }
        let read = self.file.read_at(start, &mut bytes);
        read.map_err(|source| Error::io("read the log", &self.path, source).at_offset(start))?;
        self.window = Bytes::from(bytes);
        self.window_start = start;
        Ok(())
    }

    /// The memory of the last window, where nothing that was read from it has been kept, or of another: pages
    /// that are new to the process cost about as much as what is read into them.
    fn take_window(&mut self) -> Vec<u8> {
        let own = std::mem::take(&mut self.window).try_into_mut().ok();
        let given_back = || self.windows.as_ref()?.take();
        own.filter(|own| !own.is_empty()).map(Vec::from).or_else(given_back).unwrap_or_default()
    }

    /// The whole record at `offset`, its checksums right; `None` if there is none.
    #[inline]
    pub(super) fn record(&mut self, offset: u64) -> Result<Option<RecordHeader>> {
        let Some(header) = self.header(offset)? else { return Ok(None) };
        let (start, length) = (offset + header.payload_offset(), u64::from(header.payload_bytes));
        let Some(payload) = self.view(start, length)? else { return Ok(None) };
        let is_right = crc32c(payload) == header.payload_crc || is_planted(Plant::SkippedChecksum);
        Ok(is_right.then_some(header))
    }

    /// The record at `offset`, if all of it is in the window and its checksums are right, and where in the window its
    /// payload is.
    #[inline(always)]
    pub(super) fn in_window(&self, offset: u64) -> Option<(RecordHeader, Range<usize>)> {
        let at = usize::try_from(offset.checked_sub(self.window_start)?).ok()?;
        let header = self.window.get(at..)?.first_chunk::<RECORD_HEADER_BYTES>()?;
        let header = RecordHeader::decode(header, self.seed, offset)?;
        let start = at + header.payload_offset() as usize;
        let place = start..start.checked_add(header.payload_bytes as usize)?;
        let payload = self.window.get(place.clone())?;
        let is_right = crc32c(payload) == header.payload_crc || is_planted(Plant::SkippedChecksum);
        is_right.then_some((header, place))
    }

    #[inline]
    fn header(&mut self, offset: u64) -> Result<Option<RecordHeader>> {
        let seed = self.seed;
        let bytes = self.view(offset, RECORD_HEADER_BYTES as u64)?;
        let bytes = bytes.and_then(|bytes| bytes.first_chunk::<RECORD_HEADER_BYTES>());
        Ok(bytes.and_then(|bytes| RecordHeader::decode(bytes, seed, offset)))
    }

    /// Where in `window` the payload of the record is whose header is at `offset`.
    #[inline]
    pub(super) fn payload(&mut self, offset: u64, header: &RecordHeader) -> Result<Range<usize>> {
        let (start, length) = (offset + header.payload_offset(), u64::from(header.payload_bytes));
        if self.view(start, length)?.is_none() {
            return Err(Error::corruption(&self.path, start, "the record has no payload"));
        }
        let start = (start - self.window_start) as usize;
        Ok(start..start + length as usize)
    }

    /// What stands at `offset`, where no whole record is.
    pub(super) fn behind(&mut self, offset: u64) -> Result<Behind> {
        let length = (END_MARK_BYTES as u64).min(self.len.saturating_sub(offset));
        let bytes = self.view(offset, length)?.unwrap_or_default();
        Ok(if bytes.iter().all(|byte| *byte == 0) { Behind::Nothing } else { Behind::Torn })
    }

    /// Where behind `offset` a record header stands that says that a commit after `last` was
    /// durable (any header, if `last` is not known).
    pub(super) fn proof_behind(&mut self, offset: u64, last: Option<SeqNo>) -> Result<Option<u64>> {
        let is_proof = |header: &RecordHeader| match last {
            Some(last) => header.synced_through > last,
            None => true,
        };
        let mut at = offset + RECORD_ALIGNMENT as u64;
        while at + (RECORD_HEADER_BYTES as u64) <= self.len {
            let length = WINDOW_BYTES.min(self.len - at);
            let seed = self.seed;
            let bytes = self.view(at, length)?.unwrap_or_default();
            let mut start = 0;
            while let Some(rest) = bytes.get(start..)
                && let Some(header) = rest.first_chunk()
            {
                // Behind the end nothing was ever written, mostly, and zeros hold no header.
                if start % BLANK_BYTES == 0 && is_blank(rest) {
                    start += BLANK_BYTES;
                    continue;
                }
                let place = at + start as u64;
                if RecordHeader::is_candidate(header)
                    && RecordHeader::decode(header, seed, place).as_ref().is_some_and(is_proof)
                {
                    return Ok(Some(place));
                }
                start += RECORD_ALIGNMENT;
            }
            // The next part begins where this one had too few bytes for a header.
            at += (length - RECORD_HEADER_BYTES as u64) / RECORD_ALIGNMENT as u64
                * RECORD_ALIGNMENT as u64
                + RECORD_ALIGNMENT as u64;
        }
        Ok(None)
    }

    /// The id of the segment before that has the last commit, which a start record carries.
    pub(super) fn previous_id(&mut self, offset: u64, start: &RecordHeader) -> Result<WalId> {
        let payload = self.payload(offset, start)?;
        let payload = self.window.get(payload).unwrap_or_default();
        let number = payload
            .first_chunk::<8>()
            .copied()
            .filter(|_| payload.len() == 8 && offset + start.record_bytes() == FIRST_COMMIT_OFFSET);
        match number {
            Some(number) => Ok(WalId(u64::from_le_bytes(number))),
            None => Err(Error::corruption(&self.path, offset, "bad start record")),
        }
    }
}

/// Whether no header can begin in the first [`BLANK_BYTES`].
fn is_blank(bytes: &[u8]) -> bool {
    let reach = bytes.get(..BLANK_BYTES + RECORD_HEADER_BYTES);
    reach.is_some_and(|bytes| bytes.iter().fold(0, |all, byte| all | byte) == 0)
}
