//! Other conditions in the filters of a plan: what several rules do.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};

/// A plan whose filters have other conditions, where `other` gives one. A filter of which nothing
/// could be concluded any more that was concluded before (a column with one value) stays as it is:
/// what is above may count on it.
pub(super) fn replaced(
    plan: Arc<dyn ExecutionPlan>,
    may_forget: bool,
    other: impl Fn(&FilterExec) -> Result<Option<Arc<dyn PhysicalExpr>>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let constants =
        |filter: &FilterExec| filter.properties().equivalence_properties().constants().len();
    plan.transform_up(|plan| {
        let Some(filter) = plan.downcast_ref::<FilterExec>() else {
            return Ok(Transformed::no(plan));
        };
        let Some(predicate) = other(filter)? else { return Ok(Transformed::no(plan)) };
        let changed = FilterExecBuilder::from(filter).with_predicate(predicate).build()?;
        match may_forget || constants(&changed) == constants(filter) {
            true => Ok(Transformed::yes(Arc::new(changed))),
            false => Ok(Transformed::no(plan)),
        }
    })
    .data()
}
