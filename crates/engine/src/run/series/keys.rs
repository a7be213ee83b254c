//! Keys of values that tell series apart: a value's bytes, and behind them how many these are, in one number.
//!
//! ```text
//!    "abc"    61 62 63 00 00 00 00 | 03      of eight bytes, which most names of series fit in
//! ```

use arrow_array::Array;
use arrow_buffer::NullBuffer;

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
    /// The key of each value; `None` where one has none.
    pub(super) fn keys<K: SeriesKey>(&self) -> Option<Vec<K>> {
        match self {
            Self::Text(text) => {
                let (offsets, data) = (text.value_offsets(), text.value_data());
                let each = || offsets.iter().zip(offsets.iter().skip(1));
                if !each().fold(true, |all, (from, to)| all & (to - from <= K::BYTES as i32)) {
                    return None;
                }
                let key = |(from, to): (&i32, &i32)| {
                    let rest = usize::try_from(*from).ok().and_then(|from| data.get(from..));
                    K::of(rest.unwrap_or_default(), usize::try_from(to - from).unwrap_or(0))
                };
                let mut keys: Vec<K> = each().map(key).collect();
                set_nulls(&mut keys, text.nulls());
                Some(keys)
            }
            Self::Fixed { width, .. } if *width > K::BYTES => None,
            Self::Fixed { bytes, width, nulls } => {
                let each = bytes.chunks_exact((*width).max(1));
                let mut keys: Vec<K> = each.map(|value| K::of(value, *width)).collect();
                set_nulls(&mut keys, *nulls);
                Some(keys)
            }
        }
    }
}

fn set_nulls<K: SeriesKey>(keys: &mut [K], nulls: Option<&NullBuffer>) {
    let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else { return };
    for (key, is_valid) in keys.iter_mut().zip(nulls) {
        if !is_valid {
            *key = K::NULL;
        }
    }
}
