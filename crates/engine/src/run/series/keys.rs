//! Keys of values that tell series apart: a value's bytes, and behind them how many these are, in one number.
//!
//! ```text
//!    "abc"    61 62 63 00 00 00 00 | 03      of eight bytes, which most names of series fit in
//! ```

use arrow_array::Array;

use super::SeriesValues;
use crate::ids::Key;

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
                let length = length.min(Self::BYTES);
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

    /// Hands on the key of each value until one is refused; whether none was. No column of keys is made: of a block of a million
    /// rows with ten tags they would take more than the block.
    pub(super) fn all_keys<K: SeriesKey>(&self, mut is_taken: impl FnMut(K) -> bool) -> bool {
        match self {
            Self::Text(text) => {
                let (offsets, data, nulls) =
                    (text.value_offsets(), text.value_data(), text.nulls());
                let mut each = offsets.iter().zip(offsets.iter().skip(1)).enumerate();
                each.all(|(row, (from, to))| {
                    if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                        return is_taken(K::NULL);
                    }
                    let rest = usize::try_from(*from).ok().and_then(|from| data.get(from..));
                    let length = usize::try_from(to - from).unwrap_or(0);
                    is_taken(K::of(rest.unwrap_or_default(), length))
                })
            }
            Self::Fixed { .. } => (0..self.len()).all(|row| is_taken(self.key(row))),
        }
    }
}
