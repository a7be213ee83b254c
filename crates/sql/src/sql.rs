//! The way in: statements in, record batches out.

use std::fmt;
use std::sync::{Arc, OnceLock};

use datafusion::common::DataFusionError;
use datafusion::execution::{SessionState, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, cast};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, displayable, execute_stream};
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::{ParserOptions, SqlToRel};
use parking_lot::Mutex;
use timestrata_engine::{Error, ErrorKind, Result, RunningQuery, Snapshot, Store};
use tokio::runtime::{Handle, Runtime};

use crate::catalog::{Catalog, Planning};
use crate::error::from_datafusion;
use crate::functions::{AsofOptions, GapFillOptions, asof_join, gap_fill, plainly_written};
use crate::governed::{governed, task_of};
use crate::names::{unique_names, unique_schema, with_unique};
use crate::options::SqlOptions;
use crate::params::Params;
use crate::result::{BlockingResult, QueryResult, wait_for};
use crate::rules::{LongNumbers, keep_nulls, type_constants};
use crate::schema::{SqlModel, SqlTable, plain_field, plain_schema};
use crate::selection::Selection;
use crate::tables::TableWriter;
use crate::writer::{Predicate, SqlWriter};
use crate::{change, session, statement};

type DfResult<T> = std::result::Result<T, DataFusionError>;

/// SQL over all streams of an open store. Cheap to clone; all clones share memory and threads.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_timelog::{Timelog, TimelogOptions};
/// use timestrata_sql::{Params, Sql, SqlOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let log = Timelog::create(&store, "door", TimelogOptions::default())?;
/// log.append(1_700_000_000_000, b"opened")?;
///
/// let sql = Sql::new(&store, SqlOptions::default())?;
/// let question = "SELECT count(*) FROM door WHERE time >= $1";
/// let mut answer = sql.query_blocking(question, Params::from(vec!["2023-01-01".into()]))?;
/// let batch = answer.next().transpose()?;
/// assert_eq!(batch.map(|batch| batch.num_rows()), Some(1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Sql {
    shared: Arc<Shared>,
    snapshot: Option<Snapshot>,
    /// What it is asked for.
    query: Option<RunningQuery>,
}

struct Shared {
    store: Store,
    options: SqlOptions,
    state: SessionState,
    task: Arc<TaskContext>,
    models: Arc<[Arc<dyn SqlModel>]>,
    writer: Option<Arc<dyn SqlWriter>>,
    /// For those who call from no runtime of their own.
    runtime: OnceLock<Runtime>,
    starting: Mutex<()>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // It may be dropped on a thread that must not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Sql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sql").field("snapshot", &self.snapshot).finish_non_exhaustive()
    }
}

/// What a table function reads.
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

impl Sql {
    /// For reading: every statement that writes is refused.
    ///
    /// # Errors
    /// `InvalidArgument` for options that make no sense.
    pub fn new(store: &Store, options: SqlOptions) -> Result<Self> {
        Self::with(store, options, Vec::new(), None)
    }

    /// With models that show their streams as they want, and somebody who writes.
    ///
    /// # Errors
    /// As [`Sql::new`].
    pub fn with(
        store: &Store,
        options: SqlOptions,
        models: Vec<Arc<dyn SqlModel>>,
        writer: Option<Arc<dyn SqlWriter>>,
    ) -> Result<Self> {
        let state = session::build(&options).map_err(from_datafusion)?;
        let shared = Shared {
            store: store.clone(),
            task: state.task_ctx(),
            state,
            models: models.into(),
            writer: writer.filter(|_| !options.read_only),
            options,
            runtime: OnceLock::new(),
            starting: Mutex::new(()),
        };
        Ok(Self { shared: Arc::new(shared), snapshot: None, query: None })
    }

    /// For reading and writing: statements write to the tables of the store.
    ///
    /// # Errors
    /// As [`Sql::new`].
    pub fn open(store: &Store, options: SqlOptions) -> Result<Self> {
        let writer = TableWriter { store: store.clone() };
        Self::with(store, options, Vec::new(), Some(Arc::new(writer)))
    }

    /// The same, with every query at one snapshot. Without it each query takes its own, of now.
    #[must_use]
    pub fn at_snapshot(&self, snapshot: Snapshot) -> Self {
        Self { snapshot: Some(snapshot), ..self.clone() }
    }

    /// The same for a query that was begun ([`Store::begin_query`]): it ends as that says, on all threads
    /// that work for it. Without it each call begins one without a limit of time, which is on the store's
    /// list as well.
    #[must_use]
    pub fn for_query(&self, query: &RunningQuery) -> Self {
        Self { query: Some(query.clone()), ..self.clone() }
    }

    /// The same, for a query in any case.
    fn begun(&self, text: &str) -> Self {
        match &self.query {
            Some(_) => self.clone(),
            None => self.for_query(&self.shared.store.begin_query(text, None)),
        }
    }

    /// The query that it is for.
    pub(crate) fn asked(&self) -> Option<&RunningQuery> {
        self.query.as_ref()
    }

    /// Memory that all queries together have set aside, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.shared.task.memory_pool().reserved()
    }

    /// The threads that queries of callers without a runtime work on, apart from the caller's own.
    ///
    /// # Errors
    /// `Io` where they can't be started.
    pub fn threads(&self) -> Result<Handle> {
        Ok(self.runtime()?.handle().clone())
    }

    /// Runs one statement. Statements that write have been carried out when this returns; of the
    /// others the rows come as they are asked for. To be called in a Tokio runtime; dropping the
    /// result cancels what is under way.
    ///
    /// # Errors
    /// `InvalidArgument` for SQL with a mistake, `NotFound` for a table that isn't there,
    /// `ReadOnly` for a statement that writes where nothing may; and those of [`QueryResult`].
    pub async fn query(&self, sql: &str, params: Params) -> Result<QueryResult> {
        self.begun(sql).answer(sql, params).await
    }

    async fn answer(&self, sql: &str, params: Params) -> Result<QueryResult> {
        let statement = statement::parse(sql, self.shared.options.statement_bytes_max)?;
        change::check_allowed(&statement)?;
        let catalog = self.catalog()?;
        let state = self.state();
        let plan = plan(&state, &catalog, statement, params, sql).map_err(from_datafusion)?;
        match plan {
            LogicalPlan::Dml(dml) => change::change(self, &state, &catalog, dml).await,
            LogicalPlan::Ddl(ddl) => change::define(self, &state, &catalog, ddl).await,
            LogicalPlan::DescribeTable(mut described) => {
                described.schema = plain_schema(&described.schema);
                let plan = LogicalPlan::DescribeTable(described);
                self.run(&state, &plan).await.map_err(from_datafusion)
            }
            LogicalPlan::Statement(_) | LogicalPlan::Copy(_) => Err(change::unsupported()),
            plan => self.run(&state, &plan).await.map_err(from_datafusion),
        }
    }

    /// As [`Sql::query`], with threads of its own: for callers without a runtime. Not to be
    /// called from within one.
    ///
    /// # Errors
    /// As [`Sql::query`].
    pub fn query_blocking(&self, sql: &str, params: Params) -> Result<BlockingResult> {
        let asked = self.begun(sql);
        asked.block(asked.answer(sql, params))
    }

    /// How a query would be answered: the operators, the innermost last. Runs nothing.
    ///
    /// # Errors
    /// As [`Sql::query`].
    pub async fn explain(&self, sql: &str, params: Params) -> Result<String> {
        let statement = statement::parse(sql, self.shared.options.statement_bytes_max)?;
        change::check_allowed(&statement)?;
        let (catalog, state) = (self.catalog()?, self.state());
        let plan = plan(&state, &catalog, statement, params, sql).map_err(from_datafusion)?;
        change::check_query(&plan)?;
        let plan = state.create_physical_plan(&plan).await.map_err(from_datafusion)?;
        Ok(displayable(plan.as_ref()).indent(false).to_string())
    }

    /// For each row of `left` the last row of `right` that is not later (or the next one: see
    /// [`AsofOptions`]). As `asof_join` in SQL does.
    ///
    /// # Errors
    /// As [`Sql::query`].
    pub async fn asof_join(
        &self,
        left: Input,
        right: Input,
        options: &AsofOptions,
    ) -> Result<QueryResult> {
        let asked = self.begun(&format!("asof_join({left}, {right})"));
        let (catalog, state) = (asked.catalog()?, asked.state());
        let (left, right) =
            (asked.input(&state, &catalog, left)?, asked.input(&state, &catalog, right)?);
        let plan = asof_join(left, right, options).map_err(from_datafusion)?;
        asked.run(&state, &plan).await.map_err(from_datafusion)
    }

    /// As [`Sql::asof_join`], for callers without a runtime.
    ///
    /// # Errors
    /// As [`Sql::query`].
    pub fn asof_join_blocking(
        &self,
        left: Input,
        right: Input,
        options: &AsofOptions,
    ) -> Result<BlockingResult> {
        let asked = self.begun(&format!("asof_join({left}, {right})"));
        asked.block(asked.asof_join(left, right, options))
    }

    /// The rows of `input`, with those that are missing in between. As `gap_fill` in SQL does.
    ///
    /// # Errors
    /// As [`Sql::query`].
    pub async fn gap_fill(&self, input: Input, options: &GapFillOptions) -> Result<QueryResult> {
        let asked = self.begun(&format!("gap_fill({input})"));
        let (catalog, state) = (asked.catalog()?, asked.state());
        let input = asked.input(&state, &catalog, input)?;
        let plan = gap_fill(input, options).map_err(from_datafusion)?;
        asked.run(&state, &plan).await.map_err(from_datafusion)
    }

    /// As [`Sql::gap_fill`], for callers without a runtime.
    ///
    /// # Errors
    /// As [`Sql::query`].
    pub fn gap_fill_blocking(
        &self,
        input: Input,
        options: &GapFillOptions,
    ) -> Result<BlockingResult> {
        let asked = self.begun(&format!("gap_fill({input})"));
        asked.block(asked.gap_fill(input, options))
    }

    /// The names of the tables.
    ///
    /// # Errors
    /// `Closed`.
    pub fn tables(&self) -> Result<Vec<String>> {
        Ok(self.catalog()?.tables().into_iter().map(|table| table.name).collect())
    }

    /// A table by its name.
    pub(crate) fn table(&self, name: &str) -> Result<SqlTable> {
        let catalog = self.catalog()?;
        catalog.table(name).ok_or_else(|| catalog.no_table(name))
    }

    /// The rows that a `DELETE` statement means.
    pub(crate) fn predicate_of(&self, sql: &str, params: Params) -> Result<Predicate> {
        let statement = statement::parse(sql, self.shared.options.statement_bytes_max)?;
        let (catalog, state) = (self.catalog()?, self.state());
        let plan = plan(&state, &catalog, statement, params, sql).map_err(from_datafusion)?;
        change::predicate_of(&state, &catalog, &plan, self.asked())
    }

    /// As [`Sql::select`], for callers without a runtime.
    ///
    /// # Errors
    /// As [`Sql::select`].
    pub fn select_blocking(&self, table: &str, selection: &Selection) -> Result<BlockingResult> {
        let asked = self.begun(table);
        asked.block(asked.select(table, selection))
    }

    fn catalog(&self) -> Result<Catalog> {
        let snapshot = match &self.snapshot {
            Some(snapshot) => snapshot.clone(),
            None => self.shared.store.snapshot()?,
        };
        let snapshot = match &self.query {
            Some(query) => snapshot.for_query(query),
            None => snapshot,
        };
        Ok(Catalog::new(snapshot, Arc::clone(&self.shared.models)))
    }

    /// The session, with the time of this query.
    fn state(&self) -> SessionState {
        let mut state = self.shared.state.clone();
        state.mark_start_execution();
        state
    }

    fn input(&self, state: &SessionState, catalog: &Catalog, input: Input) -> Result<LogicalPlan> {
        let (text, params) = match input {
            Input::Table(name) => {
                (format!("SELECT * FROM \"{}\"", name.replace('"', "\"\"")), Params::none())
            }
            Input::Query(sql, params) => (sql, params),
        };
        let statement = statement::parse(&text, self.shared.options.statement_bytes_max)?;
        change::check_allowed(&statement)?;
        let plan = plan(state, catalog, statement, params, &text).map_err(from_datafusion)?;
        change::check_query(&plan)?;
        Ok(plan)
    }

    /// Plans and starts a query.
    pub(crate) async fn run(
        &self,
        state: &SessionState,
        plan: &LogicalPlan,
    ) -> DfResult<QueryResult> {
        let query = match &self.query {
            Some(query) => query,
            None => &self.shared.store.begin_query("", None),
        };
        let plan = as_answered(state.create_physical_plan(plan).await?)?;
        let task = task_of(&self.shared.task, query);
        let stream = execute_stream(governed(plan, query)?, task)?;
        Ok(QueryResult::of(stream, query))
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

    fn block<F: Future<Output = Result<QueryResult>>>(&self, query: F) -> Result<BlockingResult> {
        let result = wait_for(self.runtime()?, query, self.asked())?;
        // Whoever keeps an answer that has been read to its end keeps nothing of the query.
        Ok(BlockingResult::new(Self { query: None, ..self.clone() }, result))
    }

    pub(crate) fn runtime(&self) -> Result<&Runtime> {
        let shared = &self.shared;
        if let Some(runtime) = shared.runtime.get() {
            return Ok(runtime);
        }
        let _starting = shared.starting.lock();
        if let Some(runtime) = shared.runtime.get() {
            return Ok(runtime);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(shared.options.threads.max(1))
            .thread_name("timestrata-sql")
            .enable_time()
            .build()
            .map_err(|cause| {
                let message = format!("could not start threads for queries: {cause}");
                Error::new(ErrorKind::Io, message).caused_by(cause)
            })?;
        Ok(shared.runtime.get_or_init(|| runtime))
    }
}

/// A statement, the parsed `text`, as a plan, with the values of its placeholders.
fn plan(
    state: &SessionState,
    catalog: &Catalog,
    statement: Statement,
    params: Params,
    text: &str,
) -> DfResult<LogicalPlan> {
    let planning = Planning { state, catalog };
    let options = ParserOptions::new().with_map_string_types_to_utf8view(false);
    let plan = with_unique(statement, text, |statement| {
        let planner = SqlToRel::new_with_options(&planning, options);
        plainly_written(planner.statement_to_plan(statement)?)
    })?;
    let plan = match params.is_empty() {
        true => plan,
        false => plan.with_param_values(params.into_values())?,
    };
    type_constants(keep_nulls(plan)?, &LongNumbers::of(text))
}

/// The same rows, with text as it is stored, for views are for what happens in between; and with each name once.
fn as_answered(plan: Arc<dyn ExecutionPlan>) -> DfResult<Arc<dyn ExecutionPlan>> {
    let schema = plan.schema();
    if plain_schema(&unique_schema(&schema)).fields() == schema.fields() {
        return Ok(plan);
    }
    let fields = schema.fields().iter().zip(unique_names(&schema)).enumerate();
    let columns = fields.map(|(index, (field, name))| {
        let column = Arc::new(Column::new(field.name(), index));
        let data_type = plain_field(field).data_type().clone();
        (cast(column, &schema, data_type), name)
    });
    let columns = columns.map(|(column, name)| Ok((column?, name)));
    let columns: Vec<(Arc<dyn PhysicalExpr>, String)> = columns.collect::<DfResult<_>>()?;
    Ok(Arc::new(ProjectionExec::try_new(columns, plan)?))
}
