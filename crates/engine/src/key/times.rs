//! Many times held against a range: built once for the registers that all processors have, and once for wider ones, which
//! hold several times.

use arrow_buffer::BooleanBuffer;
use pulp::{Arch, NullaryFnOnce};

/// Which of some times lie between two, both included.
pub(super) fn within(times: &[i64], first: i64, last: i64) -> BooleanBuffer {
    let words = Arch::new().dispatch(Within { times, first, last });
    BooleanBuffer::new(words.into(), 0, times.len())
}

/// Whether all times lie between two, both included.
pub(super) fn are_within(times: &[i64], first: i64, last: i64) -> bool {
    Arch::new().dispatch(AreWithin { times, first, last })
}

struct Within<'a> {
    times: &'a [i64],
    first: i64,
    last: i64,
}

impl NullaryFnOnce for Within<'_> {
    /// A bit a time, the first one lowest.
    type Output = Vec<u64>;

    /// In loops: what adapters of iterators call is not built for wider registers.
    #[inline(always)]
    fn call(self) -> Vec<u64> {
        let Self { times, first, last } = self;
        let mut words = Vec::with_capacity(times.len().div_ceil(64));
        for times in times.chunks(64) {
            // Bytes first: of these a register holds many, and their bits are gathered eight at once.
            let mut is_within = [0_u8; 64];
            for (is, time) in is_within.iter_mut().zip(times) {
                *is = u8::from((first <= *time) & (*time <= last));
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

struct AreWithin<'a> {
    times: &'a [i64],
    first: i64,
    last: i64,
}

impl NullaryFnOnce for AreWithin<'_> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let Self { times, first, last } = self;
        let mut all = true;
        for time in times {
            all &= (first <= *time) & (*time <= last);
        }
        all
    }
}

#[cfg(test)]
mod tests;
