//! Sums that know when they have no room.

use std::marker::PhantomData;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Int64Type, UInt64Type};
use datafusion::common::{Result, ScalarValue, internal_datafusion_err};
use datafusion::logical_expr::Accumulator;

use super::adjusted::Adjustment;
use crate::error::overflow;

/// The greatest number of 38 digits.
const DECIMAL_MAX: i128 = 10_i128.pow(38) - 1;

/// Types whose sums are exact.
pub(super) trait Summed: ArrowPrimitiveType + Send + Sync + std::fmt::Debug {
    fn wide(value: Self::Native) -> i128;

    /// The value, if the type has it.
    fn narrow(sum: i128) -> Option<Self::Native>;

    /// Adds a value; false if there is no room for the sum.
    #[inline]
    fn add(sum: &mut Self::Native, value: Self::Native) -> bool {
        let added = Self::wide(*sum).checked_add(Self::wide(value)).and_then(Self::narrow);
        *sum = added.unwrap_or(*sum);
        added.is_some()
    }
}

impl Summed for Int64Type {
    fn wide(value: i64) -> i128 {
        i128::from(value)
    }

    fn narrow(sum: i128) -> Option<i64> {
        i64::try_from(sum).ok()
    }

    #[inline]
    fn add(sum: &mut i64, value: i64) -> bool {
        let (added, wraps) = sum.overflowing_add(value);
        *sum = added;
        !wraps
    }
}

impl Summed for UInt64Type {
    fn wide(value: u64) -> i128 {
        i128::from(value)
    }

    fn narrow(sum: i128) -> Option<u64> {
        u64::try_from(sum).ok()
    }

    #[inline]
    fn add(sum: &mut u64, value: u64) -> bool {
        let (added, wraps) = sum.overflowing_add(value);
        *sum = added;
        !wraps
    }
}

impl Summed for Decimal128Type {
    fn wide(value: i128) -> i128 {
        value
    }

    fn narrow(sum: i128) -> Option<i128> {
        (-DECIMAL_MAX..=DECIMAL_MAX).contains(&sum).then_some(sum)
    }
}

/// The sum of values that come, and may go again.
#[derive(Debug)]
pub(super) struct Sum<T> {
    data_type: DataType,
    sum: i128,
    /// Values that are in the sum.
    count: usize,
    of: PhantomData<T>,
}

impl<T: Summed> Sum<T> {
    pub(super) fn new(data_type: &DataType) -> Self {
        Self { data_type: data_type.clone(), sum: 0, count: 0, of: PhantomData }
    }

    fn sum_of(&self, values: &[ArrayRef]) -> Result<(i128, usize)> {
        let values = values.first().and_then(|values| values.as_primitive_opt::<T>());
        let values = values.ok_or_else(|| internal_datafusion_err!("a sum of another type"))?;
        let sum = match values.null_count() {
            0 => total::<T>(values.values().iter().copied()),
            _ => total::<T>(values.iter().flatten()),
        };
        let sum = sum.ok_or_else(|| overflow("sum", &self.data_type))?;
        Ok((sum, values.len() - values.null_count()))
    }
}

fn total<T: Summed>(mut values: impl Iterator<Item = T::Native>) -> Option<i128> {
    values.try_fold(0_i128, |sum, value| sum.checked_add(T::wide(value)))
}

impl<T: Summed> Accumulator for Sum<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (sum, count) = self.sum_of(values)?;
        let sum = self.sum.checked_add(sum);
        self.sum = sum.ok_or_else(|| overflow("sum", &self.data_type))?;
        self.count += count;
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.count == 0 {
            return ScalarValue::try_from(&self.data_type);
        }
        let sum = T::narrow(self.sum).ok_or_else(|| overflow("sum", &self.data_type))?;
        let sum =
            PrimitiveArray::<T>::from_iter_values([sum]).with_data_type(self.data_type.clone());
        ScalarValue::try_from_array(&sum, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (sum, count) = self.sum_of(values)?;
        let sum = self.sum.checked_sub(sum);
        self.sum = sum.ok_or_else(|| overflow("sum", &self.data_type))?;
        self.count = self.count.saturating_sub(count);
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }
}

/// The sum of values of which each counts once: DataFusion knows which there are.
#[derive(Debug)]
pub(super) struct DistinctSum<T> {
    data_type: DataType,
    of: PhantomData<T>,
}

impl<T: Summed> DistinctSum<T> {
    pub(super) fn new(data_type: &DataType) -> Self {
        Self { data_type: data_type.clone(), of: PhantomData }
    }
}

impl<T: Summed> Adjustment for DistinctSum<T> {
    fn evaluate(&self, plain: &mut dyn Accumulator) -> Result<ScalarValue> {
        let state = plain.state()?;
        let Some(ScalarValue::List(lists)) = state.first() else {
            // A window's own, whose state isn't told.
            return plain.evaluate();
        };
        let mut sum = Sum::<T>::new(&self.data_type);
        sum.update_batch(&[lists.value(0)])?;
        sum.evaluate()
    }
}
