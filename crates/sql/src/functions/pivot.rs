//! `table PIVOT(sum(x) FOR c IN ('a', 'b'))`: a column for each value listed, a row for each of what the other columns hold.

use std::collections::HashSet;

use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use sqlparser::ast::{self, ExprWithAlias, PivotValueSource, TableFactor};

use crate::error::refused;

#[derive(Debug)]
pub(crate) struct Pivots;

impl RelationPlanner for Pivots {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let TableFactor::Pivot {
            table,
            aggregate_functions,
            value_column,
            value_source,
            default_on_null,
            alias,
        } = relation
        else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let (PivotValueSource::List(values), None) = (value_source, default_on_null) else {
            return Err(refused(
                "PIVOT takes a list of values: PIVOT(sum(x) FOR c IN ('a', 'b')); PIVOT t ON c USING sum(x) finds them",
            ));
        };
        let [column] = value_column.as_slice() else {
            return Err(refused("PIVOT takes one column behind FOR"));
        };
        let input = context.plan(*table)?;
        let pivot = Pivot::new(&input, column.clone(), aggregate_functions, context)?;
        let plan = pivot.plan(input, values, context)?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))))
    }
}

struct Pivot {
    /// What is told apart.
    column: Expr,
    /// Each with the name that is put behind a value's, where there are several.
    aggregates: Vec<(AggregateFunction, String)>,
    /// Columns that are neither.
    groups: Vec<Column>,
}

impl Pivot {
    fn new(
        input: &LogicalPlan,
        column: ast::Expr,
        aggregates: Vec<ExprWithAlias>,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<Self> {
        let schema = input.schema();
        let column = known(context.sql_to_expr(column, schema)?, schema)?;
        let mut read: HashSet<Column> = column.column_refs().into_iter().cloned().collect();
        let mut found = Vec::new();
        for ExprWithAlias { expr, alias } in aggregates {
            let text = expr.to_string();
            let name = alias.map_or_else(|| text.clone(), |alias| context.normalize_ident(alias));
            let Expr::AggregateFunction(function) =
                known(context.sql_to_expr(expr, schema)?, schema)?.unalias()
            else {
                return Err(refused(format!("PIVOT takes aggregates, as sum(x), and not {text}")));
            };
            let expr = Expr::AggregateFunction(function.clone());
            read.extend(expr.column_refs().into_iter().cloned());
            found.push((function, name));
        }
        let groups = schema.columns().into_iter().filter(|column| !read.contains(column));
        Ok(Self { column, aggregates: found, groups: groups.collect() })
    }

    fn plan(
        self,
        input: LogicalPlan,
        values: Vec<ExprWithAlias>,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        let mut columns = Vec::new();
        for ExprWithAlias { expr, alias } in values {
            let text = expr.to_string();
            let value = match context.sql_to_expr(expr, &DFSchema::empty())? {
                Expr::Literal(value, _) => value,
                _ => return Err(refused(format!("PIVOT takes plain values, and not {text}"))),
            };
            let name = match alias {
                Some(alias) => context.normalize_ident(alias),
                None if value.is_null() => "NULL".to_owned(),
                None => value.to_string(),
            };
            columns.extend(self.aggregates.iter().map(|aggregate| {
                let name = match self.aggregates.len() {
                    1 => name.clone(),
                    _ => format!("{name}_{}", aggregate.1),
                };
                self.of_value(&aggregate.0, value.clone()).alias(name)
            }));
        }
        let groups = self.groups.into_iter().map(Expr::Column);
        LogicalPlanBuilder::from(input).aggregate(groups, columns)?.build()
    }

    /// An aggregate of the rows of one value.
    fn of_value(&self, aggregate: &AggregateFunction, value: ScalarValue) -> Expr {
        let mut aggregate = aggregate.clone();
        let is_of = match value.is_null() {
            true => self.column.clone().is_null(),
            false => self.column.clone().eq(Expr::Literal(value, None)),
        };
        let filter = match aggregate.params.filter.take() {
            Some(filter) => filter.and(is_of),
            None => is_of,
        };
        aggregate.params.filter = Some(Box::new(filter));
        Expr::AggregateFunction(aggregate)
    }
}

/// An expression of columns that are there.
///
/// # Errors
/// That there is no such column.
pub(super) fn known(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    datafusion::logical_expr::expr_rewriter::normalize_col_with_schemas_and_ambiguity_check(
        expr,
        &[&[schema]],
        &[],
    )
}
