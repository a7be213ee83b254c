//! How rows lie in the blocks of a cold run: the entry `timestrata.layout` of its metadata.

use crate::HeaderError;
use crate::header::{open_sealed, sealed};

/// What a run without this entry has not: rows in another order than the key's, columns of other types than the
/// stream's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLayout {
    /// Format version of this structure.
    pub format_version: u32,
    /// Columns by whose values the rows of a block lie together, the first one first; within equal ones in the
    /// order of the key. Where there are some, the file has one more column, its last: the place of each row in the
    /// order of the key, from 0 on in each block. None: rows lie in the order of the key.
    pub series: Vec<u32>,
    /// Columns of floats that are stored as decimal numbers, and how many digits these have behind the point.
    pub decimals: Vec<(u32, u32)>,
}

impl RunLayout {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16 + 4 * self.series.len() + 8 * self.decimals.len());
        out.extend_from_slice(&self.format_version.to_le_bytes());
        out.extend_from_slice(&(self.series.len() as u32).to_le_bytes());
        self.series.iter().for_each(|column| out.extend_from_slice(&column.to_le_bytes()));
        out.extend_from_slice(&(self.decimals.len() as u32).to_le_bytes());
        for (column, digits) in &self.decimals {
            out.extend_from_slice(&column.to_le_bytes());
            out.extend_from_slice(&digits.to_le_bytes());
        }
        sealed(out)
    }

    /// Reads what [`RunLayout::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let (format_version, mut input) =
            open_sealed(bytes, "run layout checksum", "run layout version")?;
        let series = input
            .list(4, "number of columns of series", |input| input.u32("column of a series"))?;
        let decimals = input.list(8, "number of decimal columns", |input| {
            Ok((input.u32("decimal column")?, input.u32("digits of a decimal column")?))
        })?;
        input.finish("run layout")?;
        Ok(Self { format_version, series, decimals })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::FORMAT_VERSION;
    use crate::checksum::crc32c;

    #[test]
    fn a_run_layout_with_any_flipped_bit_or_cut_is_damaged() {
        let whole = RunLayout {
            format_version: FORMAT_VERSION,
            series: vec![1, 4],
            decimals: vec![(3, 2), (5, 0)],
        };
        let bytes = whole.encode();
        assert_eq!(RunLayout::decode(&bytes), Ok(whole));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let found = RunLayout::decode(&damaged);
            assert!(matches!(found, Err(HeaderError::Damaged(_))), "bit {bit}");
        }
        for cut in 0..bytes.len() {
            assert!(RunLayout::decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(mut bytes: Vec<u8>) {
            let _ = RunLayout::decode(&bytes);
            let crc = crc32c(&bytes);
            bytes.extend_from_slice(&crc.to_le_bytes());
            let _ = RunLayout::decode(&bytes);
        }
    }
}
