//! Which rows of a table a `DELETE` or an `UPDATE` means.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::{cast, prep_null_mask_filter};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::common::{DFSchema, ToDFSchema};
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr_rewriter::unnormalize_col;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, LogicalPlan, lit};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use timestrata_engine::{Result, RunningQuery};

use crate::error::{from_datafusion, invalid};
use crate::rules;
use crate::schema::SqlTable;
use crate::table::{FilterRanges, narrow_table};
use crate::writer::Predicate;

/// The rows that a `DELETE` means. Nothing but one condition on the table itself is taken: what
/// is not understood must not be left out.
pub(crate) fn predicate(
    state: &SessionState,
    table: &SqlTable,
    input: &LogicalPlan,
    query: Option<&RunningQuery>,
) -> Result<Predicate> {
    picked(state, table, ("DELETE", input), query)
}

/// The rows of a table that a statement of this kind means.
pub(crate) fn picked(
    state: &SessionState,
    table: &SqlTable,
    (statement, input): (&str, &LogicalPlan),
    query: Option<&RunningQuery>,
) -> Result<Predicate> {
    let condition = match input {
        LogicalPlan::Filter(filter) if is_table(&filter.input) => filter.predicate.clone(),
        plan if is_table(plan) => lit(true),
        _ => return Err(invalid(format!("{statement} takes a table and WHERE, and nothing else"))),
    };
    if rules::has_subquery(&condition).map_err(from_datafusion)? {
        return Err(invalid(format!("{statement} takes no subqueries in its WHERE")));
    }
    prepare(state, table, condition, input.schema().as_ref(), query.cloned())
        .map_err(from_datafusion)
}

/// Whether a plan is a table, under its own name or another.
fn is_table(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(_) => true,
        LogicalPlan::SubqueryAlias(alias) => matches!(*alias.input, LogicalPlan::TableScan(_)),
        _ => false,
    }
}

fn prepare(
    state: &SessionState,
    table: &SqlTable,
    condition: Expr,
    schema: &DFSchema,
    query: Option<RunningQuery>,
) -> datafusion::common::Result<Predicate> {
    let condition = simplified(state, condition, schema)?;
    let FilterRanges { ranges, is_exact } = narrow_table(table, std::slice::from_ref(&condition));
    let condition = compiled(state, table, condition)?;
    let shown = Arc::clone(&table.schema);
    let matches = move |batch: &RecordBatch| -> Result<BooleanArray> {
        query.as_ref().map_or(Ok(()), RunningQuery::check)?;
        let batch = as_shown(batch, &shown).map_err(|error| from_datafusion(error.into()))?;
        let value = condition.evaluate(&batch).map_err(from_datafusion)?;
        let array = value.into_array(batch.num_rows()).map_err(from_datafusion)?;
        let mask = array.as_boolean();
        Ok(match mask.null_count() {
            0 => mask.clone(),
            _ => prep_null_mask_filter(mask),
        })
    };
    let ranges = ranges.as_slice().to_vec();
    let stream = Arc::clone(&table.stream);
    Ok(Predicate { stream, ranges, is_exact, matches: Arc::new(matches) })
}

/// An expression over columns of `schema`, with what our rules make of it.
pub(crate) fn simplified(
    state: &SessionState,
    expr: Expr,
    schema: &DFSchema,
) -> datafusion::common::Result<Expr> {
    let context = SimplifyContext::builder()
        .with_schema(Arc::new(schema.clone()))
        .with_config_options(Arc::clone(state.config_options()))
        .with_query_execution_start_time(state.execution_props().query_execution_start_time)
        .build();
    let simplifier = ExprSimplifier::new(context);
    let expr = rules::exact(simplifier.coerce(expr, schema)?, schema)?.data;
    simplifier.simplify(rules::guarded(expr)?.data)
}

/// The same for batches of a table.
pub(crate) fn compiled(
    state: &SessionState,
    table: &SqlTable,
    expr: Expr,
) -> datafusion::common::Result<Arc<dyn PhysicalExpr>> {
    let unqualified = Arc::clone(&table.schema).to_dfschema()?;
    create_physical_expr(
        &unnormalize_col(expr),
        &unqualified,
        state.execution_props(),
        &PhysicalPlanningContext::default(),
    )
}

/// A batch of stored columns, with text as conditions work with it.
pub(crate) fn as_shown(
    batch: &RecordBatch,
    shown: &SchemaRef,
) -> std::result::Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(shown.fields());
    let columns = columns.map(|(column, field)| cast(column, field.data_type()));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
    RecordBatch::try_new_with_options(Arc::clone(shown), columns, &options)
}
