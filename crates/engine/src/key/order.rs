//! The order of a stream's rows: by the whole key, all key columns.
//!
//! A key of one column compares as values; a key of several is turned into bytes that
//! compare as the columns do (`arrow-row`). Memtables sort and merge by it, scans merge by it.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::ArrowError;

use super::KeyView;
use crate::{Error, ErrorKind, Result, Stream};

/// How the rows of one stream are ordered.
#[derive(Debug)]
pub(crate) struct KeyOrder {
    columns: Vec<usize>,
    /// Only for keys of several columns.
    converter: Option<RowConverter>,
}

/// The whole keys of a batch's rows, ready to be compared with those of any other batch of
/// the same stream.
#[derive(Debug)]
pub(crate) enum KeyRows<'a> {
    /// A key of one column.
    Single(KeyView<'a>),
    /// A key of several columns, as bytes.
    Composite(Arc<Rows>),
}

impl KeyOrder {
    pub(crate) fn new(stream: &Stream) -> Result<Self> {
        let columns = stream.key_columns().to_vec();
        let converter = match columns.len() {
            1 => None,
            _ => {
                let fields = columns.iter().map(|&column| {
                    SortField::new(stream.schema().field(column).data_type().clone())
                });
                Some(RowConverter::new(fields.collect()).map_err(unordered)?)
            }
        };
        Ok(Self { columns, converter })
    }

    /// Whether the leading key is the whole key.
    pub(crate) fn is_single(&self) -> bool {
        self.converter.is_none()
    }

    /// The keys of a batch that has the stream's columns at the stream's positions.
    pub(crate) fn rows<'a>(&self, batch: &'a RecordBatch) -> Result<KeyRows<'a>> {
        if let (None, [column]) = (&self.converter, self.columns.as_slice()) {
            return Ok(KeyRows::Single(KeyView::of_column(column_of(batch, *column)?)?));
        }
        let columns: Result<Vec<ArrayRef>> =
            self.columns.iter().map(|&column| column_of(batch, column).cloned()).collect();
        self.composite(&columns?)
    }

    /// The keys of a batch that has just the key columns, in key order.
    pub(crate) fn rows_of_keys<'a>(&self, keys: &'a RecordBatch) -> Result<KeyRows<'a>> {
        if self.is_single() {
            return Ok(KeyRows::Single(KeyView::of_column(column_of(keys, 0)?)?));
        }
        self.composite(keys.columns())
    }

    fn composite<'a>(&self, columns: &[ArrayRef]) -> Result<KeyRows<'a>> {
        let Some(converter) = &self.converter else {
            return Err(Error::new(ErrorKind::InvalidData, "a key of one column was expected"));
        };
        let rows = converter.convert_columns(columns).map_err(unordered)?;
        Ok(KeyRows::Composite(Arc::new(rows)))
    }

    /// Whether keys never fall from row to row; `strictly`: always rise. Cheap where the
    /// leading key says it already.
    pub(crate) fn is_sorted(&self, batch: &RecordBatch, strictly: bool) -> Result<bool> {
        let Some(&column) = self.columns.first() else { return Ok(true) };
        let lead = KeyView::of_column(column_of(batch, column)?)?;
        if !lead.is_sorted() {
            return Ok(false);
        }
        let ties = strictly || !self.is_single();
        if !ties || lead.is_strictly_sorted() {
            return Ok(true);
        }
        Ok(!self.is_single() && self.rows(batch)?.is_sorted(strictly))
    }
}

fn column_of(batch: &RecordBatch, column: usize) -> Result<&ArrayRef> {
    batch
        .columns()
        .get(column)
        .ok_or_else(|| Error::new(ErrorKind::InvalidData, "a key column is missing"))
}

fn unordered(error: ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, format!("the key columns can't be ordered: {error}"))
        .caused_by(error)
}

impl KeyRows<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Single(keys) => keys.len(),
            Self::Composite(rows) => rows.num_rows(),
        }
    }

    /// Orders row `index` against row `other_index` of `other`, which may be of another
    /// batch. Both rows must exist.
    #[inline]
    pub(crate) fn compare(
        &self,
        index: usize,
        other: &KeyRows<'_>,
        other_index: usize,
    ) -> Ordering {
        match (self, other) {
            (Self::Single(a), KeyRows::Single(b)) => a.compare_with(index, b, other_index),
            (Self::Composite(a), KeyRows::Composite(b)) => {
                a.row(index).data().cmp(b.row(other_index).data())
            }
            // Keys of one stream are all of one sort.
            (Self::Single(_), KeyRows::Composite(_)) => Ordering::Less,
            (Self::Composite(_), KeyRows::Single(_)) => Ordering::Greater,
        }
    }

    /// Whether keys never fall from row to row; `strictly`: always rise.
    pub(crate) fn is_sorted(&self, strictly: bool) -> bool {
        match (self, strictly) {
            (Self::Single(keys), false) => keys.is_sorted(),
            (Self::Single(keys), true) => keys.is_strictly_sorted(),
            (Self::Composite(_), _) => (1..self.len()).all(|row| {
                let order = self.compare(row - 1, self, row);
                order == Ordering::Less || (!strictly && order == Ordering::Equal)
            }),
        }
    }

    /// Row numbers in key order; rows with equal keys stay in the order they have.
    pub(crate) fn sort_indices(&self) -> Vec<u32> {
        match self {
            Self::Single(KeyView::Time(keys)) => sorted_rows(keys.iter().copied()),
            Self::Single(KeyView::Offset(keys)) => sorted_rows(keys.iter().copied()),
            Self::Single(KeyView::Id16(keys)) => sorted_rows(keys.iter()),
            Self::Single(KeyView::Id32(keys)) => sorted_rows(keys.iter()),
            Self::Composite(rows) => sorted_rows(rows.iter().map(|row| Prefixed::new(row.data()))),
        }
    }

    /// Of row numbers in key order, leaves the last one of each whole key.
    pub(crate) fn keep_last(&self, sorted: &mut Vec<u32>) {
        let mut kept = 0;
        for position in 0..sorted.len() {
            let row = sorted[position];
            let replaces = kept > 0
                && self.compare(sorted[kept - 1] as usize, self, row as usize) == Ordering::Equal;
            kept -= usize::from(replaces);
            sorted[kept] = row;
            kept += 1;
        }
        sorted.truncate(kept);
    }

    /// Of sorted rows: the first that is not below row `other_index` of `other` (the length
    /// if none).
    pub(crate) fn lower_bound(&self, other: &KeyRows<'_>, other_index: usize) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.compare(middle, other, other_index) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal | Ordering::Greater => high = middle,
            }
        }
        low
    }
}

/// The bytes of a key with the first of them at hand: most comparisons need no others, which lie
/// anywhere in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Prefixed<'a> {
    /// The first 16 bytes, zeros behind a shorter key's end: they never order keys as the bytes don't.
    prefix: u128,
    bytes: &'a [u8],
}

impl<'a> Prefixed<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let mut prefix = [0; 16];
        prefix.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
        Self { prefix: u128::from_be_bytes(prefix), bytes }
    }
}

/// Numbers of rows in the order of their keys. Rows mostly come in order, so only those are
/// sorted that fall below a row before them.
fn sorted_rows<K: Ord + Copy>(keys: impl ExactSizeIterator<Item = K>) -> Vec<u32> {
    let mut rising: Vec<(K, u32)> = Vec::with_capacity(keys.len());
    let mut late: Vec<(K, u32)> = Vec::new();
    for row in keys.zip(0..) {
        match rising.last() {
            Some(greatest) if row.0 < greatest.0 => late.push(row),
            _ => rising.push(row),
        }
    }
    // The stable sort, which also makes use of what is sorted already.
    late.sort_by_key(|row| row.0);
    let mut rows = Vec::with_capacity(rising.len() + late.len());
    let mut rest = rising.as_slice();
    for row in late {
        let before = rest.iter().take_while(|other| **other < row).count();
        let (goes_before, behind) = rest.split_at(before);
        rows.extend(goes_before.iter().map(|(_, row)| *row));
        rows.push(row.1);
        rest = behind;
    }
    rows.extend(rest.iter().map(|(_, row)| *row));
    rows
}

#[cfg(test)]
mod tests;
