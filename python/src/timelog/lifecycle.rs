//! Making, closing and reopening a log, and what it tells of itself.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBool, PyDict, PyTuple, PyType};
use timestrata_engine::{Access, Setting, Settings};

use super::by_path::PathOptions;
use super::memory::{Counters, MemoryLog};
use super::open::{Wanted, timelog_of};
use super::options::{Options, Upkeep, WhenBusy};
use super::reopen::Origin;
use super::stored::{Place, Stored};
use super::{Closed, State, Timelog, closed};
use crate::error::timelog_error;
use crate::handle::leave;
use crate::path::GivenPath;
use crate::settings::{choice, durability as durability_named, settings as settings_from};

impl Timelog {
    /// Puts a new state in place of the one there is.
    fn replace(&self, state: State) {
        let old = std::mem::replace(&mut *self.state.lock(), state);
        // Outside of the lock: objects may run code when they go.
        drop(old);
    }

    /// Where the entries of the log are that is to be opened again: `None` in memory, with the
    /// options that stay.
    ///
    /// # Errors
    /// `TimelogError` if it is open.
    fn origin(&self) -> PyResult<(Option<Origin>, Options)> {
        let state = self.state.lock();
        match &*state {
            State::Closed(told) => {
                let base = Options {
                    min_ts: told.options.min_ts,
                    mostly_ordered: told.options.mostly_ordered,
                    ..Options::default()
                };
                return Ok((told.origin.clone(), base));
            }
            // Its store was closed, and so was it.
            State::Stored(stored) if stored.handle.is_closed() => {
                let stored = Arc::clone(stored);
                drop(state);
                return Ok((Some(Origin::of(&stored)?), Options::default()));
            }
            State::New | State::Memory(_) | State::Stored(_) => {}
        }
        drop(state);
        Err(timelog_error("TimelogError", "Timelog must be closed to reopen", None))
    }

    /// Opens a log that is closed or new, from where its entries are.
    fn open(
        &self,
        py: Python<'_>,
        (origin, base): (Option<Origin>, Options),
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let Some(origin) = origin else {
            let options = base.with(keywords)?;
            self.replace(State::Memory(Box::new(MemoryLog::new(options))));
            return Ok(());
        };
        if let Some(name) = keywords.and_then(|given| given.keys().iter().next()) {
            return Err(PyTypeError::new_err(format!(
                "the log is kept by a store, and opens as it was: it takes no '{name}' here; for \
                 another log make another Timelog"
            )));
        }
        let stored = origin.open(py)?;
        self.replace(State::Stored(Arc::new(stored)));
        Ok(())
    }
}

/// The values of some keywords, which are taken out.
fn take<'py>(keywords: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let value = keywords.get_item(name)?;
    if value.is_some() {
        keywords.del_item(name)?;
    }
    Ok(value)
}

fn open_stored(path: PathBuf, keywords: &Bound<'_, PyDict>) -> PyResult<Stored> {
    let py = keywords.py();
    let text = |name| -> PyResult<Option<String>> {
        take(keywords, name)?.map(|value| value.extract()).transpose()
    };
    let name = text("name")?.unwrap_or_else(|| "log".to_owned());
    let (codec, unit) = (text("codec")?, text("time_unit")?);
    let schema = take(keywords, "schema")?;
    let durability = durability_named(&text("durability")?.unwrap_or_else(|| "written".into()))?;
    let (mode, access) = choice(
        "mode",
        &text("mode")?.unwrap_or_else(|| "w".into()),
        &[
            ("w", ("w", Access::Write)),
            ("r", ("r", Access::Read)),
            ("r+", ("r+", Access::WriteExisting)),
        ],
    )?;
    let min_ts = take(keywords, "min_ts")?.filter(|min_ts| !min_ts.is_none());
    let retention_age = take(keywords, "retention_age")?.map(|age| age.extract()).transpose()?;
    let retention_bytes =
        take(keywords, "retention_bytes")?.map(|bytes| bytes.extract()).transpose()?;
    let settings = settings_of(keywords)?;
    let used = PathOptions { path, mode, access, durability, settings }.open(py)?;
    let wanted = Wanted {
        codec: codec.as_deref(),
        unit: unit.as_deref(),
        schema: schema.as_ref(),
        retention_age: retention_age.flatten(),
        retention_bytes: retention_bytes.flatten(),
        min_ts: min_ts.as_ref(),
    };
    let log = timelog_of(py, &used.handle, &name, &wanted)?;
    Stored::new(py, Place::Path(Box::new(used)), log)
}

/// The settings of a store that keywords ask for, those of a log in memory among them; `None`: there
/// are none. Those that a store has nothing to tune by are checked and no more.
fn settings_of(keywords: &Bound<'_, PyDict>) -> PyResult<Option<Settings>> {
    let py = keywords.py();
    let names: Vec<String> = keywords.keys().extract()?;
    let rest = PyDict::new(py);
    for name in names.iter().filter(|name| Setting::named(name).is_some()) {
        if !matches!(name.as_str(), "maintenance" | "busy_policy")
            && let Some(value) = take(keywords, name)?
        {
            rest.set_item(name, value)?;
        }
    }
    let is_manual = keywords.get_item("maintenance")?.is_some_and(|given| is(&given, "manual"));
    let is_block = keywords.get_item("busy_policy")?.is_some_and(|given| is(&given, "block"));
    // By the names that a store has for the same.
    if is_manual {
        keywords.set_item("maintenance", "disabled")?;
    }
    if is_block {
        keywords.set_item("busy_policy", "silent")?;
    }
    let told = Options::default().with(Some(keywords)).map_err(|error| explained(py, error))?;
    let memtable = keywords.get_item("memtable_max_bytes")?;
    if let Some(bytes) = memtable
        && bytes.gt(0)?
        && !rest.contains("memtable_bytes_max")?
    {
        rest.set_item("memtable_bytes_max", bytes)?;
    }
    let has = |name: &str| names.iter().any(|given| given == name);
    if rest.is_empty() && !has("maintenance") && !has("busy_policy") {
        return Ok(None);
    }
    let maintenance = match told.upkeep {
        Upkeep::Disabled => "manual",
        Upkeep::Background => "background",
    };
    let busy_policy = match told.when_busy {
        WhenBusy::Flush => "flush",
        WhenBusy::Raise if has("busy_policy") => "raise",
        WhenBusy::Raise | WhenBusy::Silent => "block",
    };
    settings_from(maintenance, busy_policy, Some(&rest)).map(Some)
}

fn is(given: &Bound<'_, PyAny>, word: &str) -> bool {
    given.extract::<String>().is_ok_and(|given| given == word)
}

/// The error for a keyword that is none, with those that there are where a store keeps the log.
fn explained(py: Python<'_>, error: PyErr) -> PyErr {
    if error.is_instance_of::<PyTypeError>(py) {
        let note = "with path=... it takes name, codec, schema, time_unit, durability, mode, min_ts, \
                    retention_age, retention_bytes, maintenance, busy_policy and a store's settings";
        let _ = error.value(py).call_method1("add_note", (note,));
    }
    error
}

#[pymethods]
impl Timelog {
    #[new]
    #[pyo3(signature = (*_arguments, **_keywords))]
    fn new(_arguments: &Bound<'_, PyTuple>, _keywords: Option<&Bound<'_, PyDict>>) -> Self {
        Self::in_state(State::New)
    }

    #[pyo3(signature = (*, path=None, **keywords))]
    fn __init__(
        &self,
        py: Python<'_>,
        path: Option<GivenPath>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let is_open = !matches!(&*self.state.lock(), State::New | State::Closed(_));
        if is_open && !self.closed() {
            return Err(PyTypeError::new_err("Timelog already initialized"));
        }
        if let Some(GivenPath(path)) = path {
            let keywords = keywords.map_or_else(|| Ok(PyDict::new(py)), |given| given.copy())?;
            let stored = open_stored(path, &keywords)?;
            self.replace(State::Stored(Arc::new(stored)));
            return Ok(());
        }
        let is_new = matches!(&*self.state.lock(), State::New);
        let origin = if is_new { None } else { self.origin()?.0 };
        self.open(py, (origin, Options::default()), keywords)
    }

    /// Make a log for a steady stream: flushes in the background, or by a write that finds
    /// them behind.
    #[classmethod]
    #[pyo3(signature = (**overrides))]
    fn for_streaming<'py>(
        cls: &Bound<'py, PyType>,
        overrides: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        made_with(cls, "background", "flush", &[], overrides)
    }

    /// Make a log for loading much at once: no background work, large memtable.
    #[classmethod]
    #[pyo3(signature = (**overrides))]
    fn for_bulk_ingest<'py>(
        cls: &Bound<'py, PyType>,
        overrides: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let sizes = [("memtable_max_bytes", 16 << 20)];
        made_with(cls, "disabled", "flush", &sizes, overrides)
    }

    /// Make a log whose writes never wait: small memtable, BusyError rather than delay.
    #[classmethod]
    #[pyo3(signature = (**overrides))]
    fn for_low_latency<'py>(
        cls: &Bound<'py, PyType>,
        overrides: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let sizes = [("memtable_max_bytes", 256 << 10), ("sealed_wait_ms", 0)];
        made_with(cls, "background", "raise", &sizes, overrides)
    }

    /// Close it. One in memory drops all objects; one with a path closes its store, which keeps
    /// them; one of an open store leaves that open. Fine to call twice.
    ///
    /// Raises
    /// ------
    /// TimelogError
    ///     Iterators or spans of a log in memory are open.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = self.state.lock();
        let old = match &*state {
            State::Closed(_) => return Ok(()),
            State::New => std::mem::replace(&mut *state, told(Options::default(), None)),
            State::Memory(log) if log.readers() > 0 => {
                let message = format!("Cannot close: {} active snapshots/iterators", log.readers());
                drop(state);
                return Err(timelog_error(
                    "TimelogError",
                    &message,
                    Some("close or exhaust them first"),
                ));
            }
            State::Memory(log) => {
                let (options, counters) = (log.options.clone(), log.counters);
                let told = State::Closed(Box::new(Closed { options, counters, origin: None }));
                std::mem::replace(&mut *state, told)
            }
            State::Stored(stored) => {
                let (unit, origin) = (stored.unit()?, Origin::of(stored)?);
                let options = Options { unit, ..Options::default() };
                std::mem::replace(&mut *state, told(options, Some(origin)))
            }
        };
        drop(state);
        match &old {
            State::Stored(stored) => stored.own.as_ref().map_or(Ok(()), |own| own.release(py)),
            _ => Ok(()),
        }
    }

    /// Open a closed log again. One that a store keeps has all its entries, and takes no options.
    /// One in memory is empty: what `min_ts` and `mostly_ordered_default` were stays unless given,
    /// other options fall back to their defaults.
    ///
    /// Raises
    /// ------
    /// TimelogError
    ///     It is open.
    /// ClosedError
    ///     It is of a store that the program has closed: open that again.
    #[pyo3(signature = (**keywords))]
    fn reopen(&self, py: Python<'_>, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        self.open(py, self.origin()?, keywords)
    }

    /// The same as `reopen`.
    #[pyo3(signature = (**keywords))]
    fn configure(&self, py: Python<'_>, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        self.reopen(py, keywords)
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        match &*slf.get().state.lock() {
            State::Closed(_) | State::New => return Err(closed()),
            State::Memory(_) | State::Stored(_) => {}
        }
        Ok(slf)
    }

    #[pyo3(signature = (*raised))]
    fn __exit__(&self, py: Python<'_>, raised: &Bound<'_, PyTuple>) -> PyResult<bool> {
        leave(raised, self.close(py))
    }

    /// Whether it, or its store, was closed.
    #[getter]
    pub(super) fn closed(&self) -> bool {
        match &*self.state.lock() {
            State::Closed(_) => true,
            State::Stored(stored) => stored.handle.is_closed(),
            State::New | State::Memory(_) => false,
        }
    }

    /// Its name in the store that keeps it; None in memory.
    #[getter]
    fn name(&self) -> PyResult<Option<String>> {
        match &*self.state.lock() {
            State::Stored(stored) => Ok(Some(stored.log_even_closed()?.name().to_owned())),
            _ => Ok(None),
        }
    }

    /// How its values are stored; None in memory, where the objects themselves are kept.
    #[getter]
    fn codec(&self) -> PyResult<Option<&'static str>> {
        match &*self.state.lock() {
            State::Stored(stored) => Ok(Some(stored.log_even_closed()?.codec().name())),
            _ => Ok(None),
        }
    }

    /// The unit of its timestamps: "s", "ms", "us" or "ns".
    #[getter(unit)]
    fn unit_name(&self) -> PyResult<&'static str> {
        Ok(self.unit()?.name())
    }

    /// The same as `unit`.
    #[getter]
    pub(super) fn time_unit(&self) -> PyResult<&'static str> {
        Ok(self.unit()?.name())
    }

    /// "background" or "disabled".
    #[getter]
    pub(super) fn maintenance_mode(&self) -> &'static str {
        self.told(|options, _| options.upkeep.name())
    }

    /// "raise", "silent" or "flush".
    #[getter]
    pub(super) fn busy_policy(&self) -> &'static str {
        self.told(|options, _| options.when_busy.name())
    }

    /// Writes that found the queue of flushes full.
    #[getter]
    pub(super) fn busy_events(&self) -> u64 {
        self.told(|_, counters| counters.busy)
    }

    /// Rows that `extend` has skipped for their timestamps, since the last `reopen`.
    #[getter]
    pub(super) fn extend_skipped(&self) -> u64 {
        self.told(|_, counters| counters.skipped)
    }

    /// The timestamp below which writes are refused, or None.
    #[getter]
    pub(super) fn min_ts_floor(&self) -> Option<i64> {
        match &*self.state.lock() {
            State::Stored(stored) => stored.log_even_closed().ok()?.min_time_allowed(),
            State::Memory(log) => log.options.min_ts,
            State::Closed(told) => told.options.min_ts,
            State::New => None,
        }
    }

    /// Always 0: objects are let go of at once.
    #[getter]
    fn retired_queue_len(&self) -> u64 {
        0
    }

    /// Always 0: a failed allocation ends the process.
    #[getter]
    fn alloc_failures(&self) -> u64 {
        0
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let class = slf.get_type().name()?;
        Ok(match &*slf.get().state.lock() {
            State::New => format!("<{class} not initialised>"),
            State::Closed(_) => format!("<{class} closed>"),
            State::Memory(log) => {
                let (rows, unit) = (log.rows.len(), log.options.unit.name());
                format!("<{class} in memory, rows={rows} unit={unit}>")
            }
            State::Stored(stored) => {
                let Ok(log) = stored.log_even_closed() else {
                    return Ok(format!("<{class} of the parent process>"));
                };
                let closed = if stored.handle.is_closed() { " closed" } else { "" };
                let (name, codec, unit) = (log.name(), log.codec(), log.unit());
                format!("<{class} '{name}' codec={codec} unit={unit}{closed}>")
            }
        })
    }
}

fn told(options: Options, origin: Option<Origin>) -> State {
    State::Closed(Box::new(Closed { options, counters: Counters::default(), origin }))
}

fn made_with<'py>(
    cls: &Bound<'py, PyType>,
    maintenance: &str,
    busy_policy: &str,
    sizes: &[(&str, u64)],
    overrides: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let preset = sizes.into_py_dict(cls.py())?;
    preset.set_item("maintenance", maintenance)?;
    preset.set_item("busy_policy", busy_policy)?;
    for (name, value) in overrides.into_iter().flat_map(|overrides| overrides.iter()) {
        preset.set_item(name, value)?;
    }
    cls.call((), Some(&preset))
}

/// A flag of a call that may be left out.
pub(super) fn flag(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<bool>> {
    let flag = value.map(|value| value.cast::<PyBool>()).transpose();
    let flag = flag.map_err(|_| PyTypeError::new_err(format!("{name} must be bool")))?;
    Ok(flag.map(|flag| flag.is_true()))
}
