//! A rule of the optimizer: what is only aggregated need not be in order.
//!
//! Partitions of a scan follow each other. Aggregates that know their input to be in order hand groups
//! on as these end, and then a merge in order waits for the first partition while the others stand
//! still. Without the order all partitions are read at once. A limit above makes the order worth more:
//! then reading may end early.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};

use super::StreamScan;

/// A plan with its aggregates over scans without order, down to where a limit is.
pub(crate) fn forget_order(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let is_limit = plan.is::<GlobalLimitExec>() || plan.is::<LocalLimitExec>();
    if is_limit || plan.fetch().is_some() {
        return Ok(plan);
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        // `first_value(x ORDER BY t)` wants one.
        let wants_order =
            aggregate.aggr_expr().iter().any(|function| !function.order_bys().is_empty());
        if let Some(input) = (!wants_order).then(|| unordered(aggregate.input())).flatten() {
            return replace_children_if_necessary(plan, vec![input?]);
        }
    }
    let children: Result<Vec<_>> =
        plan.children().into_iter().map(|child| forget_order(Arc::clone(child))).collect();
    replace_children_if_necessary(plan, children?)
}

/// The same rows in no order, if a scan of several partitions lies below filters and projections.
fn unordered(plan: &Arc<dyn ExecutionPlan>) -> Option<Result<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<StreamScan>() {
        let parts = scan.properties().output_partitioning().partition_count();
        let several = parts > 1 && scan.fetch().is_none();
        return several.then(|| Ok(Arc::new(scan.unordered()) as _));
    }
    let is_plain = plan.is::<FilterExec>() || plan.is::<ProjectionExec>();
    match plan.children().as_slice() {
        [child] if is_plain && plan.fetch().is_none() => {
            let child = unordered(child)?;
            Some(
                child
                    .and_then(|child| replace_children_if_necessary(Arc::clone(plan), vec![child])),
            )
        }
        _ => None,
    }
}
