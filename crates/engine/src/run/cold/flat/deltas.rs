//! Parquet's DELTA_BINARY_PACKED: steps from one whole number to the next, less the least step of their block.
//!
//! ```text
//!    values of a block | miniblocks of a block | values | first value
//!    least step | a width for each miniblock | steps, bit by bit      once a block
//! ```
//!
//! After the format's description, <https://parquet.apache.org/docs/file-format/data-pages/encodings/>.

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};

use super::super::super::value_buffer::ValueBuffer;
use super::unpack::{unpack, wide_value};
use super::{Word, damaged, varint};

/// Values of a miniblock at most, and miniblocks of a block: writers have 32 or 64, and four.
const MINIBLOCK_VALUES_MAX: u64 = 1 << 16;

/// Reads the values of a page.
#[derive(Default)]
pub(super) struct Deltas {
    bytes: Bytes,
    at: usize,
    miniblocks: usize,
    miniblock_values: usize,
    /// Values that are not decoded yet.
    left: usize,
    is_first: bool,
    last: u64,
    least_step: u64,
    /// The widths of miniblocks that are left of the block.
    widths: std::ops::Range<usize>,
    steps: Vec<u32>,
    /// Of a miniblock that was read in part, and how many of them have been read.
    decoded: ValueBuffer<i64>,
    read: usize,
}

impl Deltas {
    pub(super) fn new(bytes: Bytes, values: usize) -> Result<Self> {
        let mut at = 0;
        let mut header = || varint(&bytes, &mut at).ok_or_else(ends_early);
        let (block_values, miniblocks, count) = (header()?, header()?, header()?);
        let first = unzigzag(header()?);
        let a_miniblock = block_values.checked_div(miniblocks).filter(|values| {
            values * miniblocks == block_values
                && *values <= MINIBLOCK_VALUES_MAX
                && miniblocks <= MINIBLOCK_VALUES_MAX
                && *values > 0
                && values.is_multiple_of(32)
        });
        let a_miniblock = a_miniblock.ok_or_else(|| {
            damaged("steps", format!("come {block_values} in {miniblocks} miniblocks"))
        })?;
        if count != values as u64 {
            return Err(damaged("steps", format!("are those of {count} values, of {values}")));
        }
        Ok(Self {
            at,
            miniblocks: usize::try_from(miniblocks)?,
            miniblock_values: usize::try_from(a_miniblock)?,
            left: values,
            is_first: true,
            last: first,
            bytes,
            ..Self::default()
        })
    }

    /// Where its bytes end, once all of its values have been read.
    pub(super) fn end(&self) -> usize {
        self.at.min(self.bytes.len())
    }

    /// Appends the next `count` values.
    pub(super) fn read<W: Word>(
        &mut self,
        mut count: usize,
        out: &mut ValueBuffer<W>,
    ) -> Result<()> {
        while count > 0 {
            let rest = self.decoded.get(self.read..).unwrap_or_default();
            let values = rest.get(..count).unwrap_or(rest);
            out.extend(values.iter().map(|value| W::of_bits(value.cast_unsigned())));
            self.read += values.len();
            count -= values.len();
            if count >= self.miniblock_values {
                count -= self.next_miniblock(out)?;
            } else if count > 0 {
                self.decode_next()?;
            }
        }
        Ok(())
    }

    /// Passes over so many. Of whole miniblocks only the sum of their steps is wanted.
    pub(super) fn skip(&mut self, mut count: usize) -> Result<()> {
        loop {
            let skipped = count.min(self.decoded.len() - self.read);
            self.read += skipped;
            count -= skipped;
            if count == 0 {
                return Ok(());
            }
            match count >= self.miniblock_values && !self.is_first {
                true => count -= self.skip_miniblock()?,
                false => self.decode_next()?,
            }
        }
    }

    /// Decodes the next miniblock, of which not all is read yet.
    fn decode_next(&mut self) -> Result<()> {
        let mut decoded = std::mem::take(&mut self.decoded);
        decoded.truncate(0);
        let result = self.next_miniblock(&mut decoded);
        (self.decoded, self.read) = (decoded, 0);
        result.map(drop)
    }

    /// Appends the values of the next miniblock, one at least, and tells how many.
    fn next_miniblock<W: Word>(&mut self, out: &mut ValueBuffer<W>) -> Result<usize> {
        if self.left > 0 && std::mem::take(&mut self.is_first) {
            out.push(W::of_bits(self.last));
            self.left -= 1;
            return Ok(1);
        }
        let (width, count) = self.begin_miniblock()?;
        let values = out.grow(count);
        let (mut last, least) = (self.last, self.least_step);
        // Only one of the two additions waits for the value before.
        let after = |last: u64, step: u64| last.wrapping_add(least.wrapping_add(step));
        if width == 0 {
            last = rise(values, last, least);
        } else if width <= 32 {
            self.unpack(width, count)?;
            for (value, step) in values.iter_mut().zip(&self.steps) {
                last = after(last, (*step).into());
                *value = W::of_bits(last);
            }
        } else {
            for (index, value) in values.iter_mut().enumerate() {
                last = after(last, self.wide_step(width, index)?);
                *value = W::of_bits(last);
            }
        }
        self.end_miniblock(width, count, last);
        Ok(count)
    }

    /// Passes over the next miniblock, and tells how many values it has.
    fn skip_miniblock(&mut self) -> Result<usize> {
        let (width, count) = self.begin_miniblock()?;
        let sum = if width == 0 {
            0
        } else if width <= 32 {
            self.unpack(width, count)?;
            self.steps.iter().fold(0, |sum: u64, step| sum.wrapping_add((*step).into()))
        } else {
            let mut steps = (0..count).map(|index| self.wide_step(width, index));
            steps.try_fold(0, |sum: u64, step| step.map(|step| sum.wrapping_add(step)))?
        };
        let least = self.least_step.wrapping_mul(count as u64);
        self.end_miniblock(width, count, self.last.wrapping_add(least).wrapping_add(sum));
        Ok(count)
    }

    /// How many bits each step of the next miniblock has, and how many there are.
    fn begin_miniblock(&mut self) -> Result<(usize, usize)> {
        if self.left == 0 {
            return Err(ends_early());
        }
        if self.widths.is_empty() {
            let step = varint(&self.bytes, &mut self.at).ok_or_else(ends_early)?;
            self.least_step = unzigzag(step);
            self.widths = self.at..self.at + self.miniblocks;
            self.at = self.widths.end;
        }
        let width = self.widths.next().and_then(|at| self.bytes.get(at)).copied();
        let width = usize::from(width.ok_or_else(ends_early)?);
        match width <= 64 {
            true => Ok((width, self.left.min(self.miniblock_values))),
            false => Err(damaged("steps", format!("have {width} bits each"))),
        }
    }

    fn end_miniblock(&mut self, width: usize, count: usize, last: u64) {
        let rest = self.bytes.len().saturating_sub(self.at);
        self.last = last;
        self.left -= count;
        self.at += (self.miniblock_values / 8 * width).min(rest);
    }

    /// Unpacks steps of 32 bits at most.
    fn unpack(&mut self, width: usize, count: usize) -> Result<()> {
        let packed = self.bytes.get(self.at..).unwrap_or_default();
        unpack(packed, width, count, &mut self.steps).then_some(()).ok_or_else(ends_early)
    }

    /// A step of more.
    fn wide_step(&self, width: usize, index: usize) -> Result<u64> {
        let packed = self.bytes.get(self.at..).unwrap_or_default();
        wide_value(packed, width, index).ok_or_else(ends_early)
    }
}

/// Numbers of which each is one step more than the one before; and the last of them. Eight at once wait for one addition.
fn rise<W: Word>(values: &mut [W], mut last: u64, step: u64) -> u64 {
    const LANES: usize = 8;
    let steps: [u64; LANES] = std::array::from_fn(|lane| step.wrapping_mul(lane as u64 + 1));
    for lanes in values.chunks_mut(LANES) {
        for (value, steps) in lanes.iter_mut().zip(steps) {
            *value = W::of_bits(last.wrapping_add(steps));
        }
        last = last.wrapping_add(step.wrapping_mul(lanes.len() as u64));
    }
    last
}

/// The number of which this is twice the amount, or one less where it is below zero.
fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

fn ends_early() -> ParquetError {
    damaged("steps", "end before all rows have one")
}
