//! Rules of ours for what DataFusion would answer wrongly: each rewrites expressions before its own rules
//! see them.
//!
//! Invariant: a rule changes no name of a column and no number of rows, only what an expression gives.

mod arithmetic;
mod constants;
mod dates;
mod floats;
mod lists;
mod subqueries;
mod zones;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;

use crate::expressions::has_expression;
use crate::functions::as_cast;

pub(crate) use self::constants::{LongNumbers, type_constants};
pub(crate) use self::lists::{guard_lists, guarded, release_lists};
pub(crate) use self::subqueries::{has_subquery, keep_nulls};

/// Reads times without a zone as UTC, checks arithmetic for overflow, and has floats lose signs that are none. To come behind DataFusion's
/// coercion of types, which makes the casts that this looks for.
#[derive(Debug)]
pub(crate) struct ExactExpressions;

impl AnalyzerRule for ExactExpressions {
    fn name(&self) -> &str {
        "exact_expressions"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_plan(plan, &exact)
    }
}

/// What [`ExactExpressions`] makes of one expression over columns of `schema`.
pub(crate) fn exact(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| {
        let cast = match as_cast(&expr, |inner| inner.get_type(schema))? {
            Some(cast) => Transformed::yes(cast),
            None => Transformed::no(expr),
        };
        cast.transform_data(|expr| zones::naive_is_utc(expr, schema))?
            .transform_data(|expr| arithmetic::checked(expr, schema))?
            .transform_data(|expr| floats::unsigned(expr, schema))
    })
}

/// Whether an operator says how two values compare.
pub(crate) fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// Rewrites the expressions of one node; columns keep their names.
fn rewrite_node(
    plan: LogicalPlan,
    rewrite: impl Fn(Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    plan.map_expressions(|expr| {
        let name = names.save(&expr);
        Ok(rewrite(expr)?.update_data(|expr| name.restore(expr)))
    })
}

/// Whether an expression of the node is more than columns, constants and what is aggregated of them: no rule here
/// is about these, and to keep their names takes longer than to look.
fn calculates(plan: &LogicalPlan) -> Result<bool> {
    has_expression(plan, |expr| {
        !matches!(
            expr,
            Expr::Column(_) | Expr::Literal(..) | Expr::Alias(_) | Expr::AggregateFunction(_)
        )
    })
}

/// Rewrites each expression of a plan and of its subqueries; what it is of are the columns of a schema.
fn rewrite_plan(
    plan: LogicalPlan,
    rewrite: &dyn Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    let each = |plan: LogicalPlan| {
        if !calculates(&plan)? {
            return Ok(Transformed::no(plan));
        }
        let mut schema = merge_schema(&plan.inputs());
        if let LogicalPlan::TableScan(scan) = &plan {
            let name = scan.table_name.clone();
            schema.merge(&DFSchema::try_from_qualified_schema(name, &scan.source.schema())?);
        }
        let rewritten = rewrite_node(plan, |expr| rewrite(expr, &schema))?;
        match rewritten.transformed {
            true => rewritten.map_data(|plan| plan.recompute_schema()),
            false => Ok(rewritten),
        }
    };
    plan.transform_up_with_subqueries(each).data()
}
