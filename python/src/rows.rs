//! `extend`: rows from Python gathered into commits.
//!
//! Input of a known length is one atomic commit: beyond [`COMMIT_BYTES_MAX`] it goes straight to
//! runs, part by part. Input that comes one by one is committed in chunks, each atomic, so that a slow
//! generator's rows are soon durable, unless the caller wants it to be one commit too.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use timestrata_engine::{Durability, ErrorKind, RowBatch};
use timestrata_timelog::{EntryBatch, Timelog, TimelogBulk};

use crate::codec::{Decoder, encode};
use crate::error::{refused, to_python};
use crate::interrupt::{SIGNAL_ROWS, detached};
use crate::timestamp::timestamp;
use crate::typed::Typed;

/// Bytes of rows in one commit, or in a part of one.
const COMMIT_BYTES_MAX: usize = 64 << 20;
/// Rows and bytes of one commit of input that comes one by one.
const CHUNK_ROWS_MAX: usize = 8_192;
const CHUNK_BYTES_MAX: usize = 1 << 20;

/// Bytes that a row takes beside its value.
const ROW_BYTES: usize = 12;

/// Appends pairs, or timestamps and objects side by side.
///
/// # Errors
/// A row's own error, with a note that says which row and what is stored; a commit's error.
pub(crate) fn extend(
    log: &Timelog,
    decoder: &Decoder,
    rows: &Bound<'_, PyAny>,
    objects: Option<&Bound<'_, PyAny>>,
    is_atomic: Option<bool>,
    durability: Durability,
) -> PyResult<()> {
    let is_sized = is_sized(rows, objects)?;
    let is_atomic = is_atomic.unwrap_or(is_sized);
    let batch = Batch::new(log, decoder)?;
    let (rows_max, bytes_max) = match is_atomic {
        true => (usize::MAX, COMMIT_BYTES_MAX),
        false => (CHUNK_ROWS_MAX, CHUNK_BYTES_MAX),
    };
    let bulk = None;
    let mut writer =
        BatchWriter { log, durability, batch, bulk, is_atomic, rows_max, bytes_max, committed: 0 };
    for_each(rows, objects, |time, value| writer.push(time, value))
        .and_then(|()| writer.finish(rows.py()))
        .inspect_err(|error| writer.explain(rows.py(), error))
}

/// Rows that are to be committed together.
enum Batch<'a> {
    Bytes(EntryBatch, Vec<u8>),
    Typed(RowBatch, &'a Typed),
}

impl<'a> Batch<'a> {
    fn new(log: &Timelog, decoder: &'a Decoder) -> PyResult<Self> {
        match decoder {
            Decoder::Bytes(_) => Ok(Self::Bytes(EntryBatch::new(), Vec::new())),
            Decoder::Typed(typed) => Ok(Self::Typed(log.typed_batch().map_err(to_python)?, typed)),
        }
    }

    fn push(&mut self, log: &Timelog, time: i64, value: &Bound<'_, PyAny>) -> PyResult<()> {
        match self {
            Self::Bytes(batch, scratch) => {
                scratch.clear();
                encode(log.codec(), value, scratch)?;
                batch.push(time, scratch).map_err(to_python)
            }
            Self::Typed(batch, typed) => {
                typed.with_cells(time, value, |cells| batch.push(cells).map_err(to_python))
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Bytes(batch, _) => batch.len(),
            Self::Typed(batch, _) => batch.len(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Bytes(batch, _) => batch.value_bytes() + batch.len() * ROW_BYTES,
            Self::Typed(batch, _) => batch.bytes(),
        }
    }

    /// Adds the rows to a commit that takes several of these; none are left, whatever comes of it.
    fn add_to(&mut self, py: Python<'_>, bulk: &mut TimelogBulk) -> PyResult<()> {
        match self {
            Self::Bytes(batch, _) => {
                let batch = std::mem::take(batch);
                detached(py, || bulk.append(batch))
            }
            Self::Typed(batch, _) => detached(py, || bulk.append_typed(batch)),
        }
    }

    /// Commits the rows; none are left, whatever comes of it.
    fn commit(&mut self, py: Python<'_>, log: &Timelog, durability: Durability) -> PyResult<()> {
        match self {
            Self::Bytes(batch, _) => {
                let batch = std::mem::take(batch);
                detached(py, || log.extend_batch(batch, durability))?;
            }
            Self::Typed(batch, _) => {
                detached(py, || log.extend_typed(batch, durability))?;
            }
        }
        Ok(())
    }
}

struct BatchWriter<'a> {
    log: &'a Timelog,
    durability: Durability,
    batch: Batch<'a>,
    /// The commit of all, once they are more than fit into one batch.
    bulk: Option<TimelogBulk>,
    is_atomic: bool,
    rows_max: usize,
    bytes_max: usize,
    committed: usize,
}

impl BatchWriter<'_> {
    fn push(&mut self, time: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = time.py();
        let time = timestamp(time, self.log.unit())?;
        if self.batch.len() >= self.rows_max || self.batch.bytes() >= self.bytes_max {
            self.commit(py)?;
        }
        self.batch.push(self.log, time, value)?;
        if self.batch.len().is_multiple_of(SIGNAL_ROWS) {
            py.check_signals()?;
        }
        Ok(())
    }

    fn commit(&mut self, py: Python<'_>) -> PyResult<()> {
        let rows = self.batch.len();
        if self.is_atomic {
            let bulk = match &mut self.bulk {
                Some(bulk) => bulk,
                none => none.insert(self.log.bulk().map_err(to_python)?),
            };
            return self.batch.add_to(py, bulk);
        }
        self.batch.commit(py, self.log, self.durability)?;
        self.committed += rows;
        Ok(())
    }

    /// Commits what is left; of many parts, all of them.
    fn finish(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(mut bulk) = self.bulk.take() else {
            return self.batch.commit(py, self.log, self.durability);
        };
        self.batch.add_to(py, &mut bulk)?;
        detached(py, || bulk.commit()).map(drop)
    }

    /// Says under the traceback what became of the rows.
    fn explain(&self, py: Python<'_>, error: &PyErr) {
        let parts = self.bulk.as_ref().map_or(0, |bulk| bulk.rows() as usize);
        let note = if self.committed == 0 {
            let rows = parts + self.batch.len();
            format!("extend(): nothing was stored; it stopped behind row {rows}")
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
            "length mismatch: timestamps and objects must have same length, but there are \
             {timestamps} and {objects}"
        ),
    )
}
