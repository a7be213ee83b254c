//! `timestrata.open`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use timestrata_engine::{Access, ErrorKind, Io, Store as EngineStore};

use crate::error::{invalid, refused};
use crate::events;
use crate::handle::Handle;
use crate::interrupt::detached;
use crate::path::GivenPath;
use crate::settings::{choice, durability as durability_named, settings as settings_from};
use crate::store::Store;

/// Open the store in a directory, or one in memory.
///
/// Parameters
/// ----------
/// path : str or os.PathLike, optional
///     The store's directory; ``~`` is your home. None: in memory only, nothing outlives it.
/// mode : {"w", "r", "r+", "x"}
///     "w": read and write, made if missing (never emptied). "r+": read and write, must exist.
///     "x": read and write, must not exist. "r": read only; needs no lock and no write
///     permission, and sees what the writer commits as of the open and each `refresh`.
/// durability : {"written", "buffered", "synced"}
///     What an acknowledged write survives unless it says ``sync=True``. "written": the process
///     being killed. "synced": a power cut. "buffered": nothing until `sync_interval` is over.
/// maintenance : {"background", "manual"}
///     Whether the store flushes and compacts by itself.
/// busy_policy : {"block", "raise", "flush"}
///     What a write does when flushes have fallen behind: wait, raise BusyError without having
///     written, or flush itself.
/// **settings
///     Sizes as int or str ("64MiB"), durations as str ("100ms"), timedelta or seconds:
///     memtable_bytes_max, memtable_rows_max, memory_bytes_max, wal_segment_bytes, wal_bytes_max,
///     sync_interval, group_commit_delay, run_batch_rows, run_bytes_max, cache_bytes_max, level0_runs_max,
///     compaction_bytes_per_second, quarantine_bytes_max, quarantine_age_max,
///     history_min, history_bytes_max, followed_bytes_max, scrub_bytes_per_second (0: never).
///
/// Returns
/// -------
/// Store
///     Also a context manager that closes it.
///
/// Raises
/// ------
/// LockedError
///     Another process writes to it.
/// NotFoundError, NotAStoreError, AlreadyExistsError
///     The directory is not what the mode asks for.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> with timestrata.open(memtable_bytes_max="16MiB") as store:
/// ...     log = store.timelog("door")
/// ...     log.append(1000, {"state": "open"})
/// ...     list(log)
/// [(1000, {'state': 'open'})]
#[pyfunction]
#[pyo3(signature = (path=None, *, mode="w", durability="written", maintenance="background",
                    busy_policy="block", **settings))]
pub(crate) fn open(
    py: Python<'_>,
    path: Option<GivenPath>,
    mode: &str,
    durability: &str,
    maintenance: &str,
    busy_policy: &str,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<Store> {
    let (mode, access) = choice(
        "mode",
        mode,
        &[
            ("w", ("w", Access::Write)),
            ("r", ("r", Access::Read)),
            ("r+", ("r+", Access::WriteExisting)),
            ("x", ("x", Access::Write)),
        ],
    )?;
    events::listen();
    let durability = durability_named(durability)?;
    let settings = settings_from(maintenance, busy_policy, settings)?;
    let path = path.map(|GivenPath(path)| path);
    let store = match &path {
        Some(path) => detached(py, || EngineStore::open_with(Io::os(), path, access, settings))?,
        None if access == Access::Write => detached(py, || EngineStore::memory(settings))?,
        None => {
            return Err(invalid(format!(
                "mode '{mode}' needs a path: a store in memory is always new"
            )));
        }
    };
    if mode == "x" && !store.recovery_report().created {
        detached(py, || store.close())?;
        let shown = path.map(|path| path.display().to_string()).unwrap_or_default();
        return Err(refused(
            ErrorKind::AlreadyExists,
            format!("'{shown}' holds a store already, and mode 'x' makes a new one"),
        ));
    }
    let handle = Handle::new(store, mode, durability);
    #[cfg(feature = "sql")]
    handle.keep_views()?;
    Ok(Store::new(handle))
}
