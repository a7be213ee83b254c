//! Which partition a record goes to: that of its key as Kafka's clients choose it, so that records
//! mirrored to or from a Kafka broker stay where they were; without a key, each in its turn.

/// The seed of Kafka's hash.
const SEED: u32 = 0x9747_b28c;
/// Multiplier of MurmurHash2.
const MULTIPLIER: u32 = 0x5bd1_e995;
/// Shift of MurmurHash2.
const SHIFT: u32 = 24;

/// MurmurHash2, 32 bits, as Kafka's default partitioner has it (A. Appleby's algorithm).
#[must_use]
pub fn murmur2(bytes: &[u8]) -> u32 {
    let mixed = |word: u32| {
        let word = word.wrapping_mul(MULTIPLIER);
        (word ^ (word >> SHIFT)).wrapping_mul(MULTIPLIER)
    };
    // Kafka counts in 32 bits.
    let mut hash = SEED ^ (bytes.len() as u32);
    let (words, rest) = bytes.as_chunks::<4>();
    for word in words {
        hash = hash.wrapping_mul(MULTIPLIER) ^ mixed(u32::from_le_bytes(*word));
    }
    if !rest.is_empty() {
        let last = rest.iter().rev().fold(0, |word, byte| (word << 8) | u32::from(*byte));
        hash = (hash ^ last).wrapping_mul(MULTIPLIER);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(MULTIPLIER);
    hash ^ (hash >> 15)
}

/// The partition of a key, as Kafka's clients choose it.
#[must_use]
pub fn partition_of(key: &[u8], partitions: u32) -> u32 {
    (murmur2(key) & (u32::MAX >> 1)) % partitions.max(1)
}
