//! The rows that every peer gets.

use timestrata_bench::Numbers;

/// Rows a batch.
pub(crate) const BATCH_ROWS: usize = 1_000;
/// Bytes of a value.
pub(crate) const VALUE_BYTES: usize = 256;

/// A key: a number, most significant byte first.
pub(crate) type Key = [u8; 16];

/// All rows, in order, and the keys to look up.
#[derive(Debug)]
pub(crate) struct Data {
    keys: Vec<Key>,
    values: Vec<u8>,
    pub(crate) lookups: Vec<Key>,
}

/// Consecutive rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// One a row.
    pub(crate) keys: &'a [Key],
    /// All values, one after another, each of [`VALUE_BYTES`].
    pub(crate) values: &'a [u8],
}

impl<'a> Rows<'a> {
    /// Key and value of each row.
    pub(crate) fn iter(self) -> impl Iterator<Item = (&'a Key, &'a [u8])> {
        self.keys.iter().zip(self.values.chunks_exact(VALUE_BYTES))
    }
}

impl Data {
    pub(crate) fn new(rows: usize, lookups: usize) -> Self {
        let mut numbers = Numbers::new(11);
        Self {
            keys: (0..rows as u128).map(u128::to_be_bytes).collect(),
            values: numbers.bytes(rows * VALUE_BYTES),
            lookups: (0..lookups)
                .map(|_| u128::from(numbers.below(rows as u64)).to_be_bytes())
                .collect(),
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.keys.len()
    }

    /// The value of row `index`; empty if there is no such row.
    pub(crate) fn value(&self, index: usize) -> &[u8] {
        let start = index * VALUE_BYTES;
        self.values.get(start..start + VALUE_BYTES).unwrap_or_default()
    }

    pub(crate) fn all(&self) -> Rows<'_> {
        Rows { keys: &self.keys, values: &self.values }
    }

    /// All rows, batch by batch.
    pub(crate) fn batches(&self) -> impl Iterator<Item = Rows<'_>> {
        let values = self.values.chunks(BATCH_ROWS * VALUE_BYTES);
        self.keys.chunks(BATCH_ROWS).zip(values).map(|(keys, values)| Rows { keys, values })
    }
}

/// What a reader has seen: two readers that saw the same rows have the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    rows: usize,
    sum: u64,
}

impl Seen {
    /// Takes in one row; reads a piece of the key and of the value.
    #[inline]
    pub(crate) fn row(&mut self, key: &[u8], value: &[u8]) {
        let piece = value.first_chunk().map_or(0, |piece| u64::from_le_bytes(*piece));
        let key = key.last_chunk().map_or(0, |piece| u64::from_be_bytes(*piece));
        self.rows += 1;
        self.sum = self.sum.wrapping_add(piece ^ key);
    }
}
