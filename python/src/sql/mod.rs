//! SQL, from Python: statements, conditions, joins as of each other's times.

mod local;
mod params;
mod table;

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use timestrata_engine::{Result, Snapshot};
use timestrata_sql::{BlockingResult, Params, Sql, SqlOptions};
use timestrata_table::materialized_from;

use crate::handle::Handle;
use crate::interrupt::{asker_stays, detached};
use crate::settings::duration;
use crate::store::Store;
use crate::table::Rows;
use local::tables_of;
use params::params_of;

impl Handle {
    /// SQL over the store, made at the first use: its threads and functions cost something.
    pub(crate) fn sql(&self) -> PyResult<Sql> {
        let store = self.store()?;
        if let Some(sql) = self.sql.get() {
            return Ok(sql);
        }
        let options = SqlOptions { read_only: self.mode == "r", ..SqlOptions::default() };
        let sql = Python::attach(|py| detached(py, || Sql::open(store, options)))?;
        let sql = self.sql.get_or_keep(sql);
        if self.is_closed() {
            // Closed meanwhile, by somebody who found nothing to let go of.
            drop(self.sql.replace(None));
        }
        Ok(sql)
    }
}

impl Handle {
    /// Has materialised views kept up to date, if the store has some: the first query may come late, or never.
    pub(crate) fn keep_views(&self) -> PyResult<()> {
        let store = self.store()?;
        let has_some = || store.streams().iter().any(|view| materialized_from(view).is_some());
        if store.has_threads() && has_some() {
            self.sql()?;
        }
        Ok(())
    }
}

/// The same for one query of Python's, which ends when the thread that asks hears Ctrl-C.
fn asked(
    sql: &Sql,
    store: &timestrata_engine::Store,
    text: &str,
    time_max: Option<Duration>,
) -> Sql {
    sql.for_query(&store.begin_query_for(text, time_max, asker_stays))
}

/// The rows of a query that is planned once, and can be asked again.
fn rows_of(
    py: Python<'_>,
    ask: impl Fn() -> Result<BlockingResult> + Send + Sync + 'static,
) -> PyResult<Rows> {
    Rows::asked(py, BlockingResult::schema, ask)
}

/// The rows of a statement that reads, made by this crate, as a snapshot has them.
pub(crate) fn statement_rows(
    py: Python<'_>,
    handle: &Handle,
    snapshot: Snapshot,
    statement: String,
) -> PyResult<Rows> {
    let (store, sql) = (handle.store()?.clone(), handle.sql()?.at_snapshot(snapshot));
    rows_of(py, move || {
        asked(&sql, &store, &statement, None).query_blocking(&statement, Params::none())
    })
}

#[pymethods]
impl Store {
    /// Ask in SQL, over all tables and logs, as they are now.
    ///
    /// Statements that change something (INSERT, DELETE, CREATE and DROP of tables and views) are carried
    /// out at once, and survive a power cut; of others the rows are read when they are used.
    ///
    /// Parameters
    /// ----------
    /// query : str
    /// params : list or dict, optional
    ///     Values for ``$1``, ``$2``, ... (or ``?``), or by name for ``$name``. A list is one value: ``x IN ($1)``,
    ///     ``x = ANY($1)``.
    /// tables : dict, optional
    ///     Rows of yours that the query reads beside the store's, by name: anything that `Table.append` takes. They are
    ///     copied, for as long as the answer lives. A name that the store has is an error.
    /// timeout : float, timedelta or str, optional
    ///     How long it may be worked on, each time that its rows are read: seconds, or "30s". The time
    ///     between two rows that you iterate over doesn't count.
    ///
    /// Ctrl-C ends it within a second, whatever it does; so does `Store.cancel_query` in another thread.
    ///
    /// Raises
    /// ------
    /// InvalidArgumentError
    ///     The SQL has a mistake.
    /// NotFoundError
    ///     There is no such table; it names those that there are.
    /// TooLargeError
    ///     The query needs more memory than it may use.
    /// TimedOutError
    ///     It took longer than ``timeout``.
    /// CancelledError
    ///     It was cancelled by its number.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> _ = store.table("t").append({"time": ["2024-05-01", "2024-05-02"], "x": [1, 2]})
    /// >>> store.sql("SELECT sum(x) AS total FROM t WHERE time > $1", ["2024-05-01"]).to_pylist()
    /// [{'total': 2}]
    /// >>> rooms = {"x": [1, 2], "room": ["hall", "attic"]}
    /// >>> store.sql("SELECT room FROM t JOIN rooms USING (x) WHERE t.x IN ($1)", [[2, 3]], tables={"rooms": rooms}).to_pylist()
    /// [{'room': 'attic'}]
    #[pyo3(signature = (query, params=None, *, tables=None, timeout=None))]
    fn sql(
        &self,
        py: Python<'_>,
        query: &str,
        params: Option<&Bound<'_, PyAny>>,
        tables: Option<&Bound<'_, PyDict>>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Rows> {
        let handle = &self.handle;
        let params = params.map_or_else(|| Ok(Params::none()), params_of)?;
        let time_max = timeout.map(|timeout| duration("timeout", timeout)).transpose()?;
        let sql = handle.sql()?;
        let sql = match tables {
            Some(tables) => sql.with_tables(tables_of(tables)?),
            None => sql,
        };
        let query = query.to_owned();
        let is_query = detached(py, || timestrata_sql::is_query(&query))?;
        if !is_query {
            // What it answers is kept: to ask again would be to do it again.
            let store = handle.store()?;
            let (schema, batches) = detached(py, || {
                let sql = asked(&sql, store, &query, time_max);
                let result = sql.query_blocking(&query, params)?;
                let schema = result.schema();
                Ok((schema, result.collect::<Result<Vec<_>>>()?))
            })?;
            return Ok(Rows::of_batches(schema, batches));
        }
        let store = handle.store()?.clone();
        let snapshot = detached(py, || store.snapshot())?;
        let sql = sql.at_snapshot(snapshot);
        rows_of(py, move || {
            asked(&sql, &store, &query, time_max).query_blocking(&query, params.clone())
        })
    }
}
