//! What statements do: those that ask are run, and those that change something reach the writer.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, UInt64Array,
};
use datafusion::arrow::compute::{cast, prep_null_mask_filter};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Constraint, DFSchema, ToDFSchema};
use datafusion::execution::SessionState;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::expr_rewriter::unnormalize_col;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    CreateMemoryTable, DdlStatement, DmlStatement, Expr, LogicalPlan, WriteOp, lit,
};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::create_physical_expr;
use datafusion::physical_plan::memory::MemoryStream;
use futures::StreamExt;
use timestrata_engine::{Error, ErrorKind, Result, RunningQuery};
use timestrata_table::is_view;

use crate::catalog::Catalog;
use crate::error::{from_datafusion, invalid};
use crate::execution::{Execution, blocking};
use crate::names::unique_schema;
use crate::params::Params;
use crate::planning::Planning;
use crate::result::QueryResult;
use crate::rules;
use crate::schema::{SqlTable, plain_schema};
use crate::statement::unsupported;
use crate::table::{FilterRanges, narrow_table};
use crate::views::{ViewStatement, name_taken};
use crate::writer::{Predicate, SqlWriter, TableDefinition};

/// Batches that wait between the query and the writer.
const BATCHES_AHEAD: usize = 2;

/// Carries a statement out: of one that asks the rows come as they are asked for.
pub(crate) async fn answer(
    execution: &Execution,
    sql: &str,
    params: Params,
) -> Result<QueryResult> {
    let statement = execution.parse(sql)?;
    if let Some(statement) = ViewStatement::of(&statement, sql)? {
        statement.carry_out(execution).await?;
        return counted(0);
    }
    let (Planning { state, catalog }, plan) = execution.plan_parsed(statement, sql, params)?;
    match plan {
        LogicalPlan::Dml(dml) => change(execution, &state, &catalog, dml).await,
        LogicalPlan::Ddl(ddl) => define(execution, &state, &catalog, ddl).await,
        LogicalPlan::DescribeTable(mut described) => {
            described.schema = plain_schema(&described.schema);
            execution.run(&state, &LogicalPlan::DescribeTable(described)).await
        }
        LogicalPlan::Statement(_) | LogicalPlan::Copy(_) => Err(unsupported()),
        plan => execution.run(&state, &plan).await,
    }
}

/// `INSERT` and `DELETE`.
async fn change(
    execution: &Execution,
    state: &SessionState,
    catalog: &Catalog,
    dml: DmlStatement,
) -> Result<QueryResult> {
    let writer = execution.writer()?;
    let table = catalog.require(dml.table_name.table())?;
    let rows = match dml.op {
        WriteOp::Insert(InsertOp::Append) => {
            insert(execution, state, writer, table.name, &dml.input).await?
        }
        WriteOp::Delete => {
            let predicate = predicate(state, &table, &dml.input, execution.query.as_ref())?;
            blocking(move || writer.delete_where(&table.name, &predicate)).await?
        }
        _ => return Err(unsupported()),
    };
    counted(rows)
}

/// The rows that a `DELETE` statement means.
pub(crate) fn predicate_of(execution: &Execution, sql: &str, params: Params) -> Result<Predicate> {
    let (Planning { state, catalog }, plan) = execution.plan(sql, params)?;
    match &plan {
        LogicalPlan::Dml(dml) if matches!(dml.op, WriteOp::Delete) => {
            let table = catalog.require(dml.table_name.table())?;
            predicate(&state, &table, &dml.input, execution.query.as_ref())
        }
        _ => Err(unsupported()),
    }
}

/// `CREATE TABLE` and `DROP TABLE`.
async fn define(
    execution: &Execution,
    state: &SessionState,
    catalog: &Catalog,
    ddl: DdlStatement,
) -> Result<QueryResult> {
    match ddl {
        DdlStatement::CreateMemoryTable(create) => {
            create_table(execution, state, catalog, create).await
        }
        DdlStatement::DropTable(drop) => {
            let writer = execution.writer()?;
            match catalog.find(drop.name.table()) {
                Some(view) if is_view(&view.stream) => {
                    let name = view.name;
                    return Err(invalid(format!("'{name}' is a view: DROP VIEW removes it")));
                }
                Some(table) => blocking(move || writer.drop_table(&table.name)).await?,
                None if drop.if_exists => {}
                None => return Err(catalog.no_table(drop.name.table())),
            }
            counted(0)
        }
        _ => Err(unsupported()),
    }
}

async fn create_table(
    execution: &Execution,
    state: &SessionState,
    catalog: &Catalog,
    create: CreateMemoryTable,
) -> Result<QueryResult> {
    let writer = execution.writer()?;
    if create.or_replace || create.temporary || !create.column_defaults.is_empty() {
        return Err(invalid(
            "CREATE TABLE takes columns, NOT NULL, PRIMARY KEY, IF NOT EXISTS and AS SELECT; no \
             OR REPLACE, TEMPORARY or DEFAULT",
        ));
    }
    let name = create.name.table().to_owned();
    if let Some(table) = catalog.find(&name) {
        return match create.if_not_exists && !is_view(&table.stream) {
            true => counted(0),
            false => Err(name_taken(&table)),
        };
    }
    let schema = plain_schema(&unique_schema(create.input.schema().as_arrow()));
    let mut key = Vec::new();
    for constraint in create.constraints.iter() {
        match constraint {
            Constraint::PrimaryKey(columns) => {
                key = columns.iter().map(|column| schema.field(*column).name().clone()).collect();
            }
            Constraint::Unique(_) => {
                return Err(invalid("UNIQUE is not supported: PRIMARY KEY is"));
            }
        }
    }
    let if_not_exists = create.if_not_exists;
    let definition = TableDefinition { name: name.clone(), schema, key, if_not_exists };
    let maker = Arc::clone(&writer);
    blocking(move || maker.create(&definition)).await?;
    match create.input.as_ref() {
        LogicalPlan::EmptyRelation(_) => counted(0),
        input => counted(insert(execution, state, writer, name, input).await?),
    }
}

async fn insert(
    execution: &Execution,
    state: &SessionState,
    writer: Arc<dyn SqlWriter>,
    table: String,
    input: &LogicalPlan,
) -> Result<u64> {
    let mut rows = execution.run_in_order(state, input).await?;
    let (sender, mut receiver) = tokio::sync::mpsc::channel(BATCHES_AHEAD);
    let written = tokio::task::spawn_blocking(move || {
        // Behind the last batch comes `None`. Without it whoever asked has gone, and nobody reads on: what
        // has come is not all, and must not count as such.
        let given_up = || {
            let message = "the statement was given up before all of its rows were there";
            Some(Err(Error::new(ErrorKind::Cancelled, message)))
        };
        let batches = std::iter::from_fn(|| receiver.blocking_recv().unwrap_or_else(given_up));
        writer.insert(&table, &mut batches.fuse())
    });
    loop {
        let batch = rows.next().await;
        let is_last = batch.is_none();
        // A writer that has stopped says why.
        if sender.send(batch).await.is_err() || is_last {
            break;
        }
    }
    written.await.map_err(|cause| Error::new(ErrorKind::Io, cause.to_string()))?
}

/// The rows that a `DELETE` means. Nothing but one condition on the table itself is taken: what
/// is not understood must not be left out.
fn predicate(
    state: &SessionState,
    table: &SqlTable,
    input: &LogicalPlan,
    query: Option<&RunningQuery>,
) -> Result<Predicate> {
    let condition = match input {
        LogicalPlan::TableScan(_) => lit(true),
        LogicalPlan::Filter(filter) if matches!(*filter.input, LogicalPlan::TableScan(_)) => {
            filter.predicate.clone()
        }
        _ => return Err(invalid("DELETE takes a table and WHERE, and nothing else")),
    };
    if rules::has_subquery(&condition).map_err(from_datafusion)? {
        return Err(invalid("DELETE takes no subqueries in its WHERE"));
    }
    prepare(state, table, condition, input.schema().as_ref(), query.cloned())
        .map_err(from_datafusion)
}

fn prepare(
    state: &SessionState,
    table: &SqlTable,
    condition: Expr,
    schema: &DFSchema,
    query: Option<RunningQuery>,
) -> datafusion::common::Result<Predicate> {
    let context = SimplifyContext::builder()
        .with_schema(Arc::new(schema.clone()))
        .with_config_options(Arc::clone(state.config_options()))
        .with_query_execution_start_time(state.execution_props().query_execution_start_time)
        .build();
    let simplifier = ExprSimplifier::new(context);
    let condition = rules::exact(simplifier.coerce(condition, schema)?, schema)?.data;
    let condition = simplifier.simplify(rules::guarded(condition)?.data)?;
    let FilterRanges { ranges, is_exact } = narrow_table(table, std::slice::from_ref(&condition));
    let unqualified = Arc::clone(&table.schema).to_dfschema()?;
    let condition = create_physical_expr(
        &unnormalize_col(condition),
        &unqualified,
        state.execution_props(),
        &PhysicalPlanningContext::default(),
    )?;
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
    Ok(Predicate { ranges, is_exact, matches: Arc::new(matches) })
}

/// A batch of stored columns, with text as conditions work with it.
fn as_shown(
    batch: &RecordBatch,
    shown: &SchemaRef,
) -> std::result::Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(shown.fields());
    let columns = columns.map(|(column, field)| cast(column, field.data_type()));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
    RecordBatch::try_new_with_options(Arc::clone(shown), columns, &options)
}

/// The answer of a statement that changes something: how many rows.
fn counted(rows: u64) -> Result<QueryResult> {
    let schema = Arc::new(Schema::new(vec![Field::new("count", DataType::UInt64, false)]));
    let column = Arc::new(UInt64Array::from(vec![rows]));
    let stream = RecordBatch::try_new(Arc::clone(&schema), vec![column])
        .map_err(Into::into)
        .and_then(|batch| MemoryStream::try_new(vec![batch], schema, None))
        .map_err(from_datafusion)?;
    Ok(QueryResult::new(Box::pin(stream)))
}
