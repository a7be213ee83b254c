//! Which words a block of a cold run may have: a split block Bloom filter over the hashes of its
//! words, as Parquet's specification has it (`BloomFilter.md`), but for words instead of values, and
//! of any number of blocks, not powers of two only. Parquet's own implementation takes no hashes, and
//! reads a filter whole before it answers; this one reads the 32 bytes that a word falls into.

use std::char::UNICODE_VERSION;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use hashbrown::HashSet;
use timestrata_format::WordFilters;
use twox_hash::XxHash64;

use super::checked::CheckedFile;
use crate::scan::SoughtWord;
use crate::{Result, Stream, words};

/// Bits of a filter for each different word. With 12, about one word in 200 that a block doesn't have
/// seems to be there.
const BITS_A_WORD: usize = 12;
/// Bytes of a block of the filter, in which one word has all its bits: eight numbers of 32 bits, one
/// bit in each.
const BLOCK_BYTES: usize = 32;
/// By what a hash is multiplied for the bit in each number.
const SALTS: [u32; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// The Unicode version by which this build tells letters and digits.
pub(super) const UNICODE: u32 = UNICODE_VERSION.0 as u32;

/// The hash of a folded word.
pub(crate) fn hash(word: &[u8]) -> u64 {
    XxHash64::oneshot(0, word)
}

/// The filter of a block of rows; empty where something in it is no text and no CBOR, so that
/// nobody can tell which words it has.
pub(super) fn of_rows(stream: &Stream, rows: &RecordBatch) -> Vec<u8> {
    let mut hashes = HashSet::new();
    let mut take = |word: &[u8]| {
        hashes.insert(hash(word));
    };
    let fields = stream.schema().fields();
    for (field, column) in fields.iter().zip(rows.columns()) {
        match field.data_type() {
            DataType::Utf8 => {
                let texts = column.as_string::<i32>().iter().flatten();
                texts.for_each(|text| words::each(text, &mut take));
            }
            DataType::Binary if stream.is_cbor(field.name()) => {
                for item in column.as_binary::<i32>().iter().flatten() {
                    let read = words::each_text_in_cbor(item, |text| words::each(text, &mut take));
                    if read.is_err() {
                        return Vec::new();
                    }
                }
            }
            _ => {}
        }
    }
    of_hashes(hashes.into_iter())
}

fn of_hashes(hashes: impl ExactSizeIterator<Item = u64>) -> Vec<u8> {
    let blocks = (hashes.len() * BITS_A_WORD).div_ceil(8 * BLOCK_BYTES).max(1);
    let mut filter = vec![0; blocks * BLOCK_BYTES];
    for hash in hashes {
        let start = block_of(hash, blocks) * BLOCK_BYTES;
        let block = &mut filter[start..start + BLOCK_BYTES];
        for (bytes, mask) in block.chunks_exact_mut(4).zip(masks(hash)) {
            bytes.iter_mut().zip(mask).for_each(|(byte, bits)| *byte |= bits);
        }
    }
    filter
}

/// The bytes of a filter of `length` bytes that tell of a hash: from here, 32 of them. `None` for a
/// length that no filter has.
fn place(hash: u64, length: usize) -> Option<(usize, usize)> {
    let blocks = length / BLOCK_BYTES;
    if blocks == 0 || !length.is_multiple_of(BLOCK_BYTES) {
        return None;
    }
    let start = block_of(hash, blocks) * BLOCK_BYTES;
    Some((start, start + BLOCK_BYTES))
}

/// False only if no word with this hash is in the filter that these bytes of are.
fn may_have(block: &[u8], hash: u64) -> bool {
    let mut numbers = block.chunks_exact(4).zip(masks(hash));
    numbers.all(|(bytes, mask)| bytes.iter().zip(mask).all(|(byte, bits)| byte & bits == bits))
}

fn block_of(hash: u64, blocks: usize) -> usize {
    // Less than `blocks`, for the upper half of a hash is less than 2^32.
    (((hash >> 32) * blocks as u64) >> 32) as usize
}

/// The bit in each number of a block, as the number's bytes lie in the file.
fn masks(hash: u64) -> impl Iterator<Item = [u8; 4]> {
    let low = hash as u32;
    SALTS.into_iter().map(move |salt| (1_u32 << (low.wrapping_mul(salt) >> 27)).to_le_bytes())
}

/// Where the filters of a file's words lie.
#[derive(Debug)]
pub(super) struct BlockWords {
    /// Letters and digits outside ASCII are told as this build tells them.
    same_unicode: bool,
    /// Where each block's filter begins in the file; and the end of the last one.
    ends: Vec<u64>,
}

impl BlockWords {
    pub(super) fn new(filters: WordFilters) -> Self {
        let mut end = filters.offset;
        let lengths = filters.lengths.iter().map(|length| u64::from(*length));
        let ends = lengths.map(|length| {
            end = end.saturating_add(length);
            end
        });
        let ends = std::iter::once(filters.offset).chain(ends).collect();
        Self { same_unicode: filters.unicode == UNICODE, ends }
    }

    /// False only if no row of the block has the word.
    pub(super) fn may_have(
        &self,
        file: &CheckedFile,
        block: usize,
        word: &SoughtWord,
    ) -> Result<bool> {
        if !word.is_ascii && !self.same_unicode {
            return Ok(true);
        }
        let ends =
            (self.ends.get(block), block.checked_add(1).and_then(|next| self.ends.get(next)));
        let (Some(start), Some(end)) = ends else { return Ok(true) };
        if start == end {
            return Ok(true);
        }
        let length = usize::try_from(end - start).unwrap_or(0);
        let Some((from, to)) = place(word.hash, length) else {
            return Err(file.bad(*start, format!("a word filter of {length} bytes")));
        };
        let bytes = file.slice(start + from as u64..start + to as u64)?;
        Ok(may_have(bytes, word.hash))
    }
}

#[cfg(test)]
mod tests {
    use parquet::bloom_filter::Sbbf;
    use proptest::prelude::*;

    use super::*;

    fn has(filter: &[u8], word: &[u8]) -> bool {
        let hash = hash(word);
        let (start, end) = place(hash, filter.len()).unwrap();
        may_have(&filter[start..end], hash)
    }

    #[test]
    fn few_words_that_are_not_there_seem_to_be() {
        let words = 0..5_000;
        let hashes: Vec<u64> = words.map(|n: u32| hash(format!("word{n}").as_bytes())).collect();
        let filter = of_hashes(hashes.into_iter());
        assert_eq!(filter.len(), 7_520);
        let seeming =
            (5_000..105_000).filter(|n| has(&filter, format!("word{n}").as_bytes())).count();
        assert!((100..1_000).contains(&seeming), "{seeming} of 100,000");
    }

    proptest! {
        #[test]
        fn a_filter_is_one_that_parquet_reads(words in prop::collection::vec("[a-z]{1,8}", 0..200)) {
            let hashes: HashSet<u64> = words.iter().map(|word| hash(word.as_bytes())).collect();
            let filter = of_hashes(hashes.into_iter());
            let parquets = Sbbf::new(&filter);
            for word in &words {
                prop_assert!(has(&filter, word.as_bytes()));
                prop_assert!(parquets.check(word.as_bytes()));
            }
            for other in ["", "zebra", "x", "0"] {
                prop_assert_eq!(has(&filter, other.as_bytes()), parquets.check(other.as_bytes()));
            }
        }
    }
}
