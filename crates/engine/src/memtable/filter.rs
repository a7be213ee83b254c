//! Which leading keys a large chunk does not hold.
//!
//! A design with a hash index from key to newest row was weighed against this: chunks that
//! overlap are few (they grow to many thousand rows and merge geometrically), and in the one
//! that has a key, interpolation finds the row. What was dear was to search all the others:
//! some cache misses each. A filter of two bytes a row answers for them with one, needs no
//! upkeep when chunks merge, and serves range deletes and several key columns unchanged.
//! Built by the first point read of a chunk.

use timestrata_format::LeadKey;

use crate::key::KeyView;

/// Bits of the filter for each row.
const BITS_A_ROW: usize = 16;

/// A Bloom filter whose bits for one key are all in one word.
#[derive(Debug)]
pub(super) struct KeyFilter {
    /// A power of two of them.
    words: Vec<u64>,
}

impl KeyFilter {
    pub(super) fn of(keys: &KeyView<'_>) -> Self {
        let words = (keys.len() * BITS_A_ROW).div_ceil(64).next_power_of_two();
        let mut filter = Self { words: vec![0; words] };
        match keys {
            KeyView::Time(keys) => {
                keys.iter().for_each(|key| filter.add(hash_of(key.to_le_bytes())))
            }
            KeyView::Offset(keys) => {
                keys.iter().for_each(|key| filter.add(hash_of(key.to_le_bytes())))
            }
            KeyView::Id16(keys) => keys.iter().for_each(|key| filter.add(hash_of(*key))),
            KeyView::Id32(keys) => keys.iter().for_each(|key| filter.add(hash_of(*key))),
        }
        filter
    }

    /// False only where no row has the key.
    #[inline]
    pub(super) fn may_contain(&self, key: LeadKey) -> bool {
        let hash = match key {
            LeadKey::Time(key) => hash_of(key.to_le_bytes()),
            LeadKey::Offset(key) => hash_of(key.to_le_bytes()),
            LeadKey::Id16(key) => hash_of(key),
            LeadKey::Id32(key) => hash_of(key),
        };
        let bits = bits_of(hash);
        self.words[self.place(hash)] & bits == bits
    }

    #[inline]
    fn add(&mut self, hash: u64) {
        let place = self.place(hash);
        self.words[place] |= bits_of(hash);
    }

    fn place(&self, hash: u64) -> usize {
        hash as usize & (self.words.len() - 1)
    }
}

/// Three bits of a word, from the end of the hash that its place is not from.
fn bits_of(hash: u64) -> u64 {
    1 << (hash >> 58) | 1 << (hash >> 52 & 63) | 1 << (hash >> 46 & 63)
}

#[inline]
fn hash_of<const BYTES: usize>(key: [u8; BYTES]) -> u64 {
    const MIX: u128 = 0x9e37_79b9_7f4a_7c15;
    key.as_chunks::<8>().0.iter().fold(0, |hash, word| {
        let product = u128::from(hash ^ u64::from_le_bytes(*word)).wrapping_mul(MIX);
        (product as u64) ^ ((product >> 64) as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_that_is_there_is_denied_and_few_others_pass() {
        let times: Vec<i64> = (0..10_000).map(|row| row * 1_000_000 - 7).collect();
        let filter = KeyFilter::of(&KeyView::Time(&times));
        assert!(times.iter().all(|time| filter.may_contain(LeadKey::Time(*time))));
        let passed = times.iter().filter(|time| filter.may_contain(LeadKey::Time(**time + 1)));
        assert!(passed.count() < 500);
        let ids: Vec<[u8; 16]> = (0..10_000_u128).map(|id| (id << 70).to_be_bytes()).collect();
        let filter = KeyFilter::of(&KeyView::Id16(&ids));
        assert!(ids.iter().all(|id| filter.may_contain(LeadKey::Id16(*id))));
        let strangers = (0..10_000_u128).map(|id| (id << 70 | 1).to_be_bytes());
        let passed = strangers.filter(|id| filter.may_contain(LeadKey::Id16(*id)));
        assert!(passed.count() < 500);
    }
}
