//! Rows of a block by ranges of their numbers, told of these as they are stored.
//!
//! ```text
//!    price > 120          floats with two digits      of whole numbers:  12001 and more
//!    stored               1, 3, 0, -2, ..  (steps)  ->  11999 12002 12002 12000  ->  . x x .
//! ```
//!
//! No float is made, and no column: a few thousand numbers at once are unpacked and held against their ranges. Where these need
//! no more than 32 bits they are kept so, as far as there is room: half of what floats would take, and to read what is kept takes
//! as long as it is large. Measured: of a filter over ten million prices a fifth was making floats of them, and a tenth writing
//! these to memory.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int32Array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::DataType;

use super::super::cache::{Form, KeptRows};
use super::super::decimals::units_within;
use super::super::parts::PART_ROWS;
use super::super::tail::Zone;
use super::ColdFile;
use super::decode::{ChosenRows, DecodedAs};
use super::mask::RowMask;
use crate::Result;
use crate::scan::{NumberRange, PlannedFilter};
use crate::within::{are_within, within};

/// Of a stretch of rows one in so many at least is looked at: else these are better picked.
const LOOKED_AT_OF: usize = 2;

impl ColdFile {
    /// Rows that pass a filter, of those `among` the rows of a block (`None`: all); `None` where columns have to be made for it,
    /// or are there.
    pub(super) fn in_ranges(
        &self,
        (block, zone): (usize, &Zone),
        filter: &PlannedFilter,
        among: Option<&RowMask>,
    ) -> Result<Option<RowMask>> {
        let Some(ranges) = filter.number_ranges().filter(|_| !filter.gives_looked_at()) else {
            return Ok(None);
        };
        let rows = among.map_or(0..zone.rows as usize, RowMask::stretch);
        if among.is_some_and(|among| among.count().saturating_mul(LOOKED_AT_OF) < rows.len())
            || self.has_all((block, zone), &filter.looked_at, self.rows())
        {
            return Ok(None);
        }
        let each = filter.looked_at.columns.iter().zip(ranges);
        let stored = each.map(|(column, range)| Some((*column, self.as_stored(*column, *range)?)));
        let Some(mut stored) = stored.collect::<Option<Vec<_>>>() else { return Ok(None) };
        stored.sort_unstable_by_key(|(column, _)| *column);
        let passing = self.within((block, zone), &stored, rows.clone())?;
        Ok(Some(match among {
            Some(among) => among.and_of_stretch(&passing),
            None => RowMask::new(rows.start, passing),
        }))
    }

    /// Rows of the file.
    fn rows(&self) -> u64 {
        u64::try_from(self.metadata.file_metadata().num_rows()).unwrap_or(u64::MAX)
    }

    /// The numbers of a range as a column's are stored, the first and the last one; `None` where these don't tell.
    fn as_stored(&self, column: usize, range: NumberRange) -> Option<(i64, i64)> {
        let field = self.schema.fields().get(column)?;
        match (field.data_type(), range) {
            (DataType::Int64 | DataType::Int32, NumberRange::Whole { first, last }) => {
                Some((first, last))
            }
            (DataType::Float64, NumberRange::Floats { lo, hi }) => {
                Some(units_within(lo, hi, self.decimal_digits(column)?))
            }
            _ => None,
        }
    }

    /// Which of some rows that follow each other have in each of some columns, in ascending order, a number in its range.
    fn within(
        &self,
        (block, zone): (usize, &Zone),
        ranges: &[(usize, (i64, i64))],
        rows: Range<usize>,
    ) -> Result<BooleanBuffer> {
        let is_whole = rows.len() == zone.rows as usize;
        let kept = KeptRows::all(self.run, block);
        let mut passing = BooleanBuffer::new_set(rows.len());
        let mut missing = Vec::new();
        for (column, range) in ranges {
            let narrow = self.cache.get(kept, *column, Form::Narrow);
            let narrow = narrow.filter(|numbers| numbers.len() == zone.rows as usize);
            let narrow = narrow.map(|numbers| numbers.slice(rows.start, rows.len()));
            match narrow.and_then(|numbers| numbers_within(&numbers, *range)) {
                Some(are_within) => passing = &passing & &are_within,
                None => missing.push((*column, *range)),
            }
        }
        if missing.is_empty() {
            return Ok(passing);
        }
        let mut narrow = match is_whole && self.keeps_narrow(block, ranges.len(), self.rows()) {
            true => missing.iter().map(|_| Some(Vec::with_capacity(rows.len()))).collect(),
            false => vec![None; missing.len()],
        };
        passing = &passing & &self.decoded_within((block, zone), &missing, rows, &mut narrow)?;
        for ((column, _), numbers) in missing.iter().zip(narrow) {
            if let Some(numbers) = numbers {
                self.cache.insert(kept, *column, Form::Narrow, Arc::new(Int32Array::from(numbers)));
            }
        }
        Ok(passing)
    }

    /// The same of columns that are decoded. Their numbers are put into `narrow`, where there is room for them and they need no
    /// more than 32 bits.
    fn decoded_within(
        &self,
        (block, zone): (usize, &Zone),
        ranges: &[(usize, (i64, i64))],
        rows: Range<usize>,
        narrow: &mut [Option<Vec<i32>>],
    ) -> Result<BooleanBuffer> {
        let columns: Vec<usize> = ranges.iter().map(|(column, _)| *column).collect();
        let chosen = ChosenRows::stretch(&rows, zone.rows as usize);
        let of_block = (block, rows.len());
        let parts = self.decoding(of_block, PART_ROWS, &columns, DecodedAs::STORED, chosen)?;
        let mut passing = BooleanBufferBuilder::new(rows.len());
        for part in parts {
            let part = part?;
            let mut of_part = BooleanBuffer::new_set(part.num_rows());
            for ((numbers, (_, range)), kept) in part.columns().iter().zip(ranges).zip(&mut *narrow)
            {
                let are_within = numbers_within(numbers, *range).ok_or_else(|| {
                    self.file.bad(0, format!("block {block} of a run has other numbers than told"))
                })?;
                of_part = &of_part & &are_within;
                kept.take_if(|kept| !narrowed(numbers, kept));
            }
            passing.append_buffer(&of_part);
        }
        Ok(passing.finish())
    }
}

/// Appends numbers in 32 bits; false where some are null, or need more.
fn narrowed(column: &ArrayRef, narrow: &mut Vec<i32>) -> bool {
    if column.null_count() > 0 {
        return false;
    }
    if let Some(numbers) = column.as_primitive_opt::<Int32Type>() {
        narrow.extend_from_slice(numbers.values());
        return true;
    }
    let wide = column.as_primitive_opt::<Int64Type>().map(|numbers| numbers.values());
    let decimals = || column.as_primitive_opt::<Decimal64Type>().map(|numbers| numbers.values());
    let Some(numbers) = wide.or_else(decimals) else { return false };
    let are_narrow = are_within(numbers, i32::MIN.into(), i32::MAX.into());
    if are_narrow {
        narrow.extend(numbers.iter().map(|number| *number as i32));
    }
    are_narrow
}

/// Which numbers of a column are within a range; `None` for a column of other values.
fn numbers_within(column: &ArrayRef, (first, last): (i64, i64)) -> Option<BooleanBuffer> {
    let are_within = match column.data_type() {
        DataType::Int32 => {
            // What is beyond all of them is so on both sides, and then the first is greater.
            let (lo, hi) = (i64::from(i32::MIN), i64::from(i32::MAX));
            let is_none = first > hi || last < lo;
            let end = |number: i64| i32::try_from(number.clamp(lo, hi)).ok();
            let (first, last) =
                if is_none { (i32::MAX, i32::MIN) } else { (end(first)?, end(last)?) };
            within(column.as_primitive_opt::<Int32Type>()?.values(), first, last)
        }
        DataType::Int64 => within(column.as_primitive_opt::<Int64Type>()?.values(), first, last),
        _ => within(column.as_primitive_opt::<Decimal64Type>()?.values(), first, last),
    };
    Some(match column.nulls() {
        Some(nulls) => &are_within & nulls.inner(),
        None => are_within,
    })
}

#[cfg(test)]
mod tests;
