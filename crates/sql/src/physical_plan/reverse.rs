//! A rule of the optimizer: where rows are sorted in the reverse of key order, the scan below goes
//! backwards instead, also through operators that leave the order of rows as it is (filters,
//! projections).

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::scan::replace_scan;

/// Has scans go backwards below sorts that want it, and leaves these sorts out.
pub(crate) fn read_backwards(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_down(|plan| {
        let Some(sort) = plan.downcast_ref::<SortExec>() else {
            return Ok(Transformed::no(plan));
        };
        let Some(input) = backwards(sort.input())? else { return Ok(Transformed::no(plan)) };
        if !satisfies(&input, sort.expr())? {
            return Ok(Transformed::no(plan));
        }
        let limited: Arc<dyn ExecutionPlan> = match sort.fetch() {
            Some(fetch) => Arc::new(LocalLimitExec::new(input, fetch)),
            None => input,
        };
        let parts = limited.output_partitioning().partition_count();
        Ok(Transformed::yes(match sort.preserve_partitioning() || parts == 1 {
            true => limited,
            false => Arc::new(
                SortPreservingMergeExec::new(sort.expr().clone(), limited).with_fetch(sort.fetch()),
            ),
        }))
    })
    .data()
}

fn satisfies(plan: &Arc<dyn ExecutionPlan>, order: &LexOrdering) -> Result<bool> {
    plan.equivalence_properties().ordering_satisfy(order.iter().cloned())
}

/// The same plan with its scan reversed, if one lies below operators that keep the order.
fn backwards(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    replace_scan(
        plan,
        // Others may need the order that they were given, or pick rows by it.
        |plan| {
            let is_plain = plan.is::<FilterExec>()
                || plan.is::<ProjectionExec>()
                || plan.is::<RepartitionExec>();
            is_plain && plan.maintains_input_order() == [true] && plan.fetch().is_none()
        },
        // A limit picks rows by the order that it was given in.
        |scan| scan.fetch().is_none().then(|| scan.reversed()),
    )
}
