//! Opening a closed log again: what it was opened with, kept while it is closed.

use std::sync::Arc;

use pyo3::prelude::*;
use timestrata_engine::{Access, Durability};
use timestrata_timelog::Timelog as TimelogModel;

use super::by_path::PathOptions;
use super::stored::{Place, Stored};
use crate::handle::Handle;
use crate::interrupt::detached;

/// Where a closed log's entries are: opened again, it is that log and no other.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    /// A store that was opened by its path.
    Path { options: Box<PathOptions>, name: String },
    /// A store that the program has open, or had.
    Store { handle: Arc<Handle>, durability: Durability, name: String },
}

impl Origin {
    /// That of an open log.
    pub(super) fn of(stored: &Stored) -> PyResult<Self> {
        let name = stored.log_even_closed()?.name().to_owned();
        Ok(match &stored.own {
            None => Self::Store {
                handle: Arc::clone(&stored.handle),
                durability: stored.durability(false),
                name,
            },
            Some(used) => {
                let mut options = used.options.clone();
                if options.access == Access::Write {
                    // What was there is opened, and nothing is made in its place.
                    options.access = Access::WriteExisting;
                }
                Self::Path { options: Box::new(options), name }
            }
        })
    }

    /// Opens the log.
    ///
    /// # Errors
    /// `ClosedError` if the program's store has been closed, `NotFoundError` if the log has been
    /// dropped meanwhile, and all that opening a store may meet.
    pub(super) fn open(&self, py: Python<'_>) -> PyResult<Stored> {
        let (place, name) = match self {
            Self::Store { handle, durability, name } => {
                (Place::Store(Arc::clone(handle), *durability), name)
            }
            Self::Path { options, name } => {
                (Place::Path(Box::new((**options).clone().open(py)?)), name)
            }
        };
        let store = place.handle().store()?;
        let log = detached(py, || TimelogModel::open(store, name))?;
        Stored::new(py, place, log)
    }
}
