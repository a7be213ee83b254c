//! Flushes, compactions and statistics.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::options::Upkeep;
use super::{Asked, State, Timelog, closed};
use crate::error::timelog_error;

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

    /// Figures, in nested dicts. Published rows are in segments; `min_ts` and `max_ts` are
    /// those of all rows, of range deletes' rows too until they are compacted.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let figures = match &mut *self.lock() {
            State::Memory(log) => Figures::of(log),
            State::Stored(_) => Figures::default(),
            State::Closed(_) | State::New => return Err(closed()),
        };
        if let Asked::Of(stored) = self.ask(|_| ())? {
            let (rows, min, max) =
                stored.ask(py, |log| Ok((log.len()?, log.min_time()?, log.max_time()?)))?;
            return Figures { rows, bounds: min.zip(max), ..figures }.into_dict(py, self);
        }
        figures.into_dict(py, self)
    }
}

/// What `stats` tells.
#[derive(Debug, Default)]
struct Figures {
    delta_segments: u64,
    settled_segments: u64,
    pages: u64,
    rows: u64,
    bounds: Option<(i64, i64)>,
    tombstones: u64,
    active: usize,
    late: usize,
    late_seals: u64,
    window: i64,
    sealed: usize,
    seals: u64,
    flushes: u64,
    compactions: u64,
}

impl Figures {
    fn of(log: &mut super::memory::MemoryLog) -> Self {
        let physical = log.rows.physical();
        let published = physical.rows();
        let (bounds, tombstones) = (physical.bounds(), physical.tombstones());
        let now = log.rows.min_time().zip(log.rows.max_time());
        let bounds =
            bounds.into_iter().chain(now).reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)));
        Self {
            delta_segments: log.segments,
            settled_segments: u64::from(log.has_settled && published > 0),
            pages: published.div_ceil(log.options.page_rows as u64),
            rows: log.rows.len(),
            bounds,
            tombstones,
            active: log.active_rows.saturating_sub(log.active_late),
            late: log.active_late,
            late_seals: log.counters.late_seals,
            window: if log.options.is_adaptive { log.options.window } else { 0 },
            sealed: log.sealed_runs,
            seals: log.counters.seals,
            flushes: log.counters.flushes,
            compactions: log.counters.compactions,
        }
    }

    fn into_dict<'py>(self, py: Python<'py>, log: &Timelog) -> PyResult<Bound<'py, PyDict>> {
        let group = |entries: &[(&str, u64)]| -> PyResult<Bound<'py, PyDict>> {
            let dict = PyDict::new(py);
            entries.iter().try_for_each(|(name, value)| dict.set_item(name, value))?;
            Ok(dict)
        };
        let storage = group(&[
            ("segments_l0", self.delta_segments),
            ("segments_l1", self.settled_segments),
            ("pages_total", self.pages),
            ("records_estimate", self.rows),
        ])?;
        storage.set_item("min_ts", self.bounds.map(|bounds| bounds.0))?;
        storage.set_item("max_ts", self.bounds.map(|bounds| bounds.1))?;
        storage.set_item("tombstone_count", self.tombstones)?;
        let stats = PyDict::new(py);
        stats.set_item("storage", storage)?;
        let memtable = group(&[
            ("active_records", self.active as u64),
            ("ooo_records", self.late as u64),
            ("sealed_runs", self.sealed as u64),
        ])?;
        stats.set_item("memtable", memtable)?;
        let operational = group(&[
            ("seals_total", self.seals),
            ("ooo_budget_hits", self.late_seals),
            ("backpressure_waits", 0),
            ("flushes_total", self.flushes),
            ("compactions_total", self.compactions),
            ("compaction_retries", 0),
            ("compaction_publish_ebusy", 0),
            ("busy_events", log.busy_events()),
            ("extend_skipped", log.extend_skipped()),
        ])?;
        stats.set_item("operational", operational)?;
        let selection = group(&[
            ("select_calls", self.compactions),
            ("select_l0_inputs", 0),
            ("select_l1_inputs", 0),
            ("select_no_work", 0),
        ])?;
        stats.set_item("compaction_selection", selection)?;
        let adaptive = group(&[("flush_count", 0), ("failures", 0)])?;
        adaptive.set_item("window", self.window)?;
        adaptive.set_item("ewma_density", 0.0)?;
        stats.set_item("adaptive", adaptive)?;
        let config = PyDict::new(py);
        config.set_item("time_unit", log.time_unit()?)?;
        config.set_item("maintenance", log.maintenance_mode())?;
        config.set_item("busy_policy", log.busy_policy())?;
        config.set_item("min_ts", log.min_ts_floor())?;
        let mostly_ordered = log.told(|options, _| options.mostly_ordered);
        config.set_item("mostly_ordered_default", mostly_ordered)?;
        stats.set_item("config", config)?;
        Ok(stats)
    }
}
