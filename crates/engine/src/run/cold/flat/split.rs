//! Parquet's BYTE_STREAM_SPLIT: the first bytes of all numbers of a page, then the second ones, and so on.
//!
//! ```text
//!    numbers   0x00000112 0x0000017f 0x00000203
//!    page      12 7f 03 | 01 01 02 | 00 00 00 | 00 00 00     the lowest bytes first
//! ```
//!
//! After the format's description, <https://parquet.apache.org/docs/file-format/data-pages/encodings/>.

use bytes::Bytes;
use parquet::errors::Result;

use super::super::super::value_buffer::ValueBuffer;
use super::{Word, damaged};

/// So many stay in the processor's nearest cache while their bytes are put together.
const NUMBERS_AT_ONCE: usize = 1_024;

/// Reads the numbers of a page.
pub(super) struct Split {
    bytes: Bytes,
    /// Numbers of the page.
    values: usize,
    /// How many of them have been read.
    at: usize,
}

impl Split {
    /// A page of so many numbers.
    pub(super) fn new<W: Word>(bytes: Bytes, values: usize) -> Result<Self> {
        if values.checked_mul(size_of::<W>()) != Some(bytes.len()) {
            let message = format!("have {} bytes, of {values} numbers", bytes.len());
            return Err(damaged("split numbers", message));
        }
        Ok(Self { bytes, values, at: 0 })
    }

    pub(super) fn skip(&mut self, count: usize) -> Result<()> {
        let at = self.at.checked_add(count).filter(|at| *at <= self.values);
        self.at = at.ok_or_else(|| damaged("split numbers", "end before all rows have one"))?;
        Ok(())
    }

    /// Appends the next `count` numbers.
    pub(super) fn read<W: Word>(&mut self, count: usize, out: &mut ValueBuffer<W>) -> Result<()> {
        let mut first = self.at;
        self.skip(count)?;
        while first < self.at {
            let end = self.at.min(first + NUMBERS_AT_ONCE);
            let mut planes = self.bytes.chunks_exact(self.values).enumerate();
            let begin = out.len();
            let lowest = planes.next().and_then(|(_, bytes)| bytes.get(first..end));
            let lowest = lowest.unwrap_or_default().iter();
            out.extend(lowest.map(|byte| W::default().with_byte(0, *byte)));
            let numbers = out.get_mut(begin..).unwrap_or_default();
            for (place, bytes) in planes {
                let bytes = bytes.get(first..end).unwrap_or_default();
                // The high bytes of small numbers.
                if bytes.iter().fold(0, |all, byte| all | byte) > 0 {
                    for (number, byte) in numbers.iter_mut().zip(bytes) {
                        *number = number.with_byte(place, *byte);
                    }
                }
            }
            first = end;
        }
        Ok(())
    }

    /// The number that comes behind so many of the next; `None` where there is none.
    pub(super) fn get<W: Word>(&self, behind: usize) -> Option<W> {
        let at = self.at.checked_add(behind).filter(|at| *at < self.values)?;
        let bytes = self.bytes.chunks_exact(self.values).enumerate();
        let number = bytes.fold(W::default(), |number, (place, bytes)| {
            number.with_byte(place, bytes.get(at).copied().unwrap_or_default())
        });
        Some(number)
    }
}
