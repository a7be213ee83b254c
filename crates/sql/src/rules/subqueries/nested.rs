//! `IN (SELECT ...)` that searches for what another subquery says: `(x IN (SELECT ...)) IN (SELECT ...)`.
//!
//! DataFusion makes a join of it whose condition has the inner subquery, and can plan no such. So a truth
//! value that subqueries are asked for becomes the cases of a `CASE`, each with an outer subquery that searches for a
//! literal; and a subquery's value that depends on the row becomes a column before.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::InSubquery;
use datafusion::logical_expr::{Case, Expr, ExprSchemable, Filter, LogicalPlanBuilder, lit};

use crate::error::refused;

/// Truth values in one expression that is searched for: there are three cases of each, times those of the others.
const CONDITIONS_MAX: usize = 3;
const TRUTHS: [Option<bool>; 3] = [Some(true), Some(false), None];

/// The same condition; where `IN (SELECT ...)` searches for what depends on a subquery, by cases.
pub(super) fn unnested(condition: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    condition.transform_up(|expr| {
        let Expr::InSubquery(asked) = expr else { return Ok(Transformed::no(expr)) };
        let conditions = conditions(&asked.expr, schema)?;
        match conditions.as_slice() {
            [] => Ok(Transformed::no(Expr::InSubquery(asked))),
            conditions if conditions.len() <= CONDITIONS_MAX => {
                Ok(Transformed::yes(by_cases(asked, conditions)?))
            }
            _ => Err(refused(format!(
                "what IN (SELECT ...) searches for has more than {CONDITIONS_MAX} conditions with subqueries in it: \
                 make columns of them in a subquery in FROM"
            ))),
        }
    })
}

fn is_condition(expr: &Expr) -> bool {
    matches!(expr, Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_))
}

/// The truth values within an expression that need subqueries, the largest of each.
fn conditions(expr: &Expr, schema: &DFSchema) -> Result<Vec<Expr>> {
    let mut found = Vec::new();
    expr.apply(|expr| {
        if !expr.exists(|expr| Ok(is_condition(expr)))? {
            return Ok(TreeNodeRecursion::Jump);
        }
        if expr.get_type(schema)? != DataType::Boolean {
            return Ok(TreeNodeRecursion::Continue);
        }
        if !found.contains(expr) {
            found.push(expr.clone());
        }
        Ok(TreeNodeRecursion::Jump)
    })?;
    Ok(found)
}

fn by_cases(asked: InSubquery, conditions: &[Expr]) -> Result<Expr> {
    let [condition, others @ ..] = conditions else { return Ok(Expr::InSubquery(asked)) };
    let of = |truth: Option<bool>| {
        let value = lit(ScalarValue::Boolean(truth));
        let expr = asked.expr.as_ref().clone().transform_down(|expr| match expr == *condition {
            true => Ok(Transformed::new(value.clone(), true, TreeNodeRecursion::Jump)),
            false => Ok(Transformed::no(expr)),
        });
        let asked = InSubquery { expr: Box::new(expr.data()?), ..asked.clone() };
        by_cases(asked, others).map(Box::new)
    };
    let [yes, no, unknown] = TRUTHS.map(of);
    Ok(Expr::Case(Case {
        expr: Some(Box::new(condition.clone())),
        when_then_expr: vec![(Box::new(lit(true)), yes?), (Box::new(lit(false)), no?)],
        else_expr: Some(unknown?),
    }))
}

/// The same rows, with a column more for each subquery of a row that `IN (SELECT ...)` searches for the value of;
/// `None` if there is no such.
pub(super) fn lifted(filter: &Filter) -> Result<Option<Filter>> {
    let mut values: Vec<Expr> = Vec::new();
    let condition = filter.predicate.clone().transform_up(|expr| {
        let Expr::InSubquery(asked) = expr else { return Ok(Transformed::no(expr)) };
        let expr = asked.expr.as_ref().clone().transform_down(|expr| match expr {
            Expr::ScalarSubquery(inner) if !inner.outer_ref_columns.is_empty() => {
                let name = format!("__asked_{}", values.len());
                values.push(Expr::ScalarSubquery(inner).alias(&name));
                let column = Expr::Column(Column::new_unqualified(name));
                Ok(Transformed::new(column, true, TreeNodeRecursion::Jump))
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(expr.update_data(|expr| Expr::InSubquery(InSubquery { expr: Box::new(expr), ..asked })))
    })?;
    if values.is_empty() {
        return Ok(None);
    }
    let input = filter.input.as_ref().clone();
    let shown = input.schema().columns().into_iter().map(Expr::Column).chain(values);
    let input =
        LogicalPlanBuilder::from(input.clone()).project(shown.collect::<Vec<_>>())?.build()?;
    Ok(Some(Filter::try_new(condition.data, Arc::new(input))?))
}
