//! A rule of the optimizer: conditions on the left side of an as-of join are met before the join,
//! and so by the scan below it. Its rows stay what they are: a row of the left side finds the same
//! partner whatever other rows there are.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan};

use super::asof_join::AsofTerms;
use super::node::FunctionNode;

type AsofJoin = FunctionNode<AsofTerms, 2>;

/// A filter over an as-of join, with what can be met before below the join.
pub(crate) fn push_below_asof_join(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Filter(filter) = plan else { return Ok(Transformed::no(plan)) };
    let join = match filter.input.as_ref() {
        LogicalPlan::Extension(extension) => extension.node.as_any().downcast_ref::<AsofJoin>(),
        _ => None,
    };
    let Some(join) = join.cloned() else {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    };
    let [left, right] = join.inputs;
    let (below, above): (Vec<Expr>, Vec<Expr>) = split_conjunction_owned(filter.predicate.clone())
        .into_iter()
        .partition(|condition| is_of(&left, condition));
    let Some(below) = conjunction(below) else {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    };
    let left = LogicalPlan::Filter(Filter::try_new(below, Arc::new(left))?);
    let join = AsofJoin { inputs: [left, right], ..join }.into_plan();
    Ok(Transformed::yes(match conjunction(above) {
        Some(above) => LogicalPlan::Filter(Filter::try_new(above, Arc::new(join))?),
        None => join,
    }))
}

/// Whether a condition is on columns of this side alone, and gives the same whenever it is asked.
fn is_of(side: &LogicalPlan, condition: &Expr) -> bool {
    let columns = condition.column_refs();
    !condition.is_volatile()
        && !columns.is_empty()
        && columns.iter().all(|column| side.schema().has_column(column))
}
