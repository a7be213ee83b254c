//! Which words a block of a cold run may have: a split block Bloom filter over the hashes of its
//! words, as Parquet's specification has it (`BloomFilter.md`), but for words instead of values, and
//! of any number of blocks, not powers of two only. Parquet's own implementation takes no hashes, and
//! reads a filter whole before it answers; this one reads the 32 bytes that a word falls into.

use std::char::UNICODE_VERSION;
use std::hash::BuildHasher as _;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use hashbrown::DefaultHashBuilder;
use timestrata_format::WordFilters;

use super::checked::CheckedFile;
use crate::scan::SoughtWord;
use crate::words::{self, Letters, hash};
use crate::{Result, Stream};

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
const UNICODE: u32 = UNICODE_VERSION.0 as u32;
/// The same, and how this build folds letters: in its second way, in which both sigmas are one.
pub(super) const LETTERS: u32 = UNICODE | 1 << 8;

/// The filter of a block of rows; empty where something in it is no text and no CBOR, so that
/// nobody can tell which words it has.
pub(super) fn of_rows(stream: &Stream, rows: &RecordBatch) -> Vec<u8> {
    let mut hashes = Hashes::new();
    let fields = stream.schema().fields();
    for (field, column) in fields.iter().zip(rows.columns()) {
        match field.data_type() {
            DataType::Utf8 => {
                let column = column.as_string::<i32>();
                let mut before = Before::new();
                for (row, text) in column.iter().enumerate() {
                    let Some(text) = text else { continue };
                    if !before.has(row, text.as_bytes(), |row| column.value(row).as_bytes()) {
                        words::each(text, |word| hashes.add(hash(word)));
                    }
                }
            }
            DataType::Binary if stream.is_cbor(field.name()) => {
                let column = column.as_binary::<i32>();
                let mut before = Before::new();
                for (row, item) in column.iter().enumerate() {
                    let Some(item) = item else { continue };
                    if before.has(row, item, |row| column.value(row)) {
                        continue;
                    }
                    let each = |text: &str| words::each(text, |word| hashes.add(hash(word)));
                    if words::each_text_in_cbor(item, each).is_err() {
                        return Vec::new();
                    }
                }
            }
            _ => {}
        }
    }
    of_hashes(&hashes.different())
}

/// Values of a column that were met before: logs repeat themselves, and what is the same has the same
/// words. Of two that fall on one place the later is remembered.
struct Before {
    rows: Vec<u32>,
    hasher: DefaultHashBuilder,
}

impl Before {
    const PLACES: usize = 1 << 10;
    const NONE: u32 = u32::MAX;

    fn new() -> Self {
        Self { rows: vec![Self::NONE; Self::PLACES], hasher: DefaultHashBuilder::default() }
    }

    /// Whether a row before this one had the same value; `value` tells those of rows.
    fn has<'a>(&mut self, row: usize, bytes: &[u8], value: impl Fn(usize) -> &'a [u8]) -> bool {
        let place = self.hasher.hash_one(bytes) as usize % Self::PLACES;
        let known = std::mem::replace(&mut self.rows[place], row as u32);
        known != Self::NONE && value(known as usize) == bytes
    }
}

/// The hashes of words.
struct Hashes {
    all: Vec<u64>,
    /// Those that were added last: most words are among them.
    last: Vec<u64>,
}

impl Hashes {
    const LAST: usize = 1 << 12;

    fn new() -> Self {
        // No hash falls on the place where its complement stands.
        let last = (0..Self::LAST as u64).map(|place| !place).collect();
        Self { all: Vec::new(), last }
    }

    fn add(&mut self, hash: u64) {
        let last = &mut self.last[hash as usize % Self::LAST];
        if *last != hash {
            *last = hash;
            self.all.push(hash);
        }
    }

    fn different(mut self) -> Vec<u64> {
        self.all.sort_unstable();
        self.all.dedup();
        self.all
    }
}

fn of_hashes(hashes: &[u64]) -> Vec<u8> {
    let blocks = (hashes.len() * BITS_A_WORD).div_ceil(8 * BLOCK_BYTES).max(1);
    let mut filter = vec![0; blocks * BLOCK_BYTES];
    for hash in hashes {
        let start = block_of(*hash, blocks) * BLOCK_BYTES;
        let block = &mut filter[start..start + BLOCK_BYTES];
        for (bytes, mask) in block.chunks_exact_mut(4).zip(masks(*hash)) {
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
    /// What letters this build tells and folds as the one did that wrote the filters.
    alike: Letters,
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
        let alike = match filters.letters {
            LETTERS => Letters::Any,
            UNICODE => Letters::Unchanged,
            _ => Letters::Ascii,
        };
        Self { alike, ends }
    }

    /// False only if no row of the block has the word.
    pub(super) fn may_have(
        &self,
        file: &CheckedFile,
        block: usize,
        word: &SoughtWord,
    ) -> Result<bool> {
        if word.letters > self.alike {
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
        let filter = of_hashes(&hashes);
        assert_eq!(filter.len(), 7_520);
        let seeming =
            (5_000..105_000).filter(|n| has(&filter, format!("word{n}").as_bytes())).count();
        assert!((100..1_000).contains(&seeming), "{seeming} of 100,000");
    }

    #[test]
    fn only_values_that_were_met_before_are_left_out() {
        let values: Vec<Vec<u8>> = (0..20_000).map(|n| format!("{}", n % 3_000).into()).collect();
        let mut before = Before::new();
        let mut left_out = 0;
        for (row, value) in values.iter().enumerate() {
            let has = before.has(row, value, |row| values[row].as_slice());
            assert!(!has || row >= 3_000, "row {row}");
            left_out += u32::from(has);
        }
        assert!(left_out > 0);
    }

    proptest! {
        #[test]
        fn a_filter_is_one_that_parquet_reads(words in prop::collection::vec("[a-z]{1,8}", 0..200)) {
            let mut hashes = Hashes::new();
            words.iter().chain(&words).for_each(|word| hashes.add(hash(word.as_bytes())));
            let hashes = hashes.different();
            let different: std::collections::HashSet<_> = words.iter().collect();
            prop_assert_eq!(hashes.len(), different.len());
            let filter = of_hashes(&hashes);
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
