//! Many numbers held against a range: built once for the registers that all processors have, and once for wider ones, which
//! hold several numbers.

use arrow_buffer::BooleanBuffer;
use pulp::{Arch, NullaryFnOnce};

/// Which of some numbers lie between two, both included.
pub(crate) fn within<N: Copy + PartialOrd>(numbers: &[N], first: N, last: N) -> BooleanBuffer {
    let words = Arch::new().dispatch(Within { numbers, first, last });
    BooleanBuffer::new(words.into(), 0, numbers.len())
}

/// Whether all numbers lie between two, both included.
pub(crate) fn are_within<N: Copy + PartialOrd>(numbers: &[N], first: N, last: N) -> bool {
    Arch::new().dispatch(AreWithin { numbers, first, last })
}

struct Within<'a, N> {
    numbers: &'a [N],
    first: N,
    last: N,
}

impl<N: Copy + PartialOrd> NullaryFnOnce for Within<'_, N> {
    /// A bit a number, the first one lowest.
    type Output = Vec<u64>;

    /// In loops: what adapters of iterators call is not built for wider registers.
    #[inline(always)]
    fn call(self) -> Vec<u64> {
        let Self { numbers, first, last } = self;
        let mut words = Vec::with_capacity(numbers.len().div_ceil(64));
        for numbers in numbers.chunks(64) {
            // Bytes first: of these a register holds many, and their bits are gathered eight at once.
            let mut is_within = [0_u8; 64];
            for (is, number) in is_within.iter_mut().zip(numbers) {
                *is = u8::from((first <= *number) & (*number <= last));
            }
            let (bytes, _) = is_within.as_chunks::<8>();
            let mut word = 0;
            for (place, bytes) in bytes.iter().enumerate() {
                word |= gathered(*bytes) << (8 * place);
            }
            words.push(word.to_le());
        }
        words
    }
}

/// The lowest bits of eight bytes, side by side: the product moves each to its place in the highest byte, and no two
/// of its other bits meet there.
#[inline(always)]
fn gathered(bytes: [u8; 8]) -> u64 {
    u64::from_le_bytes(bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

struct AreWithin<'a, N> {
    numbers: &'a [N],
    first: N,
    last: N,
}

impl<N: Copy + PartialOrd> NullaryFnOnce for AreWithin<'_, N> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let Self { numbers, first, last } = self;
        let mut all = true;
        for number in numbers {
            all &= (first <= *number) & (*number <= last);
        }
        all
    }
}

#[cfg(test)]
mod tests;
