//! Point reads: one row by its whole key, without a merge.

use std::cmp::Ordering;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use timestrata_format::{LeadKey, SeqNo};

use super::lead::{Id16, Id32, Lead, Offset, Time, gallop};
use super::{Row, Source, StreamView};
use crate::key::{KeyView, lead_key_of};
use crate::{Cell, Error, ErrorKind, Result, Stream};

impl StreamView {
    /// The row with this whole key (`Latest`), or the first with it (`Keep`). `key` has one
    /// cell a key column.
    ///
    /// # Errors
    /// `InvalidArgument` for cells that don't fit the key; the sources' own errors.
    pub(crate) fn get(&self, key: &[Cell<'_>]) -> Result<Option<Row>> {
        let stream = self.stream.as_ref();
        let (lead, rest) = match key.split_first() {
            Some((lead, rest)) if key.len() == stream.key_columns().len() => (lead, rest),
            _ => {
                let message = format!(
                    "stream '{}' has {} key columns, {} cells were given",
                    stream.name(),
                    stream.key_columns().len(),
                    key.len()
                );
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
        };
        let lead = lead_of(stream, lead)?;
        let deleted_at = self.tombstones.newest_at(lead);
        let sought = Sought { stream, lead, rest, deleted_at };
        match stream.is_latest() {
            true => sought.find_newest(self.sources.iter().rev().map(AsRef::as_ref)),
            false => sought.find_first(self.sources.iter().map(AsRef::as_ref)),
        }
    }
}

/// A key that is looked for.
struct Sought<'a> {
    stream: &'a Stream,
    lead: LeadKey,
    rest: &'a [Cell<'a>],
    /// The newest range delete of the key.
    deleted_at: Option<SeqNo>,
}

/// A row that was found.
struct FoundRow {
    block: usize,
    row: Row,
}

impl Sought<'_> {
    fn find_first<'s>(&self, sources: impl Iterator<Item = &'s dyn Source>) -> Result<Option<Row>> {
        for source in sources {
            if let Some(found) = self.find_in(source)? {
                return Ok(Some(found.row));
            }
        }
        Ok(None)
    }

    fn find_newest<'s>(
        &self,
        sources: impl Iterator<Item = &'s dyn Source>,
    ) -> Result<Option<Row>> {
        let marker_column = self.stream.schema().fields().len();
        for source in sources {
            let Some(found) = self.find_in(source)? else { continue };
            if source.delete_markers() > 0 {
                let markers = source.read(found.block, &[marker_column])?;
                let marker = markers.columns().first().and_then(|column| column.as_boolean_opt());
                match marker {
                    Some(marker) if found.row.index < marker.len() => {
                        if marker.value(found.row.index) {
                            return Ok(None);
                        }
                    }
                    _ => {
                        let message = "a block's delete markers don't fit its rows";
                        return Err(Error::new(ErrorKind::Corruption, message));
                    }
                }
            }
            return Ok(Some(found.row));
        }
        Ok(None)
    }

    /// The first row of a source with the key, unless a range delete hides it.
    fn find_in(&self, source: &dyn Source) -> Result<Option<FoundRow>> {
        if self.lead < source.key_min() || source.key_max() < self.lead {
            return Ok(None);
        }
        let hidden = self.deleted_at.is_some_and(|seq| seq > source.heeded_through());
        if hidden || !source.may_contain(self.lead)? {
            return Ok(None);
        }
        let blocks = source.blocks()?;
        let first = blocks.partition_point(|block| block.key_max < self.lead);
        // Rows of one leading key may fill several blocks.
        for (index, zone) in blocks.iter().enumerate().skip(first) {
            if self.lead < zone.key_min {
                break;
            }
            let batch = source.read_rows(index, self.stream.schema().fields().len())?;
            if let Some(row) = self.find_row(&batch)? {
                let row = Row { batch: batch.into_owned(), index: row };
                return Ok(Some(FoundRow { block: index, row }));
            }
        }
        Ok(None)
    }

    fn find_row(&self, batch: &RecordBatch) -> Result<Option<usize>> {
        let keys = KeyView::of(self.stream, batch)?;
        let start = lower_bound(&keys, self.lead)?;
        if start == keys.len() || keys.get(start) != self.lead {
            return Ok(None);
        }
        if self.rest.is_empty() {
            return Ok(Some(start));
        }
        let equals = gallop(keys.len() - start, |row| keys.get(start + row) == self.lead);
        self.find_rest(batch, start..start + equals)
    }

    /// Of rows with the leading key: the first with the rest of the key.
    fn find_rest(&self, batch: &RecordBatch, rows: Range<usize>) -> Result<Option<usize>> {
        let (mut low, mut high) = (rows.start, rows.end);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.compare_rest(batch, middle)? {
                Ordering::Less => low = middle + 1,
                Ordering::Equal | Ordering::Greater => high = middle,
            }
        }
        Ok((low < rows.end && self.compare_rest(batch, low)?.is_eq()).then_some(low))
    }

    /// Orders a row against the key by the columns behind the leading one.
    fn compare_rest(&self, batch: &RecordBatch, row: usize) -> Result<Ordering> {
        for (column, cell) in self.stream.key_columns().iter().skip(1).zip(self.rest) {
            let Some(array) = batch.columns().get(*column) else {
                return Err(Error::new(ErrorKind::Corruption, "a key column is missing"));
            };
            let Some(order) = compare_cell(array.as_ref(), row, cell) else {
                let name = self.stream.schema().field(*column).name();
                return Err(misfit(name, array.data_type(), cell));
            };
            if order.is_ne() {
                return Ok(order);
            }
        }
        Ok(Ordering::Equal)
    }
}

fn misfit(name: &str, data_type: &DataType, cell: &Cell<'_>) -> Error {
    let message = format!("key column '{name}' has type {data_type}; {cell:?} doesn't fit it");
    Error::new(ErrorKind::InvalidArgument, message)
}

fn lead_of(stream: &Stream, cell: &Cell<'_>) -> Result<LeadKey> {
    lead_key_of(stream.lead_kind(), *cell).ok_or_else(|| {
        let field = stream.schema().field(stream.lead_column());
        misfit(field.name(), field.data_type(), cell)
    })
}

/// Orders a value of a column against a cell; `None` where they don't fit.
fn compare_cell(array: &dyn Array, row: usize, cell: &Cell<'_>) -> Option<Ordering> {
    Cell::of(array, row)?.compare(*cell)
}

/// The first row whose key is not below `key`, by interpolation: keys of random ids, of
/// steady times and of offsets are where their value says, within a few rows.
fn lower_bound(keys: &KeyView<'_>, key: LeadKey) -> Result<usize> {
    fn of<L: Lead>(
        keys: &KeyView<'_>,
        key: LeadKey,
        distance: impl Fn(L::Value, L::Value) -> f64,
    ) -> Result<usize> {
        let keys = L::keys_checked(*keys)?;
        let key = L::value_checked(key)?;
        Ok(interpolate(keys.len(), key, |row| L::load(&keys[row]), distance))
    }
    #[expect(clippy::cast_precision_loss, reason = "a guess")]
    match keys {
        KeyView::Time(_) => of::<Time>(keys, key, |a, b| b as f64 - a as f64),
        KeyView::Offset(_) => of::<Offset>(keys, key, |a, b| b as f64 - a as f64),
        KeyView::Id16(_) => of::<Id16>(keys, key, |a, b| top(b) - top(a)),
        KeyView::Id32(_) => of::<Id32>(keys, key, |a, b| top(b[0]) - top(a[0])),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a guess")]
fn top(id: u128) -> f64 {
    (id >> 64) as u64 as f64
}

/// Two guesses from the distance of values, each from where the last one led, then a gallop
/// from there: never worse than twice a binary search.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a guess, which is clamped"
)]
fn interpolate<V: Ord + Copy>(
    len: usize,
    key: V,
    at: impl Fn(usize) -> V,
    distance: impl Fn(V, V) -> f64,
) -> usize {
    let Some(last) = len.checked_sub(1) else { return 0 };
    let rows_per_distance = last as f64 / distance(at(0), at(last));
    let mut guess = 0;
    for _ in 0..2 {
        // Not a number becomes 0, and what is too far the end.
        let there = guess as f64 + distance(at(guess), key) * rows_per_distance;
        guess = (there as usize).min(last);
    }
    match at(guess) < key {
        true => guess + 1 + gallop(last - guess, |row| at(guess + 1 + row) < key),
        false => guess - gallop(guess, |row| at(guess - 1 - row) >= key),
    }
}

#[cfg(test)]
mod tests;
