//! `CommitTimelog`: what a commit over several models changes in a time log.

use std::ops::Bound as End;
use std::sync::Arc;

use pyo3::prelude::*;
use timestrata_engine::{Cell, ErrorKind, Result, RowBatch, Store as EngineStore};
use timestrata_timelog::{
    Codec, EntryBatch, Timelog as TimelogModel, TimelogOptions, TimelogWrite, Unit,
};

use super::arguments::TimeRange;
use super::stored::Stored;
use super::{Asked, Timelog};
use crate::codec::encode;
use crate::error::{invalid, refused, to_python};
use crate::opened::MadeForCommit;
use crate::rows;
use crate::staging::{Staged, Staging};
use crate::store::{KeptModel, Store};
use crate::timestamp::timestamp;

/// What a commit changes in a time log. Made by `Commit.timelog`.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> store = timestrata.open()
/// >>> door = store.timelog("door")
/// >>> door.append(1, "opened")
/// >>> with store.commit() as commit:
/// ...     commit.timelog("door").delete(0, 10)
/// ...     commit.timelog("door").append(2, "closed")
/// >>> list(door)
/// [(2, 'closed')]
#[pyclass(frozen, module = "timestrata")]
pub(crate) struct CommitTimelog {
    name: String,
    /// The log, where it is there.
    stored: Option<Arc<Stored>>,
    codec: Codec,
    unit: Unit,
    staging: Staging,
    changes: Staged<Changes>,
}

#[derive(Default)]
struct Changes {
    entries: EntryBatch,
    /// Those of a log of columns.
    rows: Option<RowBatch>,
    deleted: Vec<(End<i64>, End<i64>)>,
}

impl Changes {
    fn push(&mut self, log: &TimelogModel, cells: &[Cell<'_>]) -> Result<()> {
        let rows = match &mut self.rows {
            Some(rows) => rows,
            none => none.insert(log.typed_batch()?),
        };
        rows.push(cells)
    }
}

impl CommitTimelog {
    pub(crate) fn new(store: &Bound<'_, Store>, name: &str, staging: Staging) -> PyResult<Self> {
        let stored = stored_of(store, name)?;
        let (codec, unit) = match &stored {
            Some(stored) => codec_and_unit(stored)?,
            // As it will be made.
            None => (Codec::Cbor, Unit::default()),
        };
        Ok(Self { name: name.to_owned(), stored, codec, unit, staging, changes: Staged::default() })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What it has; `None`: nothing. The time log is made if it is missing.
    pub(crate) fn take(
        &self,
        py: Python<'_>,
        made: &MadeForCommit<'_>,
    ) -> PyResult<Option<TimelogWrite>> {
        let Changes { entries, rows, deleted } = self.changes.take().unwrap_or_default();
        if entries.is_empty() && rows.is_none() && deleted.is_empty() {
            return Ok(None);
        }
        let store = made.handle.store()?;
        let is_there = |log: &&TimelogModel| store.stream_of(log.stream_id()).is_ok();
        let known = self.stored.as_ref().map(|stored| stored.log()).transpose()?;
        let made_now;
        let log = match known.filter(is_there) {
            Some(log) => log,
            None => {
                made_now = self.model(py, made)?;
                &made_now
            }
        };
        if (log.codec(), log.unit()) != (self.codec, self.unit) {
            let message = format!(
                "time log {:?} has another codec or unit than when the block began",
                self.name
            );
            return Err(refused(ErrorKind::Conflict, message));
        }
        let mut write = TimelogWrite::new(log);
        for range in deleted {
            write.delete(range).map_err(to_python)?;
        }
        write.append(entries).map_err(to_python)?;
        if let Some(mut rows) = rows {
            write.append_typed(&mut rows).map_err(to_python)?;
        }
        Ok(Some(write))
    }

    /// The log of this name, which was not there when the block began, or is another now.
    fn model(&self, py: Python<'_>, made: &MadeForCommit<'_>) -> PyResult<TimelogModel> {
        let (name, stream) = (&self.name, TimelogModel::stream_id);
        let options = TimelogOptions {
            codec: self.codec,
            unit: self.unit,
            columns: self.stored.as_ref().and_then(|stored| stored.log().ok()?.columns()),
            ..TimelogOptions::default()
        };
        let create = |store: &EngineStore| TimelogModel::create(store, name, options);
        made.model(py, name, stream, TimelogModel::open, create)
    }
}

/// The time log of this name, if it is there.
fn stored_of(store: &Bound<'_, Store>, name: &str) -> PyResult<Option<Arc<Stored>>> {
    let known = Store::known(store, KeptModel::Timelog, name);
    if let Some(stored) = known.as_ref().map(asked).transpose()?
        && is_there(store, &stored)?
    {
        return Ok(Some(stored));
    }
    // It was not asked for yet, or was dropped, and may have been made anew.
    match store.get().handle.store()?.stream(name) {
        Some(_) => asked(&Store::keep(store, KeptModel::Timelog, name)?).map(Some),
        None => Ok(None),
    }
}

fn is_there(store: &Bound<'_, Store>, stored: &Stored) -> PyResult<bool> {
    Ok(store.get().handle.store()?.stream_of(stored.log()?.stream_id()).is_ok())
}

fn asked(log: &Bound<'_, PyAny>) -> PyResult<Arc<Stored>> {
    match log.cast::<Timelog>()?.get().ask(|_| ())? {
        Asked::Of(stored) => Ok(stored),
        Asked::Answer(()) => Err(invalid("a time log in memory is in no store")),
    }
}

fn codec_and_unit(stored: &Stored) -> PyResult<(Codec, Unit)> {
    let log = stored.log()?;
    Ok((log.codec(), log.unit()))
}

#[pymethods]
impl CommitTimelog {
    /// Append an object at a time, as `Timelog.append` takes them.
    fn append(&self, time: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.staging.check()?;
        let time = timestamp(time, self.unit)?;
        if let Some(stored) = &self.stored
            && let Some(typed) = stored.decoder.typed()
        {
            let log = stored.log()?;
            return typed.with_cells(time, value, |cells| {
                self.changes.add(|changes| changes.push(log, cells))?.map_err(to_python)
            });
        }
        let mut bytes = Vec::new();
        encode(self.codec, value, &mut bytes)?;
        self.changes.add(|changes| changes.entries.push(time, &bytes))?.map_err(to_python)
    }

    /// Append many objects, in any order of time: ``extend(pairs)`` or ``extend(timestamps, objects)``.
    ///
    /// All are looked at before the first one is added, so that a bad one adds none.
    #[pyo3(signature = (pairs_or_timestamps, objects=None))]
    fn extend(
        &self,
        pairs_or_timestamps: &Bound<'_, PyAny>,
        objects: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.staging.check()?;
        rows::is_sized(pairs_or_timestamps, objects)?;
        let mut pairs = Vec::new();
        let mut scratch = Vec::new();
        let typed = self.stored.as_ref().and_then(|stored| stored.decoder.typed());
        rows::for_each(pairs_or_timestamps, objects, |time, value| {
            let at = timestamp(time, self.unit)?;
            scratch.clear();
            match typed {
                Some(typed) => typed.with_cells(at, value, |_| Ok(()))?,
                None => encode(self.codec, value, &mut scratch)?,
            }
            pairs.push((time.clone(), value.clone()));
            Ok(())
        })?;
        pairs.iter().try_for_each(|(time, value)| self.append(time, value))
    }

    /// Delete the entries of earlier commits from ``t1`` to before ``t2``, or those at ``t1``.
    #[pyo3(signature = (t1, t2=None))]
    fn delete(&self, t1: &Bound<'_, PyAny>, t2: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.staging.check()?;
        let from = timestamp(t1, self.unit)?;
        let range = match t2 {
            None => TimeRange::at(from),
            Some(t2) => TimeRange::between(from, timestamp(t2, self.unit)?),
        };
        let range = range.not_reversed()?;
        self.changes.add(|changes| changes.deleted.push(range.bounds()))
    }
}
