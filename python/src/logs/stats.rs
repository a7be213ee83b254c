//! Figures of the entries of logs: questions such as `error | stats count by host`.

use std::sync::Arc;

use pyo3::prelude::*;
use timestrata_logs::filter::Question;
use timestrata_logs::{AskedLog, Logs as LogsModel, Query};

use super::Logs;
use super::arguments::query_of;
use crate::error::{invalid, to_python};
use crate::handle::Handle;
use crate::interrupt::detached;
use crate::sql::statement_rows;
use crate::store::{Store, names_of};
use crate::table::Rows;

/// The rows that answer a question of some logs, all as of one moment.
fn answered(
    py: Python<'_>,
    handle: &Arc<Handle>,
    names: &[String],
    question: &str,
    range: &Query,
) -> PyResult<Rows> {
    let question: Question = question.parse().map_err(to_python)?;
    let store = handle.store()?.clone();
    let (snapshot, statement) = detached(py, || {
        let snapshot = store.snapshot()?;
        let mut logs = Vec::with_capacity(names.len());
        for name in names {
            let view = LogsModel::open(&store, name)?.view_of(snapshot.clone())?;
            logs.push(AskedLog { name, clock: view.clock() });
        }
        let statement = question.statement(&logs, range);
        Ok((snapshot, statement))
    })?;
    statement_rows(py, handle, snapshot, statement)
}

#[pymethods]
impl Logs {
    /// Count, sum and rank the entries that a filter finds, group by group.
    ///
    /// Parameters
    /// ----------
    /// question : str
    ///     A filter, and behind a bar what is asked of what it finds (docs/reference/filters.md):
    ///     ``stats count, p95(took) by host, time(5m)``, ``top 10 path`` or ``rate 1m by level``, then
    ///     ``| sort -count`` and ``| limit 20``.
    /// start, end, by : optional
    ///     As of `search`.
    ///
    /// Returns
    /// -------
    /// Rows
    ///     A row a group, read when it is used; percentiles are approximate.
    ///
    /// Raises
    /// ------
    /// InvalidArgumentError
    ///     The question is not in the language; it says where.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> logs = timestrata.open().logs("app")
    /// >>> for host, took in [("a", 3), ("b", 5), ("a", 9)]:
    /// ...     timestamp = logs.write("served", host=host, took=took)
    /// >>> logs.stats("served | stats count, max(took) by host").to_pylist()
    /// [{'host': 'a', 'count': 2, 'max(took)': 9.0}, {'host': 'b', 'count': 1, 'max(took)': 5.0}]
    #[pyo3(signature = (question, *, start=None, end=None, by=None))]
    fn stats(
        &self,
        py: Python<'_>,
        question: &str,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
        by: Option<&str>,
    ) -> PyResult<Rows> {
        let range = query_of("", start, end, by)?;
        let name = self.log.even_closed().name().to_owned();
        answered(py, &self.log.handle, &[name], question, &range)
    }
}

#[pymethods]
impl Store {
    /// Ask several logs at once what `Logs.stats` asks of one; ``by log`` tells them apart.
    ///
    /// Parameters
    /// ----------
    /// names : str or list of str
    ///     The logs.
    /// question, start, end, by
    ///     As of `Logs.stats`.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> for name in ["app", "web"]:
    /// ...     timestamp = store.logs(name).write("disk is full", level="error")
    /// >>> store.log_stats(["app", "web"], "level>=error | stats count by log").to_pylist()
    /// [{'log': 'app', 'count': 1}, {'log': 'web', 'count': 1}]
    #[pyo3(signature = (names, question, *, start=None, end=None, by=None))]
    fn log_stats(
        &self,
        py: Python<'_>,
        names: &Bound<'_, PyAny>,
        question: &str,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
        by: Option<&str>,
    ) -> PyResult<Rows> {
        let names = names_of(Some(names))?;
        if names.is_empty() {
            return Err(invalid("names: name one log at least"));
        }
        answered(py, &self.handle, &names, question, &query_of("", start, end, by)?)
    }
}
