//! `Store.logs`: the log of a name.

use pyo3::prelude::*;
use timestrata_engine::Retention;
use timestrata_logs::{Clock, Labels, Logs as LogsModel, LogsOptions};

use super::Logs;
use super::arguments::add_labels;
use super::object::WAYS;
use crate::error::to_python;
use crate::opened::Opened;
use crate::settings::{compression as compression_named, span_ns};
use crate::store::Store;

#[pymethods]
impl Store {
    /// Give the log of this name; make it if it is missing.
    ///
    /// What is not said stays as it is in a log that exists, and is the default in a new one.
    ///
    /// Parameters
    /// ----------
    /// name : str
    ///     1 to 249 letters, digits, dots, underscores and hyphens.
    /// message_bytes_max : int, optional
    ///     Longest message, and longest fields; 1 MiB in a new log, at most 8 MiB.
    /// columns_max : int, optional
    ///     How many fields may get columns of their own, once many entries have them; 32 in a new log,
    ///     at most 64.
    /// retention_age, retention_bytes : float, int, optional
    ///     Throw away entries that arrived more than so many seconds ago, or the oldest beyond so many
    ///     bytes.
    /// clock : {"timestamp", "source_time"}, optional
    ///     Which clock searches, counts and histograms go by that name none: when entries arrived, which is
    ///     the default in a new log, or when they happened as their senders say. It can be changed.
    /// compression : str, optional
    ///     How compacted entries are packed: "zstd", which is the default, "zstd:LEVEL" (1 to 22), "lz4" or
    ///     "none". For a log that exists it tells of files that are written from now on.
    /// labels : mapping of str to str, optional
    ///     What entries have that are written by way of this object, unless they say otherwise: where
    ///     they come from, such as service and host. It is not kept with the log.
    /// create : bool, optional
    ///     False: it must exist.
    ///
    /// Raises
    /// ------
    /// AlreadyExistsError
    ///     It exists with other numbers than asked for.
    /// NotFoundError
    ///     It doesn't exist, and may not be made.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> store.logs("app", retention_age=30 * 86_400, labels={"service": "api"})
    /// <Logs "app" labels={"service":"api"}>
    #[pyo3(signature = (name, *, message_bytes_max=None, columns_max=None, retention_age=None,
                        retention_bytes=None, clock=None, compression=None, labels=None, create=true))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn logs(
        &self,
        py: Python<'_>,
        name: &str,
        message_bytes_max: Option<usize>,
        columns_max: Option<usize>,
        retention_age: Option<f64>,
        retention_bytes: Option<u64>,
        clock: Option<&str>,
        compression: Option<&str>,
        labels: Option<&Bound<'_, PyAny>>,
        create: bool,
    ) -> PyResult<Logs> {
        let age_ns = span_ns("retention_age", retention_age)?;
        let compression = compression_named(compression)?;
        let clock = clock.map(str::parse::<Clock>).transpose().map_err(to_python)?;
        let mut own = Labels::default();
        add_labels(&mut own, labels)?;
        // What was not asked for is as it is.
        let wanted = |found: LogsOptions| {
            let kept = found.retention.unwrap_or_default();
            LogsOptions {
                message_bytes_max: message_bytes_max.unwrap_or(found.message_bytes_max),
                columns_max: columns_max.unwrap_or(found.columns_max),
                retention: Some(Retention {
                    age_ns: age_ns.or(kept.age_ns),
                    bytes: retention_bytes.or(kept.bytes),
                }),
                clock: clock.or(found.clock),
                compression: compression.or(found.compression),
            }
        };
        let log = Opened::named(py, &self.handle, name, create, &WAYS, wanted)?;
        Ok(Logs { log, labels: own })
    }

    /// List the names of all logs.
    fn log_names(&self) -> PyResult<Vec<String>> {
        Ok(LogsModel::names(self.handle.store()?))
    }
}
