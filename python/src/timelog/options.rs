//! What a log in memory was asked to be like: the keywords of `Timelog()`.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use timestrata_timelog::Unit;

use crate::error::wrong_type;
use crate::timestamp::timestamp;

/// Bytes that one row counts for, in budgets given in bytes.
const ROW_BYTES: usize = 24;
const MEMTABLE_BYTES: usize = 1 << 20;
/// Late rows may take this part of the memtable, unless told otherwise.
const LATE_SHARE: usize = 10;
const PAGE_BYTES: usize = 64 << 10;
const PAGE_ROW_BYTES: usize = 16;
const SEALED_RUNS_MAX: usize = 4;
const DELTA_SEGMENTS_MAX: usize = 8;

/// Who publishes and compacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upkeep {
    Background,
    Disabled,
}

/// What a write does when more is unpublished than was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenBusy {
    Raise,
    Silent,
    Flush,
}

/// The options of a log in memory.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Options {
    pub(crate) unit: Unit,
    pub(crate) upkeep: Upkeep,
    pub(crate) when_busy: WhenBusy,
    pub(crate) min_ts: Option<i64>,
    pub(crate) mostly_ordered: bool,
    /// Rows that make the virtual memtable full.
    pub(crate) seal_rows: usize,
    /// Late rows that do so.
    pub(crate) late_rows_max: usize,
    pub(crate) sealed_runs_max: usize,
    pub(crate) delta_segments_max: usize,
    pub(crate) page_rows: usize,
    /// Width of a window of time, in the unit.
    pub(crate) window: i64,
    pub(crate) is_adaptive: bool,
    /// Whether a flush in the background lets go of what was deleted.
    pub(crate) compacts_deletes: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            unit: Unit::default(),
            upkeep: Upkeep::Background,
            when_busy: WhenBusy::Raise,
            min_ts: None,
            mostly_ordered: true,
            seal_rows: MEMTABLE_BYTES / ROW_BYTES,
            late_rows_max: MEMTABLE_BYTES / ROW_BYTES / LATE_SHARE,
            sealed_runs_max: SEALED_RUNS_MAX,
            delta_segments_max: DELTA_SEGMENTS_MAX,
            page_rows: PAGE_BYTES / PAGE_ROW_BYTES,
            window: 0,
            is_adaptive: false,
            compacts_deletes: false,
        }
    }
}

impl Upkeep {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Background => "background",
            Self::Disabled => "disabled",
        }
    }
}

impl WhenBusy {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Raise => "raise",
            Self::Silent => "silent",
            Self::Flush => "flush",
        }
    }
}

/// What an option takes.
#[derive(Clone, Copy)]
enum Takes {
    /// A size: not negative.
    Size,
    /// 32 bits without sign.
    Small,
    /// 64 bits, not negative.
    Span,
    /// 64 bits.
    Time,
    /// From 0 to 1.
    Fraction,
}

/// Options of the log itself, of `compaction=` and of `adaptive=`, with what they take.
const PLAIN: [(&str, Takes); 11] = [
    ("memtable_max_bytes", Takes::Size),
    ("target_page_bytes", Takes::Size),
    ("sealed_max_runs", Takes::Size),
    ("ooo_budget_bytes", Takes::Size),
    ("sealed_wait_ms", Takes::Small),
    ("drain_batch_limit", Takes::Small),
    ("maintenance_wakeup_ms", Takes::Small),
    ("max_delta_segments", Takes::Size),
    ("window_size", Takes::Span),
    ("window_origin", Takes::Time),
    ("delete_debt_threshold", Takes::Fraction),
];
/// Key in the dict, flat alias, what it takes.
const COMPACTION: [(&str, &str, Takes); 3] = [
    ("target_bytes", "compaction_target_bytes", Takes::Size),
    ("max_inputs", "max_compaction_inputs", Takes::Small),
    ("max_windows", "max_compaction_windows", Takes::Small),
];
const ADAPTIVE: [(&str, &str, Takes); 10] = [
    ("target_records", "adaptive_target_records", Takes::Span),
    ("min_window", "adaptive_min_window", Takes::Span),
    ("max_window", "adaptive_max_window", Takes::Span),
    ("hysteresis_pct", "adaptive_hysteresis_pct", Takes::Small),
    ("window_quantum", "adaptive_window_quantum", Takes::Span),
    ("alpha", "adaptive_alpha", Takes::Fraction),
    ("warmup_flushes", "adaptive_warmup_flushes", Takes::Small),
    ("stale_flushes", "adaptive_stale_flushes", Takes::Small),
    ("failure_backoff_threshold", "adaptive_failure_backoff_threshold", Takes::Small),
    ("failure_backoff_pct", "adaptive_failure_backoff_pct", Takes::Small),
];

impl Options {
    /// Reads keywords over `self`.
    ///
    /// # Errors
    /// `TypeError` for a keyword that is none or a value of the wrong type, `ValueError` for
    /// one that makes no sense, `OverflowError` for one beyond its width.
    pub(crate) fn with(mut self, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut groups = Groups::default();
        self.late_rows_max = 0;
        // The unit first: times among the others are in it.
        if let Some(unit) = keywords.map(|k| k.get_item("time_unit")).transpose()?.flatten() {
            self.unit = named("time_unit", &unit, &UNITS)?;
        }
        for (name, value) in keywords.into_iter().flat_map(|keywords| keywords.iter()) {
            let name: String = name.extract()?;
            self.set(&name, &value, &mut groups)?;
        }
        groups.check()?;
        self.is_adaptive = groups.number("target_records") > 0;
        if self.late_rows_max == 0 {
            self.late_rows_max = (self.seal_rows / LATE_SHARE).max(1);
        }
        if self.window == 0 {
            self.window = 3600 * self.unit.per_second();
        }
        Ok(self)
    }

    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>, groups: &mut Groups) -> PyResult<()> {
        match name {
            "time_unit" => {}
            "maintenance" => self.upkeep = named(name, value, &UPKEEPS)?,
            "busy_policy" => self.when_busy = named(name, value, &POLICIES)?,
            "min_ts" => {
                self.min_ts = match value.is_none() {
                    true => None,
                    false => Some(timestamp(value, self.unit)?),
                }
            }
            "mostly_ordered_default" => {
                let Ok(flag) = value.cast::<PyBool>() else {
                    return Err(PyTypeError::new_err("mostly_ordered_default must be bool"));
                };
                self.mostly_ordered = flag.is_true();
            }
            "compaction" => groups.dict("compaction", &COMPACTION, value)?,
            "adaptive" => groups.dict("adaptive", &ADAPTIVE, value)?,
            _ => return self.set_number(name, value, groups),
        }
        Ok(())
    }

    fn set_number(
        &mut self,
        name: &str,
        value: &Bound<'_, PyAny>,
        groups: &mut Groups,
    ) -> PyResult<()> {
        let aliases = COMPACTION.iter().chain(&ADAPTIVE);
        if let Some((key, _, takes)) = aliases.clone().find(|(_, flat, _)| *flat == name) {
            let number = takes.read(name, value)?;
            return groups.flat(key, name, number);
        }
        let Some((_, takes)) = PLAIN.iter().find(|(known, _)| *known == name) else {
            return Err(PyTypeError::new_err(format!(
                "Timelog() got an unexpected keyword argument '{name}'"
            )));
        };
        let number = takes.read(name, value)?;
        let size = usize::try_from(number).unwrap_or_default();
        match name {
            "memtable_max_bytes" if size > 0 => self.seal_rows = (size / ROW_BYTES).max(1),
            "ooo_budget_bytes" if size > 0 => self.late_rows_max = (size / ROW_BYTES).max(1),
            "sealed_max_runs" if size > 0 => self.sealed_runs_max = size,
            "max_delta_segments" if size > 0 => self.delta_segments_max = size,
            "window_size" => self.window = number,
            // A share of the rows was asked for; that any delete counts lets go of them sooner.
            "delete_debt_threshold" => self.compacts_deletes = number > 0,
            "target_page_bytes" if size > 0 => {
                if size < 256 {
                    return Err(PyValueError::new_err(
                        "target_page_bytes must be 0 or >= 256 (16 rows)",
                    ));
                }
                self.page_rows = size / PAGE_ROW_BYTES;
            }
            _ => {}
        }
        Ok(())
    }

    /// Rows below the floor are refused.
    ///
    /// # Errors
    /// `ValueError`.
    #[inline]
    pub(crate) fn check_floor(&self, time: i64) -> PyResult<()> {
        match self.min_ts {
            Some(floor) if time < floor => Err(PyValueError::new_err(format!(
                "timestamp {time} is below min_ts boundary ({floor})"
            ))),
            _ => Ok(()),
        }
    }
}

impl Takes {
    /// The number that an option was given; of a fraction only whether there is one, since no more is used.
    fn read(self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<i64> {
        if let Self::Fraction = self {
            if value.is_instance_of::<PyBool>()
                || !(value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>())
            {
                return Err(wrong_type(format_args!("{name} must be a float"), value));
            }
            let part: f64 = value.extract()?;
            if !part.is_finite() {
                return Err(PyValueError::new_err(format!("{name} must be finite")));
            }
            if !(0.0..=1.0).contains(&part) {
                return Err(PyValueError::new_err(format!("{name} must be in [0.0, 1.0]")));
            }
            return Ok(i64::from(part > 0.0));
        }
        if value.is_instance_of::<PyBool>() || !value.hasattr("__index__")? {
            return Err(wrong_type(format_args!("{name} must be an int"), value));
        }
        let whole: i64 = match (value.extract(), self) {
            (Ok(whole), _) => whole,
            (Err(_), Self::Small) => return Err(not_small(name)),
            (Err(error), _) if error.is_instance_of::<PyOverflowError>(value.py()) => {
                return Err(PyOverflowError::new_err(format!("{name} is too large")));
            }
            (Err(error), _) => return Err(error),
        };
        match self {
            Self::Small if u32::try_from(whole).is_err() => Err(not_small(name)),
            Self::Size | Self::Span if whole < 0 => {
                Err(PyValueError::new_err(format!("{name} must be >= 0")))
            }
            _ => Ok(whole),
        }
    }
}

fn not_small(name: &str) -> PyErr {
    PyValueError::new_err(format!("{name} must be 0-4294967295"))
}

const UNITS: [(&str, Unit); 4] =
    [("s", Unit::Second), ("ms", Unit::Milli), ("us", Unit::Micro), ("ns", Unit::Nano)];
const UPKEEPS: [(&str, Upkeep); 2] =
    [("background", Upkeep::Background), ("disabled", Upkeep::Disabled)];
const POLICIES: [(&str, WhenBusy); 3] =
    [("raise", WhenBusy::Raise), ("silent", WhenBusy::Silent), ("flush", WhenBusy::Flush)];

/// Of a few names, the value asked for.
fn named<T: Copy>(what: &str, name: &Bound<'_, PyAny>, choices: &[(&str, T)]) -> PyResult<T> {
    let Ok(name) = name.cast::<PyString>() else {
        return Err(wrong_type(format_args!("{what} must be a str"), name));
    };
    let name = name.to_string();
    choices.iter().find(|(known, _)| *known == name).map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<_> = choices.iter().map(|(known, _)| format!("'{known}'")).collect();
        PyValueError::new_err(format!("{what} must be {}, not '{name}'", known.join(" or ")))
    })
}

/// Options that come in a dict, or each by a keyword of its own.
#[derive(Default)]
struct Groups {
    given: Vec<(String, &'static str, i64)>,
}

impl Groups {
    fn flat(&mut self, key: &'static str, flat: &str, number: i64) -> PyResult<()> {
        if self.given.iter().any(|(name, _, _)| name == flat) {
            let group = if flat.starts_with("adaptive_") { "adaptive" } else { "compaction" };
            return Err(PyValueError::new_err(format!(
                "Cannot specify both {flat} and {group}={{'{key}': ...}}"
            )));
        }
        self.given.push((flat.to_owned(), key, number));
        Ok(())
    }

    fn dict(
        &mut self,
        group: &str,
        known: &[(&'static str, &'static str, Takes)],
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        if value.is_none() {
            return Ok(());
        }
        let Ok(dict) = value.cast::<PyDict>() else {
            return Err(PyTypeError::new_err(format!("{group} must be a dict")));
        };
        for (key, value) in dict.iter() {
            let Ok(key) = key.cast::<PyString>() else {
                return Err(PyTypeError::new_err(format!("{group} keys must be str")));
            };
            let key = key.to_string();
            let Some((key, flat, takes)) = known.iter().find(|(name, _, _)| *name == key) else {
                return Err(PyValueError::new_err(format!("Unknown key '{key}' in {group} dict")));
            };
            let number = takes.read(flat, &value)?;
            self.flat(key, flat, number)?;
        }
        Ok(())
    }

    fn number(&self, key: &str) -> i64 {
        let found = self.given.iter().find(|(_, name, _)| *name == key);
        found.map_or(0, |(_, _, number)| *number)
    }

    fn check(&self) -> PyResult<()> {
        if self.number("hysteresis_pct") > 100 {
            return Err(PyValueError::new_err("adaptive_hysteresis_pct must be 0-100"));
        }
        let (min, max) = (self.number("min_window"), self.number("max_window"));
        if self.number("target_records") > 0 && max > 0 && min > max {
            return Err(PyValueError::new_err(
                "adaptive_min_window must be <= adaptive_max_window",
            ));
        }
        Ok(())
    }
}
