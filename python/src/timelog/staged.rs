//! `CommitTimelog`: what a commit over several models changes in a time log.

use std::ops::Bound as End;
use std::sync::Arc;

use pyo3::prelude::*;
use timestrata_engine::ErrorKind;
use timestrata_timelog::{Codec, EntryBatch, TimelogWrite, Unit};

use super::arguments::TimeRange;
use super::{Asked, Timelog};
use crate::codec::encode;
use crate::error::{invalid, refused, to_python};
use crate::staging::{Staged, Staging};
use crate::store::Store;
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
    codec: Codec,
    unit: Unit,
    staging: Staging,
    changes: Staged<Changes>,
}

#[derive(Default)]
struct Changes {
    entries: EntryBatch,
    deleted: Vec<(End<i64>, End<i64>)>,
}

impl CommitTimelog {
    pub(crate) fn new(store: &Bound<'_, Store>, name: &str, staging: Staging) -> PyResult<Self> {
        let is_there = store.get().handle.store()?.stream(name).is_some();
        let (codec, unit) = match is_there {
            true => codec_and_unit(&log_of(store, name)?)?,
            // As it will be made.
            false => (Codec::Cbor, Unit::default()),
        };
        if codec == Codec::Arrow {
            let message = format!(
                "time log {name:?} has columns, of which a commit over several models takes no values yet: \
                 append to it by itself"
            );
            return Err(invalid(message));
        }
        Ok(Self { name: name.to_owned(), codec, unit, staging, changes: Staged::default() })
    }

    /// What it has; `None`: nothing. The time log is made if it is missing.
    pub(crate) fn take(&self, store: &Bound<'_, Store>) -> PyResult<Option<TimelogWrite>> {
        let Changes { entries, deleted } = self.changes.take().unwrap_or_default();
        if entries.is_empty() && deleted.is_empty() {
            return Ok(None);
        }
        let log = log_of(store, &self.name)?;
        if codec_and_unit(&log)? != (self.codec, self.unit) {
            let message = format!(
                "time log {:?} has another codec or unit than when the block began",
                self.name
            );
            return Err(refused(ErrorKind::Conflict, message));
        }
        let stored = match log.get().ask(|_| ())? {
            Asked::Of(stored) => stored,
            Asked::Answer(()) => return Err(invalid("a time log in memory is in no store")),
        };
        let mut write = TimelogWrite::new(stored.log()?);
        for range in deleted {
            write.delete(range).map_err(to_python)?;
        }
        write.append(entries).map_err(to_python)?;
        Ok(Some(write))
    }
}

fn log_of<'py>(store: &Bound<'py, Store>, name: &str) -> PyResult<Bound<'py, Timelog>> {
    Ok(store.call_method1("timelog", (name,))?.cast_into::<Timelog>()?)
}

fn codec_and_unit(log: &Bound<'_, Timelog>) -> PyResult<(Codec, Unit)> {
    match log.get().ask(|_| ())? {
        Asked::Of(stored) => {
            let stored: Arc<_> = stored;
            let log = stored.log()?;
            Ok((log.codec(), log.unit()))
        }
        Asked::Answer(()) => Err(invalid("a time log in memory is in no store")),
    }
}

#[pymethods]
impl CommitTimelog {
    /// Append an object at a time, as `Timelog.append` takes them.
    fn append(&self, time: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.staging.check()?;
        let time = timestamp(time, self.unit)?;
        let mut bytes = Vec::new();
        encode(self.codec, value, &mut bytes)?;
        self.changes.add(|changes| changes.entries.push(time, &bytes))?.map_err(to_python)
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
