//! `first(value, time)` and `last(value, time)`: the value of the earliest row, or of the latest.
//!
//! A value may be null, and is then the answer; rows without a time count only where there is no
//! other. Of rows with one time either may be taken. Both are DataFusion's ordered aggregates,
//! which know when their input is in order already.

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::functions_aggregate::first_last::{first_value_udaf, last_value_udaf};
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams, Sort};
use datafusion::logical_expr::function::{AccumulatorArgs, AggregateFunctionSimplification};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Expr, Signature, Volatility};

use crate::error::refused;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum End {
    First,
    Last,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct AtEnd {
    end: End,
    signature: Signature,
}

impl AtEnd {
    pub(super) fn new(end: End) -> Self {
        Self { end, signature: Signature::any(2, Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for AtEnd {
    fn name(&self) -> &str {
        match self.end {
            End::First => "first",
            End::Last => "last",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        given.first().cloned().ok_or_else(|| refused("a value and a time are needed"))
    }

    fn return_field(&self, given: &[FieldRef]) -> Result<FieldRef> {
        let Some(value) = given.first() else {
            return Err(refused("a value and a time are needed"));
        };
        Ok(value.as_ref().clone().with_name(self.name()).with_nullable(true).into())
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Err(refused(format!(
            "{0}(value, time) is an aggregate; over a window take {0}_value(value) OVER (ORDER BY \
             time)",
            self.name()
        )))
    }

    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        let end = self.end;
        Some(Box::new(move |function: AggregateFunction, _| {
            let AggregateFunctionParams { mut args, distinct, filter, .. } = function.params;
            let (Some(time), Some(value)) = (args.pop(), args.pop()) else {
                return Err(refused("a value and a time are needed"));
            };
            let func = match end {
                End::First => first_value_udaf(),
                End::Last => last_value_udaf(),
            };
            // Rows without a time are the furthest from the end that is asked for.
            let order_by = vec![Sort { expr: time, asc: true, nulls_first: end == End::Last }];
            let params = AggregateFunctionParams {
                args: vec![value],
                distinct,
                filter,
                order_by,
                null_treatment: None,
            };
            Ok(Expr::AggregateFunction(AggregateFunction { func, params }))
        }))
    }
}
