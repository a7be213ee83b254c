//! Columns of one block, part by part: the flat ones by their own reader, and the others by Parquet's.

use std::collections::VecDeque;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, new_empty_array};
use arrow_schema::{ArrowError, DataType};
use arrow_select::filter::filter_record_batch;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowSelector};
use timestrata_io::Arena;

use super::decode::{ChosenRows, DecodeFailure};
use super::flat::FlatColumn;

/// The next rows of a block.
pub(super) struct Part {
    /// How many there were, before those were left out that aren't chosen.
    pub(super) rows: usize,
    /// How many are given.
    pub(super) given: usize,
    pub(super) columns: Vec<ArrayRef>,
}

/// Decodes columns, each at its place among those that are wanted.
pub(super) struct BlockReader {
    flat: Vec<(usize, FlatColumn)>,
    others: Option<(Vec<usize>, ParquetRecordBatchReader)>,
    /// What is passed over before rows are read; nothing where these are all.
    selectors: Option<VecDeque<RowSelector>>,
    /// Of the rows that are read those that are given; `None`: all.
    mask: Option<BooleanArray>,
    rows_a_part: usize,
    /// Rows that have been read, and how many there are.
    read: usize,
    rows: usize,
}

impl BlockReader {
    /// Reads so many rows, no more than `rows_a_part` at once.
    pub(super) fn new(
        flat: Vec<(usize, FlatColumn)>,
        others: Option<(Vec<usize>, ParquetRecordBatchReader)>,
        chosen: ChosenRows,
        (rows, rows_a_part): (usize, usize),
    ) -> Self {
        let (selection, mask) = chosen.into_parts();
        // What is passed over is not decoded, and takes no room.
        let rows_a_part = match (&mask, &others) {
            (Some(_), None) => rows,
            _ => rows_a_part,
        };
        let selectors = selection.map(|selection| Vec::from(selection).into());
        Self { flat, others, selectors, mask, rows_a_part, read: 0, rows }
    }

    /// The next rows, flat columns in memory of an arena if one is given; `None` once all have been read.
    pub(super) fn next(&mut self, arena: Option<&Arena>) -> Result<Option<Part>, DecodeFailure> {
        let others = match &mut self.others {
            None => None,
            Some((_, reader)) => match reader.next().transpose()? {
                Some(part) => Some(part),
                None => return Ok(None),
            },
        };
        let left = self.rows.saturating_sub(self.read);
        let rows = match &others {
            Some(part) => part.num_rows(),
            None => left.min(self.rows_a_part),
        };
        if rows == 0 {
            return Ok(None);
        }
        let mask = self.mask.as_ref().map(|mask| {
            let first = self.read.min(mask.len());
            mask.slice(first, rows.min(mask.len() - first))
        });
        self.read += rows;
        let given = mask.as_ref().map_or(rows, BooleanArray::true_count);
        let flat = self.read_flat(rows, mask.as_ref().filter(|_| given < rows), arena)?;
        let others = match (others, &mask) {
            (Some(part), Some(mask)) if given < rows => Some(filter_record_batch(&part, mask)?),
            (others, _) => others,
        };
        let columns = self.joined(flat, others)?;
        Ok(Some(Part { rows, given, columns }))
    }

    fn read_flat(
        &mut self,
        rows: usize,
        mask: Option<&BooleanArray>,
        arena: Option<&Arena>,
    ) -> Result<Vec<ArrayRef>, DecodeFailure> {
        let places: Option<Vec<u32>> = match mask {
            Some(mask) if !self.flat.is_empty() => Some(mask.values().set_indices_u32().collect()),
            _ => None,
        };
        let given = places.as_ref().map_or(rows, Vec::len);
        self.flat.iter_mut().for_each(|(_, column)| column.reserve(given, arena));
        let (mut first, mut rest) = (0, places.as_deref());
        for (skipped, read) in self.steps(rows) {
            let end = first + u32::try_from(read)?;
            let here = rest.map(|places| {
                let (here, behind) = places.split_at(places.partition_point(|at| *at < end));
                rest = Some(behind);
                here
            });
            for (_, column) in &mut self.flat {
                column.skip(skipped);
                match here {
                    Some([]) => column.skip(read),
                    here => column.read(read, first, here)?,
                }
            }
            first = end;
        }
        Ok(self.flat.iter_mut().map(|(_, column)| column.take()).collect::<Result<_, _>>()?)
    }

    /// How many rows are passed over, and then how many read, again and again, until so many are.
    fn steps(&mut self, mut rows: usize) -> Vec<(usize, usize)> {
        let Some(selectors) = &mut self.selectors else { return vec![(0, rows)] };
        let (mut steps, mut skipped) = (Vec::new(), 0);
        while rows > 0
            && let Some(next) = selectors.front_mut()
        {
            let count = if next.skip { next.row_count } else { next.row_count.min(rows) };
            match next.skip {
                true => skipped += count,
                false => {
                    steps.push((std::mem::take(&mut skipped), count));
                    rows -= count;
                }
            }
            next.row_count -= count;
            if next.row_count == 0 {
                selectors.pop_front();
            }
        }
        steps
    }

    /// All columns, in their order.
    fn joined(
        &self,
        flat: Vec<ArrayRef>,
        others: Option<RecordBatch>,
    ) -> Result<Vec<ArrayRef>, ArrowError> {
        let places = self.flat.iter().map(|(place, _)| *place);
        let other_places = self.others.iter().flat_map(|(places, _)| places.iter().copied());
        let others = others.map(|part| part.into_parts().1).unwrap_or_default();
        let mut columns = vec![new_empty_array(&DataType::Null); flat.len() + others.len()];
        for (place, column) in places.zip(flat).chain(other_places.zip(others)) {
            let slot = columns.get_mut(place);
            *slot.ok_or_else(|| ArrowError::ComputeError("a column has no place".to_owned()))? =
                column;
        }
        Ok(columns)
    }
}
