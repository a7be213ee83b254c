//! Looking at expressions.

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Whether one like that stands anywhere in the expressions of the node.
pub(crate) fn has_expression(plan: &LogicalPlan, is: impl Fn(&Expr) -> bool) -> Result<bool> {
    let looked = plan.apply_expressions(|expr| match expr.exists(|expr| Ok(is(expr)))? {
        true => Ok(TreeNodeRecursion::Stop),
        false => Ok(TreeNodeRecursion::Continue),
    })?;
    Ok(looked == TreeNodeRecursion::Stop)
}
