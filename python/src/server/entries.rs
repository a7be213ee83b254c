//! Entries of a server's logs, in the columns that the store has.

use std::sync::Arc;

use pyo3::prelude::*;
use timestrata_client::ReceivedEntries;
use timestrata_engine::Result;
use timestrata_logs::filter::Question;
use timestrata_logs::{AskedLog, Clock, Query};
use timestrata_values::time::text as time_text;

use super::object::{Server, Target};
use crate::error::to_python;
use crate::interrupt::detached;
use crate::lock::Lock;
use crate::logs::{Hits, LogEntries, LogEntry, Search, level_of, position_of, query_of};

/// A search on a server.
#[derive(Debug)]
struct ServerSearch {
    target: Target,
    /// The answer to the first asking, until somebody reads it.
    first: Lock<Option<ReceivedEntries>>,
}

impl Search for ServerSearch {
    fn log_name(&self) -> &str {
        self.target.name()
    }

    fn ask(&self) -> Result<Hits> {
        let first = self.first.lock().take();
        let found = first.map_or_else(|| ReceivedEntries::of(self.target.request()), Ok)?;
        Ok(Box::new(found))
    }
}

/// What a query is to a server.
fn parameters_of(query: &Query) -> Vec<(String, String)> {
    let by = query.by.map(|by| ("by".to_owned(), by.to_string()));
    let mut parameters: Vec<(String, String)> = by.into_iter().collect();
    let filter = query.filter.to_string();
    if !filter.is_empty() {
        parameters.push(("filter".to_owned(), filter));
    }
    for (name, time) in [("from", query.from), ("to", query.to)] {
        parameters.extend(time.map(|time| (name.to_owned(), time_text(time))));
    }
    parameters
}

#[pymethods]
impl Server {
    /// Search a log, as `Logs.search` does.
    #[pyo3(signature = (path, parameters, filter, *, start, end, by, newest_first, limit, after))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn search(
        &self,
        py: Python<'_>,
        path: Vec<String>,
        parameters: Vec<(String, String)>,
        filter: &str,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
        by: Option<&str>,
        newest_first: bool,
        limit: Option<usize>,
        after: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<LogEntries> {
        let query = query_of(filter, start, end, by)?;
        let after = after.map(|after| position_of(after, query.by)).transpose()?;
        let query = Query { newest_first, limit, after, ..query };
        let mut parameters = parameters;
        parameters.extend(parameters_of(&query));
        let mut add = |name: &str, value: String| parameters.push((name.to_owned(), value));
        add("order", if newest_first { "desc" } else { "asc" }.to_owned());
        add("limit", limit.map_or("none".to_owned(), |limit| limit.to_string()));
        if let Some(after) = after {
            add("after", after.to_string());
        }
        let target = self.target("GET", path, parameters)?;
        // Asked at once, so that mistakes are told at once.
        let first = detached(py, || ReceivedEntries::of(target.request()))?;
        let by = first.clock();
        let search = ServerSearch { target, first: Lock::new(Some(first)) };
        Ok(LogEntries::elsewhere(Arc::new(search), query, by))
    }

    /// What a search has as parameters of a request.
    #[staticmethod]
    fn log_parameters(
        filter: &str,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
        by: Option<&str>,
    ) -> PyResult<Vec<(String, String)>> {
        Ok(parameters_of(&query_of(filter, start, end, by)?))
    }

    /// The SQL that answers a question of logs, of each by the clock of its own that is named.
    #[staticmethod]
    fn log_statement(
        names: Vec<String>,
        clocks: Vec<String>,
        question: &str,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
        by: Option<&str>,
    ) -> PyResult<String> {
        let question: Question = question.parse().map_err(to_python)?;
        let range = query_of("", start, end, by)?;
        let clocks = clocks.iter().map(|clock| clock.parse::<Clock>());
        let clocks = clocks.collect::<Result<Vec<_>>>().map_err(to_python)?;
        let asked = names.iter().zip(clocks).map(|(name, clock)| AskedLog { name, clock });
        Ok(question.statement(&asked.collect::<Vec<_>>(), &range))
    }

    /// The name of a level of Python's `logging`; None of 0, which says that there is none.
    #[staticmethod]
    fn log_level(level: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
        Ok(level_of(Some(level))?.map(|level| level.name()))
    }

    /// The arrival that a place in a log is behind.
    #[staticmethod]
    fn log_place(place: &Bound<'_, PyAny>) -> PyResult<i64> {
        Ok(position_of(place, Some(Clock::Timestamp))?.timestamp)
    }

    /// Ask for entries that come at once, and behind which arrival to ask on where the answer says so.
    fn entries(
        &self,
        py: Python<'_>,
        path: Vec<String>,
        parameters: Vec<(String, String)>,
    ) -> PyResult<(Vec<LogEntry>, Option<i64>)> {
        let target = self.target("GET", path, parameters)?;
        let (found, next) = detached(py, || {
            let found = ReceivedEntries::of(target.request())?;
            let next = found.next_position();
            Ok((found.collect::<Result<Vec<_>>>()?, next))
        })?;
        let entries = found.into_iter().map(Arc::new).flat_map(|entries| {
            (0..entries.len())
                .map(move |row| LogEntry::new(Arc::clone(&entries), row, Clock::Timestamp))
        });
        Ok((entries.collect(), next))
    }
}
