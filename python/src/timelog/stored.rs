//! A log that a store keeps: objects as bytes, by a codec.

use std::cell::Cell;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;
use timestrata_engine::{Durability, ErrorKind, Result};
use timestrata_timelog::{Timelog as TimelogModel, Unit};

use super::by_path::PathUse;
use super::iterator::TimelogIter;
use crate::codec::{Decoder, encode};
use crate::error::{refused, to_python};
use crate::fork::Guarded;
use crate::handle::Handle;
use crate::interrupt::{detached, interruptible};

/// Memory for one encoded value that a thread keeps between appends.
const SCRATCH_BYTES_MAX: usize = 1 << 20;

thread_local! {
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A log of an open store.
#[derive(Debug)]
pub(super) struct Stored {
    log: Guarded<TimelogModel>,
    pub(super) decoder: Decoder,
    pub(super) handle: Arc<Handle>,
    /// Its share of a store that was opened by its path.
    pub(super) own: Option<Arc<PathUse>>,
    durability: Durability,
}

/// Where a log is.
#[derive(Debug)]
pub(super) enum Place {
    /// In a store that the program has opened. What writes have that say nothing themselves.
    Store(Arc<Handle>, Durability),
    /// In one that was opened by its path.
    Path(Box<PathUse>),
}

impl Place {
    pub(super) fn handle(&self) -> &Arc<Handle> {
        match self {
            Self::Store(handle, _) => handle,
            Self::Path(used) => &used.handle,
        }
    }
}

impl Stored {
    pub(super) fn new(py: Python<'_>, place: Place, log: TimelogModel) -> PyResult<Self> {
        let decoder = Decoder::of(py, &log)?;
        let handle = Arc::clone(place.handle());
        let (own, durability) = match place {
            Place::Store(_, durability) => (None, durability),
            Place::Path(used) => {
                let durability = used.options.durability;
                (Some(Arc::from(used)), durability)
            }
        };
        Ok(Self { log: Guarded::new(log), decoder, handle, own, durability })
    }

    /// The log with columns that it has got since, if there are such.
    pub(super) fn renewed(&self, py: Python<'_>) -> PyResult<Option<Self>> {
        if self.decoder.typed().is_none() || self.handle.is_closed() {
            return Ok(None);
        }
        let log = self.log()?;
        // A log that was dropped says so where it is asked.
        if !matches!(log.is_outdated(), Ok(true)) {
            return Ok(None);
        }
        let log = log.current().map_err(to_python)?;
        let decoder = Decoder::of(py, &log)?;
        let (handle, own) = (Arc::clone(&self.handle), self.own.clone());
        Ok(Some(Self { log: Guarded::new(log), decoder, handle, own, durability: self.durability }))
    }

    /// The durability of a write that was called with or without `sync=True`.
    pub(super) fn durability(&self, sync: bool) -> Durability {
        if sync { Durability::Synced } else { self.durability }
    }

    /// The log, if its store is open and of this process.
    pub(super) fn log(&self) -> PyResult<&TimelogModel> {
        self.handle.store()?;
        self.log.get()
    }

    /// The log, whether its store is open or not.
    pub(super) fn log_even_closed(&self) -> PyResult<&TimelogModel> {
        self.log.get()
    }

    pub(super) fn unit(&self) -> PyResult<Unit> {
        Ok(self.log.get()?.unit())
    }

    pub(super) fn append(
        &self,
        time: i64,
        value: &Bound<'_, PyAny>,
        durability: Durability,
    ) -> PyResult<()> {
        let log = self.log()?;
        if let Some(typed) = self.decoder.typed() {
            let append = |cells: &[timestrata_engine::Cell<'_>]| {
                detached(value.py(), || log.append_cells(cells, durability))
            };
            let appended = typed.with_cells(time, value, append).map(|_| ());
            return appended.map_err(|error| self.explained(error));
        }
        // Taken, not borrowed: encoding may run Python code that appends as well.
        let mut scratch = SCRATCH.take();
        scratch.clear();
        let outcome = encode(log.codec(), value, &mut scratch)
            .and_then(|()| append(value.py(), log, time, &scratch, durability));
        if scratch.capacity() <= SCRATCH_BYTES_MAX {
            SCRATCH.set(scratch);
        }
        outcome.map_err(|error| self.explained(error))
    }

    pub(super) fn at<'py>(&self, py: Python<'py>, time: i64) -> PyResult<Bound<'py, PyList>> {
        let selection = self.ask(py, |log| log.range(time..=time))?;
        let entries = TimelogIter::collect(py, selection, self.decoder.clone())?;
        PyList::new(py, entries.into_iter().map(|(_, object)| object))
    }

    /// The first or last entries, oldest first.
    pub(super) fn few<'py>(
        &self,
        py: Python<'py>,
        entries: usize,
        from_the_end: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let selection = self.ask(py, |log| {
            let all = log.range(..)?;
            Ok(if from_the_end { all.reverse() } else { all }.limit(entries))
        })?;
        let mut entries = TimelogIter::collect(py, selection, self.decoder.clone())?;
        if from_the_end {
            entries.reverse();
        }
        PyList::new(py, entries)
    }

    /// What the model answers without running Python code.
    pub(super) fn ask<T: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&TimelogModel) -> Result<T> + Send,
    ) -> PyResult<T> {
        let log = self.log()?;
        detached(py, || question(log)).map_err(|error| self.explained(error))
    }

    /// The error of a log that has been dropped, of which the store knows no more than a number.
    pub(super) fn explained(&self, error: PyErr) -> PyErr {
        let (Ok(store), Ok(log)) = (self.handle.store(), self.log_even_closed()) else {
            return error;
        };
        match store.stream_of(log.stream_id()) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => {
                refused(ErrorKind::NotFound, format!("time log '{}' has been dropped", log.name()))
            }
            _ => error,
        }
    }

    /// As [`Stored::ask`], for what may take long.
    pub(super) fn wait_for<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&TimelogModel) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let log = self.log()?.clone();
        interruptible(py, move || work(&log))
    }
}

/// Appends a value's bytes. To let go of the interpreter costs more than a small append, so
/// that is only done where something may have to be waited for. (No thread that has one of the
/// store's locks waits for the interpreter, and here none is waited for with it.)
fn append(
    py: Python<'_>,
    log: &TimelogModel,
    time: i64,
    value: &[u8],
    durability: Durability,
) -> PyResult<()> {
    if durability <= Durability::Written {
        let appended = log.try_append(time, value).map_err(to_python)?;
        if appended.is_some() {
            return Ok(());
        }
    }
    detached(py, || log.append_with(time, value, durability)).map(|_| ())
}
