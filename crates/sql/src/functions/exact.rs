//! `sum`, `min` and `max` as DataFusion has them, but for what it answers wrongly: sums of whole numbers and
//! decimals that have no room for their result are errors, and NaN is the greatest of floats, with groups
//! and without.

mod adjusted;
mod ends;
mod groups;
mod sums;

use std::sync::Arc;

use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, FieldRef, Float32Type, Float64Type, Int64Type, UInt64Type,
};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, GroupsAccumulator, ReversedUDAF,
    SetMonotonicity, Signature, StatisticsArgs,
};

use self::adjusted::Adjusted;
use self::ends::CanonicalFloats;
pub(super) use self::ends::canonical;
use self::groups::Folded;
use self::sums::{DistinctSum, Sum, Summed};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum AggregateKind {
    Sum,
    Min,
    Max,
}

/// One of the functions.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ExactAggregate {
    kind: AggregateKind,
    plain: Arc<AggregateUDF>,
}

impl ExactAggregate {
    /// All of them.
    pub(super) fn all() -> [Self; 3] {
        [
            Self { kind: AggregateKind::Sum, plain: sum_udaf() },
            Self { kind: AggregateKind::Min, plain: min_udaf() },
            Self { kind: AggregateKind::Max, plain: max_udaf() },
        ]
    }

    /// What DataFusion's accumulator of single groups becomes.
    fn accumulator_of(
        &self,
        data_type: &DataType,
        is_distinct: bool,
        plain: Box<dyn Accumulator>,
    ) -> Box<dyn Accumulator> {
        use AggregateKind::{Max, Min, Sum};
        match (self.kind, data_type) {
            (Sum, DataType::Int64) => sum::<Int64Type>(data_type, is_distinct, plain),
            (Sum, DataType::UInt64) => sum::<UInt64Type>(data_type, is_distinct, plain),
            (Sum, DataType::Decimal128(_, _)) => {
                sum::<Decimal128Type>(data_type, is_distinct, plain)
            }
            (Min | Max, DataType::Float32 | DataType::Float64) => {
                Box::new(Adjusted { plain, adjustment: CanonicalFloats })
            }
            _ => plain,
        }
    }
}

fn sum<T: Summed>(
    data_type: &DataType,
    is_distinct: bool,
    plain: Box<dyn Accumulator>,
) -> Box<dyn Accumulator> {
    match is_distinct {
        true => Box::new(Adjusted { plain, adjustment: DistinctSum::<T>::new(data_type) }),
        false => Box::new(Sum::<T>::new(data_type)),
    }
}

fn sums_of_groups<T: Summed>(data_type: &DataType) -> Box<dyn GroupsAccumulator> {
    Box::new(Folded::<T, _>::sum(data_type, T::add))
}

impl AggregateUDFImpl for ExactAggregate {
    fn name(&self) -> &str {
        self.plain.name()
    }

    fn signature(&self) -> &Signature {
        self.plain.signature()
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        self.plain.inner().return_type(given)
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        self.plain.inner().coerce_types(given)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let (data_type, is_distinct) = (args.return_field.data_type().clone(), args.is_distinct);
        Ok(self.accumulator_of(&data_type, is_distinct, self.plain.inner().accumulator(args)?))
    }

    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn Accumulator>> {
        let (data_type, is_distinct) = (args.return_field.data_type().clone(), args.is_distinct);
        let plain = self.plain.inner().create_sliding_accumulator(args)?;
        Ok(self.accumulator_of(&data_type, is_distinct, plain))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.plain.inner().state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.plain.inner().groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        use AggregateKind::{Max, Min, Sum};
        let data_type = args.return_field.data_type().clone();
        Ok(match (self.kind, &data_type) {
            (Sum, DataType::Int64) => sums_of_groups::<Int64Type>(&data_type),
            (Sum, DataType::UInt64) => sums_of_groups::<UInt64Type>(&data_type),
            (Sum, DataType::Decimal128(_, _)) => sums_of_groups::<Decimal128Type>(&data_type),
            (Min, DataType::Float64) => Box::new(Folded::<Float64Type, _>::least(&data_type)),
            (Min, DataType::Float32) => Box::new(Folded::<Float32Type, _>::least(&data_type)),
            (Max, DataType::Float64) => Box::new(Folded::<Float64Type, _>::greatest(&data_type)),
            (Max, DataType::Float32) => Box::new(Folded::<Float32Type, _>::greatest(&data_type)),
            _ => self.plain.inner().create_groups_accumulator(args)?,
        })
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.plain.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.plain.reverse_udf()
    }

    fn is_descending(&self) -> Option<bool> {
        self.plain.is_descending()
    }

    fn value_from_stats(&self, statistics: &StatisticsArgs<'_>) -> Option<ScalarValue> {
        self.plain.value_from_stats(statistics)
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.plain.inner().set_monotonicity(data_type)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.plain.documentation()
    }
}
