//! `extend`: rows from Python gathered into commits.
//!
//! Input of a known length is one atomic commit as long as it has at most
//! [`COMMIT_BYTES_MAX`]; longer input, and input that comes one by one, is committed in chunks,
//! each atomic, so that memory stays bounded and a slow generator's rows are soon durable.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use timestrata_engine::{Durability, ErrorKind};
use timestrata_models::timelog::{EntryBatch, Timelog};

use crate::codec::encode;
use crate::error::{refused, to_python};
use crate::interrupt::detached;
use crate::timestamp::timestamp;

/// Bytes of rows in one commit.
const COMMIT_BYTES_MAX: usize = 64 << 20;
/// Rows and bytes of one commit of input that comes one by one.
const CHUNK_ROWS_MAX: usize = 8_192;
const CHUNK_BYTES_MAX: usize = 1 << 20;
/// Rows between two looks for Ctrl-C.
const DEAF_ROWS_MAX: usize = 4_096;

/// Bytes that a row takes beside its value.
const ROW_BYTES: usize = 12;

/// Appends pairs, or timestamps and objects side by side.
///
/// # Errors
/// A row's own error, with a note that says which row and what is stored; a commit's error.
pub(crate) fn extend(
    log: &Timelog,
    rows: &Bound<'_, PyAny>,
    objects: Option<&Bound<'_, PyAny>>,
    durability: Durability,
) -> PyResult<()> {
    let is_sized = is_sized(rows, objects)?;
    let mut gathering = Gathering::new(log, durability, is_sized);
    for_each(rows, objects, |time, value| gathering.push(time, value))
        .and_then(|()| gathering.commit(rows.py()))
        .inspect_err(|error| gathering.explain(rows.py(), error))
}

struct Gathering<'a> {
    log: &'a Timelog,
    durability: Durability,
    batch: EntryBatch,
    scratch: Vec<u8>,
    rows_max: usize,
    bytes_max: usize,
    committed: usize,
}

impl<'a> Gathering<'a> {
    fn new(log: &'a Timelog, durability: Durability, is_sized: bool) -> Self {
        let (rows_max, bytes_max) = if is_sized {
            (usize::MAX, COMMIT_BYTES_MAX)
        } else {
            (CHUNK_ROWS_MAX, CHUNK_BYTES_MAX)
        };
        let (batch, scratch) = (EntryBatch::new(), Vec::new());
        Self { log, durability, batch, scratch, rows_max, bytes_max, committed: 0 }
    }

    fn push(&mut self, time: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = time.py();
        let time = timestamp(time, self.log.unit())?;
        self.scratch.clear();
        encode(self.log.codec(), value, &mut self.scratch)?;
        let bytes = self.batch.value_bytes() + self.batch.len() * ROW_BYTES;
        let is_full = bytes + self.scratch.len() + ROW_BYTES > self.bytes_max;
        if self.batch.len() == self.rows_max || (is_full && !self.batch.is_empty()) {
            self.commit(py)?;
        }
        self.batch.push(time, &self.scratch).map_err(|error| to_python(py, &error))?;
        if self.batch.len().is_multiple_of(DEAF_ROWS_MAX) {
            py.check_signals()?;
        }
        Ok(())
    }

    fn commit(&mut self, py: Python<'_>) -> PyResult<()> {
        let batch = std::mem::take(&mut self.batch);
        let rows = batch.len();
        detached(py, || self.log.extend_batch(batch, self.durability))?;
        self.committed += rows;
        Ok(())
    }

    /// Says under the traceback what became of the rows.
    fn explain(&self, py: Python<'_>, error: &PyErr) {
        let note = if self.committed == 0 {
            format!("extend(): nothing was stored; it stopped behind row {}", self.batch.len())
        } else {
            format!(
                "extend(): the first {} rows are stored; it stopped behind row {}",
                self.committed,
                self.committed + self.batch.len()
            )
        };
        // A note is a kindness: an exception that takes none is raised without.
        let _ = error.value(py).call_method1("add_note", (note,));
    }
}

/// Whether rows come from something with a length.
///
/// # Errors
/// If timestamps and objects have different ones.
pub(crate) fn is_sized(
    rows: &Bound<'_, PyAny>,
    objects: Option<&Bound<'_, PyAny>>,
) -> PyResult<bool> {
    let rows = rows.len().ok();
    let Some(objects) = objects else { return Ok(rows.is_some()) };
    match (rows, objects.len().ok()) {
        (Some(rows), Some(objects)) if rows != objects => Err(different_lengths(rows, objects)),
        (rows, objects) => Ok(rows.is_some() && objects.is_some()),
    }
}

/// Gives every row of pairs, or of timestamps and objects side by side, to `take`.
///
/// # Errors
/// The iterators' own and those of `take`; for what is no pair; if one side ends first.
pub(crate) fn for_each<'py>(
    rows: &Bound<'py, PyAny>,
    objects: Option<&Bound<'py, PyAny>>,
    mut take: impl FnMut(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    let Some(objects) = objects else {
        for row in rows.try_iter()? {
            let (time, value) = pair(&row?)?;
            take(&time, &value)?;
        }
        return Ok(());
    };
    let (mut times, mut objects) = (rows.try_iter()?, objects.try_iter()?);
    let mut count = 0;
    loop {
        match (times.next().transpose()?, objects.next().transpose()?) {
            (Some(time), Some(value)) => take(&time, &value)?,
            (None, None) => return Ok(()),
            (Some(_), None) => return Err(different_lengths(count + 1, count)),
            (None, Some(_)) => return Err(different_lengths(count, count + 1)),
        }
        count += 1;
    }
}

/// The two parts of anything with two parts.
fn pair<'py>(row: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    if let Ok(tuple) = row.cast::<PyTuple>() {
        if tuple.len() == 2 {
            return Ok((tuple.get_item(0)?, tuple.get_item(1)?));
        }
    } else if let Ok(list) = row.cast::<PyList>() {
        if list.len() == 2 {
            return Ok((list.get_item(0)?, list.get_item(1)?));
        }
    } else if let Ok(mut parts) = row.try_iter()
        && let (Some(time), Some(value), None) = (parts.next(), parts.next(), parts.next())
    {
        return Ok((time?, value?));
    }
    let shown: String = row.repr()?.to_string_lossy().chars().take(80).collect();
    Err(refused(ErrorKind::InvalidData, format!("extend() expects (ts, obj) pairs, not {shown}")))
}

pub(crate) fn different_lengths(timestamps: usize, objects: usize) -> PyErr {
    refused(
        ErrorKind::InvalidData,
        format!(
            "timestamps and objects must have same length: there are {timestamps} and {objects}"
        ),
    )
}
