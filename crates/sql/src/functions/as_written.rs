//! What a cast and what stands in parentheses are called in a statement whose names would clash without: the planner's
//! names of columns show neither. As soon as a statement is planned the function is gone, and the names stay.

use std::collections::HashMap;

use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::expr::GroupingSet;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::grouping_set_to_exprlist;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan};

use super::Marker;
use crate::expressions::has_expression;

/// The same plan without calls of it, its columns under the names that they gave.
///
/// # Errors
/// For what is grouped by or aggregated under one name, which the planner lets through and its rules refuse.
pub(crate) fn plainly_written(plan: LogicalPlan) -> Result<LogicalPlan> {
    let each = |plan: LogicalPlan| {
        if let LogicalPlan::Aggregate(aggregate) = &plan {
            check_names(aggregate)?;
        }
        if !has_expression(&plan, is_written)? {
            return Ok(Transformed::no(plan));
        }
        // A sort gives no column a name.
        let names = match &plan {
            LogicalPlan::Sort(_) => None,
            plan => Some(NamePreserver::new(plan)),
        };
        let rewritten = plan.map_expressions(|expr| match expr {
            Expr::GroupingSet(set) => grouping_set(set),
            expr => bare(expr, names.as_ref()),
        })?;
        match rewritten.transformed {
            true => rewritten.map_data(|plan| plan.recompute_schema()),
            false => Ok(rewritten),
        }
    };
    plan.transform_up_with_subqueries(each).data()
}

fn is_written(expr: &Expr) -> bool {
    matches!(expr, Expr::GroupingSet(_)) || Marker::AsWritten.inner(expr).is_some()
}

fn check_names(aggregate: &Aggregate) -> Result<()> {
    let mut named: HashMap<String, &Expr> = HashMap::new();
    let groups = grouping_set_to_exprlist(&aggregate.group_expr)?;
    for expr in groups.into_iter().chain(&aggregate.aggr_expr) {
        let name = expr.schema_name().to_string();
        if named.get(&name).is_some_and(|other| *other != expr) {
            return plan_err!("groups and aggregates require unique expression names: {name}");
        }
        named.insert(name, expr);
    }
    Ok(())
}

fn bare(expr: Expr, names: Option<&NamePreserver>) -> Result<Transformed<Expr>> {
    let name = names.map(|names| names.save(&expr));
    let bare = Marker::AsWritten.removed(expr)?;
    Ok(match name {
        Some(name) => bare.update_data(|expr| name.restore(expr)),
        None => bare,
    })
}

/// Of a set of groupings each member has its name.
fn grouping_set(set: GroupingSet) -> Result<Transformed<Expr>> {
    let names = NamePreserver::new_for_projection();
    let all = |exprs: Vec<Expr>| {
        exprs.into_iter().map(|expr| bare(expr, Some(&names)).data()).collect::<Result<Vec<_>>>()
    };
    let set = match set {
        GroupingSet::Rollup(exprs) => GroupingSet::Rollup(all(exprs)?),
        GroupingSet::Cube(exprs) => GroupingSet::Cube(all(exprs)?),
        GroupingSet::GroupingSets(sets) => {
            GroupingSet::GroupingSets(sets.into_iter().map(all).collect::<Result<_>>()?)
        }
    };
    Ok(Transformed::yes(Expr::GroupingSet(set)))
}
