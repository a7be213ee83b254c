//! What there is of changes on a store.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use timestrata::SeqNo;

use super::Changes;
use crate::error::invalid;
use crate::store::Store;

#[pymethods]
impl Store {
    /// Give what commits change, one after the other: all of them behind a commit, and each once.
    ///
    /// Deletes are told of as they were asked for. What compaction does is no change; what no commit did, because rows have expired or
    /// something was dropped, is told of between commits, and again to who goes on from the commit before. How far back changes are kept
    /// the setting `history_min` says. A commit that was not synced is told of as soon as it is made, and a power cut may take it.
    ///
    /// To copy a store and keep the copy up to date: read all of ``store.at(seq)``, and then follow ``store.changes(seq, follow=True)``.
    ///
    /// Parameters
    /// ----------
    /// since : int, optional
    ///     The commit behind which it begins; 0: with the first one. A follower by name needs none: it goes on behind what it has saved, and
    ///     one that is new begins here, or behind the last commit.
    /// follow : bool
    ///     Whether to wait for further commits, until the store is closed, or to end behind the last one.
    /// name : str, optional
    ///     A follower's name. How far it has come is kept (`Changes.save`), and what it has not seen stays, however old it is, within the
    ///     setting `followed_bytes_max`, until `remove_follower`.
    ///
    /// Returns
    /// -------
    /// Changes
    ///     An iterator of `CommittedChanges`.
    ///
    /// Raises
    /// ------
    /// HistoryLostError
    ///     Not all is kept that comes behind that commit: begin again with the store as it is now. The iterator raises it too, where it has
    ///     fallen too far behind.
    /// InvalidArgumentError
    ///     The commit was not made yet; the store is in memory; neither a commit nor a name is given.
    ///
    /// Examples
    /// --------
    /// >>> import tempfile, timestrata
    /// >>> folder = tempfile.TemporaryDirectory()
    /// >>> store = timestrata.open(folder.name, history_min=600)
    /// >>> rooms = store.table("rooms")
    /// >>> rooms.append({"time": ["2024-05-01", "2024-05-02"], "celsius": [20.0, 21.5]})
    /// 2
    /// >>> for commit in store.changes(0):
    /// ...     for change in commit.changes:
    /// ...         print(commit.seq, change.kind, change.name, [row["celsius"] for row in change.rows])
    /// 1 inserted rooms [20.0, 21.5]
    /// >>> store.close(); folder.cleanup()
    #[pyo3(signature = (since=None, /, *, follow=false, name=None))]
    fn changes(
        &self,
        py: Python<'_>,
        since: Option<u64>,
        follow: bool,
        name: Option<&str>,
    ) -> PyResult<Changes> {
        let since = since.map(SeqNo);
        let feed = match (since, name) {
            (_, Some(name)) => self.handle.detached(py, |store| store.follow(name, since))?,
            (Some(since), None) => self.handle.detached(py, |store| store.changes_since(since))?,
            (None, None) => {
                return Err(invalid(
                    "changes() takes the commit behind which to begin, or name=...",
                ));
            }
        };
        Ok(Changes::new(Arc::clone(&self.handle), feed, follow))
    }

    /// List those who follow the changes by a name: a dict of the last commit that each has saved.
    ///
    /// Examples
    /// --------
    /// >>> import tempfile, timestrata
    /// >>> folder = tempfile.TemporaryDirectory()
    /// >>> store = timestrata.open(folder.name, history_min=600)
    /// >>> changes = store.changes(0, name="search index")
    /// >>> store.followers()
    /// {'search index': 0}
    /// >>> store.remove_follower("search index")
    /// >>> store.close(); folder.cleanup()
    fn followers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let followers = self.handle.detached(py, |store| store.followers())?;
        followers.into_iter().map(|(name, seq)| (name, seq.0)).into_py_dict(py)
    }

    /// Forget a follower, and let go of what only that one has not seen.
    ///
    /// Raises
    /// ------
    /// NotFoundError
    ///     There is none of that name.
    fn remove_follower(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.handle.detached(py, |store| store.remove_follower(name))
    }
}
