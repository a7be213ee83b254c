//! Keys of values that tell series apart: a value's bytes, and behind them how many these are, in one number.
//!
//! ```text
//!    "abc"    61 62 63 00 00 00 00 | 03      of eight bytes, which most names of series fit in
//! ```

use arrow_array::{Array, StringArray};

use super::SeriesValues;
use crate::ids::Key;

/// So many keys are made before they are numbered: of two short loops the processor has all that it needs at hand.
const AT_ONCE: usize = 64;

/// What is numbered in the place of a value.
pub(super) trait SeriesKey: Key {
    /// A value of more bytes has no key.
    const BYTES: usize;
    /// The key of null: no value has it.
    const NULL: Self;

    /// That of a value of so many bytes, which are the first of some.
    fn of(bytes: &[u8], length: usize) -> Self;
}

macro_rules! series_key {
    ($number:ty) => {
        impl SeriesKey for $number {
            const BYTES: usize = size_of::<$number>() - 1;
            const NULL: Self = <$number>::MAX;

            #[inline]
            fn of(bytes: &[u8], length: usize) -> Self {
                // No longer than a key has bytes: nothing is lost, and no shift goes too far.
                let length = length % size_of::<$number>();
                let end = (length as $number) << (8 * Self::BYTES);
                // Where as many bytes follow they are read at once, which is quicker than so many that nobody knows before.
                if let Some(all) = bytes.first_chunk() {
                    let mask = (1 << (8 * length)) - 1;
                    return <$number>::from_le_bytes(*all) & mask | end;
                }
                let mut value = [0; size_of::<$number>()];
                value.iter_mut().zip(bytes).take(length).for_each(|(to, from)| *to = *from);
                <$number>::from_le_bytes(value) | end
            }
        }
    };
}

series_key!(u64);
series_key!(u128);

impl SeriesValues<'_> {
    /// Whether each value has a key.
    pub(super) fn has_keys<K: SeriesKey>(&self) -> bool {
        match self {
            Self::Text(text) => {
                let offsets = text.value_offsets();
                let each = offsets.iter().zip(offsets.iter().skip(1));
                each.fold(true, |all, (from, to)| all & (to - from <= K::BYTES as i32))
            }
            Self::Fixed { width, .. } => *width <= K::BYTES,
        }
    }

    /// The key of a value that has one.
    pub(super) fn key<K: SeriesKey>(&self, row: usize) -> K {
        self.get(row).map_or(K::NULL, |value| K::of(value, value.len()))
    }

    /// Hands on the keys of all values, some at a time, until these are refused; whether none were. No column of keys is made: of
    /// a block of a million rows with ten tags they would take more than the block.
    pub(super) fn all_keys<K: SeriesKey>(&self, mut are_taken: impl FnMut(&[K]) -> bool) -> bool {
        let mut keys = [K::NULL; AT_ONCE];
        let rows = self.len();
        (0..rows).step_by(AT_ONCE).all(|first| {
            let keys = &mut keys[..AT_ONCE.min(rows - first)];
            match self {
                Self::Text(text) => keys_of_text(text, first, keys),
                Self::Fixed { .. } => {
                    let slots = keys.iter_mut().zip(first..);
                    slots.for_each(|(slot, row)| *slot = self.key(row));
                }
            }
            are_taken(keys)
        })
    }
}

/// The keys of some texts, from the `first` one on, each of which has a key.
fn keys_of_text<K: SeriesKey>(text: &StringArray, first: usize, keys: &mut [K]) {
    let (offsets, data) = (text.value_offsets(), text.value_data());
    let (begins, ends) = (offsets.iter().skip(first), offsets.iter().skip(first + 1));
    for (slot, (begin, end)) in keys.iter_mut().zip(begins.zip(ends)) {
        // Arrow's offsets are never below 0, and rise.
        let rest = data.get(begin.cast_unsigned() as usize..).unwrap_or_default();
        *slot = K::of(rest, (end - begin).cast_unsigned() as usize);
    }
    if let Some(nulls) = text.nulls().filter(|nulls| nulls.null_count() > 0) {
        let slots = keys.iter_mut().zip(first..);
        slots.filter(|(_, row)| nulls.is_null(*row)).for_each(|(slot, _)| *slot = K::NULL);
    }
}
