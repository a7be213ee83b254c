//! Flushes, compactions and statistics.

use arrow_schema::FieldRef;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use timestrata_engine::{Result, Retention, StreamStats};
use timestrata_timelog::Timelog as TimelogModel;

use super::memory::MemoryLog;
use super::options::Upkeep;
use super::{Asked, State, Timelog, closed};
use crate::error::{invalid, timelog_error};
use crate::settings::span_ns;
use crate::typed::fields_of;

#[pymethods]
impl Timelog {
    /// Publish all rows for physical views; where a store keeps the log, write what is in
    /// memory to run files, of the whole store.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        match self.ask(|log| log.flush())? {
            Asked::Answer(removed) => drop(removed),
            Asked::Of(stored) => stored.wait_for(py, |log| log.flush())?,
        }
        Ok(())
    }

    /// Ask for a compaction: in the background it is made, otherwise `maint_step` makes it. Where
    /// a store keeps the log, compact until nothing is left to do; Ctrl-C ends the waiting.
    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        match self.ask(|log| log.request_compaction())? {
            Asked::Answer(removed) => drop(removed),
            Asked::Of(stored) => stored.wait_for(py, |log| log.compact())?,
        }
        Ok(())
    }

    /// Make one flush or one compaction, if one is due; with ``maintenance="disabled"``.
    fn maint_step(&self, py: Python<'_>) -> PyResult<bool> {
        let step = self.ask(|log| match log.options.upkeep {
            Upkeep::Background => None,
            Upkeep::Disabled => Some(log.step()),
        })?;
        match step {
            Asked::Answer(Some(removed)) => Ok(removed.is_some()),
            Asked::Answer(None) => Err(timelog_error(
                "TimelogError",
                "maint_step() needs maintenance='disabled'",
                Some("the background does its work by itself"),
            )),
            Asked::Of(stored) => stored.handle.detached(py, |store| store.maintain_step()),
        }
    }

    /// Let the background work again after `stop_maintenance`.
    fn start_maintenance(&self) -> PyResult<()> {
        match self.ask(|log| log.options.upkeep)? {
            Asked::Answer(Upkeep::Disabled) => Err(timelog_error(
                "TimelogError",
                "start_maintenance() needs maintenance='background'",
                None,
            )),
            Asked::Answer(Upkeep::Background) | Asked::Of(_) => Ok(()),
        }
    }

    /// Wait for background work under way. There is none in memory: what is due is done by the
    /// write that makes it so.
    fn stop_maintenance(&self) -> PyResult<()> {
        self.ask(|_| ()).map(|_| ())
    }

    /// Does nothing: order is kept by construction.
    fn validate(&self) -> PyResult<()> {
        self.ask(|_| ()).map(|_| ())
    }

    /// Make every commit of the store so far survive a power cut. Nothing to do in memory.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(|_| ())?.or_ask(py, |log| log.sync().map(drop))
    }

    /// Throw away by itself what is older than ``age`` seconds, or the oldest beyond so many ``bytes``.
    /// None: no bound. Of logs that a store keeps; compactions carry it out.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> door = timestrata.open().timelog("door", retention_bytes=1_000_000)
    /// >>> door.set_retention(age=30 * 86_400)
    /// >>> door.describe()["retention_age"], door.describe()["retention_bytes"]
    /// (2592000.0, None)
    #[pyo3(signature = (*, age=None, bytes=None))]
    fn set_retention(&self, py: Python<'_>, age: Option<f64>, bytes: Option<u64>) -> PyResult<()> {
        let retention = Retention { age_ns: span_ns("age", age)?, bytes };
        match self.ask(|_| ())? {
            Asked::Of(stored) => {
                stored.ask(py, |log| log.store().set_retention(log.stream_id(), retention))
            }
            Asked::Answer(()) => Err(invalid(
                "retention is of logs that a store keeps: in memory say cutoff(ts) where it is time",
            )),
        }
    }

    /// Add columns to a typed log whose values are dicts, for all who have it open. Gives whether anything was to be done.
    ///
    /// Entries aren't rewritten: in new columns they hold None. In SQL it is ALTER TABLE.
    ///
    /// Parameters
    /// ----------
    /// add : dict or Arrow schema
    ///     Columns that the log doesn't have, with their types.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> trades = timestrata.open().timelog("trades", schema={"price": "float64"})
    /// >>> trades.append(1, {"price": 7.5})
    /// >>> trades.alter(add={"shares": "int64"})
    /// True
    /// >>> trades.append(2, {"price": 8.0, "shares": 100})
    /// >>> list(trades)
    /// [(1, {'price': 7.5, 'shares': None}), (2, {'price': 8.0, 'shares': 100})]
    #[pyo3(signature = (*, add))]
    fn alter(&self, py: Python<'_>, add: &Bound<'_, PyAny>) -> PyResult<bool> {
        let added: Vec<FieldRef> = fields_of(add)?.fields().iter().cloned().collect();
        match self.ask(|_| ())? {
            Asked::Answer(()) => {
                Err(invalid("a log in memory keeps the objects themselves: it has no columns"))
            }
            Asked::Of(stored) => stored.ask(py, |log| log.add_columns(&added)),
        }
    }

    /// What it was made as, with what has been changed since: spans in seconds, None for no bound.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let shown = PyDict::new(py);
        let (name, codec, kept) = match self.ask(|_| ())? {
            Asked::Answer(()) => (None, None, Retention::default()),
            Asked::Of(stored) => {
                let log = stored.log()?;
                let kept = stored.ask(py, TimelogModel::retention)?;
                (Some(log.name().to_owned()), Some(log.codec().name()), kept)
            }
        };
        shown.set_item("name", name)?;
        shown.set_item("codec", codec)?;
        shown.set_item("unit", self.time_unit()?)?;
        shown.set_item("retention_age", kept.age_ns.map(|age| age as f64 / 1e9))?;
        shown.set_item("retention_bytes", kept.bytes)?;
        shown.set_item("min_ts", self.min_ts_floor())?;
        Ok(shown)
    }

    /// Figures, in nested dicts. Published rows are in segments; `min_ts` and `max_ts` are
    /// those of all rows, of range deletes' rows too until they are compacted.
    ///
    /// Where a store keeps the log, memtables and segments are those of its stream, late rows such as its
    /// memtable sorts apart, and counts of flushes and compactions those of the whole store since it was opened.
    /// What has no counterpart there is 0.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let figures = match &mut *self.state.lock() {
            State::Memory(log) => figures_of(log),
            State::Stored(_) => figures_of(&mut MemoryLog::default()),
            State::Closed(_) | State::New => return Err(closed()),
        };
        let stats = PyDict::new(py);
        for (name, group) in figures {
            stats.set_item(name, group.into_py_dict(py)?)?;
        }
        if let Asked::Of(stored) = self.ask(|_| ())? {
            let (rows, min, max) =
                stored.ask(py, |log| Ok((log.len()?, log.min_time()?, log.max_time()?)))?;
            let (min, max) = min.zip(max).unzip();
            let own = [("records_estimate", Some(rows as i64)), ("min_ts", min), ("max_ts", max)];
            let update = |group: &str, figures: Bound<'py, PyDict>| {
                stats.as_any().get_item(group)?.call_method1("update", (figures,))
            };
            update("storage", own.into_py_dict(py)?)?;
            for (group, figures) in figures_of_store(stored.ask(py, figures_stored)?) {
                update(group, figures.into_py_dict(py)?)?;
            }
        }
        stats.as_any().get_item("adaptive")?.set_item("ewma_density", 0.0)?;
        let config = PyDict::new(py);
        config.set_item("time_unit", self.time_unit()?)?;
        config.set_item("maintenance", self.maintenance_mode())?;
        config.set_item("busy_policy", self.busy_policy())?;
        config.set_item("min_ts", self.min_ts_floor())?;
        let mostly_ordered = self.told(|options, _| options.mostly_ordered);
        config.set_item("mostly_ordered_default", mostly_ordered)?;
        stats.set_item("config", config)?;
        Ok(stats)
    }
}

/// What the store tells of a log's stream, and of itself.
fn figures_stored(log: &TimelogModel) -> Result<(StreamStats, u64, u64)> {
    let stats = log.store().stats();
    let of_stream = stats.streams.into_iter().find(|stream| stream.name == log.name());
    Ok((of_stream.unwrap_or_default(), stats.flushes, stats.compactions))
}

/// The same under the names that logs in memory have for it.
fn figures_of_store(
    (stream, flushes, compactions): (StreamStats, u64, u64),
) -> [(&'static str, Vec<(&'static str, u64)>); 3] {
    let active = stream.memtable_rows.saturating_sub(stream.sealed_rows);
    [
        (
            "storage",
            vec![
                ("segments_l0", stream.level0_runs),
                ("segments_l1", stream.runs.saturating_sub(stream.level0_runs)),
                ("tombstone_count", stream.tombstones),
            ],
        ),
        (
            "memtable",
            vec![
                ("active_records", active.saturating_sub(stream.late_rows)),
                ("ooo_records", stream.late_rows),
                ("sealed_runs", stream.sealed_memtables),
            ],
        ),
        ("operational", vec![("flushes_total", flushes), ("compactions_total", compactions)]),
    ]
}

/// Figures by name.
type Group = Vec<(&'static str, Option<i64>)>;

/// What `stats` tells of a log in memory, in groups. Those of an empty log stand for one in a store.
fn figures_of(log: &mut MemoryLog) -> [(&'static str, Group); 5] {
    let group = |figures: &[(&'static str, u64)]| -> Group {
        figures.iter().map(|(name, figure)| (*name, Some(*figure as i64))).collect()
    };
    let physical = log.rows.physical();
    let published = physical.rows();
    let (bounds, tombstones) = (physical.bounds(), physical.tombstones());
    let now = log.rows.min_time().zip(log.rows.max_time());
    let bounds =
        bounds.into_iter().chain(now).reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)));
    let mut storage = group(&[
        ("segments_l0", log.segments),
        ("segments_l1", u64::from(log.has_settled && published > 0)),
        ("pages_total", published.div_ceil(log.options.page_rows as u64)),
        ("records_estimate", log.rows.len()),
    ]);
    let (min, max) = bounds.unzip();
    storage.extend([
        ("min_ts", min),
        ("max_ts", max),
        ("tombstone_count", Some(tombstones as i64)),
    ]);
    let memtable = group(&[
        ("active_records", log.active_rows.saturating_sub(log.active_late) as u64),
        ("ooo_records", log.active_late as u64),
        ("sealed_runs", log.sealed_runs as u64),
    ]);
    let counters = &log.counters;
    let operational = group(&[
        ("seals_total", counters.seals),
        ("ooo_budget_hits", counters.late_seals),
        ("backpressure_waits", 0),
        ("flushes_total", counters.flushes),
        ("compactions_total", counters.compactions),
        ("compaction_retries", 0),
        ("compaction_publish_ebusy", 0),
        ("busy_events", counters.busy),
        ("extend_skipped", counters.skipped),
    ]);
    let selection = group(&[
        ("select_calls", counters.compactions),
        ("select_l0_inputs", 0),
        ("select_l1_inputs", 0),
        ("select_no_work", 0),
    ]);
    let window = if log.options.is_adaptive { log.options.window } else { 0 };
    let mut adaptive = group(&[("flush_count", 0), ("failures", 0)]);
    adaptive.push(("window", Some(window)));
    [
        ("storage", storage),
        ("memtable", memtable),
        ("operational", operational),
        ("compaction_selection", selection),
        ("adaptive", adaptive),
    ]
}
