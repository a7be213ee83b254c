//! As-of joins as DuckDB and Snowflake write them: `a ASOF [LEFT] JOIN b ON a.k = b.k AND a.time >= b.time`, and
//! `a ASOF JOIN b MATCH_CONDITION (a.time >= b.time) ON a.k = b.k`.
//!
//! The parser knows the second form. So in the first one a condition that is none is put in (`crate::token_forms`): true where
//! rows without a partner are left out, false where they are kept, as the second form keeps them.

use datafusion::common::{Column, DFSchema, DataFusionError, Result, SchemaError, TableReference};
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, col};
use sqlparser::ast::{self, BinaryOperator, JoinConstraint, JoinOperator, TableFactor, Value};

use super::asof_join::{AsofOptions, Direction, asof_join};
use crate::error::refused;

#[derive(Debug)]
pub(crate) struct AsofJoins;

impl RelationPlanner for AsofJoins {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let TableFactor::NestedJoin { table_with_joins, alias } = &relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let [ast::Join { relation: right, join_operator, .. }] = table_with_joins.joins.as_slice()
        else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let JoinOperator::AsOf { match_condition, constraint } = join_operator else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let left = context.plan(table_with_joins.relation.clone())?;
        let right = context.plan(right.clone())?;
        let mut terms = Terms::default();
        let keeps_all = match is_truth(match_condition) {
            Some(is_inner) => !is_inner,
            None => {
                terms.add(match_condition, (&left, &right), context)?;
                true
            }
        };
        terms.constrain(constraint, (&left, &right), context)?;
        let plan = terms.plan(left, right, keeps_all)?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias.clone()))))
    }
}

fn is_truth(condition: &ast::Expr) -> Option<bool> {
    match condition {
        ast::Expr::Value(value) => match value.value {
            Value::Boolean(truth) => Some(truth),
            _ => None,
        },
        _ => None,
    }
}

/// What rows belong together by: expressions of the left side and of the right one.
#[derive(Default)]
struct Terms {
    equal: Vec<(Expr, Expr)>,
    time: Option<(Expr, Expr, Direction, bool)>,
    /// Columns of the right side that are those of the left one.
    shared: Vec<String>,
}

impl Terms {
    fn constrain(
        &mut self,
        constraint: &JoinConstraint,
        sides: (&LogicalPlan, &LogicalPlan),
        context: &mut dyn RelationPlannerContext,
    ) -> Result<()> {
        match constraint {
            JoinConstraint::On(condition) => self.add(condition, sides, context),
            JoinConstraint::Using(names) => {
                let named = |name: &ast::ObjectName| match name.0.as_slice() {
                    [part] => part.as_ident().cloned(),
                    _ => None,
                };
                let names: Option<Vec<ast::Ident>> = names.iter().map(named).collect();
                let names = names.ok_or_else(|| refused("USING takes names of columns"))?;
                for (place, name) in names.iter().enumerate() {
                    let expr = ast::Expr::Identifier(name.clone());
                    let ours = context.sql_to_expr(expr.clone(), sides.0.schema())?;
                    let ours = super::pivot::known(ours, sides.0.schema())?;
                    let theirs = context.sql_to_expr(expr, sides.1.schema())?;
                    let theirs = super::pivot::known(theirs, sides.1.schema())?;
                    self.shared.push(context.normalize_ident(name.clone()));
                    match place + 1 == names.len() && self.time.is_none() {
                        true => self.time = Some((ours, theirs, Direction::Backward, true)),
                        false => self.equal.push((ours, theirs)),
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Takes a condition apart.
    fn add(
        &mut self,
        condition: &ast::Expr,
        sides: (&LogicalPlan, &LogicalPlan),
        context: &mut dyn RelationPlannerContext,
    ) -> Result<()> {
        let (left, op, right) = match condition {
            ast::Expr::Nested(inner) => return self.add(inner, sides, context),
            ast::Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                self.add(left, sides, context)?;
                return self.add(right, sides, context);
            }
            ast::Expr::BinaryOp { left, op, right } if is_comparison(op) => (left, op, right),
            other => return Err(wrong(other)),
        };
        let one = side_of(left, sides, context)?;
        let other = side_of(right, sides, context)?;
        let (ours, theirs, is_turned) = match (one, other) {
            ((ours, false), (theirs, true)) => (ours, theirs, false),
            ((theirs, true), (ours, false)) => (ours, theirs, true),
            _ => return Err(wrong(condition)),
        };
        let (direction, exact) = match (op, is_turned) {
            (BinaryOperator::Eq, _) => {
                self.equal.push((ours, theirs));
                return Ok(());
            }
            (BinaryOperator::GtEq, false) | (BinaryOperator::LtEq, true) => {
                (Direction::Backward, true)
            }
            (BinaryOperator::Gt, false) | (BinaryOperator::Lt, true) => {
                (Direction::Backward, false)
            }
            (BinaryOperator::LtEq, false) | (BinaryOperator::GtEq, true) => {
                (Direction::Forward, true)
            }
            (BinaryOperator::Lt, false) | (BinaryOperator::Gt, true) => (Direction::Forward, false),
            _ => return Err(wrong(condition)),
        };
        if self.time.replace((ours, theirs, direction, exact)).is_some() {
            return Err(refused("ASOF JOIN takes one comparison of times, as a.time >= b.time"));
        }
        Ok(())
    }

    /// The join, of sides whose columns have other names meanwhile: theirs need not differ.
    fn plan(self, left: LogicalPlan, right: LogicalPlan, keeps_all: bool) -> Result<LogicalPlan> {
        let Some((our_time, their_time, direction, allow_exact)) = self.time else {
            return Err(refused("ASOF JOIN needs a comparison of times, as a.time >= b.time"));
        };
        let (ours, theirs): (Vec<Expr>, Vec<Expr>) = self.equal.into_iter().unzip();
        let keys = |side: &str| (0..ours.len()).map(|place| format!("{side}k{place}")).collect();
        let options = AsofOptions {
            right_on: Some("rt".to_owned()),
            by: keys("l"),
            right_by: Some(keys("r")),
            direction,
            allow_exact,
            ..AsofOptions::on("lt")
        };
        let (mut shown, places) =
            (Vec::new(), [("l", &left, &[][..]), ("r", &right, &self.shared)]);
        for (side, plan, left_out) in places {
            for (place, (qualifier, field)) in plan.schema().iter().enumerate() {
                if !left_out.contains(field.name()) {
                    let column = Expr::Column(Column::from_name(format!("{side}{place}")));
                    shown.push(column.alias_qualified(qualifier.cloned(), field.name()));
                }
            }
        }
        let left = numbered("l", left, ours, our_time)?;
        let right = numbered("r", right, theirs, their_time)?;
        let mut joined = LogicalPlanBuilder::from(asof_join(left, right, &options)?);
        if !keeps_all {
            joined = joined.filter(col("rt").is_not_null())?;
        }
        joined.project(shown)?.build()
    }
}

fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq};
    matches!(op, Eq | Gt | GtEq | Lt | LtEq)
}

/// A side with its columns numbered, and what it is joined by.
fn numbered(side: &str, plan: LogicalPlan, keys: Vec<Expr>, time: Expr) -> Result<LogicalPlan> {
    let columns = plan.schema().columns().into_iter().enumerate();
    let columns =
        columns.map(|(place, column)| Expr::Column(column).alias(format!("{side}{place}")));
    let keys = keys.into_iter().enumerate();
    let keys = keys.map(|(place, key)| key.alias(format!("{side}k{place}")));
    let all: Vec<Expr> = columns.chain(keys).chain([time.alias(format!("{side}t"))]).collect();
    LogicalPlanBuilder::from(plan).project(all)?.build()
}

/// An expression of one side, and whether it is the right one.
fn side_of(
    expr: &ast::Expr,
    (left, right): (&LogicalPlan, &LogicalPlan),
    context: &mut dyn RelationPlannerContext,
) -> Result<(Expr, bool)> {
    let of = |plan: &LogicalPlan, context: &mut dyn RelationPlannerContext| {
        let expr = context.sql_to_expr(expr.clone(), plan.schema())?;
        super::pivot::known(expr, plan.schema())
    };
    let is_of = |expr: &Expr, schema: &DFSchema| {
        expr.column_refs().iter().all(|column| schema.has_column(column))
    };
    let (ours, theirs) = (of(left, context), of(right, context));
    let ours = ours.ok().filter(|expr| is_of(expr, left.schema()));
    let theirs = theirs.ok().filter(|expr| is_of(expr, right.schema()));
    match (ours, theirs) {
        (Some(ours), None) => Ok((ours, false)),
        (None, Some(theirs)) => Ok((theirs, true)),
        (Some(_), Some(_)) => Err(refused(format!(
            "{expr}: both sides of the ASOF JOIN have it; name the table, as t.{expr}"
        ))),
        (None, None) => Err(nowhere(expr, left, right, context)),
    }
}

/// The error for a column of neither side.
fn nowhere(
    expr: &ast::Expr,
    left: &LogicalPlan,
    right: &LogicalPlan,
    context: &mut dyn RelationPlannerContext,
) -> DataFusionError {
    let mut valid_fields = left.schema().columns();
    valid_fields.extend(right.schema().columns());
    let column = match expr {
        ast::Expr::Identifier(name) => {
            Some(Column::new_unqualified(context.normalize_ident(name.clone())))
        }
        ast::Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [.., table, name] => {
                let table = TableReference::bare(context.normalize_ident(table.clone()));
                Some(Column::new(Some(table), context.normalize_ident(name.clone())))
            }
            _ => None,
        },
        _ => None,
    };
    match column {
        Some(field) => {
            let missing = SchemaError::FieldNotFound { field: Box::new(field), valid_fields };
            DataFusionError::SchemaError(Box::new(missing), Box::new(None))
        }
        None => refused(format!("ASOF JOIN: neither side has {expr}")),
    }
}

fn wrong(condition: &ast::Expr) -> DataFusionError {
    refused(format!(
        "ASOF JOIN takes columns of both sides that are equal and one comparison of times, joined by AND, and not {condition}"
    ))
}
