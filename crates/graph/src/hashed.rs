//! Hashing of block ids, for hash tables in memory.

use std::hash::{BuildHasherDefault, Hash, Hasher};

use hashbrown::HashMap;

use super::adjacency::BlockId;

/// Makes hashes of ids.
pub(super) type Spread = BuildHasherDefault<SpreadHasher>;

/// A table by id.
pub(super) type IdMap<V> = HashMap<HashedId, V, Spread>;

/// An id, hashed by what spreads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HashedId(pub(super) BlockId);

impl Hash for HashedId {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.spread());
    }
}

/// Takes a number that is spread already as it is.
#[derive(Debug, Default)]
pub(super) struct SpreadHasher(u64);

impl Hasher for SpreadHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
}
