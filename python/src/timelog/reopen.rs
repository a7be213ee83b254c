//! Opening a closed log again: what it was opened with, kept while it is closed.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use timestrata_engine::{Access, Durability, Io, Settings, Store as EngineStore};
use timestrata_timelog::Timelog as TimelogModel;

use super::stored::Stored;
use crate::handle::Handle;
use crate::interrupt::detached;

/// Where a closed log's entries are: opened again, it is that log and no other.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    /// A store of its own, which was closed with it.
    Path { path: PathBuf, durability: Durability, name: String },
    /// A store that the program has open, or had.
    Store { handle: Arc<Handle>, name: String },
}

impl Origin {
    /// That of an open log; `None` where nothing outlives the log's store.
    pub(super) fn of(stored: &Stored) -> PyResult<Option<Self>> {
        let name = stored.log_even_closed()?.name().to_owned();
        if !stored.owns_store {
            return Ok(Some(Self::Store { handle: Arc::clone(&stored.handle), name }));
        }
        let path = stored.handle.store_even_closed()?.path();
        let durability = stored.handle.durability;
        Ok(path.map(|path| Self::Path { path: path.to_owned(), durability, name }))
    }

    /// Opens the log.
    ///
    /// # Errors
    /// `ClosedError` if the program's store has been closed, `NotFoundError` if the log has been
    /// dropped meanwhile, and all that opening a store may meet.
    pub(super) fn open(&self, py: Python<'_>) -> PyResult<Stored> {
        let (handle, name, owns_store) = match self {
            Self::Store { handle, name } => (Arc::clone(handle), name, false),
            Self::Path { path, durability, name } => {
                let store = detached(py, || {
                    let settings = Settings::default();
                    EngineStore::open_with(Io::os(), path, Access::WriteExisting, settings)
                })?;
                (Handle::new(store, "w", *durability), name, true)
            }
        };
        let store = handle.store()?;
        let log = detached(py, || TimelogModel::open(store, name))?;
        Stored::new(py, handle, log, owns_store)
    }
}
