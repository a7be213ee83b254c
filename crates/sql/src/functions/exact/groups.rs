//! One value a group, into which each value of a row is folded.

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray};
use datafusion::arrow::compute::{not, nullif, prep_null_mask_filter};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::NullState;

use super::ends::Float;
use crate::error::overflow;

/// The values of groups; `fold` puts one more into a group's, or says that it has no room.
pub(super) struct Folded<T: ArrowPrimitiveType, F> {
    data_type: DataType,
    start: T::Native,
    fold: F,
    values: Vec<T::Native>,
    seen: NullState,
}

impl<T: ArrowPrimitiveType, F: Fn(&mut T::Native, T::Native) -> bool> Folded<T, F> {
    fn new(data_type: &DataType, start: T::Native, fold: F) -> Self {
        let (data_type, values) = (data_type.clone(), Vec::new());
        Self { data_type, start, fold, values, seen: NullState::new() }
    }

    /// Sums, from zero.
    pub(super) fn sum(data_type: &DataType, add: F) -> Self {
        Self::new(data_type, T::default_value(), add)
    }
}

/// Ends of floats, which always have room.
impl<T: ArrowPrimitiveType<Native: Float>> Folded<T, fn(&mut T::Native, T::Native) -> bool> {
    pub(super) fn least(data_type: &DataType) -> Self {
        Self::new(data_type, T::Native::GREATEST, |least, value| {
            if value.is_less(*least) {
                *least = value;
            }
            true
        })
    }

    pub(super) fn greatest(data_type: &DataType) -> Self {
        Self::new(data_type, T::Native::LEAST, |greatest, value| {
            if greatest.is_less(value) {
                *greatest = value;
            }
            true
        })
    }
}

fn argument<T: ArrowPrimitiveType>(values: &[ArrayRef]) -> Result<&PrimitiveArray<T>> {
    let argument = values.first().and_then(|values| values.as_primitive_opt::<T>());
    argument.ok_or_else(|| internal_datafusion_err!("an aggregate of values of another type"))
}

impl<T, F> GroupsAccumulator for Folded<T, F>
where
    T: ArrowPrimitiveType + Send,
    F: Fn(&mut T::Native, T::Native) -> bool + Send + Sync + 'static,
{
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        groups_count: usize,
    ) -> Result<()> {
        let rows = argument::<T>(values)?;
        let Self { fold, start, values, seen, data_type } = self;
        values.resize(groups_count, *start);
        let mut has_room = true;
        seen.accumulate(groups, rows, filter, groups_count, |group, value| {
            if let Some(folded) = values.get_mut(group) {
                has_room &= fold(folded, value);
            }
        });
        if has_room { Ok(()) } else { Err(overflow("sum", data_type)) }
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let values = emit_to.take_needed(&mut self.values);
        let seen = self.seen.build(emit_to);
        let values = PrimitiveArray::<T>::new(values.into(), seen);
        Ok(Arc::new(values.with_data_type(self.data_type.clone())))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        groups_count: usize,
    ) -> Result<()> {
        self.update_batch(values, groups, None, groups_count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = argument::<T>(values)?.clone().with_data_type(self.data_type.clone());
        let Some(filter) = filter else { return Ok(vec![Arc::new(rows)]) };
        let left_out = match filter.null_count() {
            0 => not(filter)?,
            _ => not(&prep_null_mask_filter(filter))?,
        };
        Ok(vec![nullif(&rows, &left_out)?])
    }

    fn size(&self) -> usize {
        self.values.capacity() * size_of::<T::Native>() + self.seen.size()
    }
}
