//! `x IN (SELECT ...)` with its three truth values: null where nothing is equal, but `x` or a value of the
//! subquery is null.
//!
//! DataFusion has that for `NOT IN` that stands by itself in a condition, about a column and with a subquery of
//! its own; in all other places it says false instead of null, and so lets rows through that `NOT IN` or
//! `IS NULL` are asked of. There it is made of parts that are answered right: whether something is equal, and
//! whether the subquery has rows and nulls.
//!
//! Nor can it search for what a subquery says itself ([`nested`]).

mod nested;

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, Result, ScalarValue, internal_datafusion_err};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::expr::InSubquery;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    Expr, ExprSchemable, Filter, LogicalPlan, LogicalPlanBuilder, Subquery, lit, not, when,
};

use super::lists::guard;
use crate::error::refused;
use crate::expressions::has_expression;

/// No rows; no nulls among them; some.
const EMPTY: i64 = 0;
const FULL: i64 = 1;
const HAS_NULLS: i64 = 2;

/// The same plan with conditions that keep three truth values.
///
/// # Errors
/// For `IN (SELECT ...)` and `EXISTS` outside of conditions, where the engine has none.
pub(crate) fn keep_nulls(plan: LogicalPlan) -> Result<LogicalPlan> {
    let each = |plan: LogicalPlan| match plan {
        LogicalPlan::Filter(filter) => condition(filter),
        plan @ (LogicalPlan::Projection(_)
        | LogicalPlan::Aggregate(_)
        | LogicalPlan::Window(_)
        | LogicalPlan::Sort(_)) => {
            if has_expression(&plan, |expr| matches!(expr, Expr::InSubquery(_) | Expr::Exists(_)))?
            {
                return Err(refused(
                    "IN (SELECT ...) and EXISTS can stand in WHERE and HAVING only",
                ));
            }
            Ok(Transformed::no(plan))
        }
        plan => Ok(Transformed::no(plan)),
    };
    Ok(plan.transform_up_with_subqueries(each)?.data)
}

fn condition(filter: Filter) -> Result<Transformed<LogicalPlan>> {
    match nested::lifted(&filter)? {
        None => three_valued_parts(filter),
        Some(lifted) => {
            let shown = filter.input.schema().columns().into_iter().map(Expr::Column);
            let plan = LogicalPlanBuilder::from(three_valued_parts(lifted)?.data);
            Ok(Transformed::yes(plan.project(shown)?.build()?))
        }
    }
}

fn three_valued_parts(filter: Filter) -> Result<Transformed<LogicalPlan>> {
    let schema = Arc::clone(filter.input.schema());
    let unnested = nested::unnested(filter.predicate.clone(), &schema)?;
    let mut is_changed = unnested.transformed;
    let mut parts = Vec::new();
    for part in split_conjunction_owned(unnested.data) {
        let part = match is_answered_right(&part, &schema)? {
            true => Transformed::no(part),
            false => part.transform_up(|expr| match expr {
                Expr::InSubquery(asked) => three_valued(asked, &schema),
                other => Ok(Transformed::no(other)),
            })?,
        };
        is_changed |= part.transformed;
        parts.push(part.data);
    }
    match conjunction(parts) {
        Some(predicate) if is_changed => {
            Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, filter.input)?)))
        }
        _ => Ok(Transformed::no(LogicalPlan::Filter(filter))),
    }
}

/// Whether a part that rows must pass stands by itself as DataFusion has it right: null lets as little through
/// as false.
fn is_answered_right(part: &Expr, schema: &DFSchema) -> Result<bool> {
    let (asked, is_negated) = match part {
        Expr::InSubquery(asked) => (asked, asked.negated),
        Expr::Not(inner) => match inner.as_ref() {
            Expr::InSubquery(asked) => (asked, !asked.negated),
            _ => return Ok(false),
        },
        _ => return Ok(false),
    };
    // Of an expression of columns a constant may be made before, which is no join's key.
    let is_of_column = matches!(asked.expr.as_ref(), Expr::Column(_));
    let stands_alone = asked.subquery.outer_ref_columns.is_empty();
    // With others it could be a join by several keys, of which none of that kind has nulls right.
    Ok(!is_negated || (stands_alone && (is_of_column || !has_nulls(asked, schema)?)))
}

fn has_nulls(asked: &InSubquery, schema: &DFSchema) -> Result<bool> {
    let values = asked.subquery.subquery.schema();
    let values = values.fields().first().is_none_or(|field| field.is_nullable());
    Ok(values || asked.expr.nullable(schema)?)
}

fn three_valued(asked: InSubquery, schema: &DFSchema) -> Result<Transformed<Expr>> {
    if asked.subquery.outer_ref_columns.is_empty() && !has_nulls(&asked, schema)? {
        return Ok(Transformed::no(Expr::InSubquery(asked)));
    }
    let InSubquery { expr, subquery, negated } = asked;
    let nulls = lit(ScalarValue::Boolean(None));
    let state = Expr::ScalarSubquery(state_of(&subquery)?);
    // Guarded, or a rule would make the negation stand by itself again.
    let is_equal = guard(Expr::InSubquery(InSubquery::new(expr.clone(), subquery, false)));
    let found = when(is_equal, lit(true))
        .when(state.clone().eq(lit(EMPTY)), lit(false))
        .when(state.eq(lit(HAS_NULLS)).or(expr.is_null()), nulls)
        .otherwise(lit(false))?;
    Ok(Transformed::yes(if negated { not(found) } else { found }))
}

/// Whether a subquery has rows, and nulls among them.
fn state_of(subquery: &Subquery) -> Result<Subquery> {
    let plan = subquery.subquery.as_ref().clone();
    let (table, field) = plan
        .schema()
        .iter()
        .next()
        .ok_or_else(|| internal_datafusion_err!("a subquery without a column"))?;
    let value = Expr::Column(Column::from((table, field)));
    let (rows, values) = (count(lit(1_i64)).alias("rows"), count(value).alias("values"));
    let (all, known) = (Expr::Column("rows".into()), Expr::Column("values".into()));
    let state = when(all.clone().eq(lit(0_i64)), lit(EMPTY))
        .when(known.lt(all), lit(HAS_NULLS))
        .otherwise(lit(FULL))?;
    let plan = LogicalPlanBuilder::from(plan)
        .aggregate(Vec::<Expr>::new(), vec![rows, values])?
        .project(vec![state.alias("state")])?
        .build()?;
    Ok(Subquery {
        subquery: Arc::new(plan),
        outer_ref_columns: subquery.outer_ref_columns.clone(),
        spans: subquery.spans.clone(),
    })
}

/// Whether an expression asks a query of its own, or stands in one and looks out of it.
pub(crate) fn has_subquery(expr: &Expr) -> Result<bool> {
    expr.exists(|part| {
        Ok(matches!(
            part,
            Expr::Exists(_)
                | Expr::InSubquery(_)
                | Expr::ScalarSubquery(_)
                | Expr::SetComparison(_)
                | Expr::OuterReferenceColumn(_, _)
        ))
    })
}
