//! Rows of one group that follow each other, folded before they are put to the group.
//!
//! ```text
//!    group of each row      4  4  4  4  4  7  7  7  7
//!    value                  1  2  1  3  1  9  8  9  9
//!    runs                   4: 5 rows, sum 8         7: 4 rows, sum 35
//! ```
//!
//! Where rows lie by series, or come by time, most have the group of the row before. A function that is told row by
//! row loads and stores the state of its group each time, and waits for the store of the row before. A run is added
//! up in registers, and what it comes to is given to the function as what a first stage hands to a second one. Measured:
//! averages of ten columns by hour and host spent half of their time on these states.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::types::Float64Type;
use datafusion::arrow::array::{Array, ArrayRef, Float64Array, Int64Array, UInt64Array};
use datafusion::arrow::datatypes::DataType;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;

/// Shorter runs, as the mean of a batch, are not worth the looking.
const RUN_ROWS_MIN: usize = 4;
/// So many rows tell whether it is worth looking at the others.
const PROBED_ROWS: usize = 256;
/// Sums that go on side by side: an addition waits for the one before it.
const LANES: usize = 4;

/// The runs of a batch.
#[derive(Debug, Default)]
pub(super) struct Runs {
    groups: Vec<usize>,
    /// The row behind each.
    ends: Vec<usize>,
}

impl Runs {
    /// Finds the runs of rows, by the group of each; false where these are too short to be worth it.
    pub(super) fn find(&mut self, numbers: &[usize]) -> bool {
        self.groups.clear();
        self.ends.clear();
        let probed = numbers.get(..PROBED_ROWS).unwrap_or_default();
        let next = probed.iter().skip(1);
        let changes = probed.iter().zip(next).filter(|(one, next)| one != next).count();
        if changes > PROBED_ROWS / RUN_ROWS_MIN {
            return false;
        }
        let runs_max = numbers.len() / RUN_ROWS_MIN;
        for run in numbers.chunk_by(|one, next| one == next) {
            if self.groups.len() == runs_max {
                return false;
            }
            self.groups.extend(run.first());
            self.ends.push(self.ends.last().unwrap_or(&0) + run.len());
        }
        !self.groups.is_empty()
    }

    /// The group of each.
    pub(super) fn groups(&self) -> &[usize] {
        &self.groups
    }

    /// What `fold` makes of the rows of each.
    fn each<T>(&self, fold: impl Fn(Range<usize>) -> T) -> Vec<T> {
        let mut folded = Vec::with_capacity(self.ends.len());
        let mut start = 0;
        for end in &self.ends {
            folded.push(fold(start..*end));
            start = *end;
        }
        folded
    }

    fn sums(&self, values: &[f64]) -> Float64Array {
        self.each(|rows| sum(values.get(rows).unwrap_or_default())).into()
    }

    /// Bytes in memory.
    pub(super) fn size(&self) -> usize {
        (self.groups.capacity() + self.ends.capacity()) * size_of::<usize>()
    }
}

fn sum(values: &[f64]) -> f64 {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    let [a, b, c, d] = lanes;
    rest.iter().fold((a + b) + (c + d), |sum, value| sum + value)
}

/// A function of which the state of a run is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    /// How many rows.
    Count,
    /// Of floats.
    Sum,
    /// Of floats: how many rows, and their sum.
    Average,
}

impl Fold {
    /// How a function is folded; `None` where that isn't known.
    pub(super) fn of(function: &AggregateFunctionExpr) -> Option<Self> {
        if function.is_distinct() || function.ignore_nulls() {
            return None;
        }
        let fold = match function.fun().name() {
            "count" => Self::Count,
            "sum" => Self::Sum,
            "avg" => Self::Average,
            _ => return None,
        };
        let fields = function.state_fields().ok()?;
        let types = fields.iter().map(|field| field.data_type());
        types.eq(fold.state_types()).then_some(fold)
    }

    const fn state_types(self) -> &'static [DataType] {
        match self {
            Self::Count => &[DataType::Int64],
            Self::Sum => &[DataType::Float64],
            Self::Average => &[DataType::UInt64, DataType::Float64],
        }
    }

    /// The states of runs, one row a run, of what the function is of; `None` where some of it is null, or of another
    /// type.
    pub(super) fn states(self, arguments: &[ArrayRef], runs: &Runs) -> Option<Vec<ArrayRef>> {
        let [values] = arguments else { return None };
        if values.logical_null_count() > 0 {
            return None;
        }
        let floats = || values.as_primitive_opt::<Float64Type>().map(|floats| floats.values());
        Some(match self {
            Self::Count => {
                vec![Arc::new(Int64Array::from(runs.each(|rows| rows.len() as i64)))]
            }
            Self::Sum => vec![Arc::new(runs.sums(floats()?))],
            Self::Average => {
                let counts = UInt64Array::from(runs.each(|rows| rows.len() as u64));
                vec![Arc::new(counts), Arc::new(runs.sums(floats()?))]
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_where_they_are_long() {
        let mut runs = Runs::default();
        assert!(!runs.find(&[]));
        assert!(!runs.find(&[1, 1, 1]));
        assert!(!runs.find(&[1, 1, 1, 2, 2, 2, 1, 1]));
        assert!(runs.find(&[3, 3, 3, 3, 3, 3, 3, 0, 0, 0, 3, 3]));
        assert_eq!(runs.groups(), [3, 0, 3]);
        assert_eq!(runs.each(|rows| rows), [0..7, 7..10, 10..12]);
    }

    #[test]
    fn many_rows_are_not_looked_at_where_the_first_ones_have_short_runs() {
        let mut runs = Runs::default();
        let mut numbers = vec![7; 2_000];
        (0..PROBED_ROWS).for_each(|row| numbers[row] = row % 2);
        assert!(!runs.find(&numbers));
        (0..PROBED_ROWS).for_each(|row| numbers[row] = row / RUN_ROWS_MIN);
        assert!(runs.find(&numbers));
        assert_eq!(runs.groups().len(), PROBED_ROWS / RUN_ROWS_MIN + 1);
    }

    #[test]
    fn each_run_comes_to_its_own_sum() {
        let numbers: Vec<usize> = (0..1_000).map(|row| row / 37).collect();
        let values: Vec<f64> = (0..1_000).map(|row| f64::from(row % 11)).collect();
        let mut runs = Runs::default();
        assert!(runs.find(&numbers));
        let mut expected = vec![0.0; 28];
        for (group, value) in numbers.iter().zip(&values) {
            expected[*group] += value;
        }
        assert_eq!(runs.sums(&values).values(), expected.as_slice());
        let values: ArrayRef = Arc::new(Float64Array::from(values));
        let states = Fold::Average.states(std::slice::from_ref(&values), &runs).unwrap();
        let counts = states[0].as_primitive::<datafusion::arrow::datatypes::UInt64Type>();
        assert_eq!(counts.value(0), 37);
        let counts = Fold::Count.states(&[values], &runs).unwrap();
        let counts = counts[0].as_primitive::<datafusion::arrow::datatypes::Int64Type>();
        assert_eq!(counts.values().iter().sum::<i64>(), 1_000);
    }

    #[test]
    fn what_has_nulls_or_another_type_is_not_folded() {
        let mut runs = Runs::default();
        assert!(runs.find(&[0; 8]));
        let some: ArrayRef = Arc::new(Float64Array::from_iter([None, Some(1.0)].repeat(4)));
        assert!(Fold::Count.states(std::slice::from_ref(&some), &runs).is_none());
        assert!(Fold::Sum.states(&[some], &runs).is_none());
        let whole: ArrayRef = Arc::new(Int64Array::from(vec![1; 8]));
        assert!(Fold::Sum.states(std::slice::from_ref(&whole), &runs).is_none());
        assert!(Fold::Count.states(&[whole], &runs).is_some());
    }

    #[test]
    fn sums_of_what_is_not_finite_are_what_they_are() {
        assert_eq!(sum(&[]), 0.0);
        assert!(sum(&[f64::NAN; 20]).is_nan());
        assert_eq!(sum(&[f64::INFINITY; 20]), f64::INFINITY);
        assert_eq!(sum(&[-0.0; 9]), 0.0);
    }
}
