//! `to_timestamp`, as DataFusion has it, but for floats that its nanoseconds have no room for: it makes the
//! nearest time of those, and 1970 of what is no number.

use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};

use super::refusing::ArgumentCheck;
use crate::error::refused;

/// Seconds before and after 1970 that nanoseconds reach.
const SECONDS_MAX: f64 = i64::MAX as f64 / 1e9;

/// Looks at seconds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SecondsInReach;

impl ArgumentCheck for SecondsInReach {
    fn check(&self, _: &str, args: &ScalarFunctionArgs) -> Result<()> {
        args.args.first().map_or(Ok(()), check)
    }
}

/// An error for seconds of which no time can be made.
fn check(seconds: &ColumnarValue) -> Result<()> {
    if !seconds.data_type().is_floating() {
        return Ok(());
    }
    let seconds = match seconds {
        ColumnarValue::Array(array) => Arc::clone(array),
        ColumnarValue::Scalar(scalar) => scalar.to_array()?,
    };
    let seconds = cast(&seconds, &DataType::Float64)?;
    // What is no number is in no range.
    let reach = -SECONDS_MAX..SECONDS_MAX;
    match seconds.as_primitive::<Float64Type>().iter().flatten().find(|s| !reach.contains(s)) {
        Some(far) => Err(refused(format!(
            "to_timestamp({far}) is no time in nanoseconds, which begin in 1677 and end in 2262: to_timestamp_seconds \
             takes whole seconds of all years"
        ))),
        None => Ok(()),
    }
}
