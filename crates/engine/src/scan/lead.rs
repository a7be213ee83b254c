//! The kinds of leading key as types, so that the merge's inner loop is compiled once a
//! kind and never asks which kind it has.

use std::fmt::Debug;

use timestrata_format::LeadKey;

use crate::key::KeyView;
use crate::{Error, ErrorKind, Result};

/// One kind of leading key: how a column holds it, and what is compared.
pub(super) trait Lead: Send + 'static {
    /// A key as the column holds it.
    type Stored: 'static;
    /// A key as a value whose order is the column's.
    type Value: Ord + Copy + Debug + Send;

    fn keys(view: KeyView<'_>) -> Option<&[Self::Stored]>;
    fn load(stored: &Self::Stored) -> Self::Value;
    fn value_of(key: LeadKey) -> Option<Self::Value>;

    /// The keys of a column that must be of this kind.
    fn keys_checked(view: KeyView<'_>) -> Result<&[Self::Stored]> {
        Self::keys(view).ok_or_else(|| {
            Error::new(ErrorKind::InvalidData, "a block's leading key column has another type")
        })
    }

    /// The value of a key that must be of this kind.
    fn value_checked(key: LeadKey) -> Result<Self::Value> {
        Self::value_of(key).ok_or_else(|| {
            let message = format!("key {key} is a {}, which the stream's keys are not", key.kind());
            Error::new(ErrorKind::InvalidData, message)
        })
    }
}

#[derive(Debug)]
pub(super) struct Time;
#[derive(Debug)]
pub(super) struct Offset;
#[derive(Debug)]
pub(super) struct Id16;
#[derive(Debug)]
pub(super) struct Id32;

impl Lead for Time {
    type Stored = i64;
    type Value = i64;

    fn keys(view: KeyView<'_>) -> Option<&[i64]> {
        if let KeyView::Time(keys) = view { Some(keys) } else { None }
    }

    #[inline]
    fn load(stored: &i64) -> i64 {
        *stored
    }

    fn value_of(key: LeadKey) -> Option<i64> {
        if let LeadKey::Time(time) = key { Some(time) } else { None }
    }
}

impl Lead for Offset {
    type Stored = u64;
    type Value = u64;

    fn keys(view: KeyView<'_>) -> Option<&[u64]> {
        if let KeyView::Offset(keys) = view { Some(keys) } else { None }
    }

    #[inline]
    fn load(stored: &u64) -> u64 {
        *stored
    }

    fn value_of(key: LeadKey) -> Option<u64> {
        if let LeadKey::Offset(offset) = key { Some(offset) } else { None }
    }
}

impl Lead for Id16 {
    type Stored = [u8; 16];
    /// Big-endian, so that numbers compare as the bytes do.
    type Value = u128;

    fn keys(view: KeyView<'_>) -> Option<&[[u8; 16]]> {
        if let KeyView::Id16(keys) = view { Some(keys) } else { None }
    }

    #[inline]
    fn load(stored: &[u8; 16]) -> u128 {
        u128::from_be_bytes(*stored)
    }

    fn value_of(key: LeadKey) -> Option<u128> {
        if let LeadKey::Id16(id) = key { Some(u128::from_be_bytes(id)) } else { None }
    }
}

impl Lead for Id32 {
    type Stored = [u8; 32];
    type Value = [u128; 2];

    fn keys(view: KeyView<'_>) -> Option<&[[u8; 32]]> {
        if let KeyView::Id32(keys) = view { Some(keys) } else { None }
    }

    #[inline]
    fn load(stored: &[u8; 32]) -> [u128; 2] {
        let (halves, _) = stored.as_chunks::<16>();
        [u128::from_be_bytes(halves[0]), u128::from_be_bytes(halves[1])]
    }

    fn value_of(key: LeadKey) -> Option<[u128; 2]> {
        if let LeadKey::Id32(id) = key { Some(Self::load(&id)) } else { None }
    }
}

/// How many are tried one by one before a gallop takes longer steps.
const STEPS_SINGLE: usize = 8;

/// Of `len` sorted things: how many from the front hold `before`, found by single steps, then
/// by steps that double: a short answer costs one mispredicted branch, a long one the
/// logarithm of its length.
#[inline]
pub(super) fn gallop(len: usize, mut before: impl FnMut(usize) -> bool) -> usize {
    let single = len.min(STEPS_SINGLE);
    let mut low = 0;
    while low < single {
        if !before(low) {
            return low;
        }
        low += 1;
    }
    let mut step = 1;
    // All below `low` hold.
    while low + step <= len && before(low + step - 1) {
        low += step;
        step *= 2;
    }
    let mut high = (low + step - 1).min(len);
    while low < high {
        let middle = low + (high - low) / 2;
        match before(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gallop_agrees_with_a_linear_search() {
        for len in 0..40 {
            for bound in 0..=len + 1 {
                let found = gallop(len, |index| {
                    assert!(index < len);
                    index < bound
                });
                assert_eq!(found, bound.min(len), "{len} {bound}");
            }
        }
    }

    #[test]
    fn ids_compare_as_their_bytes_do() {
        let ids = [[0_u8; 32], [1; 32], [0x7f; 32], [0x80; 32], [0xff; 32]];
        for pair in ids.windows(2) {
            assert!(Id32::load(&pair[0]) < Id32::load(&pair[1]));
        }
        let mut low = [5_u8; 16];
        low[15] = 0;
        assert!(Id16::load(&low) < Id16::load(&[5; 16]));
    }
}
