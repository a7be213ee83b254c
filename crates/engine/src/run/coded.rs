//! A column of text of a flushed run as places among its values, where these are few.
//!
//! ```text
//!    values     codes of two blocks
//!    0 eu-1     0 1 0 2
//!    1 eu-2     1 1 0 2
//!    2 null
//! ```
//!
//! Flushed runs have plain text, which is read without being decoded. Who looks for one host of many compares each
//! row's text all the same; by codes the question is put to each value once. They are made when filters have asked about as
//! many blocks as there are, and kept in memory with the run: two bytes a row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, StringArray};
use arrow_buffer::BooleanBuffer;
use hashbrown::HashMap;

use super::checked::unless_damaged;
use super::hot::HotFile;
use super::reader::{Opened, RunReader};
use super::series::{Numbered, values_of_text};
use crate::Result;
use crate::scan::{PlannedFilter, Values, ViewedColumns};

/// Columns are coded that have no more than one value for so many rows,
const ROWS_A_VALUE_MIN: u64 = 16;
/// and no more than so many bytes of them.
const VALUES_BYTES_MAX: usize = 1 << 20;

/// A column of all blocks of a run.
#[derive(Debug)]
pub(super) struct CodedText {
    /// Each once, and null if there is one.
    values: ArrayRef,
    /// The same without null.
    told: Values,
    /// For each block the place of each row's value.
    blocks: Vec<Vec<u16>>,
}

impl CodedText {
    /// Of a column's blocks, which have so many rows together; `None` for what is no text or has too many values.
    pub(super) fn of(blocks: &[ArrayRef], rows: u64) -> Option<Self> {
        let mut known: HashMap<Option<&str>, u16> = HashMap::new();
        let mut values: Vec<Option<&str>> = Vec::new();
        let mut bytes = 0;
        let mut codes = Vec::with_capacity(blocks.len());
        for block in blocks {
            let texts = block.as_string_opt::<i32>()?;
            let Numbered { ids, firsts } = Numbered::of(&[values_of_text(texts)]);
            let mut code_of = |first: &usize| {
                let value = texts.is_valid(*first).then(|| texts.value(*first));
                let next = u16::try_from(values.len()).ok()?;
                Some(*known.entry(value).or_insert_with(|| {
                    bytes += value.map_or(0, str::len);
                    values.push(value);
                    next
                }))
            };
            let codes_of_ids = firsts.iter().map(&mut code_of).collect::<Option<Vec<u16>>>()?;
            let has_few = values.len() as u64 * ROWS_A_VALUE_MIN <= rows;
            if !has_few || bytes > VALUES_BYTES_MAX {
                return None;
            }
            let code = |id: &u32| codes_of_ids.get(*id as usize).copied();
            codes.push(ids.iter().map(code).collect::<Option<_>>()?);
        }
        let told: ArrayRef = Arc::new(StringArray::from_iter_values(values.iter().flatten()));
        let may_be_null = known.contains_key(&None);
        Some(Self {
            values: Arc::new(StringArray::from(values)),
            told: Values { columns: vec![told], may_be_null },
            blocks: codes,
        })
    }

    /// The values of all blocks, one of them null if a row has none.
    pub(super) fn values(&self) -> &ArrayRef {
        &self.values
    }

    /// The same, with null apart.
    pub(super) fn told(&self) -> &Values {
        &self.told
    }

    /// The rows of a block with the values that `chosen` is set for.
    pub(super) fn rows_of(&self, block: usize, chosen: &BooleanArray) -> Option<BooleanArray> {
        let codes = self.blocks.get(block)?;
        // There is one for each value.
        let is_chosen = |code: u16| usize::from(code) < chosen.len() && chosen.value(code.into());
        let rows = BooleanBuffer::collect_bool(codes.len(), |row| is_chosen(codes[row]));
        Some(BooleanArray::new(rows, None))
    }
}

impl RunReader {
    /// Which rows of a block of a hot run may pass a filter, by columns of few texts; `None`: none of them tells.
    pub(super) fn passing_by_codes(
        &self,
        opened: &Opened,
        hot: &HotFile,
        block: usize,
        filter: &PlannedFilter,
    ) -> Result<Option<BooleanArray>> {
        let mut may_pass: Option<BooleanArray> = None;
        for asked in filter.of_single_columns() {
            let ViewedColumns { columns, views, .. } = &asked.column;
            let [column] = columns.as_slice() else { continue };
            let coded = unless_damaged(hot.worthwhile_codes(&opened.zones, *column), None)?;
            let Some(coded) = coded else { continue };
            let values = vec![Arc::clone(coded.values())];
            let values = self.batch_of(opened, (block, values[0].len()), columns, views, values)?;
            let rows = coded.rows_of(block, &asked.passes(&values)?);
            may_pass = match (may_pass, rows) {
                (Some(some), Some(rows)) if some.len() == rows.len() => {
                    Some(BooleanArray::new(some.values() & rows.values(), None))
                }
                (known, rows) => known.or(rows),
            };
        }
        Ok(may_pass)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn codes_lead_to_the_text_of_each_row(
            blocks in prop::collection::vec(
                prop::collection::vec(prop::option::weighted(0.9, "[ab]{0,2}"), 0..200), 0..4),
        ) {
            let arrays: Vec<ArrayRef> = blocks
                .iter()
                .map(|block| Arc::new(StringArray::from_iter(block.iter())) as ArrayRef)
                .collect();
            let rows = blocks.iter().map(Vec::len).sum::<usize>();
            let mut distinct: Vec<_> = blocks.iter().flatten().collect();
            distinct.sort();
            distinct.dedup();
            let Some(coded) = CodedText::of(&arrays, rows as u64) else {
                prop_assert!(distinct.len() * 16 > rows);
                return Ok(());
            };
            let values = coded.values().as_string::<i32>();
            prop_assert_eq!(values.len(), distinct.len());
            for (block, rows) in blocks.iter().enumerate() {
                for place in 0..values.len() {
                    let chosen: BooleanArray =
                        (0..values.len()).map(|value| Some(value == place)).collect();
                    let found = coded.rows_of(block, &chosen).unwrap();
                    let value = values.is_valid(place).then(|| values.value(place));
                    let expected = rows.iter().map(|text| Some(text.as_deref() == value));
                    prop_assert_eq!(found, expected.collect::<BooleanArray>());
                }
            }
            prop_assert_eq!(coded.told().may_be_null, distinct.contains(&&None));
        }
    }

    #[test]
    fn more_values_than_codes_are_not_coded() {
        let texts = StringArray::from_iter_values((0..70_000).map(|row| row.to_string()));
        assert!(CodedText::of(&[Arc::new(texts)], u64::MAX).is_none());
    }
}
