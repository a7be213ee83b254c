//! Whole numbers that take few bits each, one behind the other, the lowest bits first.
//!
//! ```text
//!    bytes  10110100 01101001 ...      values of 3 bits   100 110 101 ...
//!                  ^ first                                (from the lowest bit of the first byte on)
//! ```

use pulp::{Arch, NullaryFnOnce};

/// So many values end with a byte, whatever their width.
pub(super) const VALUES: usize = 32;

/// Makes so many values of `width` bits, 32 at most, all that `out` has; false where there are too few bytes.
#[must_use]
pub(super) fn unpack(packed: &[u8], width: usize, count: usize, out: &mut Vec<u32>) -> bool {
    if width > 32 || packed.len() < (count * width).div_ceil(8) {
        return false;
    }
    // What it has is written over.
    out.resize(count.next_multiple_of(VALUES), 0);
    let (chunks, _) = out.as_chunks_mut::<VALUES>();
    let chunk_bytes = VALUES / 8 * width;
    let whole = packed.len().checked_div(chunk_bytes).unwrap_or(chunks.len()).min(chunks.len());
    let (of_whole, rest) = packed.split_at(whole * chunk_bytes);
    let (whole, last) = chunks.split_at_mut(whole);
    let unpack = by_width(width);
    unpack(of_whole, whole);
    if !last.is_empty() {
        let mut padded = [0; VALUES / 8 * 32];
        padded.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        unpack(&padded, last);
    }
    out.truncate(count);
    true
}

/// Unpacks values of a width that is known when this is built, so that shifts are by constants: once for the registers
/// that all processors have, and once for wider ones.
struct Unpack<'a, const WIDTH: usize> {
    packed: &'a [u8],
    out: &'a mut [[u32; VALUES]],
}

impl<const WIDTH: usize> NullaryFnOnce for Unpack<'_, WIDTH> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let mut rest = self.packed.as_chunks().0;
        for chunk in self.out {
            let Some((words, behind)) = rest.split_first_chunk::<WIDTH>() else { return };
            unpack_chunk(words, chunk);
            rest = behind;
        }
    }
}

/// Does the same to all 32 values, each written out: a loop isn't unrolled.
macro_rules! for_each_value {
    ($unpacked:ident; $($index:literal)*) => {
        $($unpacked!($index);)*
    };
}

#[inline(always)]
fn unpack_chunk<const WIDTH: usize>(words: &[[u8; 4]; WIDTH], out: &mut [u32; VALUES]) {
    let mask = if WIDTH == 32 { u32::MAX } else { (1 << WIDTH) - 1 };
    let word = |index: usize| words.get(index).map_or(0, |word| u32::from_le_bytes(*word));
    macro_rules! unpacked {
        ($index:literal) => {
            let (first, shift) = ($index * WIDTH / 32, $index * WIDTH % 32);
            let mut bits = word(first) >> shift;
            if shift + WIDTH > 32 {
                bits |= word(first + 1) << (32 - shift);
            }
            out[$index] = bits & mask;
        };
    }
    for_each_value!(unpacked; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
        16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
}

type UnpackWidth = fn(&[u8], &mut [[u32; VALUES]]);

macro_rules! unpack_of_width {
    ($width:expr; $($widths:literal)*) => {
        match $width {
            $($widths => |packed, out| {
                Arch::new().dispatch(Unpack::<'_, $widths> { packed, out });
            },)*
            _ => |_, out| out.fill([0; VALUES]),
        }
    };
}

fn by_width(width: usize) -> UnpackWidth {
    unpack_of_width!(width; 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
        17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
}

/// One value of up to 64 bits, by its place; `None` where bytes are missing.
pub(super) fn wide_value(packed: &[u8], width: usize, index: usize) -> Option<u64> {
    let first = index.checked_mul(width)?;
    let end = first.checked_add(width)?;
    let bytes = packed.get(first / 8..end.div_ceil(8))?;
    let mut padded = [0; 16];
    padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
    let bits = u128::from_le_bytes(padded) >> (first % 8);
    let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    Some(bits as u64 & mask)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(values: &[u64], width: usize) -> Vec<u8> {
        let mut bytes = vec![0; (values.len() * width).div_ceil(8)];
        for (index, value) in values.iter().enumerate() {
            for bit in (0..width).filter(|bit| value >> bit & 1 == 1) {
                let place = index * width + bit;
                bytes[place / 8] |= 1 << (place % 8);
            }
        }
        bytes
    }

    proptest! {
        #[test]
        fn values_of_any_width_come_back(
            width in 0_usize..=64,
            values in prop::collection::vec(any::<u64>(), 0..100),
            before in 0_usize..200,
        ) {
            let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
            let values: Vec<u64> = values.iter().map(|value| value & mask).collect();
            let bytes = packed(&values, width);
            for (index, value) in values.iter().enumerate() {
                prop_assert_eq!(wide_value(&bytes, width, index), Some(*value));
            }
            if width > 0 {
                prop_assert_eq!(wide_value(&bytes, width, values.len() + 8), None);
            }
            let mut found = vec![7; before];
            let is_whole = unpack(&bytes, width, values.len(), &mut found);
            prop_assert_eq!(is_whole, width <= 32);
            if is_whole {
                prop_assert_eq!(found.into_iter().map(u64::from).collect::<Vec<_>>(), values.clone());
                if width > 0 && !values.is_empty() {
                    prop_assert!(!unpack(&bytes[1..], width, values.len(), &mut Vec::new()));
                }
            }
        }
    }
}
