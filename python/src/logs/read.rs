//! Entries out: searching, counting, following.

use std::sync::Arc;

use pyo3::prelude::*;
use timestrata_engine::Result;
use timestrata_logs::{Clock, FacetsOptions, Logs as LogsModel, LogsView, Query};

use super::arguments::{position_of, query_of};
use super::entries::LogEntries;
use super::{LogBucket, LogEntry, LogFacet, LogTail, Logs};
use crate::error::invalid;
use crate::interrupt::interruptible;
use crate::settings::duration;
use crate::store::names_of;

impl Logs {
    /// Runs `work` on the log as it is now, for a query as [`interruptible`] does; what ends the waiting ends
    /// the query, and so the work.
    fn asked<T: Send + 'static>(
        &self,
        py: Python<'_>,
        text: &str,
        work: impl FnOnce(&LogsView) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let query = self.log.handle.store()?.begin_query(text, None);
        let _asker = query.given_up_on_drop();
        let (log, query) = (self.log.even_closed().clone(), query.clone());
        interruptible(py, move || work(&log.snapshot()?.for_query(&query)))
    }
}

#[pymethods]
impl Logs {
    /// Find entries, oldest first.
    ///
    /// Nothing is read until the answer is used; it shows the log as it is now.
    ///
    /// Parameters
    /// ----------
    /// filter : str, optional
    ///     What entries must have (docs/reference/filters.md): words, "phrases", ``prefix*`` and
    ///     ``/regular expressions/i`` in the message, fields and labels, or in one of them, as in
    ///     ``path:users``; comparisons, as in ``level>=warn status=404 user=null``; ``and``, which need
    ///     not be said, ``or``, ``not``, parentheses. "": everything.
    /// start, end : time, optional
    ///     From ``start`` to before ``end``: an int in nanoseconds since 1970-01-01 UTC, a datetime, an
    ///     ISO string, a numpy or pandas time.
    /// by : {"timestamp", "source_time"}, optional
    ///     Which clock ``start``, ``end`` and the order go by: when entries arrived, or when they
    ///     happened as their senders say (those that don't say when they arrived). None: the log's own,
    ///     which ``store.logs(name, clock=...)`` sets.
    /// newest_first : bool, optional
    /// limit : int, optional
    ///     Entries at most.
    /// after : LogEntry, str, int or datetime, optional
    ///     Go on behind an entry, the position of one or of an earlier answer, or a time of arrival.
    ///
    /// Raises
    /// ------
    /// InvalidArgumentError
    ///     The filter is not in the language; it says where.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> logs = timestrata.open().logs("app")
    /// >>> for status in [200, 404, 503]:
    /// ...     level = "error" if status >= 500 else "info"
    /// ...     timestamp = logs.write("request served", level=level, status=status)
    /// >>> [entry.fields["status"] for entry in logs.search("served status>=400", newest_first=True)]
    /// [503, 404]
    /// >>> logs.count("level>=warn or status:4*")
    /// 2
    #[pyo3(signature = (filter="", *, start=None, end=None, by=None, newest_first=false,
                        limit=None, after=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn search(
        &self,
        py: Python<'_>,
        filter: &str,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
        by: Option<&str>,
        newest_first: bool,
        limit: Option<usize>,
        after: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<LogEntries> {
        let query = query_of(filter, start, end, by)?;
        let view = self.log.detached(py, LogsModel::snapshot)?;
        let by = view.clock_of(&query);
        let after = after.map(|after| position_of(after, Some(by))).transpose()?;
        let query = Query { by: Some(by), newest_first, limit, after, ..query };
        Ok(LogEntries::new(Arc::clone(&self.log.handle), view, query))
    }

    /// Count the entries that a search would find. Parameters as of `search`.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> logs = timestrata.open().logs("app")
    /// >>> timestamp = logs.write("request served", level="info", status=200)
    /// >>> logs.count("status:2*"), logs.count("level>=warn")
    /// (1, 0)
    #[pyo3(signature = (filter="", *, start=None, end=None, by=None))]
    fn count(
        &self,
        py: Python<'_>,
        filter: &str,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
        by: Option<&str>,
    ) -> PyResult<u64> {
        let query = query_of(filter, start, end, by)?;
        self.asked(py, filter, move |view| view.count(&query))
    }

    /// Count the entries that a search would find by stretches of time. Parameters as of `search`, and:
    ///
    /// Parameters
    /// ----------
    /// step : str, timedelta or float, optional
    ///     How long a stretch is: "5m", or seconds; else a length that makes about 60 of them.
    ///
    /// Returns
    /// -------
    /// list of LogBucket
    ///     From that of the first entry to that of the last, those without any too; where there would be
    ///     more than 10,000 (600 without a step), the longest gaps are left out, so that a stray time
    ///     spoils nothing. They begin at multiples of the step since 1970-01-01 UTC.
    ///
    /// Raises
    /// ------
    /// InvalidArgumentError
    ///     More than 10,000 of them have entries.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> logs = timestrata.open().logs("app")
    /// >>> timestamp = logs.write("request served", level="info", status=200)
    /// >>> [bucket.count for bucket in logs.histogram(step="1d")]
    /// [1]
    #[pyo3(signature = (filter="", *, start=None, end=None, by=None, step=None))]
    fn histogram(
        &self,
        py: Python<'_>,
        filter: &str,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
        by: Option<&str>,
        step: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<LogBucket>> {
        let query = query_of(filter, start, end, by)?;
        let step = step.map(step_ns).transpose()?;
        let (step, buckets) = self.asked(py, filter, move |view| view.histogram(&query, step))?;
        Ok(buckets.iter().map(|bucket| LogBucket::new(bucket, step)).collect())
    }

    /// Count which values fields have among the entries that a search would find. Parameters as of
    /// `search`, and:
    ///
    /// Parameters
    /// ----------
    /// fields : str or list of str, optional
    ///     Fields, labels, or "level"; else all that the entries have at their top.
    /// values : int, optional
    ///     How many values of each are told, the most frequent first.
    ///
    /// Returns
    /// -------
    /// list of LogFacet
    ///     The fields that most entries have come first, or in the order in which they are named. One
    ///     that no entry has is left out.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> logs = timestrata.open().logs("app")
    /// >>> for status in [200, 200, 404]:
    /// ...     timestamp = logs.write("served", status=status)
    /// >>> logs.facets(fields="status")
    /// [<LogFacet "status" count=3 {"200": 2, "404": 1}>]
    #[pyo3(signature = (filter="", *, start=None, end=None, by=None, fields=None, values=10))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn facets(
        &self,
        py: Python<'_>,
        filter: &str,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
        by: Option<&str>,
        fields: Option<&Bound<'_, PyAny>>,
        values: usize,
    ) -> PyResult<Vec<LogFacet>> {
        let query = query_of(filter, start, end, by)?;
        let options = FacetsOptions { fields: names_of(fields)?, values_max: values };
        let facets = self.asked(py, filter, move |view| view.facets(&query, &options))?;
        Ok(facets.into_iter().map(LogFacet).collect())
    }

    /// Give an entry with those around it, oldest first; none if there is no such entry.
    ///
    /// Parameters
    /// ----------
    /// timestamp : int, datetime or LogEntry
    ///     When it arrived.
    /// before, after : int, optional
    ///     How many of those that arrived before and after it.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> logs = timestrata.open().logs("app")
    /// >>> timestamp = logs.write("request served", level="info", status=200)
    /// >>> [entry.message for entry in logs.context(timestamp)]
    /// ['request served']
    #[pyo3(signature = (timestamp, before=5, after=5))]
    fn context(
        &self,
        timestamp: &Bound<'_, PyAny>,
        before: usize,
        after: usize,
    ) -> PyResult<Vec<LogEntry>> {
        let (py, of) = (timestamp.py(), position_of(timestamp, Some(Clock::Timestamp))?.timestamp);
        let around = self.log.interruptible(py, move |log| log.context(of, before, after))?;
        let entries = around.into_iter().map(Arc::new).flat_map(|entries| {
            (0..entries.len())
                .map(move |row| LogEntry::new(Arc::clone(&entries), row, Clock::Timestamp))
        });
        Ok(entries.collect())
    }

    /// Follow the log: entries as they arrive.
    ///
    /// Parameters
    /// ----------
    /// filter : str, optional
    ///     As in `search`.
    /// after : LogEntry, str, int or datetime, optional
    ///     Begin behind an entry, a position or a time of arrival, and miss none since; else with those
    ///     that arrive from now on.
    ///
    /// Returns
    /// -------
    /// LogTail
    ///     An iterator, also for ``async for``.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> logs = timestrata.open().logs("app")
    /// >>> timestamp = logs.write("request served", level="info", status=200)
    /// >>> next(logs.tail(after=0)).message
    /// 'request served'
    #[pyo3(signature = (filter="", *, after=None))]
    fn tail(
        &self,
        py: Python<'_>,
        filter: &str,
        after: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<LogTail> {
        let Query { filter, .. } = query_of(filter, None, None, None)?;
        let after = after.map(|after| position_of(after, Some(Clock::Timestamp))).transpose()?;
        let after = after.map(|after| after.timestamp);
        let tail = self.log.detached(py, |log| log.tail(filter, after))?;
        Ok(LogTail::new(Arc::clone(&self.log.handle), tail))
    }
}

/// A length of time in nanoseconds.
fn step_ns(given: &Bound<'_, PyAny>) -> PyResult<i64> {
    i64::try_from(duration("step", given)?.as_nanos())
        .map_err(|_| invalid(format!("step {given}: must be below 9.2e9 seconds")))
}
