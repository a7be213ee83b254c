//! Entries in: one, or many as one commit.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use timestrata_logs::{EntryBatch, NewEntry};

use super::Logs;
use super::input::{entry_of, fill};
use crate::error::to_python;
use crate::interrupt::detached;

/// Entries that are converted before they go on to the batch, which may have to wait for that.
const CONVERTED_MAX: usize = 64;

/// Entries on their way into one commit.
struct EntriesWriter {
    batch: EntryBatch,
    /// Those converted and not in the batch yet, and behind them some that are kept for their memory.
    converted: Vec<NewEntry>,
    count: usize,
}

impl EntriesWriter {
    /// Adds one that `make` fills.
    fn push(
        &mut self,
        py: Python<'_>,
        make: impl FnOnce(&mut NewEntry) -> PyResult<()>,
    ) -> PyResult<()> {
        if self.count == CONVERTED_MAX {
            self.settle(py)?;
            py.check_signals()?;
        }
        if self.count == self.converted.len() {
            self.converted.push(NewEntry::default());
        }
        if let Some(place) = self.converted.get_mut(self.count) {
            make(place)?;
            self.count += 1;
        }
        Ok(())
    }

    /// Moves what is converted to the batch.
    fn settle(&mut self, py: Python<'_>) -> PyResult<()> {
        let ready = self.converted.get(..self.count).unwrap_or_default();
        let batch = &mut self.batch;
        let outcome = py.detach(|| ready.iter().try_for_each(|entry| batch.push(entry)));
        self.count = 0;
        outcome.map_err(to_python)
    }
}

#[pymethods]
impl Logs {
    /// Write one entry. Gives the timestamp that it got.
    ///
    /// Parameters
    /// ----------
    /// message : str
    ///     What happened.
    /// level : str or int, optional
    ///     How bad it is: "trace", "debug", "info", "warn", "error" or "fatal" in any case, a name that
    ///     syslog or ``logging`` has for one of them, or a number of ``logging`` (10 to 50).
    /// source_time : int, datetime or str, optional
    ///     When it happened, an int in nanoseconds since 1970-01-01 UTC. Kept as it is given.
    /// labels : mapping of str to str, optional
    ///     Where it comes from: few names with few values each, at most 16.
    /// sync : bool, optional
    ///     Whether it must survive a power cut before this returns; else what the store was opened for.
    /// **fields
    ///     What else is known of it: None, bool, int, float, str, bytes, aware datetime, lists, and
    ///     dicts whose keys are str. Fields that are called as a parameter can be given to
    ///     `write_many`.
    ///
    /// Returns
    /// -------
    /// int
    ///     Nanoseconds since 1970-01-01 UTC; no other entry of the log has the same, later ones have
    ///     greater ones.
    ///
    /// Raises
    /// ------
    /// TooLargeError
    ///     The message or the fields are longer than the log takes.
    /// TypeError
    ///     A value is none of these; it names the field. As after every error, nothing was written.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> logs = timestrata.open().logs("app")
    /// >>> timestamp = logs.write("request served", level="info", status=200, took={"ms": 1.5})
    #[pyo3(signature = (message, /, *, level=None, source_time=None, labels=None, sync=false,
                        **fields))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn write(
        &self,
        py: Python<'_>,
        message: &str,
        level: Option<&Bound<'_, PyAny>>,
        source_time: Option<&Bound<'_, PyAny>>,
        labels: Option<&Bound<'_, PyAny>>,
        sync: bool,
        fields: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<i64> {
        self.log.model()?;
        let entry = entry_of(message, level, source_time, &self.labels, labels, fields)?;
        let durability = self.log.handle.durability(sync);
        self.log.detached(py, |log| log.write_with(&entry, durability))
    }

    /// Write entries as one commit, all or none. Gives the timestamps that they got.
    ///
    /// Parameters
    /// ----------
    /// entries : iterable
    ///     Each a message alone, a mapping of message, level, source_time, labels and fields, of which
    ///     only the message must be there, or a `LogEntry`. All of them are held in memory.
    /// sync : bool, optional
    ///     As in `write`.
    ///
    /// Returns
    /// -------
    /// range
    ///     The timestamp of each, in their order.
    ///
    /// Raises
    /// ------
    /// TooLargeError
    ///     A message or fields are longer than the log takes, or all together than a commit.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> logs = timestrata.open().logs("app")
    /// >>> timestamps = logs.write_many([
    /// ...     "begun",
    /// ...     {"message": "disk is full", "level": "error", "fields": {"level": 9}},
    /// ... ])
    /// >>> len(timestamps)
    /// 2
    #[pyo3(signature = (entries, sync=false))]
    fn write_many<'py>(
        &self,
        py: Python<'py>,
        entries: &Bound<'py, PyAny>,
        sync: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let model = self.log.model()?;
        let batch = detached(py, || model.batch())?;
        let mut writer = EntriesWriter { batch, converted: Vec::new(), count: 0 };
        let written = entries.try_iter()?.try_for_each(|entry| {
            let entry = entry?;
            writer.push(py, |place| fill(place, &self.labels, &entry))
        });
        written.and_then(|()| writer.settle(py)).inspect_err(|error| {
            let behind = writer.batch.len() + writer.count;
            let note =
                format!("write_many(): nothing was written; it stopped behind entry {behind}");
            // A note is a kindness: an exception that takes none is raised without.
            let _ = error.value(py).call_method1("add_note", (note,));
        })?;
        let (count, durability) = (writer.batch.len(), self.log.handle.durability(sync));
        let first = detached(py, || model.write_batch(&mut writer.batch, durability))?;
        let first = first.unwrap_or_default();
        let end = i128::from(first) + count as i128;
        py.import("builtins")?.getattr("range")?.call1((first, end))
    }
}
