//! Functions for time: `time_bucket`, `first`, `last`, and the table functions `asof_join`,
//! `gap_fill` and `latest_on`.
//!
//! A table function is a node of the logical plan: its inputs are planned and optimised together
//! with the query around it.

mod arguments;
mod asof_join;
mod at_time_zone;
mod bounded;
mod exact;
mod first_last;
mod gap_fill;
mod latest_on;
mod operators;
mod push_filter;
mod relation;
mod step;
mod time_bucket;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::SessionState;
use datafusion::execution::registry::FunctionRegistry;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};

pub(crate) use self::asof_join::asof_join;
pub use self::asof_join::{AsofOptions, Direction, Tolerance};
pub(crate) use self::at_time_zone::AT_TIME_ZONE;
pub use self::gap_fill::GapFillOptions;
pub(crate) use self::gap_fill::gap_fill;
pub(crate) use self::operators::Operators;
pub(crate) use self::push_filter::PushBelowAsofJoin;
pub(crate) use self::step::Step;
use crate::options::SqlOptions;
pub use crate::physical_plan::Fill;

/// What part of a query's memory the result of one call may take.
const FUNCTION_SHARE: usize = 4;

/// Makes all of them known, and those of DataFusion that are ours in part.
pub(crate) fn register(state: &mut SessionState, options: &SqlOptions) -> Result<()> {
    state.register_udf(Arc::new(ScalarUDF::new_from_impl(time_bucket::TimeBucket::new())))?;
    state.register_udf(Arc::new(ScalarUDF::new_from_impl(at_time_zone::AtTimeZone::new())))?;
    bounded::bound(state, options.memory_bytes_max / FUNCTION_SHARE)?;
    for function in exact::Exact::all() {
        state.register_udaf(Arc::new(AggregateUDF::new_from_impl(function)))?;
    }
    for end in [first_last::End::First, first_last::End::Last] {
        let function = AggregateUDF::new_from_impl(first_last::AtEnd::new(end));
        state.register_udaf(Arc::new(function))?;
    }
    state.register_relation_planner(Arc::new(relation::TableFunctions))
}
