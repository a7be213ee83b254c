//! A rule of the optimizer: what is only aggregated need not be in order. And for answers, once all rules are through: what is
//! answered as it comes need not be either.
//!
//! Rows of several partitions are answered as they come, in no order as a whole, unless `ORDER BY` asks for one. Partitions of a scan follow each other. Aggregates that know their input to be in order hand groups
//! on as these end, and then a merge in order waits for the first partition while the others stand
//! still. Without the order all partitions are read at once, and blocks whose rows lie by series are not put
//! in order. A limit above makes the order worth more: then reading may end early. Not below a sort by something else,
//! which reads all there is.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::analyze::AnalyzeExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};

use super::scan::replace_scan;

/// A plan that is answered as its rows come: without order, where it is only filters and projections over a scan of several
/// partitions. Not for what writes rows: of those of one key the last one counts.
pub(crate) fn answer_in_any_order(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(analyze) = plan.downcast_ref::<AnalyzeExec>() {
        let analyzed = answer_in_any_order(Arc::clone(analyze.input()))?;
        return replace_children_if_necessary(plan, vec![analyzed]);
    }
    Ok(unordered(&plan)?.unwrap_or(plan))
}

/// A plan with its aggregates over scans without order, down to where a limit is.
pub(crate) fn forget_order(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let is_limit = plan.is::<GlobalLimitExec>() || plan.is::<LocalLimitExec>();
    if is_limit || (plan.fetch().is_some() && !sorts_anew(&plan)?) {
        return Ok(plan);
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        // `first_value(x ORDER BY t)` wants one.
        let wants_order =
            aggregate.aggr_expr().iter().any(|function| !function.order_bys().is_empty());
        if !wants_order && let Some(input) = unordered(aggregate.input())? {
            return replace_children_if_necessary(plan, vec![input]);
        }
    }
    let children: Result<Vec<_>> =
        plan.children().into_iter().map(Arc::clone).map(forget_order).collect();
    replace_children_if_necessary(plan, children?)
}

/// Whether it puts rows in an order that they don't come in.
fn sorts_anew(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let Some(sort) = plan.downcast_ref::<SortExec>() else { return Ok(false) };
    let order = sort.expr().iter().cloned();
    Ok(!sort.input().properties().eq_properties.ordering_satisfy(order)?)
}

/// The same rows in no order, if a scan of several partitions lies below filters and projections.
fn unordered(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    replace_scan(
        plan,
        |plan| {
            let is_plain = plan.is::<FilterExec>() || plan.is::<ProjectionExec>();
            (is_plain || plan.is::<CooperativeExec>()) && plan.fetch().is_none()
        },
        |scan| {
            let parts = scan.properties().output_partitioning().partition_count();
            (parts > 1 && scan.fetch().is_none()).then(|| scan.unordered())
        },
    )
}
