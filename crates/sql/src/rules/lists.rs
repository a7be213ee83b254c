//! `IN` lists, kept away from a simplification that minds no nulls.
//!
//! DataFusion joins two lists over one expression that stand beside each other: `a IN (1) AND a IN (2)`
//! becomes `false` and `a NOT IN (1) OR a NOT IN (2)` becomes `true`, also where `a` or a value of a list is
//! null. So each list goes through its optimizer in a function that gives what it is given, and so does each
//! equality in a disjunction, of which it makes lists. Behind the last rule they are themselves again.
//!
//! It also takes a list for a constant one if its values can be told from no rows at all, as with a `CASE`
//! that then gives one of its literals. So values that differ from row to row are compared one by one.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRewriter};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, lit, not};

use super::rewrite_node;
use crate::functions::Marker;

/// A rule of the optimizer, to come before all others: it wraps all lists.
pub(crate) fn guard_lists(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    rewrite_node(plan, guarded)
}

/// A rule of the optimizer, to come behind all others: lists are themselves again.
pub(crate) fn release_lists(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    rewrite_node(plan, |expr| Marker::Guard.removed(expr))
}

/// The same expression with lists that nobody joins.
pub(crate) fn guarded(expr: Expr) -> Result<Transformed<Expr>> {
    expr.rewrite(&mut Guarding { disjunctions: 0 })
}

/// An expression that no rule takes apart.
pub(super) fn guard(expr: Expr) -> Expr {
    Marker::Guard.wrap(expr)
}

struct Guarding {
    /// How many disjunctions are around.
    disjunctions: usize,
}

impl TreeNodeRewriter for Guarding {
    type Node = Expr;

    fn f_down(&mut self, expr: Expr) -> Result<Transformed<Expr>> {
        self.disjunctions += usize::from(is_disjunction(&expr));
        Ok(Transformed::no(expr))
    }

    fn f_up(&mut self, expr: Expr) -> Result<Transformed<Expr>> {
        self.disjunctions -= usize::from(is_disjunction(&expr));
        let expr = match expr {
            Expr::InList(list) if varies(&list) => return Ok(Transformed::yes(one_by_one(list))),
            other => other,
        };
        let is_list = match &expr {
            Expr::InList(_) => true,
            Expr::BinaryExpr(BinaryExpr { op: Operator::Eq, .. }) => self.disjunctions > 0,
            _ => false,
        };
        let expr = if is_list { guard(expr) } else { expr };
        Ok(Transformed::new_transformed(expr, is_list))
    }
}

/// Whether values of the list may differ from row to row. What is searched for must not: it is asked for
/// more than once.
fn varies(list: &InList) -> bool {
    !list.expr.is_volatile() && !list.list.iter().all(is_constant)
}

/// Whether the value is a literal, once what can be reckoned before has been. A subquery's is none: alone in a list
/// it would be taken for one of many rows.
fn is_constant(value: &Expr) -> bool {
    let has_subquery = value.exists(|inner| Ok(matches!(inner, Expr::ScalarSubquery(_))));
    !value.any_column_refs() && !value.is_volatile() && !has_subquery.unwrap_or(true)
}

/// The list as comparisons with each value that differs from row to row, beside a list of the others.
fn one_by_one(InList { expr, list, negated }: InList) -> Expr {
    let (constant, varying): (Vec<_>, Vec<_>) = list.into_iter().partition(is_constant);
    let among = (!constant.is_empty()).then(|| expr.as_ref().clone().in_list(constant, false));
    let equal = varying.into_iter().map(|value| expr.as_ref().clone().eq(value));
    let any = among.into_iter().chain(equal).map(guard).reduce(Expr::or).unwrap_or(lit(false));
    if negated { not(any) } else { any }
}

fn is_disjunction(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }))
}
