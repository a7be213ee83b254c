//! CRC-32C, the checksum of every byte on disk.

use crc_fast::{CrcAlgorithm, Digest};

/// CRC-32C (Castagnoli) of `bytes`.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// CRC-32C over bytes that come in pieces.
#[derive(Debug, Clone)]
pub struct Crc32c(Digest);

impl Crc32c {
    /// Of no bytes yet.
    pub fn new() -> Self {
        Self(Digest::new(CrcAlgorithm::Crc32Iscsi))
    }

    /// Adds a piece.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of all pieces so far.
    pub fn value(&self) -> u32 {
        self.0.finalize() as u32
    }
}

impl Default for Crc32c {
    fn default() -> Self {
        Self::new()
    }
}

/// The polynomial of CRC-32C, its highest power left out, bits reflected.
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// x^(2^n) modulo the polynomial, for each n; x^0 is the highest bit.
const SQUARES: [u32; 64] = {
    let mut squares = [1 << 30; 64];
    let mut n = 1;
    while n < 64 {
        squares[n] = product(squares[n - 1], squares[n - 1]);
        n += 1;
    }
    squares
};

/// The product of two polynomials over GF(2), modulo the polynomial of CRC-32C.
const fn product(a: u32, mut b: u32) -> u32 {
    let mut sum = 0;
    let mut power = 0;
    while power < 32 {
        if a & (1 << 31 >> power) != 0 {
            sum ^= b;
        }
        b = b >> 1 ^ if b & 1 == 0 { 0 } else { POLYNOMIAL };
        power += 1;
    }
    sum
}

/// The checksum of two pieces, one behind the other, from those of each: what several checksums cover has to
/// be gone through only once. That of no bytes is 0.
///
/// The first is multiplied by x^(8 `second_bytes`), as zlib's `crc32_combine` does (M. Adler), which takes some
/// hundred nanoseconds; `crc_fast` goes through matrices for it, 50 us.
pub fn joined(first: u32, second: u32, second_bytes: u64) -> u32 {
    // Bytes are 8 = 2^3 bits.
    let squares = SQUARES.iter().skip(3).enumerate();
    let wanted = squares.filter(|(bit, _)| second_bytes >> bit & 1 == 1);
    wanted.fold(first, |moved, (_, square)| product(*square, moved)) ^ second
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_checksum_of_two_pieces_is_that_of_both_in_one(
            first in prop::collection::vec(any::<u8>(), 0..300),
            second in prop::collection::vec(any::<u8>(), 0..3_000),
        ) {
            let whole = [first.as_slice(), &second].concat();
            let [first, sum] = [&first, &second].map(|piece| crc32c(piece));
            prop_assert_eq!(joined(first, sum, second.len() as u64), crc32c(&whole));
        }
    }

    #[test]
    fn pieces_may_be_long() {
        let zeros = vec![0; 1 << 20];
        let mut both = b"some".to_vec();
        both.extend_from_slice(&zeros);
        assert_eq!(joined(crc32c(b"some"), crc32c(&zeros), 1 << 20), crc32c(&both));
    }
}
