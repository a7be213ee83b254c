//! Frames: records of any length with a checksum, one behind the other.
//!
//! `[u32 length][u32 crc] payload`, little-endian. The CRC-32C covers the store's id, the
//! four length bytes and the payload, so a frame of another store is no frame. An empty
//! payload is no frame either: zeros that a crash left behind never pass.
//!
//! What stands where a frame should begin, but is none, is one of two things. A crash while
//! the last frame was written leaves a *torn* end: nothing behind it is a whole frame.
//! Damage in the middle has whole frames behind it: that is corruption, for those frames
//! were acknowledged after the damaged one. The reader tells them apart by trying every
//! later byte as the start of a frame. The work is bounded; beyond the bound it says
//! corruption, because cutting needs proof and refusing does not.

use crate::checksum::Crc32c;
use crate::{DecodeError, StoreId};

/// Bytes before a frame's payload.
pub const FRAME_HEADER_BYTES: usize = 8;

/// Bytes that the search behind a bad frame may checksum.
const SEARCH_BYTES_MAX: u64 = 1 << 30;

/// Adds one frame with a payload of 1 byte to 4 GiB - 1.
///
/// # Panics
/// If the payload is empty or too long: both are bugs of the caller.
pub fn append_frame(out: &mut Vec<u8>, salt: StoreId, payload: &[u8]) {
    assert!(!payload.is_empty(), "a frame needs a payload");
    assert!(u32::try_from(payload.len()).is_ok(), "a frame of {} bytes", payload.len());
    let length = (payload.len() as u32).to_le_bytes();
    out.reserve(FRAME_HEADER_BYTES + payload.len());
    out.extend_from_slice(&length);
    out.extend_from_slice(&frame_crc(salt, length, payload).to_le_bytes());
    out.extend_from_slice(payload);
}

fn frame_crc(salt: StoreId, length: [u8; 4], payload: &[u8]) -> u32 {
    let mut crc = Crc32c::new();
    crc.update(&salt.0);
    crc.update(&length);
    crc.update(payload);
    crc.value()
}

/// What [`FrameReader::next_frame`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameRead<'a> {
    /// A whole frame.
    Frame {
        /// Where its header begins.
        offset: u64,
        /// What it holds.
        payload: &'a [u8],
    },
    /// The bytes end where a frame ends.
    End {
        /// Their length.
        offset: u64,
    },
    /// The bytes from `offset` to the end are no whole frame, and none is among them.
    Torn {
        /// Where the last whole frame ends.
        offset: u64,
    },
}

/// Reads frames from front to back.
#[derive(Debug, Clone)]
pub struct FrameReader<'a> {
    bytes: &'a [u8],
    position: usize,
    base: u64,
    salt: StoreId,
}

impl<'a> FrameReader<'a> {
    /// Reads `bytes`, which begin at `base` in their file; offsets given are the file's.
    pub fn new(bytes: &'a [u8], base: u64, salt: StoreId) -> Self {
        Self { bytes, position: 0, base, salt }
    }

    /// The next frame or the end, again and again once it is reached; an error where a bad
    /// frame has a whole one somewhere behind it.
    pub fn next_frame(&mut self) -> Result<FrameRead<'a>, DecodeError> {
        let start = self.position;
        let offset = self.offset_of(start);
        if start == self.bytes.len() {
            return Ok(FrameRead::End { offset });
        }
        if let Some(payload) = self.frame_at(start) {
            self.position = start + FRAME_HEADER_BYTES + payload.len();
            return Ok(FrameRead::Frame { offset, payload });
        }
        match self.search_behind(start)? {
            Some(later) => Err(DecodeError::new(
                offset,
                "frame",
                "a whole frame with the right checksum",
                format_args!("damage before a whole frame at byte {}", self.offset_of(later)),
            )),
            None => Ok(FrameRead::Torn { offset }),
        }
    }

    fn offset_of(&self, position: usize) -> u64 {
        self.base.saturating_add(position as u64)
    }

    /// Length as written, checksum, and the payload if all of it is there.
    fn parts_at(&self, position: usize) -> Option<([u8; 4], u32, &'a [u8])> {
        let rest = self.bytes.get(position..)?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (crc, rest) = rest.split_first_chunk::<4>()?;
        let payload = rest.get(..u32::from_le_bytes(*length) as usize)?;
        (!payload.is_empty()).then_some((*length, u32::from_le_bytes(*crc), payload))
    }

    fn frame_at(&self, position: usize) -> Option<&'a [u8]> {
        let (length, crc, payload) = self.parts_at(position)?;
        (frame_crc(self.salt, length, payload) == crc).then_some(payload)
    }

    fn search_behind(&self, start: usize) -> Result<Option<usize>, DecodeError> {
        let mut searched = 0_u64;
        for position in start + 1..self.bytes.len() {
            let Some((length, crc, payload)) = self.parts_at(position) else { continue };
            searched += payload.len() as u64;
            if searched > SEARCH_BYTES_MAX {
                return Err(DecodeError::new(
                    self.offset_of(start),
                    "frame",
                    "a whole frame with the right checksum, or a torn end",
                    format_args!(
                        "{} bytes in which a later frame can't be ruled out",
                        self.bytes.len() - start
                    ),
                ));
            }
            if frame_crc(self.salt, length, payload) == crc {
                return Ok(Some(position));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
