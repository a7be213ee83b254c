//! The way in: statements in, record batches out.

use std::fmt;
use std::sync::Arc;

use datafusion::physical_plan::displayable;
use timestrata_engine::{Result, RunningQuery, Snapshot, Store};
use tokio::runtime::Handle;

use crate::change::{answer, predicate_of};
use crate::error::from_datafusion;
use crate::execution::{Execution, Input};
use crate::folding::{begin, fold_all};
use crate::functions::{AsofOptions, GapFillOptions};
use crate::local::LocalTable;
use crate::options::SqlOptions;
use crate::params::Params;
use crate::planning::check_query;
use crate::result::{BlockingResult, QueryResult};
use crate::schema::SqlModel;
use crate::selection::{Selection, deletion};
use crate::shared::SharedSession;
use crate::tables::TableWriter;
use crate::writer::{Predicate, SqlWriter};

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
    execution: Execution,
}

impl fmt::Debug for Sql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sql").field("snapshot", &self.execution.snapshot).finish_non_exhaustive()
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
        let shared = Arc::new(SharedSession::new(store, options, models, writer)?);
        Ok(Self {
            execution: Execution { shared, snapshot: None, query: None, local: Arc::new([]) },
        })
    }

    /// For reading and writing: statements write to the tables of the store, and its materialised views are kept up to date.
    ///
    /// # Errors
    /// As [`Sql::new`].
    pub fn open(store: &Store, options: SqlOptions) -> Result<Self> {
        let writer = TableWriter { store: store.clone() };
        let sql = Self::with(store, options, Vec::new(), Some(Arc::new(writer)))?;
        begin(&sql.execution.shared)?;
        Ok(sql)
    }

    /// Brings the materialised views up to date, as far as the store has come. Where it has threads of its own, one of them does so ten times a second;
    /// answers are as of their snapshot in any case. Not to be called from within a runtime.
    ///
    /// ```
    /// use timestrata_engine::{Settings, Store};
    /// use timestrata_sql::{Sql, SqlOptions};
    ///
    /// # fn main() -> timestrata_engine::Result<()> {
    /// let store = Store::memory(Settings::default())?;
    /// Sql::open(&store, SqlOptions::default())?.fold_views()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `ReadOnly` where nothing may be written, and what reading and writing may fail with.
    pub fn fold_views(&self) -> Result<()> {
        self.execution.writer()?;
        fold_all(&self.execution.shared)
    }

    /// The same, with every query at one snapshot. Without it each query takes its own, of now.
    #[must_use]
    pub fn at_snapshot(&self, snapshot: Snapshot) -> Self {
        Self { execution: Execution { snapshot: Some(snapshot), ..self.execution.clone() } }
    }

    /// The same, with tables that queries read beside those of the store: rows in memory, which statements don't write to. A
    /// query is refused where the store has a table or a view of such a name, in any case. Views don't see them.
    #[must_use]
    pub fn with_tables(&self, tables: impl IntoIterator<Item = LocalTable>) -> Self {
        Self {
            execution: Execution { local: tables.into_iter().collect(), ..self.execution.clone() },
        }
    }

    /// The same for a query that was begun ([`Store::begin_query`]): it ends as that says, on all threads
    /// that work for it. Without it each call begins one without a limit of time, which is on the store's
    /// list as well.
    #[must_use]
    pub fn for_query(&self, query: &RunningQuery) -> Self {
        Self { execution: Execution { query: Some(query.clone()), ..self.execution.clone() } }
    }

    /// Memory that all queries together have set aside, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.execution.shared.task.memory_pool().reserved()
    }

    /// The threads that queries of callers without a runtime work on, apart from the caller's own.
    ///
    /// # Errors
    /// `Io` where they can't be started.
    pub fn threads(&self) -> Result<Handle> {
        Ok(self.execution.shared.runtime()?.handle().clone())
    }

    /// Runs one statement. Statements that write have been carried out when this returns; of the
    /// others the rows come as they are asked for. To be called in a Tokio runtime; dropping the
    /// result cancels what is under way.
    ///
    /// # Errors
    /// `InvalidArgument` for SQL with a mistake, `NotFound` for a table that isn't there,
    /// `ReadOnly` for a statement that writes where nothing may; and those of [`QueryResult`].
    pub async fn query(&self, sql: &str, params: Params) -> Result<QueryResult> {
        answer(&self.execution.begun(sql), sql, params).await
    }

    /// As [`Sql::query`], with threads of its own: for callers without a runtime. Not to be
    /// called from within one.
    ///
    /// # Errors
    /// As [`Sql::query`].
    pub fn query_blocking(&self, sql: &str, params: Params) -> Result<BlockingResult> {
        let execution = self.execution.begun(sql);
        execution.block(answer(&execution, sql, params))
    }

    /// How a query would be answered: the operators, the innermost last. Runs nothing.
    ///
    /// # Errors
    /// As [`Sql::query`].
    pub async fn explain(&self, sql: &str, params: Params) -> Result<String> {
        let (planning, plan) = self.execution.plan(sql, params)?;
        check_query(&plan)?;
        let plan = planning.state.create_physical_plan(&plan).await.map_err(from_datafusion)?;
        Ok(displayable(plan.as_ref()).indent(false).to_string())
    }

    /// For each row of `left` the last row of `right` that is not later (or the next one: see
    /// [`AsofOptions`]). As `asof_join` in SQL does; for callers without a runtime.
    ///
    /// # Errors
    /// As [`Sql::query`].
    pub fn asof_join_blocking(
        &self,
        left: Input,
        right: Input,
        options: &AsofOptions,
    ) -> Result<BlockingResult> {
        let execution = self.execution.begun(&format!("asof_join({left}, {right})"));
        execution.block(execution.asof_join(left, right, options))
    }

    /// The rows of `input`, with those that are missing in between. As `gap_fill` in SQL does; for
    /// callers without a runtime.
    ///
    /// # Errors
    /// As [`Sql::query`].
    pub fn gap_fill_blocking(
        &self,
        input: Input,
        options: &GapFillOptions,
    ) -> Result<BlockingResult> {
        let execution = self.execution.begun(&format!("gap_fill({input})"));
        execution.block(execution.gap_fill(input, options))
    }

    /// The names of the tables.
    ///
    /// # Errors
    /// `Closed`.
    pub fn tables(&self) -> Result<Vec<String>> {
        Ok(self.execution.catalog()?.table_names())
    }

    /// The rows of a table that a selection names, for callers without a runtime.
    ///
    /// # Errors
    /// As [`Sql::query`]; a condition or an order that is more than that is `InvalidArgument`.
    pub fn select_blocking(&self, table: &str, selection: &Selection) -> Result<BlockingResult> {
        let execution = self.execution.begun(table);
        let statement = selection.statement(&execution.table(table)?)?;
        execution.block(answer(&execution, &statement, selection.params.clone()))
    }

    /// What a condition on a table means, for those who delete rows.
    ///
    /// # Errors
    /// `InvalidArgument` for what is no condition, `NotFound` for a table that isn't there.
    pub fn predicate(&self, table: &str, condition: &str, params: Params) -> Result<Predicate> {
        let statement = deletion(&self.execution.table(table)?, condition)?;
        predicate_of(&self.execution, &statement, params)
    }
}
