//! What the rows of a cold run come to, series by series: the entry `timestrata.aggregates` of its metadata.

use crate::HeaderError;
use crate::header::{open_sealed, sealed};

/// Where the aggregates of a run lie, and what they are of. They are a Parquet file of their own at the end of the run's
/// data, with a row for each series of each span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunAggregates {
    /// Format version of this structure.
    pub format_version: u32,
    /// Where the Parquet file begins in the run's.
    pub offset: u64,
    /// Its bytes.
    pub length: u64,
    /// Columns whose values tell series apart.
    pub series: Vec<u32>,
    /// Columns of numbers that are added up.
    pub numbers: Vec<u32>,
    /// Blocks that follow each other and are added up together, from the first one on: how many blocks, and how many series
    /// have rows in them.
    pub spans: Vec<(u32, u32)>,
}

impl RunAggregates {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let numbers = self.series.len() + self.numbers.len() + 2 * self.spans.len();
        let mut out = Vec::with_capacity(40 + 4 * numbers);
        out.extend_from_slice(&self.format_version.to_le_bytes());
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        for columns in [&self.series, &self.numbers] {
            out.extend_from_slice(&(columns.len() as u32).to_le_bytes());
            columns.iter().for_each(|column| out.extend_from_slice(&column.to_le_bytes()));
        }
        out.extend_from_slice(&(self.spans.len() as u32).to_le_bytes());
        for (blocks, series) in &self.spans {
            out.extend_from_slice(&blocks.to_le_bytes());
            out.extend_from_slice(&series.to_le_bytes());
        }
        sealed(out)
    }

    /// Reads what [`RunAggregates::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let (format_version, mut input) =
            open_sealed(bytes, "aggregates checksum", "aggregates version")?;
        let offset = input.u64("offset of aggregates")?;
        let length = input.u64("length of aggregates")?;
        let series = input.list(4, "number of columns that tell series apart", |input| {
            input.u32("column that tells series apart")
        })?;
        let numbers = input.list(4, "number of columns that are added up", |input| {
            input.u32("column that is added up")
        })?;
        let spans = input.list(8, "number of spans", |input| {
            Ok((input.u32("blocks of a span")?, input.u32("series of a span")?))
        })?;
        input.finish("aggregates")?;
        Ok(Self { format_version, offset, length, series, numbers, spans })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::FORMAT_VERSION;
    use crate::checksum::crc32c;

    #[test]
    fn aggregates_with_any_flipped_bit_or_cut_are_damaged() {
        let whole = RunAggregates {
            format_version: FORMAT_VERSION,
            offset: 65_536,
            length: 1_234,
            series: vec![1],
            numbers: vec![2, 3],
            spans: vec![(7, 50), (2, 49)],
        };
        let bytes = whole.encode();
        assert_eq!(RunAggregates::decode(&bytes), Ok(whole));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let found = RunAggregates::decode(&damaged);
            assert!(matches!(found, Err(HeaderError::Damaged(_))), "bit {bit}");
        }
        for cut in 0..bytes.len() {
            assert!(RunAggregates::decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(mut bytes: Vec<u8>) {
            let _ = RunAggregates::decode(&bytes);
            let crc = crc32c(&bytes);
            bytes.extend_from_slice(&crc.to_le_bytes());
            let _ = RunAggregates::decode(&bytes);
        }
    }
}
