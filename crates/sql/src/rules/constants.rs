//! Comparisons of times and decimals with constants, in the type of what is compared, exactly.
//!
//! DataFusion brings both sides to one type that has room for either: of a column of decimals and `17.519` it
//! makes floats, of a column of microseconds and a text nanoseconds, which end in 2262. Here the constant is
//! brought onto the grid of the column's values: where it lies between two of them, or outside of all, the
//! comparison becomes another that says the same.

mod grid;
mod numbers;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{
    Between, BinaryExpr, Case, Expr, ExprSchemable, LogicalPlan, Operator, and, binary_expr, lit,
    or,
};

use self::grid::Grid;
pub(crate) use self::numbers::LongNumbers;
use super::{dates, is_comparison, rewrite_plan};

/// The same plan, with constants in the type of the times and decimals that they are compared with, and with days
/// as times where they meet times.
pub(crate) fn type_constants(plan: LogicalPlan, long: &LongNumbers) -> Result<LogicalPlan> {
    let plan = rewrite_plan(plan, &|expr, schema| {
        expr.transform_up(|expr| {
            typed(expr, schema, long)?.transform_data(|expr| dates::as_times(expr, schema))
        })
    })?;
    dates::meeting_inputs(plan)
}

fn typed(expr: Expr, schema: &DFSchema, long: &LongNumbers) -> Result<Transformed<Expr>> {
    let rewritten = match &expr {
        Expr::BinaryExpr(binary) => typed_binary(binary, schema, long)?,
        Expr::Between(between) => typed_between(between, schema, long)?,
        Expr::InList(list) => typed_list(list, schema, long)?,
        Expr::Case(case) => typed_case(case, schema, long)?,
        _ => None,
    };
    Ok(match rewritten {
        Some(rewritten) => Transformed::yes(rewritten),
        None => Transformed::no(expr),
    })
}

/// The type of an expression, if it is one that constants are brought to.
fn gridded(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    let data_type = expr.get_type(schema).ok()?;
    grid::has_grid(&data_type).then_some(data_type)
}

fn typed_binary(
    binary: &BinaryExpr,
    schema: &DFSchema,
    long: &LongNumbers,
) -> Result<Option<Expr>> {
    if !is_comparison(binary.op) {
        return Ok(None);
    }
    let (left, right) = (binary.left.as_ref(), binary.right.as_ref());
    let swapped = match binary.op {
        Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => Some(binary.op),
        op => op.swap(),
    };
    for (expr, op, constant) in [(left, Some(binary.op), right), (right, swapped, left)] {
        if let Some(op) = op
            && let Some(data_type) = gridded(expr, schema)
            && let Some(at) = Grid::of(constant, &data_type, long)?
        {
            return Ok(Some(compare(expr, op, &at)));
        }
    }
    Ok(None)
}

fn typed_between(between: &Between, schema: &DFSchema, long: &LongNumbers) -> Result<Option<Expr>> {
    let Some(data_type) = gridded(&between.expr, schema) else { return Ok(None) };
    let low = Grid::of(&between.low, &data_type, long)?;
    let high = Grid::of(&between.high, &data_type, long)?;
    if low.is_none() && high.is_none() {
        return Ok(None);
    }
    let side = |op: Operator, at: Option<Grid>, plain: &Expr| match at {
        Some(at) => compare(&between.expr, op, &at),
        None => binary_expr(between.expr.as_ref().clone(), op, plain.clone()),
    };
    Ok(Some(match between.negated {
        false => {
            and(side(Operator::GtEq, low, &between.low), side(Operator::LtEq, high, &between.high))
        }
        true => or(side(Operator::Lt, low, &between.low), side(Operator::Gt, high, &between.high)),
    }))
}

/// A list of constants, and of others that are left as they are.
fn typed_list(list: &InList, schema: &DFSchema, long: &LongNumbers) -> Result<Option<Expr>> {
    let Some(data_type) = gridded(&list.expr, schema) else { return Ok(None) };
    let (mut values, mut is_typed) = (Vec::with_capacity(list.list.len()), false);
    for value in &list.list {
        if matches!(value, Expr::Literal(value, _) if value.is_null()) {
            values.push(lit(ScalarValue::try_from(&data_type)?));
            continue;
        }
        match Grid::of(value, &data_type, long)? {
            // What lies on no point of the grid is equal to nothing.
            Some(at) => {
                values.extend(at.point().map(lit));
                is_typed = true;
            }
            None => values.push(value.clone()),
        }
    }
    if !is_typed {
        return Ok(None);
    }
    let expr = list.expr.as_ref();
    Ok(Some(match (values.is_empty(), list.negated) {
        (true, false) => never(expr),
        (true, true) => always(expr),
        (false, negated) => expr.clone().in_list(values, negated),
    }))
}

fn typed_case(case: &Case, schema: &DFSchema, long: &LongNumbers) -> Result<Option<Expr>> {
    let Some(expr) = &case.expr else { return Ok(None) };
    let Some(data_type) = gridded(expr, schema) else { return Ok(None) };
    let mut typed = case.clone();
    for (when, _) in &mut typed.when_then_expr {
        if let Some(at) = Grid::of(when, &data_type, long)? {
            // A null is equal to nothing either.
            let value = at.point().map_or_else(|| ScalarValue::try_from(&data_type), Ok)?;
            **when = lit(value);
        }
    }
    Ok(Some(Expr::Case(typed)).filter(|typed| *typed != Expr::Case(case.clone())))
}

fn compare(expr: &Expr, op: Operator, at: &Grid) -> Expr {
    let with = |op: Operator, value: ScalarValue| binary_expr(expr.clone(), op, lit(value));
    match op {
        Operator::Eq => at.point().map_or_else(|| never(expr), |value| with(op, value)),
        Operator::NotEq => at.point().map_or_else(|| always(expr), |value| with(op, value)),
        Operator::IsDistinctFrom => at.point().map_or_else(|| lit(true), |value| with(op, value)),
        Operator::IsNotDistinctFrom => {
            at.point().map_or_else(|| lit(false), |value| with(op, value))
        }
        _ => {
            let is_below = matches!(op, Operator::Lt | Operator::LtEq);
            if at.is_above_all() {
                return if is_below { always(expr) } else { never(expr) };
            }
            let Some(floor) = at.floor() else {
                return if is_below { never(expr) } else { always(expr) };
            };
            // Between two points: what is below it is at most the lower of them.
            let op = match (op, at.is_exact()) {
                (Operator::Lt, false) => Operator::LtEq,
                (Operator::GtEq, false) => Operator::Gt,
                (op, _) => op,
            };
            with(op, floor)
        }
    }
}

/// False, or null for a null.
fn never(expr: &Expr) -> Expr {
    and(expr.clone().is_null(), lit(ScalarValue::Boolean(None)))
}

/// True, or null for a null.
fn always(expr: &Expr) -> Expr {
    or(expr.clone().is_not_null(), lit(ScalarValue::Boolean(None)))
}
