//! Comparing the rest of the key, where leading keys are equal.

use std::cmp::Ordering;

use arrow_array::RecordBatch;
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_schema::SortOptions;

use super::plan::{ScanPlan, unfit};
use crate::{Error, Result};

/// Comparators of pairs of blocks, made when two blocks first share a leading key.
#[derive(Default)]
pub(super) struct Ties {
    pairs: Vec<(Pair, Vec<DynComparator>)>,
    failure: Option<Error>,
}

/// Two blocks, each by cursor and count of loads.
type Pair = [(usize, u32); 2];

/// A row of a cursor's block.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) cursor: usize,
    pub(super) loads: u32,
    pub(super) batch: &'a RecordBatch,
}

impl Ties {
    /// Orders row `row_a` of `a` against row `row_b` of `b` by the key columns behind the
    /// leading one. Where they can't be compared, [`Ties::failure`] says why.
    pub(super) fn compare(
        &mut self,
        plan: &ScanPlan,
        (a, row_a): (At<'_>, usize),
        (b, row_b): (At<'_>, usize),
    ) -> Ordering {
        if plan.rest.is_empty() {
            return Ordering::Equal;
        }
        let pair = [(a.cursor, a.loads), (b.cursor, b.loads)];
        let index = match self.pairs.iter().position(|(known, _)| *known == pair) {
            Some(index) => index,
            None => match comparators(&plan.rest, a.batch, &plan.rest, b.batch) {
                Ok(comparators) => {
                    self.pairs.push((pair, comparators));
                    self.pairs.len() - 1
                }
                Err(error) => {
                    self.failure = Some(error);
                    return Ordering::Equal;
                }
            },
        };
        // What was asked for last is asked for next.
        self.pairs.swap(0, index);
        compare_rows(&self.pairs[0].1, row_a, row_b)
    }

    /// Why rows could not be compared, if so.
    pub(super) fn failure(&mut self) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Forgets the blocks of a cursor.
    pub(super) fn forget(&mut self, cursor: usize) {
        self.pairs.retain(|(pair, _)| pair.iter().all(|(known, _)| *known != cursor));
    }
}

/// Comparators of the columns `columns_a` of `a` with the columns `columns_b` of `b`.
pub(super) fn comparators(
    columns_a: &[usize],
    a: &RecordBatch,
    columns_b: &[usize],
    b: &RecordBatch,
) -> Result<Vec<DynComparator>> {
    columns_a
        .iter()
        .zip(columns_b)
        .map(|(column_a, column_b)| {
            let (a, b) = (a.column(*column_a), b.column(*column_b));
            make_comparator(a, b, SortOptions::default()).map_err(|error| unfit(&error))
        })
        .collect()
}

/// Orders two rows by the first column in which they differ.
pub(super) fn compare_rows(comparators: &[DynComparator], a: usize, b: usize) -> Ordering {
    let mut orders = comparators.iter().map(|compare| compare(a, b));
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}
