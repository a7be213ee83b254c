//! A rule of the optimizer: conditions on the left side of an as-of join are met before the join,
//! and so by the scan below it. Its rows stay what they are: a row of the left side finds the same
//! partner whatever other rows there are.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Extension, Filter, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use super::asof_join::AsofJoin;

#[derive(Debug)]
pub(crate) struct PushBelowAsofJoin;

impl OptimizerRule for PushBelowAsofJoin {
    fn name(&self) -> &str {
        "push_below_asof_join"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(filter) = plan else { return Ok(Transformed::no(plan)) };
        let join = match filter.input.as_ref() {
            LogicalPlan::Extension(extension) => {
                extension.node.as_any().downcast_ref::<AsofJoin>().cloned()
            }
            _ => None,
        };
        let Some(join) = join else { return Ok(Transformed::no(LogicalPlan::Filter(filter))) };
        let (below, above): (Vec<Expr>, Vec<Expr>) =
            split_conjunction_owned(filter.predicate.clone())
                .into_iter()
                .partition(|condition| is_of(&join.left, condition));
        let Some(below) = conjunction(below) else {
            return Ok(Transformed::no(LogicalPlan::Filter(filter)));
        };
        let left = LogicalPlan::Filter(Filter::try_new(below, Arc::new(join.left))?);
        let join = AsofJoin { left, ..join };
        let join = LogicalPlan::Extension(Extension { node: Arc::new(join) });
        Ok(Transformed::yes(match conjunction(above) {
            Some(above) => LogicalPlan::Filter(Filter::try_new(above, Arc::new(join))?),
            None => join,
        }))
    }
}

/// Whether a condition is on columns of this side alone, and gives the same whenever it is asked.
fn is_of(side: &LogicalPlan, condition: &Expr) -> bool {
    let columns = condition.column_refs();
    !condition.is_volatile()
        && !columns.is_empty()
        && columns.iter().all(|column| side.schema().has_column(column))
}
