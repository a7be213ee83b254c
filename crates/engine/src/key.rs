//! The leading key column of a batch, as typed values; `order` compares whole keys.

mod order;

use std::cmp::Ordering;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, TimeUnit};
use timestrata_format::{KeyRange, LeadKey};

use crate::within::{are_within, within};
use crate::{Cell, Error, ErrorKind, LeadKind, Result, Stream};
pub(crate) use order::KeyOrder;

/// The leading key that a cell is; `None` for a cell of another kind.
#[inline]
pub(crate) fn lead_key_of(kind: LeadKind, cell: Cell<'_>) -> Option<LeadKey> {
    match (kind, cell) {
        (LeadKind::Time, Cell::Int(time)) => Some(LeadKey::Time(time)),
        (LeadKind::Offset, Cell::UInt(offset)) => Some(LeadKey::Offset(offset)),
        (LeadKind::Id16, Cell::Bytes(id)) => id.try_into().ok().map(LeadKey::Id16),
        (LeadKind::Id32, Cell::Bytes(id)) => id.try_into().ok().map(LeadKey::Id32),
        _ => None,
    }
}

/// A leading key column: typed access without a branch on the Arrow type a row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeyView<'a> {
    Time(&'a [i64]),
    Offset(&'a [u64]),
    Id16(&'a [[u8; 16]]),
    Id32(&'a [[u8; 32]]),
}

impl<'a> KeyView<'a> {
    /// The leading key of a batch that has the stream's columns at the stream's positions.
    pub(crate) fn of(stream: &Stream, batch: &'a RecordBatch) -> Result<Self> {
        match batch.columns().get(stream.lead_column()) {
            Some(column) => Self::of_column(column.as_ref()),
            None => Err(Error::new(ErrorKind::InvalidData, "the leading key column is missing")),
        }
    }

    /// A column of one of the leading key types, without nulls.
    pub(crate) fn of_column(column: &'a dyn Array) -> Result<Self> {
        if column.null_count() > 0 {
            return Err(Error::new(ErrorKind::InvalidData, "the leading key column has nulls"));
        }
        Ok(match column.data_type() {
            DataType::Int64 => Self::Time(column.as_primitive::<Int64Type>().values()),
            DataType::Timestamp(TimeUnit::Second, _) => {
                Self::Time(column.as_primitive::<TimestampSecondType>().values())
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                Self::Time(column.as_primitive::<TimestampMillisecondType>().values())
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                Self::Time(column.as_primitive::<TimestampMicrosecondType>().values())
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                Self::Time(column.as_primitive::<TimestampNanosecondType>().values())
            }
            DataType::UInt64 => Self::Offset(column.as_primitive::<UInt64Type>().values()),
            DataType::FixedSizeBinary(16) => {
                Self::Id16(column.as_fixed_size_binary().value_data().as_chunks().0)
            }
            DataType::FixedSizeBinary(32) => {
                Self::Id32(column.as_fixed_size_binary().value_data().as_chunks().0)
            }
            other => {
                return Err(Error::new(
                    ErrorKind::InvalidData,
                    format!("type {other} can't be a leading key"),
                ));
            }
        })
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Time(keys) => keys.len(),
            Self::Offset(keys) => keys.len(),
            Self::Id16(keys) => keys.len(),
            Self::Id32(keys) => keys.len(),
        }
    }

    /// The key of row `index`, which must be in the column.
    pub(crate) fn get(&self, index: usize) -> LeadKey {
        match self {
            Self::Time(keys) => LeadKey::Time(keys[index]),
            Self::Offset(keys) => LeadKey::Offset(keys[index]),
            Self::Id16(keys) => LeadKey::Id16(keys[index]),
            Self::Id32(keys) => LeadKey::Id32(keys[index]),
        }
    }

    pub(crate) fn first(&self) -> Option<LeadKey> {
        (self.len() > 0).then(|| self.get(0))
    }

    pub(crate) fn last(&self) -> Option<LeadKey> {
        self.len().checked_sub(1).map(|index| self.get(index))
    }

    /// Orders row `index` against row `other_index` of another column of the same type.
    #[inline]
    pub(crate) fn compare_with(
        &self,
        index: usize,
        other: &KeyView<'_>,
        other_index: usize,
    ) -> Ordering {
        match (self, other) {
            (Self::Time(a), KeyView::Time(b)) => a[index].cmp(&b[other_index]),
            (Self::Offset(a), KeyView::Offset(b)) => a[index].cmp(&b[other_index]),
            (Self::Id16(a), KeyView::Id16(b)) => a[index].cmp(&b[other_index]),
            (Self::Id32(a), KeyView::Id32(b)) => a[index].cmp(&b[other_index]),
            _ => self.get(index).cmp(&other.get(other_index)),
        }
    }

    /// Whether keys rise from row to row: sorted, without equals.
    pub(crate) fn is_strictly_sorted(&self) -> bool {
        match self {
            Self::Time(keys) => keys.is_sorted_by(|a, b| a < b),
            Self::Offset(keys) => keys.is_sorted_by(|a, b| a < b),
            Self::Id16(keys) => keys.is_sorted_by(|a, b| a < b),
            Self::Id32(keys) => keys.is_sorted_by(|a, b| a < b),
        }
    }

    /// Whether keys never fall from row to row.
    pub(crate) fn is_sorted(&self) -> bool {
        match self {
            Self::Time(keys) => keys.is_sorted(),
            Self::Offset(keys) => keys.is_sorted(),
            Self::Id16(keys) => keys.is_sorted(),
            Self::Id32(keys) => keys.is_sorted(),
        }
    }

    /// Whether no key is below `min` or above `max`, in whatever order they are.
    pub(crate) fn are_within(&self, min: LeadKey, max: LeadKey) -> bool {
        match (self, min, max) {
            (Self::Time(keys), LeadKey::Time(min), LeadKey::Time(max)) => {
                are_within(keys, min, max)
            }
            _ => (0..self.len()).all(|row| (min..=max).contains(&self.get(row))),
        }
    }

    /// Which keys lie in one of `parts`, in whatever order they are.
    pub(crate) fn within_any(&self, parts: &[KeyRange]) -> BooleanBuffer {
        /// `[lo, hi)` of times; an end that isn't given is that of all times.
        fn ends(part: &KeyRange) -> Option<(i64, Option<i64>)> {
            let lo = match part.lo {
                None => i64::MIN,
                Some(LeadKey::Time(lo)) => lo,
                Some(_) => return None,
            };
            match part.hi {
                None => Some((lo, None)),
                Some(LeadKey::Time(hi)) => Some((lo, Some(hi))),
                Some(_) => None,
            }
        }
        // Nearly always one range of times: then two comparisons a row, and no look at what kind of key it is.
        if let (Self::Time(keys), [part]) = (self, parts)
            && let Some((lo, hi)) = ends(part)
        {
            return match hi.map(|hi| hi.checked_sub(1)) {
                None => within(keys, lo, i64::MAX),
                Some(Some(last)) => within(keys, lo, last),
                // Nothing is below the least time.
                Some(None) => BooleanBuffer::new_unset(keys.len()),
            };
        }
        let is_in_one = |row| parts.iter().any(|part| part.contains(self.get(row)));
        BooleanBuffer::collect_bool(self.len(), is_in_one)
    }

    /// Of a sorted column: the first row whose key is not below `key` (the length if none).
    /// A key of another kind than the column's sorts as the variants of [`LeadKey`] do.
    pub(crate) fn lower_bound(&self, key: LeadKey) -> usize {
        match (self, key) {
            (Self::Time(keys), LeadKey::Time(key)) => keys.partition_point(|k| *k < key),
            (Self::Offset(keys), LeadKey::Offset(key)) => keys.partition_point(|k| *k < key),
            (Self::Id16(keys), LeadKey::Id16(key)) => keys.partition_point(|k| *k < key),
            (Self::Id32(keys), LeadKey::Id32(key)) => keys.partition_point(|k| *k < key),
            (_, key) => match self.first() {
                Some(first) if first < key => self.len(),
                _ => 0,
            },
        }
    }

    /// Of a sorted column: the rows whose keys are in `range`.
    pub(crate) fn rows_in(&self, range: &KeyRange) -> Range<usize> {
        let start = range.lo.map_or(0, |lo| self.lower_bound(lo));
        let end = range.hi.map_or(self.len(), |hi| self.lower_bound(hi));
        start..end.max(start)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn end() -> impl Strategy<Value = Option<LeadKey>> {
        let end = prop_oneof![Just(i64::MIN), Just(i64::MAX), -3_i64..3];
        let other = (0_u64..3).prop_map(LeadKey::Offset);
        prop::option::of(prop_oneof![9 => end.prop_map(LeadKey::Time), 1 => other])
    }

    proptest! {
        #[test]
        fn keys_within_some_ranges_are_those_that_one_of_them_contains(
            times in prop::collection::vec(
                prop_oneof![Just(i64::MIN), Just(i64::MAX), -4_i64..4], 0..100),
            parts in prop::collection::vec((end(), end()), 0..3),
        ) {
            let parts: Vec<KeyRange> = parts.into_iter().map(|(lo, hi)| KeyRange { lo, hi }).collect();
            let is_in = |time: &i64| parts.iter().any(|part| part.contains(LeadKey::Time(*time)));
            let expected: BooleanBuffer = times.iter().map(is_in).collect();
            prop_assert_eq!(KeyView::Time(&times).within_any(&parts), expected);
        }
    }
}
