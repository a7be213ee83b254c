//! `first(value, time)` and `last(value, time)`: the value of the earliest row, or of the latest; and
//! `arg_min(value, by)` and `arg_max(value, by)` (also `min_by` and `max_by`): that of the row where another is
//! least, or greatest.
//!
//! Of the first two a value may be null, and is then the answer; rows without a time count only where there is
//! no other. The others don't look at rows where either is null. Of rows that are alike either may be taken.
//! All are DataFusion's ordered aggregates, which know when their input is in order already.

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{DataFusionError, Result};
use datafusion::functions_aggregate::first_last::{first_value_udaf, last_value_udaf};
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams, Sort};
use datafusion::logical_expr::function::{AccumulatorArgs, AggregateFunctionSimplification};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, conjunction};
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Expr, Signature, Volatility};

use crate::error::refused;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum End {
    First,
    Last,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct FirstOrLast {
    end: End,
    /// Whether rows are left out where the value, or what they go by, is null.
    skips_nulls: bool,
    aliases: Vec<String>,
    signature: Signature,
}

impl FirstOrLast {
    pub(super) fn all() -> [Self; 4] {
        let of = |end, skips_nulls, alias: Option<&str>| Self {
            end,
            skips_nulls,
            aliases: alias.into_iter().map(str::to_owned).collect(),
            signature: Signature::any(2, Volatility::Immutable),
        };
        [
            of(End::First, false, None),
            of(End::Last, false, None),
            of(End::First, true, Some("min_by")),
            of(End::Last, true, Some("max_by")),
        ]
    }
}

fn missing() -> DataFusionError {
    refused("two arguments are needed: a value, and what rows go by")
}

impl AggregateUDFImpl for FirstOrLast {
    fn name(&self) -> &str {
        match (self.end, self.skips_nulls) {
            (End::First, false) => "first",
            (End::Last, false) => "last",
            (End::First, true) => "arg_min",
            (End::Last, true) => "arg_max",
        }
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        given.first().cloned().ok_or_else(missing)
    }

    fn return_field(&self, given: &[FieldRef]) -> Result<FieldRef> {
        let value = given.first().ok_or_else(missing)?;
        Ok(value.as_ref().clone().with_name(self.name()).with_nullable(true).into())
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let window = match self.end {
            End::First => "first_value",
            End::Last => "last_value",
        };
        Err(refused(format!(
            "{}(value, by) is an aggregate; over a window take {window}(value) OVER (ORDER BY by)",
            self.name()
        )))
    }

    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        let (end, skips_nulls) = (self.end, self.skips_nulls);
        Some(Box::new(move |function: AggregateFunction, _| {
            let AggregateFunctionParams { mut args, distinct, filter, .. } = function.params;
            let (Some(time), Some(value)) = (args.pop(), args.pop()) else {
                return Err(missing());
            };
            let func = match end {
                End::First => first_value_udaf(),
                End::Last => last_value_udaf(),
            };
            let given = || value.clone().is_not_null().and(time.clone().is_not_null());
            let filters = filter.map(|filter| *filter).into_iter();
            let filter = conjunction(filters.chain(skips_nulls.then(given))).map(Box::new);
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
