//! A rule of the optimizer, the last before the plan is checked: what wants its rows in order is given them so.
//!
//! DataFusion leaves out a sort where it sees that rows are in order already, and later makes one projection of
//! two: through an expression of both, as a cast of a function, it may not see any more that they are. It then
//! refuses its own plan.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{
    ExecutionPlan, ExecutionPlanProperties, replace_children_if_necessary,
};

/// Sorts what an operator wants in order, and isn't known to be.
pub(crate) fn restore_order(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(with_sorted_inputs).data()
}

fn with_sorted_inputs(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let mut is_sorted = false;
    let mut children = Vec::new();
    for (child, wanted) in plan.children().into_iter().zip(plan.required_input_ordering()) {
        let child = Arc::clone(child);
        children.push(match wanted.map(|wanted| wanted.into_single()) {
            Some(wanted)
                if !child
                    .equivalence_properties()
                    .ordering_satisfy_requirement(wanted.clone())? =>
            {
                is_sorted = true;
                let has_parts = child.output_partitioning().partition_count() > 1;
                let sort = SortExec::new(LexOrdering::from(wanted), child);
                Arc::new(sort.with_preserve_partitioning(has_parts))
            }
            _ => child,
        });
    }
    let plan = if is_sorted { replace_children_if_necessary(plan, children)? } else { plan };
    Ok(Transformed::new_transformed(plan, is_sorted))
}
