//! Functions for time: `time_bucket`, `date_bin`, `first`, `last`; `arg_min`, `arg_max` and `md5`; those for JSON; and the table
//! functions `asof_join`, `gap_fill` and `latest_on`.
//!
//! A table function is a node of the logical plan: its inputs are planned and optimised together
//! with the query around it.

mod arguments;
mod as_written;
mod asof_join;
mod asof_syntax;
mod at_time_zone;
mod bounded;
mod buckets;
mod clock;
mod date_trunc;
mod exact;
mod first_last;
mod gap_fill;
mod json;
mod latest_on;
mod markers;
mod md5;
mod node;
mod pivot;
mod push_filter;
mod refusing;
mod relation;
mod step;
mod time_bucket;
mod timestamp_of;
mod to_timestamp;

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type, TimeUnit};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::SessionState;
use datafusion::execution::registry::FunctionRegistry;
use datafusion::logical_expr::planner::ExprPlanner;
use datafusion::logical_expr::{
    AggregateUDF, ColumnarValue, ReturnFieldArgs, ScalarUDF, ScalarUDFImpl,
};

pub(crate) use self::arguments::{CallArguments, columns, literal, text};
pub(crate) use self::as_written::plainly_written;
pub use self::asof_join::{AsofOptions, Direction, Tolerance};
pub(crate) use self::asof_join::{AsofTerms, asof_join};
pub(crate) use self::asof_syntax::AsofJoins;
pub(crate) use self::buckets::Buckets;
pub use self::gap_fill::{Fill, GapFillOptions};
pub(crate) use self::gap_fill::{GapFillTerms, gap_fill};
pub(crate) use self::json::{
    Document, JsonFunction, JsonRead, PathStep, ReadValues, json_texts, step_of,
};
pub(crate) use self::latest_on::LatestOnTerms;
pub(crate) use self::markers::Marker;
pub(crate) use self::node::{FunctionNode, FunctionTerms, find};
pub(crate) use self::pivot::Pivots;
pub(crate) use self::push_filter::push_below_asof_join;
pub(crate) use self::relation::{CallPlanner, TableFunctions, plan_call};
pub(crate) use self::step::{Step, parse_interval};
pub(crate) use self::timestamp_of::as_cast;
use crate::options::SqlOptions;

/// What part of a query's memory the result of one call may take.
const FUNCTION_SHARE: usize = 4;

/// Makes all of them known, and those of DataFusion that are ours in part.
pub(crate) fn register(state: &mut SessionState, options: &SqlOptions) -> Result<()> {
    for buckets in [time_bucket::TimeBucket::new(), time_bucket::TimeBucket::from_epoch()] {
        state.register_udf(Arc::new(ScalarUDF::new_from_impl(buckets)))?;
    }
    state.register_udf(Arc::new(ScalarUDF::new_from_impl(at_time_zone::AtTimeZone::new())))?;
    state.register_udf(Marker::AsWritten.function())?;
    for cast in timestamp_of::TimestampOf::all() {
        state.register_udf(Arc::new(ScalarUDF::new_from_impl(cast)))?;
    }
    if let Some(plain) = state.scalar_functions().get("date_trunc").cloned() {
        let trunc = date_trunc::DateTrunc::new(plain);
        state.register_udf(Arc::new(ScalarUDF::new_from_impl(trunc)))?;
    }
    refusing::check_first(state, "to_timestamp", to_timestamp::SecondsInReach)?;
    bounded::bound(state, options.memory_bytes_max / FUNCTION_SHARE)?;
    for function in exact::ExactAggregate::all() {
        state.register_udaf(Arc::new(AggregateUDF::new_from_impl(function)))?;
    }
    for function in first_last::FirstOrLast::all() {
        state.register_udaf(Arc::new(AggregateUDF::new_from_impl(function)))?;
    }
    state.register_udf(Arc::new(md5::function()))?;
    json::register(state)
}

/// What plans operators of ours, before DataFusion's do.
pub(crate) fn expr_planners() -> Vec<Arc<dyn ExprPlanner>> {
    vec![Arc::new(json::JsonOperators)]
}

/// What a function of arrays gives for a column, or for one value that all rows have.
fn map_values(
    value: &ColumnarValue,
    map: impl FnOnce(&ArrayRef) -> Result<ArrayRef>,
) -> Result<ColumnarValue> {
    match value {
        ColumnarValue::Array(array) => map(array).map(ColumnarValue::Array),
        ColumnarValue::Scalar(value) => {
            let array = map(&value.to_array()?)?;
            ScalarValue::try_from_array(&array, 0).map(ColumnarValue::Scalar)
        }
    }
}

/// Times of the same type, each made of one by its number of units.
fn map_units(times: &ArrayRef, map: impl Fn(i64) -> Result<i64>) -> Result<ArrayRef> {
    let units = cast(times, &DataType::Int64)?;
    let mapped: Int64Array = units.as_primitive::<Int64Type>().try_unary(map)?;
    Ok(cast(&mapped, times.data_type())?)
}

/// The type of times that a function takes a value as, in the first of two units if it is a day, and in the second
/// if it is text.
fn as_time(given: &DataType, (of_days, of_text): (TimeUnit, TimeUnit)) -> Option<DataType> {
    let unit = match given {
        DataType::Timestamp(_, _) => return Some(given.clone()),
        DataType::Date32 => of_days,
        DataType::Date64 => TimeUnit::Millisecond,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => of_text,
        _ => return None,
    };
    Some(DataType::Timestamp(unit, None))
}

/// The column that a call gives which is null only where one of its arguments may be.
pub(crate) fn field_of(
    function: &impl ScalarUDFImpl,
    args: &ReturnFieldArgs<'_>,
) -> Result<FieldRef> {
    let types: Vec<_> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
    let is_nullable = args.arg_fields.iter().any(|field| field.is_nullable());
    Ok(Arc::new(Field::new(function.name(), function.return_type(&types)?, is_nullable)))
}
