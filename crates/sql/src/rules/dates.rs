//! Days that meet times become times of their unit.
//!
//! DataFusion brings both to nanoseconds, which end in 2262 and begin in 1677: one row beyond, and the query
//! fails. Microseconds and coarser units have room for every day that is written with four digits.
//!
//! It also takes a day for no more than a day, whatever is added: here hours make a time of it.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::InSubquery;
use datafusion::logical_expr::{
    BinaryExpr, Case, Cast, Expr, ExprSchemable, Join, LogicalPlan, LogicalPlanBuilder, Operator,
    Subquery, Union,
};

use super::is_comparison;

/// Functions that bring all of their arguments to one type.
const FUNCTIONS: [&str; 6] = ["coalesce", "nullif", "nvl", "ifnull", "greatest", "least"];

/// The same expression; where days meet times in it, they are times.
// Else its variables are on the stack once more for each operator of a long expression.
#[inline(never)]
pub(super) fn as_times(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let (expr, is_changed) = match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_meeting(op) => {
            let mut sides = [*left, *right];
            let is_changed = meet(sides.iter_mut(), schema) | hours_count(&mut sides, op, schema);
            let [left, right] = sides.map(Box::new);
            (Expr::BinaryExpr(BinaryExpr { left, op, right }), is_changed)
        }
        Expr::Between(mut between) => {
            let parts = [&mut between.expr, &mut between.low, &mut between.high];
            let is_changed = meet(parts.into_iter().map(AsMut::as_mut), schema);
            (Expr::Between(between), is_changed)
        }
        Expr::InList(mut list) => {
            let parts = std::iter::once(list.expr.as_mut()).chain(list.list.iter_mut());
            let is_changed = meet(parts, schema);
            (Expr::InList(list), is_changed)
        }
        Expr::Case(mut case) => {
            let is_changed = meet_in_case(&mut case, schema);
            (Expr::Case(case), is_changed)
        }
        Expr::ScalarFunction(mut call) if FUNCTIONS.contains(&call.func.name()) => {
            let is_changed = meet(call.args.iter_mut(), schema);
            (Expr::ScalarFunction(call), is_changed)
        }
        Expr::InSubquery(asked) => return in_subquery(asked, schema),
        other => (other, false),
    };
    Ok(Transformed::new_transformed(expr, is_changed))
}

fn is_meeting(op: Operator) -> bool {
    is_comparison(op) || matches!(op, Operator::Minus | Operator::Plus)
}

/// The type of times that days among these types become; `None` if nothing is to be done.
fn met(types: impl Iterator<Item = DataType>) -> Option<DataType> {
    let (mut unit, mut has_days) = (None, false);
    for data_type in types {
        let found = match data_type {
            // Who has nanoseconds has no room for other times in any case.
            DataType::Timestamp(TimeUnit::Nanosecond, _) => return None,
            DataType::Timestamp(unit, _) => unit,
            DataType::Date32 => {
                has_days = true;
                continue;
            }
            _ => continue,
        };
        unit = unit.max(Some(found));
    }
    unit.filter(|_| has_days).map(|unit| DataType::Timestamp(unit, None))
}

fn meet<'a>(exprs: impl Iterator<Item = &'a mut Expr>, schema: &DFSchema) -> bool {
    let mut exprs: Vec<(DataType, &mut Expr)> =
        exprs.map(|expr| (expr.get_type(schema).unwrap_or(DataType::Null), expr)).collect();
    let Some(time) = met(exprs.iter().map(|(data_type, _)| data_type.clone())) else {
        return false;
    };
    for (data_type, expr) in &mut exprs {
        if *data_type == DataType::Date32 {
            let day = std::mem::replace(*expr, Expr::Literal(ScalarValue::Null, None));
            **expr = as_time(day, &time);
        }
    }
    true
}

fn as_time(day: Expr, time: &DataType) -> Expr {
    Expr::Cast(Cast::new(Box::new(day), time.clone()))
}

/// What is compared in a `CASE` is one group, what it gives another.
fn meet_in_case(case: &mut Case, schema: &DFSchema) -> bool {
    let mut is_changed = false;
    if let Some(expr) = &mut case.expr {
        let whens = case.when_then_expr.iter_mut().map(|(when, _)| when.as_mut());
        is_changed |= meet(std::iter::once(expr.as_mut()).chain(whens), schema);
    }
    let thens = case.when_then_expr.iter_mut().map(|(_, then)| then.as_mut());
    let last = case.else_expr.iter_mut().map(AsMut::as_mut);
    is_changed | meet(thens.chain(last), schema)
}

/// A day and an interval with a part of a day: a time.
fn hours_count(sides: &mut [Expr; 2], op: Operator, schema: &DFSchema) -> bool {
    let [left, right] = sides;
    let has_hours = |side: &Expr| match side {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(interval)), _) => {
            interval.nanoseconds != 0
        }
        Expr::Literal(ScalarValue::IntervalDayTime(Some(interval)), _) => {
            interval.milliseconds != 0
        }
        _ => false,
    };
    let is_day = |side: &Expr| side.get_type(schema).is_ok_and(|found| found == DataType::Date32);
    let day = match op {
        Operator::Plus | Operator::Minus if is_day(left) && has_hours(right) => left,
        Operator::Plus if is_day(right) && has_hours(left) => right,
        _ => return false,
    };
    let inner = std::mem::replace(day, Expr::Literal(ScalarValue::Null, None));
    *day = as_time(inner, &DataType::Timestamp(TimeUnit::Microsecond, None));
    true
}

fn in_subquery(mut asked: InSubquery, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let plan = &asked.subquery.subquery;
    let (Ok(here), [there]) = (asked.expr.get_type(schema), plan.schema().fields().as_ref()) else {
        return Ok(Transformed::no(Expr::InSubquery(asked)));
    };
    let there = there.data_type().clone();
    let Some(time) = met([here.clone(), there.clone()].into_iter()) else {
        return Ok(Transformed::no(Expr::InSubquery(asked)));
    };
    if here == DataType::Date32 {
        asked.expr = Box::new(as_time(*asked.expr, &time));
    } else {
        let plan = with_times(plan.as_ref().clone(), &[Some(time)])?;
        asked.subquery = Subquery { subquery: Arc::new(plan), ..asked.subquery };
    }
    Ok(Transformed::yes(Expr::InSubquery(asked)))
}

/// The same rows, with each column that has a type here cast to it.
fn with_times(plan: LogicalPlan, times: &[Option<DataType>]) -> Result<LogicalPlan> {
    let columns = plan.schema().iter().zip(times).map(|((table, field), time)| {
        let column = Expr::Column(Column::from((table, field)));
        match time {
            Some(time) if *field.data_type() == DataType::Date32 => {
                as_time(column, time).alias_qualified(table.cloned(), field.name())
            }
            _ => column,
        }
    });
    let columns: Vec<Expr> = columns.collect();
    LogicalPlanBuilder::from(plan).project(columns)?.build()
}

/// The same plan; where it brings columns of several inputs together, days that meet times are times.
pub(super) fn meeting_inputs(plan: LogicalPlan) -> Result<LogicalPlan> {
    let each = |plan: LogicalPlan| match plan {
        LogicalPlan::Union(union) => united(union),
        LogicalPlan::Join(join) => joined(join),
        // What is below it may be a time by now that was a day.
        other => Ok(Transformed::no(other.recompute_schema()?)),
    };
    plan.transform_up_with_subqueries(each).data()
}

fn united(union: Union) -> Result<Transformed<LogicalPlan>> {
    let types = |column: usize| {
        union.inputs.iter().filter_map(move |input| {
            input.schema().fields().get(column).map(|field| field.data_type().clone())
        })
    };
    let times: Vec<Option<DataType>> =
        (0..union.schema.fields().len()).map(|column| met(types(column))).collect();
    if times.iter().all(Option::is_none) {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    }
    let inputs =
        union.inputs.iter().map(|input| Ok(Arc::new(with_times(input.as_ref().clone(), &times)?)));
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    Ok(Transformed::yes(LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?)))
}

fn joined(mut join: Join) -> Result<Transformed<LogicalPlan>> {
    let mut is_changed = false;
    for (left, right) in &mut join.on {
        let types = [left.get_type(join.left.schema())?, right.get_type(join.right.schema())?];
        let Some(time) = met(types.clone().into_iter()) else { continue };
        for (side, data_type) in [left, right].into_iter().zip(types) {
            if data_type == DataType::Date32 {
                *side = as_time(side.clone(), &time);
            }
        }
        is_changed = true;
    }
    Ok(Transformed::new_transformed(LogicalPlan::Join(join), is_changed))
}
