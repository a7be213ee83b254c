//! One call of SQL: from a statement to a plan, and from a plan to rows.

use std::fmt;
use std::sync::Arc;

use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, execute_stream};
use datafusion_sql::parser::Statement;
use timestrata_engine::{Error, ErrorKind, Result, RunningQuery, Snapshot};

use crate::catalog::Catalog;
use crate::error::from_datafusion;
use crate::functions::{AsofOptions, GapFillOptions, asof_join, gap_fill};
use crate::governed::{governed, task_of};
use crate::local::LocalTable;
use crate::materialized::ViewPlans;
use crate::names::{quoted, unique_names, unique_schema};
use crate::optimizer::optimize;
use crate::params::Params;
use crate::physical_plan::{answer_in_any_order, plain_text};
use crate::planning::{Planning, check_query, plan};
use crate::result::{BlockingResult, QueryResult, wait_for};
use crate::schema::{SqlTable, plain_field, plain_schema};
use crate::shared::SharedSession;
use crate::statement;
use crate::table::{ReadFrom, reads_few_rows};
use crate::writer::SqlWriter;

type Plan = Arc<dyn ExecutionPlan>;

/// What statements are planned and run with.
#[derive(Clone)]
pub(crate) struct Execution {
    pub(crate) shared: Arc<SharedSession>,
    pub(crate) snapshot: Option<Snapshot>,
    /// What it is for.
    pub(crate) query: Option<RunningQuery>,
    /// Tables beside those of the store.
    pub(crate) local: Arc<[LocalTable]>,
}

/// What a table function reads.
///
/// ```
/// use timestrata_sql::{Input, Params};
///
/// let table = Input::from("trades");
/// let query = Input::Query("SELECT * FROM quotes WHERE bid > $1".to_owned(), Params::none());
/// assert_eq!(table.to_string(), "trades");
/// assert_eq!(query.to_string(), "(SELECT * FROM quotes WHERE bid > $1)");
/// ```
#[derive(Debug, Clone)]
pub enum Input {
    /// A table, by its name.
    Table(String),
    /// The rows of a query.
    Query(String, Params),
}

impl From<&str> for Input {
    fn from(table: &str) -> Self {
        Self::Table(table.to_owned())
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table(name) => f.write_str(name),
            Self::Query(sql, _) => write!(f, "({sql})"),
        }
    }
}

impl Execution {
    /// The same, for a query in any case.
    pub(crate) fn begun(&self, text: &str) -> Self {
        let begin = || self.shared.store.begin_query(text, None);
        Self { query: Some(self.query.clone().unwrap_or_else(begin)), ..self.clone() }
    }

    pub(crate) fn catalog(&self) -> Result<Catalog> {
        let snapshot = match &self.snapshot {
            Some(snapshot) => snapshot.clone(),
            None => self.shared.store.snapshot()?,
        };
        let snapshot = match &self.query {
            Some(query) => snapshot.for_query(query),
            None => snapshot,
        };
        let read =
            ReadFrom { snapshot, store: self.shared.store.clone(), query: self.query.clone() };
        let (models, states) = (Arc::clone(&self.shared.models), Arc::clone(&self.shared.states));
        Ok(Catalog::new(read, models, states, &ViewPlans))
    }

    /// The same, with all that is asked at the snapshot of now, if it has no other.
    pub(crate) fn at_one_snapshot(&self) -> Result<Self> {
        let snapshot = match &self.snapshot {
            Some(snapshot) => snapshot.clone(),
            None => self.shared.store.snapshot()?,
        };
        Ok(Self { snapshot: Some(snapshot), ..self.clone() })
    }

    /// The tables of the store alone, and the session with the time of this query.
    pub(crate) fn planning_of_store(&self) -> Result<Planning> {
        Ok(Planning { catalog: self.catalog()?, state: self.shared.states.begin() })
    }

    /// All tables, and the session with the time of this query.
    pub(crate) fn planning(&self) -> Result<Planning> {
        let Planning { catalog, state } = self.planning_of_store()?;
        Ok(Planning { catalog: catalog.with_local(&self.local)?, state })
    }

    /// A table by its name.
    pub(crate) fn table(&self, name: &str) -> Result<SqlTable> {
        self.catalog()?.require(name)
    }

    pub(crate) fn parse(&self, sql: &str) -> Result<Statement> {
        let statement = statement::parse(sql, self.shared.options.statement_bytes_max)?;
        statement::check_allowed(&statement)?;
        Ok(statement)
    }

    /// Plans a statement.
    pub(crate) fn plan(&self, sql: &str, params: Params) -> Result<(Planning, LogicalPlan)> {
        self.plan_parsed(self.parse(sql)?, sql, params)
    }

    /// Plans a statement, the parsed `sql`.
    pub(crate) fn plan_parsed(
        &self,
        statement: Statement,
        sql: &str,
        params: Params,
    ) -> Result<(Planning, LogicalPlan)> {
        let planning = self.planning()?;
        let plan = plan(&planning, statement, params, sql).map_err(from_datafusion)?;
        Ok((planning, plan))
    }

    fn plan_input(&self, planning: &Planning, input: Input) -> Result<LogicalPlan> {
        let (text, params) = match input {
            Input::Table(name) => (format!("SELECT * FROM {}", quoted(&name)), Params::none()),
            Input::Query(sql, params) => (sql, params),
        };
        let plan = plan(planning, self.parse(&text)?, params, &text).map_err(from_datafusion)?;
        check_query(&plan)?;
        Ok(plan)
    }

    /// Starts a query whose rows are answered as they come.
    pub(crate) async fn run(
        &self,
        state: &SessionState,
        plan: &LogicalPlan,
    ) -> Result<QueryResult> {
        self.start(state, plan, answer_in_any_order).await
    }

    /// Starts a query whose rows are written: those of one key come as they were written before.
    pub(crate) async fn run_in_order(
        &self,
        state: &SessionState,
        plan: &LogicalPlan,
    ) -> Result<QueryResult> {
        self.start(state, plan, Ok).await
    }

    async fn start(
        &self,
        state: &SessionState,
        plan: &LogicalPlan,
        arranged: fn(Plan) -> DataFusionResult<Plan>,
    ) -> Result<QueryResult> {
        let query = match &self.query {
            Some(query) => query,
            None => &self.shared.store.begin_query("", None),
        };
        let stream = self.stream(state, plan, arranged, query).await?;
        Ok(QueryResult::of(stream, query))
    }

    /// Starts a part of a query, whose end is not that of the query.
    pub(crate) async fn run_part(
        &self,
        state: &SessionState,
        plan: &LogicalPlan,
        query: &RunningQuery,
    ) -> Result<SendableRecordBatchStream> {
        self.stream(state, plan, Ok, query).await
    }

    async fn stream(
        &self,
        state: &SessionState,
        plan: &LogicalPlan,
        arranged: fn(Plan) -> DataFusionResult<Plan>,
        query: &RunningQuery,
    ) -> Result<SendableRecordBatchStream> {
        let started = async {
            let plan = optimize(plan, state, self.shared.states.once())?;
            let state = match reads_few_rows(&plan)? {
                true => self.shared.states.of_few_rows(),
                false => state,
            };
            let plan = state.query_planner().create_physical_plan(&plan, state).await?;
            let plan = governed(as_answered(arranged(plan)?)?, query)?;
            set_going(plan, task_of(&self.shared.task, query)).await
        };
        started.await.map_err(from_datafusion)
    }

    pub(crate) async fn asof_join(
        &self,
        left: Input,
        right: Input,
        options: &AsofOptions,
    ) -> Result<QueryResult> {
        let planning = self.planning()?;
        let (left, right) = (self.plan_input(&planning, left)?, self.plan_input(&planning, right)?);
        let plan = asof_join(left, right, options).map_err(from_datafusion)?;
        self.run(&planning.state, &plan).await
    }

    pub(crate) async fn gap_fill(
        &self,
        input: Input,
        options: &GapFillOptions,
    ) -> Result<QueryResult> {
        let planning = self.planning()?;
        let input = self.plan_input(&planning, input)?;
        let plan = gap_fill(input, options).map_err(from_datafusion)?;
        self.run(&planning.state, &plan).await
    }

    /// Who writes.
    pub(crate) fn writer(&self) -> Result<Arc<dyn SqlWriter>> {
        if self.snapshot.is_some() {
            let message = "a snapshot never changes: statements that write need the store";
            return Err(Error::new(ErrorKind::ReadOnly, message));
        }
        self.shared.writer.clone().ok_or_else(|| {
            Error::new(ErrorKind::ReadOnly, "SQL is for reading here: no statement may write")
        })
    }

    /// Waits for rows on this thread.
    pub(crate) fn block(
        &self,
        rows: impl Future<Output = Result<QueryResult>>,
    ) -> Result<BlockingResult> {
        let result = wait_for(self.shared.runtime()?, rows, self.query.as_ref())?;
        Ok(BlockingResult::new(Arc::clone(&self.shared), result))
    }
}

/// Does on a thread that may block what has to.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|cause| Error::new(ErrorKind::Io, cause.to_string()))?
}

/// Starts the operators of a plan. Where several threads are to work on it, one of them starts it and wakes the others,
/// so that this thread is asleep by then: a thread that wakes while this one still runs may be put behind its waker on
/// the other processor of two, and stay there for longer than a short query takes.
async fn set_going(
    plan: Plan,
    task: Arc<TaskContext>,
) -> DataFusionResult<SendableRecordBatchStream> {
    let is_shared = |plan: &Plan| Ok(plan.output_partitioning().partition_count() > 1);
    if !plan.exists(is_shared)? {
        return execute_stream(plan, task);
    }
    let started = SpawnedTask::spawn(async move { execute_stream(plan, task) });
    started.join_unwind().await.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?
}

/// The same rows, with text as it is stored, for views are for what happens in between; and with each name once.
fn as_answered(plan: Plan) -> DataFusionResult<Plan> {
    let schema = plan.schema();
    if plain_schema(&unique_schema(&schema)).fields() == schema.fields() {
        return Ok(plan);
    }
    let fields = schema.fields().iter().zip(unique_names(&schema)).enumerate();
    let columns = fields.map(|(index, (field, name))| {
        let column = Arc::new(Column::new(field.name(), index));
        let data_type = plain_field(field).data_type().clone();
        (plain_text(column, &schema, data_type), name)
    });
    let columns = columns.map(|(column, name)| Ok((column?, name)));
    let columns: Vec<(Arc<dyn PhysicalExpr>, String)> = columns.collect::<DataFusionResult<_>>()?;
    Ok(Arc::new(ProjectionExec::try_new(columns, plan)?))
}
