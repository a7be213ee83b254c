//! `timestrata.repair`.

use pyo3::prelude::*;
use timestrata_engine::{Io, RepairOptions};

use crate::interrupt::interruptible;
use crate::path::GivenPath;
use crate::reports::RepairReport;

/// Make a new store of what can be read of a damaged one.
///
/// The damaged store is not changed, and must not be open for writing. The new one is made from its
/// manifest as far as that can be read, from what its runs say of themselves, and from its log; of
/// damaged runs the blocks that can be read are taken over. Ctrl-C ends the waiting.
///
/// Parameters
/// ----------
/// path : str or os.PathLike
///     The damaged store's directory.
/// to : str or os.PathLike, optional
///     Where the new store goes: missing, or an empty directory. Default: beside the damaged one, its
///     name with ``-repaired`` behind it.
/// dry_run : bool, optional
///     Only tell what would come of it; nothing is written.
///
/// Returns
/// -------
/// RepairReport
///     What was taken over, and what is lost by stream, keys and file.
///
/// Raises
/// ------
/// NotFoundError, NotAStoreError
///     There is nothing to repair.
/// LockedError
///     It is open for writing.
/// AlreadyExistsError
///     The destination holds something.
/// NoSpaceError
///     The disk is full. What is there by then is no store.
///
/// Examples
/// --------
/// >>> import os, tempfile, timestrata
/// >>> folder = tempfile.TemporaryDirectory()
/// >>> damaged = os.path.join(folder.name, "store")
/// >>> with timestrata.open(damaged) as store:
/// ...     store.timelog("door").append(1000, "open")
/// >>> os.remove(os.path.join(damaged, "MANIFEST"))
/// >>> os.remove(os.path.join(damaged, "MANIFEST.copy"))
/// >>> report = timestrata.repair(damaged)
/// >>> report.lost_nothing, [stream["rows"] for stream in report.streams]
/// (True, [1])
/// >>> with timestrata.open(report.to) as store:
/// ...     list(store.timelog("door"))
/// [(1000, 'open')]
/// >>> folder.cleanup()
#[pyfunction]
#[pyo3(signature = (path, to=None, *, dry_run=false))]
pub(crate) fn repair(
    py: Python<'_>,
    path: GivenPath,
    to: Option<GivenPath>,
    dry_run: bool,
) -> PyResult<RepairReport> {
    let options = RepairOptions { to: to.map(|GivenPath(to)| to), dry_run };
    interruptible(py, move || timestrata_engine::repair(&Io::os(), &path.0, &options))
        .map(RepairReport)
}
