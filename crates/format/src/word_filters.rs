//! Where a run's word filters lie: the entry `timestrata.words` of a cold run's metadata.

use crate::HeaderError;
use crate::header::{open_sealed, sealed};

/// The filters of all blocks of a run, one behind the other at the end of its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordFilters {
    /// Format version of this structure and of the filters.
    pub format_version: u32,
    /// How letters and digits outside ASCII were told and folded: the major version of Unicode, and 256 times the way of
    /// folding.
    pub letters: u32,
    /// Where the first filter begins in the file.
    pub offset: u64,
    /// Bytes of each block's filter; 0: the block has none, and may have any word.
    pub lengths: Vec<u32>,
}

impl WordFilters {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24 + 4 * self.lengths.len());
        out.extend_from_slice(&self.format_version.to_le_bytes());
        out.extend_from_slice(&self.letters.to_le_bytes());
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&(self.lengths.len() as u32).to_le_bytes());
        self.lengths.iter().for_each(|length| out.extend_from_slice(&length.to_le_bytes()));
        sealed(out)
    }

    /// Reads what [`WordFilters::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let (format_version, mut input) =
            open_sealed(bytes, "word filters checksum", "word filters version")?;
        let letters = input.u32("Unicode version")?;
        let offset = input.u64("offset of word filters")?;
        let lengths = input
            .list(4, "number of word filters", |input| input.u32("length of a word filter"))?;
        input.finish("word filters")?;
        Ok(Self { format_version, letters, offset, lengths })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::FORMAT_VERSION;
    use crate::checksum::crc32c;

    #[test]
    fn word_filters_with_any_flipped_bit_or_cut_are_damaged() {
        let whole = WordFilters {
            format_version: FORMAT_VERSION,
            letters: 16 | 1 << 8,
            offset: 4096,
            lengths: vec![64, 0, 96],
        };
        let bytes = whole.encode();
        assert_eq!(WordFilters::decode(&bytes), Ok(whole));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let found = WordFilters::decode(&damaged);
            assert!(matches!(found, Err(HeaderError::Damaged(_))), "bit {bit}");
        }
        for cut in 0..bytes.len() {
            assert!(WordFilters::decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(mut bytes: Vec<u8>) {
            let _ = WordFilters::decode(&bytes);
            let crc = crc32c(&bytes);
            bytes.extend_from_slice(&crc.to_le_bytes());
            let _ = WordFilters::decode(&bytes);
        }
    }
}
