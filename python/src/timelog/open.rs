//! `Store.timelog`: the time log of a name.

use std::sync::Arc;

use pyo3::prelude::*;
use timestrata_engine::{Error, ErrorKind, Retention};
use timestrata_timelog::{Codec, Timelog as TimelogModel, TimelogOptions, Unit};

use super::stored::{Place, Stored};
use super::{State, Timelog};
use crate::error::to_python;
use crate::handle::Handle;
use crate::settings::span_ns;
use crate::store::Store;
use crate::timestamp::timestamp;
use crate::typed::columns_of;

/// What a time log is asked to be.
#[derive(Debug, Default)]
pub(super) struct Wanted<'a, 'py> {
    pub(super) codec: Option<&'a str>,
    pub(super) unit: Option<&'a str>,
    pub(super) schema: Option<&'a Bound<'py, PyAny>>,
    pub(super) retention_age: Option<f64>,
    pub(super) retention_bytes: Option<u64>,
    pub(super) min_ts: Option<&'a Bound<'py, PyAny>>,
}

/// The time log of a store; made if it is missing and may be.
pub(super) fn timelog_of(
    py: Python<'_>,
    handle: &Handle,
    name: &str,
    wanted: &Wanted<'_, '_>,
) -> PyResult<TimelogModel> {
    let columns = wanted.schema.map(columns_of).transpose()?;
    let mut codec = wanted.codec.map(str::parse::<Codec>).transpose().map_err(to_python)?;
    if columns.is_some() {
        // Only one codec has columns.
        codec = codec.or(Some(Codec::Arrow));
    }
    let unit = wanted.unit.map(str::parse::<Unit>).transpose().map_err(to_python)?;
    let age_ns = span_ns("retention_age", wanted.retention_age)?;
    let bytes = wanted.retention_bytes;
    let min_time = match wanted.min_ts {
        None => None,
        Some(min_ts) => Some(timestamp(min_ts, unit_of(handle, name, unit)?)?),
    };
    let must_exist = handle.mode == "r";
    handle.detached(py, |store| {
        let found = match must_exist || store.stream(name).is_some() {
            true => Some(TimelogModel::open(store, name)?),
            false => None,
        };
        if found.as_ref().is_some_and(|log| log.codec() == Codec::Pickle) && codec.is_none() {
            return Err(pickled(name));
        }
        let kept = found.as_ref().map(TimelogModel::retention).transpose()?.unwrap_or_default();
        let retention = Retention { age_ns: age_ns.or(kept.age_ns), bytes: bytes.or(kept.bytes) };
        if let Some(log) = &found {
            let same_codec = codec.is_none_or(|codec| codec == log.codec());
            let same_unit = unit.is_none_or(|unit| unit == log.unit());
            let same_columns = columns.is_none() || columns == log.columns();
            let same_min = min_time.is_none() || min_time == log.min_time_allowed();
            if same_codec && same_unit && same_columns && same_min && retention == kept {
                return Ok(log.clone());
            }
        }
        let same_codec = |log: &&TimelogModel| codec.is_none_or(|codec| codec == log.codec());
        let options = TimelogOptions {
            codec: codec.or(found.as_ref().map(TimelogModel::codec)).unwrap_or(Codec::Cbor),
            columns: columns.or(found.as_ref().filter(same_codec).and_then(TimelogModel::columns)),
            unit: unit.or(found.as_ref().map(TimelogModel::unit)).unwrap_or_default(),
            retention: (retention != kept).then_some(retention),
            min_time,
            ..TimelogOptions::default()
        };
        TimelogModel::create(store, name, options)
    })
}

/// The unit in which a new smallest time is counted: that of the log.
fn unit_of(handle: &Handle, name: &str, asked: Option<Unit>) -> PyResult<Unit> {
    if let Some(unit) = asked {
        return Ok(unit);
    }
    let store = handle.store()?;
    match store.stream(name) {
        Some(_) => Ok(TimelogModel::open(store, name).map_err(to_python)?.unit()),
        None => Ok(Unit::default()),
    }
}

fn pickled(name: &str) -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        format!(
            "time log '{name}' holds pickles, and reading a pickle runs what is in it: \
             if you trust who wrote it, say codec='pickle'"
        ),
    )
}

#[pymethods]
impl Store {
    /// Give the time log of this name; make it if it is missing.
    ///
    /// Parameters
    /// ----------
    /// name : str
    /// codec : {"cbor", "bytes", "json", "arrow", "pickle"}, optional
    ///     How values are stored: plain Python data as CBOR (RFC 8949) or as JSON, bytes as they
    ///     are, columns of Arrow types, or any object as a pickle. A new log has "cbor"; one that
    ///     exists keeps its own. "pickle" must be said at each open: reading a pickle runs what is
    ///     in it.
    /// unit : {"ms", "s", "us", "ns"}, optional
    ///     Unit of its timestamps. A new log has "ms"; one that exists keeps its own.
    /// schema : str, dict or Arrow schema, optional
    ///     What values are in a log of codec "arrow", needed when it is made: the name of a type
    ///     ("float64": every value is a float or None), a dict from column to type, or any object
    ///     with ``__arrow_c_schema__`` (every value is a dict of the columns).
    ///
    /// retention_age, retention_bytes : float, int, optional
    ///     Entries whose time is so many seconds ago, or the oldest beyond so many bytes, go by
    ///     themselves, a file at a time. What is not given stays as it is; see `Timelog.set_retention`.
    /// min_ts : int or datetime, optional
    ///     Entries with smaller times are refused, whoever writes them; of a new log.
    ///
    /// Raises
    /// ------
    /// AlreadyExistsError
    ///     It exists with another codec, unit, schema or min_ts than asked for.
    /// NotFoundError
    ///     It doesn't exist, and the store was opened for reading.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> store.timelog("raw", codec="bytes", unit="ns")
    /// <Timelog 'raw' codec=bytes unit=ns>
    /// >>> trades = store.timelog("trades", schema={"price": "float64", "shares": "int64"})
    /// >>> trades.append(1, {"price": 7.5, "shares": 100})
    /// >>> trades[1]
    /// [{'price': 7.5, 'shares': 100}]
    #[pyo3(signature = (name, *, codec=None, unit=None, schema=None, retention_age=None,
                        retention_bytes=None, min_ts=None))]
    #[expect(clippy::too_many_arguments, reason = "each is one that Python gives by name")]
    fn timelog(
        &self,
        py: Python<'_>,
        name: &str,
        codec: Option<&str>,
        unit: Option<&str>,
        schema: Option<&Bound<'_, PyAny>>,
        retention_age: Option<f64>,
        retention_bytes: Option<u64>,
        min_ts: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Timelog> {
        let wanted = Wanted { codec, unit, schema, retention_age, retention_bytes, min_ts };
        let log = timelog_of(py, &self.handle, name, &wanted)?;
        let place = Place::Store(Arc::clone(&self.handle), self.handle.durability);
        let stored = Stored::new(py, place, log)?;
        Ok(Timelog::in_state(State::Stored(Arc::new(stored))))
    }

    /// List the names of all time logs.
    fn timelogs(&self) -> PyResult<Vec<String>> {
        let store = self.handle.store()?;
        let is_timelog = |name: &String| TimelogModel::open(store, name).is_ok();
        Ok(self.names()?.filter(is_timelog).collect())
    }
}
