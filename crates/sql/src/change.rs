//! What statements do: those that ask are run, and those that change something reach the writer.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::Constraint;
use datafusion::execution::SessionState;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{
    CreateMemoryTable, DdlStatement, DmlStatement, LogicalPlan, WriteOp,
};
use datafusion::physical_plan::memory::MemoryStream;
use futures::StreamExt;
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_table::is_view;

use crate::alter::TableStatement;
use crate::catalog::Catalog;
use crate::error::{from_datafusion, invalid};
use crate::execution::{Execution, blocking};
use crate::names::unique_schema;
use crate::params::Params;
use crate::planning::Planning;
use crate::predicate::predicate;
use crate::result::QueryResult;
use crate::schema::plain_schema;
use crate::statement::unsupported;
use crate::statement_forms::AskedForm;
use crate::update::{check_assignments, row_change};
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
    if let Some(form) = AskedForm::of(sql)? {
        let at_once = execution.at_one_snapshot()?;
        let query = form.query(&at_once, &params).await?;
        let (planning, plan) = at_once.plan(&query, params)?;
        return at_once.run_in_order(&planning.state, &plan).await;
    }
    let statement = execution.parse(sql)?;
    if let Some(statement) = ViewStatement::of(&statement, sql)? {
        statement.carry_out(execution).await?;
        return counted(0);
    }
    if let Some(statement) = TableStatement::of(&statement)? {
        return counted(statement.carry_out(execution).await?);
    }
    check_assignments(&statement)?;
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

/// `INSERT`, `UPDATE` and `DELETE`.
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
        WriteOp::Update => {
            let query = execution.query.as_ref();
            let (predicate, change) = row_change(state, &table, &dml.input, query)?;
            blocking(move || writer.update_where(&table.name, &predicate, &change)).await?
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

/// The answer of a statement that changes something: how many rows.
pub(crate) fn counted(rows: u64) -> Result<QueryResult> {
    let schema = Arc::new(Schema::new(vec![Field::new("count", DataType::UInt64, false)]));
    let column = Arc::new(UInt64Array::from(vec![rows]));
    let stream = RecordBatch::try_new(Arc::clone(&schema), vec![column])
        .map_err(Into::into)
        .and_then(|batch| MemoryStream::try_new(vec![batch], schema, None))
        .map_err(from_datafusion)?;
    Ok(QueryResult::new(Box::pin(stream)))
}
