//! `LogEntries`: the answer to a search, read when it is used.

use std::fmt;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use timestrata_engine::Result;
use timestrata_logs::filter::Expr;
use timestrata_logs::{Clock, Entries, LogsView, Position, Query};

use super::LogEntry;
use super::ahead::Ahead;
use super::columns::{batch_of, schema};
use crate::fork::Guarded;
use crate::handle::Handle;
use crate::interrupt::{detached, interruptible};
use crate::lock::Lock;
use crate::table::Rows;
use crate::typed::schema_as_capsule;

/// Entries that a search finds. Read when used, and anew each time, always as of the moment when they
/// were asked for; those of a server (`timestrata.connect`) are asked for again, and are as of then.
///
/// Iterate over it, which gives each `LogEntry`, give it to any library that knows Arrow's stream
/// protocol, or call one of the ``to_`` methods. As Arrow it has columns timestamp and source_time (in
/// nanoseconds, UTC), level and message (text), and labels and fields (JSON objects as text; null
/// without any).
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> logs = timestrata.open().logs("app")
/// >>> timestamps = logs.write_many(["one", "two", "three"])
/// >>> found = logs.search(limit=2)
/// >>> [entry.message for entry in found]
/// ['one', 'two']
/// >>> [entry.message for entry in logs.search(after=found.position)]
/// ['three']
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct LogEntries {
    searched: Guarded<Searched>,
    query: Query,
    /// The clock that the query goes by.
    by: Clock,
    reached: Reached,
}

/// Where it is searched.
#[derive(Debug, Clone)]
enum Searched {
    Store(Arc<Handle>, LogsView),
    Elsewhere(Arc<dyn Search>),
}

/// A search of a log that is not in a store of this process.
pub(crate) trait Search: fmt::Debug + Send + Sync {
    /// The log's name.
    fn log_name(&self) -> &str;

    /// The entries, as they come; who waits for them hears Ctrl-C.
    ///
    /// # Errors
    /// What the search is refused with.
    fn ask(&self) -> Result<Hits>;
}

/// Entries as they are found.
pub(crate) type Hits = Box<dyn Iterator<Item = Result<Entries>> + Send>;

impl Searched {
    /// # Errors
    /// `ClosedError` once the store is closed, `ForkedError` in a child of its process.
    fn expect_open(&self) -> PyResult<()> {
        match self {
            Self::Store(handle, _) => handle.store().map(drop),
            Self::Elsewhere(_) => Ok(()),
        }
    }

    fn ask(&self, query: &Query) -> Result<Hits> {
        Ok(match self {
            Self::Store(_, view) => Box::new(view.search(query)?),
            Self::Elsewhere(search) => search.ask()?,
        })
    }
}

/// The place of the last entry that was given.
#[derive(Debug, Clone, Default)]
struct Reached(Arc<Lock<Option<Position>>>);

impl Reached {
    fn set(&self, place: Option<Position>) {
        if place.is_some() {
            *self.0.lock() = place;
        }
    }

    /// Notes that some were given, of which the last counts.
    fn pass(&self, entries: &Entries, by: Clock) {
        self.set(entries.iter().next_back().map(|entry| entry.position(by)));
    }
}

/// A search under way. A thread that nobody waits for any more, after Ctrl-C, still leaves what it has
/// found for whoever goes on reading.
struct SearchReading {
    hits: Lock<Hits>,
    ahead: Lock<Ahead>,
}

impl fmt::Debug for SearchReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchReading").field("ahead", &self.ahead).finish_non_exhaustive()
    }
}

impl SearchReading {
    /// Reads the next batch; whether there was one.
    fn fill(&self) -> Result<bool> {
        // Held until the batch has its place: what another thread finds next comes behind it.
        let mut hits = self.hits.lock();
        let Some(entries) = hits.next().transpose()? else { return Ok(false) };
        self.ahead.lock().push(entries);
        Ok(true)
    }
}

/// Whether a batch is there as soon as it is read, since no entry is looked at and left out; or who waits for it hears
/// Ctrl-C.
fn is_plain(searched: &Searched, query: &Query, by: Clock) -> bool {
    matches!(searched, Searched::Elsewhere(_))
        || by == Clock::Timestamp && *query.filter.root() == Expr::All
}

fn begin(py: Python<'_>, searched: &Searched, query: &Query) -> PyResult<Arc<SearchReading>> {
    searched.expect_open()?;
    let hits = detached(py, || searched.ask(query))?;
    Ok(Arc::new(SearchReading { hits: Lock::new(hits), ahead: Lock::default() }))
}

/// Reads the next batch while Ctrl-C is heard; whether there was one.
fn fill(py: Python<'_>, reading: &Arc<SearchReading>, is_plain: bool) -> PyResult<bool> {
    if is_plain {
        py.check_signals()?;
        return detached(py, || reading.fill());
    }
    let reading = Arc::clone(reading);
    interruptible(py, move || reading.fill())
}

impl LogEntries {
    pub(super) fn new(handle: Arc<Handle>, view: LogsView, query: Query) -> Self {
        let by = view.clock_of(&query);
        Self::of(Searched::Store(handle, view), query, by)
    }

    /// Those of a search that gives them in the order of a clock.
    pub(crate) fn elsewhere(search: Arc<dyn Search>, query: Query, by: Clock) -> Self {
        Self::of(Searched::Elsewhere(search), query, by)
    }

    fn of(searched: Searched, query: Query, by: Clock) -> Self {
        let reached = Reached::default();
        reached.set(query.after);
        Self { searched: Guarded::new(searched), query, by, reached }
    }

    /// All of them as columns, read while Ctrl-C is heard.
    fn collected<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Rows>> {
        let searched = self.searched.get()?;
        let reading = begin(py, searched, &self.query)?;
        let mut batches = Vec::new();
        while fill(py, &reading, is_plain(searched, &self.query, self.by))? {
            let found = reading.ahead.lock().drain();
            for entries in found {
                batches.push(detached(py, || batch_of(&entries))?);
                self.reached.pass(&entries, self.by);
            }
        }
        Bound::new(py, Rows::of_batches(schema(), batches))
    }
}

#[pymethods]
impl LogEntries {
    /// The position of the last entry that was given, by iterating or as columns; what `Logs.search`
    /// goes on behind. Before that the one that the search went on behind, None if it began.
    #[getter]
    fn position(&self) -> Option<String> {
        self.reached.0.lock().map(|place| place.to_string())
    }

    /// Give the entries as a ``pyarrow.Table``. Needs pyarrow.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.collected(py)?.call_method0("to_arrow")
    }

    /// Give the entries as a ``pandas.DataFrame``. Needs pandas and pyarrow.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.collected(py)?.call_method0("to_pandas")
    }

    /// Give the entries as a ``polars.DataFrame``. Needs polars.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.collected(py)?.call_method0("to_polars")
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<LogEntriesIter> {
        let searched = self.searched.get()?;
        let reading = begin(py, searched, &self.query)?;
        Ok(LogEntriesIter {
            searched: Guarded::new(searched.clone()),
            reading: Guarded::new(reading),
            by: self.by,
            is_plain: is_plain(searched, &self.query, self.by),
            reached: self.reached.clone(),
        })
    }

    /// The entries, for other Arrow libraries, read as they are asked for; see the Arrow C stream
    /// interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let (searched, query) = (self.searched.get()?.clone(), self.query.clone());
        searched.expect_open()?;
        let (reached, by) = (self.reached.clone(), self.by);
        let rows = Rows::new(schema(), move || {
            let reached = reached.clone();
            Ok(searched.ask(&query)?.map(move |entries| {
                let entries = entries?;
                reached.pass(&entries, by);
                batch_of(&entries)
            }))
        });
        rows.__arrow_c_stream__(py, requested_schema)
    }

    /// The columns, for other Arrow libraries.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_as_capsule(py, schema().as_ref())
    }

    fn __repr__(&self) -> String {
        let name = match self.searched.get() {
            Ok(Searched::Store(_, view)) => view.name(),
            Ok(Searched::Elsewhere(search)) => search.log_name(),
            Err(_) => "?",
        };
        format!("<LogEntries of {name:?} {:?}>", self.query.filter.to_string())
    }
}

/// Iterates over entries that a search finds.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> logs = timestrata.open().logs("app")
/// >>> timestamp = logs.write("request served", level="info", status=200)
/// >>> entries = iter(logs.search())
/// >>> next(entries).message
/// 'request served'
#[pyclass(frozen, module = "timestrata")]
#[derive(Debug)]
pub(crate) struct LogEntriesIter {
    searched: Guarded<Searched>,
    reading: Guarded<Arc<SearchReading>>,
    by: Clock,
    is_plain: bool,
    reached: Reached,
}

#[pymethods]
impl LogEntriesIter {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<LogEntry>> {
        let reading = self.reading.get()?;
        loop {
            let next = reading.ahead.lock().take(self.by);
            if let Some(entry) = next {
                self.reached.set(entry.own_place().ok());
                return Ok(Some(entry));
            }
            self.searched.get()?.expect_open()?;
            if !fill(py, reading, self.is_plain)? && reading.ahead.lock().is_empty() {
                return Ok(None);
            }
        }
    }
}
