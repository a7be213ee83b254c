//! `UPDATE table SET column = expression, ... [WHERE condition]`, of a table with a key.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::common::Result as DataFusionResult;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::physical_expr::PhysicalExpr;
use datafusion_sql::parser::Statement;
use sqlparser::ast::{self, AssignmentTarget};
use timestrata_engine::{Error, ErrorKind, Result, RunningQuery};

use crate::error::{from_datafusion, invalid};
use crate::predicate::{as_shown, compiled, picked, simplified};
use crate::rules;
use crate::schema::SqlTable;
use crate::writer::{Predicate, RowChange};

/// Refuses what the planner would take no notice of.
///
/// # Errors
/// `InvalidArgument` for clauses that are not supported, and a column that is set twice.
pub(crate) fn check_assignments(statement: &Statement) -> Result<()> {
    let Statement::Statement(statement) = statement else { return Ok(()) };
    let ast::Statement::Update(update) = statement.as_ref() else { return Ok(()) };
    let has_others = update.from.is_some()
        || update.returning.is_some()
        || update.output.is_some()
        || update.or.is_some()
        || update.limit.is_some()
        || !update.order_by.is_empty()
        || !update.table.joins.is_empty();
    if has_others {
        return Err(invalid("UPDATE takes a table, SET column = expression, ... and WHERE"));
    }
    let mut set = HashSet::new();
    for assignment in &update.assignments {
        let AssignmentTarget::ColumnName(name) = &assignment.target else {
            return Err(invalid("UPDATE sets one column after the other: SET a = 1, b = 2"));
        };
        if !set.insert(name.to_string().to_lowercase()) {
            return Err(invalid(format!("UPDATE sets column {name} twice")));
        }
    }
    Ok(())
}

/// A column that is set.
struct Assignment {
    column: usize,
    value: Arc<dyn PhysicalExpr>,
}

/// The rows that an `UPDATE` means, and what becomes of them.
pub(crate) fn row_change(
    state: &SessionState,
    table: &SqlTable,
    input: &LogicalPlan,
    query: Option<&RunningQuery>,
) -> Result<(Predicate, RowChange)> {
    let whole = table.columns.len() == table.stream.schema().fields().len();
    let (LogicalPlan::Projection(projection), true) = (input, whole) else {
        return Err(invalid("UPDATE changes rows of tables alone"));
    };
    let predicate = picked(state, table, ("UPDATE", &projection.input), query)?;
    let schema = projection.input.schema();
    let mut assignments = Vec::new();
    for (column, expr) in projection.expr.iter().enumerate() {
        let name = table.schema.field(column).name();
        let expr = expr.clone().unalias();
        if matches!(&expr, Expr::Column(same) if same.name == *name) {
            continue;
        }
        if table.stream.key_columns().contains(&column) {
            return Err(invalid(format!(
                "column '{name}' tells the rows of '{}' apart, and is not set: delete the rows and insert others",
                table.name
            )));
        }
        if rules::has_subquery(&expr).map_err(from_datafusion)? {
            return Err(invalid("UPDATE takes no subqueries in its SET"));
        }
        let value = simplified(state, expr, schema).and_then(|expr| compiled(state, table, expr));
        assignments.push(Assignment { column, value: value.map_err(from_datafusion)? });
    }
    let (table, query) = (table.clone(), query.cloned());
    let change = move |batch: &RecordBatch| {
        query.as_ref().map_or(Ok(()), RunningQuery::check)?;
        changed(&table, &assignments, batch)
    };
    Ok((predicate, RowChange { change: Arc::new(change) }))
}

fn changed(
    table: &SqlTable,
    assignments: &[Assignment],
    batch: &RecordBatch,
) -> Result<RecordBatch> {
    let shown = as_shown(batch, &table.schema).map_err(|error| from_datafusion(error.into()))?;
    let mut columns = batch.columns().to_vec();
    for Assignment { column, value } in assignments {
        let value = value_of(value, &shown, batch.schema_ref().field(*column).data_type());
        let Some(place) = columns.get_mut(*column) else { continue };
        *place = value.map_err(from_datafusion)?;
    }
    let changed = RecordBatch::try_new(batch.schema(), columns);
    changed.map_err(|error| {
        let message = format!("table '{}': the changed rows don't fit it: {error}", table.name);
        Error::new(ErrorKind::InvalidData, message).hinting("set what its columns take")
    })
}

/// An expression's values as a column stores them.
fn value_of(
    expr: &Arc<dyn PhysicalExpr>,
    batch: &RecordBatch,
    stored: &datafusion::arrow::datatypes::DataType,
) -> DataFusionResult<ArrayRef> {
    let values = expr.evaluate(batch)?.into_array(batch.num_rows())?;
    let options = CastOptions { safe: false, ..CastOptions::default() };
    Ok(cast_with_options(&values, stored, &options)?)
}
