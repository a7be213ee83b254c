//! Parquet's RLE and bit-packing hybrid: codes of a dictionary, and levels.
//!
//! ```text
//!    varint  n << 1      one value, for n rows
//!    varint  n << 1 | 1  n * 8 values, bit by bit
//! ```
//!
//! After the format's description, <https://parquet.apache.org/docs/file-format/data-pages/encodings/>.

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};

use super::unpack::unpack;
use super::{damaged, varint};

/// Some values that follow each other.
pub(super) enum Piece<'a> {
    /// One value, so many times.
    Repeated(u32, usize),
    Each(&'a [u32]),
}

impl Piece<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Repeated(_, count) => *count,
            Self::Each(values) => values.len(),
        }
    }
}

/// Reads the values of a page.
#[derive(Default)]
pub(super) struct Hybrid {
    bytes: Bytes,
    at: usize,
    width: usize,
    /// Values behind the present run.
    left: usize,
    /// The value of the present run, and how many of it are left,
    repeated: (u32, usize),
    /// or its values, and how many have been read.
    each: Vec<u32>,
    read: usize,
}

impl Hybrid {
    /// Of so many values, of `width` bits each.
    pub(super) fn new(bytes: Bytes, width: u8, values: usize) -> Result<Self> {
        if width > 32 {
            return Err(damaged("codes", format!("have {width} bits each")));
        }
        Ok(Self { bytes, width: width.into(), left: values, ..Self::default() })
    }

    /// Of codes of a dictionary, before which the width stands.
    pub(super) fn of_codes(bytes: &Bytes, values: usize) -> Result<Self> {
        match bytes.first() {
            Some(width) => Self::new(bytes.slice(1..), *width, values),
            None => Err(ends_early()),
        }
    }

    /// The next values, no more than `most`, and one at least.
    pub(super) fn next(&mut self, most: usize) -> Result<Piece<'_>> {
        if self.is_between_runs() {
            self.next_run(0)?;
        }
        if self.repeated.1 > 0 {
            let count = self.repeated.1.min(most);
            self.repeated.1 -= count;
            return Ok(Piece::Repeated(self.repeated.0, count));
        }
        let rest = self.each.get(self.read..).unwrap_or_default();
        let values = rest.get(..most).unwrap_or(rest);
        self.read += values.len();
        Ok(Piece::Each(values))
    }

    /// Passes over the next values. Runs that none is wanted of are not unpacked.
    pub(super) fn skip(&mut self, mut values: usize) -> Result<()> {
        while values > 0 {
            values -= match self.is_between_runs() {
                true => self.next_run(values)?,
                false => self.next(values)?.len(),
            };
        }
        Ok(())
    }

    fn is_between_runs(&self) -> bool {
        self.repeated.1 == 0 && self.read == self.each.len()
    }

    /// Goes to the next run; or past it, where it is packed and has no more values than are to be passed over: says how many
    /// these were.
    fn next_run(&mut self, passed: usize) -> Result<usize> {
        let mut skipped = 0;
        let header = varint(&self.bytes, &mut self.at).ok_or_else(ends_early)?;
        let count = usize::try_from(header >> 1)?;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let (count, bytes) = if header & 1 == 0 {
            let bytes = self.width.div_ceil(8);
            let mut value = [0; 4];
            let stored = rest.get(..bytes).ok_or_else(ends_early)?;
            value.iter_mut().zip(stored).for_each(|(to, from)| *to = *from);
            let count = count.min(self.left);
            self.repeated = (u32::from_le_bytes(value), count);
            (count, bytes)
        } else {
            // The last eight may be more than there are, and need not be there.
            let wanted = count.saturating_mul(8).min(self.left);
            let is_whole = match wanted <= passed {
                true => {
                    skipped = wanted;
                    rest.len() >= wanted.saturating_mul(self.width).div_ceil(8)
                }
                // Over those of the run before, which have all been read.
                false => {
                    let is_whole = unpack(rest, self.width, wanted, &mut self.each);
                    self.read = if is_whole { 0 } else { self.each.len() };
                    is_whole
                }
            };
            if !is_whole {
                return Err(ends_early());
            }
            (wanted, count.saturating_mul(self.width).min(rest.len()))
        };
        self.left -= count;
        self.at += bytes;
        match count {
            0 => Err(ends_early()),
            _ => Ok(skipped),
        }
    }
}

fn ends_early() -> ParquetError {
    damaged("codes", "end before all rows have one")
}
