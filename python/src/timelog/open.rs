//! `Store.timelog`: the time log of a name.

use std::sync::Arc;

use pyo3::prelude::*;
use timestrata_engine::{Error, ErrorKind};
use timestrata_timelog::{Codec, Timelog as TimelogModel, TimelogOptions, Unit};

use super::stored::Stored;
use super::{State, Timelog};
use crate::error::to_python;
use crate::handle::Handle;
use crate::store::Store;
use crate::typed::columns_of;

/// The time log of a store; made if it is missing and may be.
pub(super) fn timelog_of(
    py: Python<'_>,
    handle: &Handle,
    name: &str,
    codec: Option<&str>,
    unit: Option<&str>,
    schema: Option<&Bound<'_, PyAny>>,
) -> PyResult<TimelogModel> {
    let columns = schema.map(columns_of).transpose()?;
    let mut codec = codec.map(str::parse::<Codec>).transpose().map_err(to_python)?;
    if columns.is_some() {
        // Only one codec has columns.
        codec = codec.or(Some(Codec::Arrow));
    }
    let unit = unit.map(str::parse::<Unit>).transpose().map_err(to_python)?;
    let must_exist = handle.mode == "r";
    handle.detached(py, |store| {
        let (codec_default, unit_default, columns_default) = if must_exist
            || store.stream(name).is_some()
        {
            let log = TimelogModel::open(store, name)?;
            if log.codec() == Codec::Pickle && codec.is_none() {
                return Err(Error::new(
                    ErrorKind::InvalidArgument,
                    format!(
                        "time log '{name}' holds pickles, and reading a pickle runs what is in it: \
                         if you trust who wrote it, say codec='pickle'"
                    ),
                ));
            }
            let same_codec = codec.is_none_or(|codec| codec == log.codec());
            let same_unit = unit.is_none_or(|unit| unit == log.unit());
            let same_columns = columns.is_none() || columns == log.columns();
            if same_codec && same_unit && same_columns {
                return Ok(log);
            }
            (log.codec(), log.unit(), if same_codec { log.columns() } else { None })
        } else {
            (Codec::Cbor, Unit::default(), None)
        };
        let options = TimelogOptions {
            codec: codec.unwrap_or(codec_default),
            columns: columns.or(columns_default),
            unit: unit.unwrap_or(unit_default),
            ..TimelogOptions::default()
        };
        TimelogModel::create(store, name, options)
    })
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
    /// Raises
    /// ------
    /// AlreadyExistsError
    ///     It exists with another codec, unit or schema than asked for.
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
    #[pyo3(signature = (name, *, codec=None, unit=None, schema=None))]
    fn timelog(
        &self,
        py: Python<'_>,
        name: &str,
        codec: Option<&str>,
        unit: Option<&str>,
        schema: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Timelog> {
        let log = timelog_of(py, &self.handle, name, codec, unit, schema)?;
        let stored = Stored::new(py, Arc::clone(&self.handle), log, false)?;
        Ok(Timelog::in_state(State::Stored(Arc::new(stored))))
    }

    /// List the names of all time logs.
    fn timelogs(&self) -> PyResult<Vec<String>> {
        let store = self.handle.store()?;
        let is_timelog = |name: &String| TimelogModel::open(store, name).is_ok();
        Ok(self.names()?.filter(is_timelog).collect())
    }
}
