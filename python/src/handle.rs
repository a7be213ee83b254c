//! An open store, shared by the objects that Python holds of it.
//!
//! It is closed once: by `close()`, by the last object going away, or when the interpreter
//! exits, so that the next open has nothing to replay.

use std::any::Any;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use timestrata_engine::{Durability, ErrorKind, Result, Store, StreamId};
use timestrata_table::TableOptions;

use crate::error::{interpreter_exits, refused};
use crate::fork::Guarded;
use crate::interrupt::{detached, interruptible};
#[cfg(feature = "sql")]
use crate::lock::Kept;
use crate::lock::Lock;

static OPEN: Lock<Vec<Weak<Handle>>> = Lock::new(Vec::new());

/// A store that is open, or was.
#[derive(Debug)]
pub(crate) struct Handle {
    store: Guarded<Store>,
    closed: AtomicBool,
    #[cfg(feature = "sql")]
    pub(crate) sql: Kept<timestrata_sql::Sql>,
    /// "w", "r", "r+" or "x".
    pub(crate) mode: &'static str,
    /// What writes have that say nothing themselves.
    pub(crate) durability: Durability,
    /// Models that commits opened, by name: to open one takes longer than the small change of a commit that needs it.
    models: Lock<HashMap<String, KnownModel>>,
    /// What tables were asked for as that aren't there yet: whatever brings the first rows makes them so.
    pub(crate) table_options: Lock<HashMap<String, TableOptions>>,
}

/// A model, and the stream that it is of: one of its name may be another by now.
#[derive(Debug)]
struct KnownModel {
    stream: StreamId,
    model: Arc<dyn Any + Send + Sync>,
}

/// Models that a handle knows, at most.
const MODELS_MAX: usize = 64;

impl Handle {
    /// Takes an open store, and sees to it that it is closed at exit.
    pub(crate) fn new(store: Store, mode: &'static str, durability: Durability) -> Arc<Self> {
        let handle = Arc::new(Self {
            store: Guarded::new(store),
            closed: AtomicBool::new(false),
            #[cfg(feature = "sql")]
            sql: Kept::new(None),
            mode,
            durability,
            models: Lock::default(),
            table_options: Lock::default(),
        });
        let mut open = OPEN.lock();
        open.retain(|other| other.strong_count() > 0);
        open.push(Arc::downgrade(&handle));
        handle
    }

    /// The store.
    ///
    /// # Errors
    /// `ClosedError` once closed, `ForkedError` in a child of the process that opened it.
    pub(crate) fn store(&self) -> PyResult<&Store> {
        let store = self.store.get()?;
        if self.is_closed() {
            return Err(refused(ErrorKind::Closed, "the store has been closed"));
        }
        Ok(store)
    }

    /// The model of this name, of the stream that has it now; `open` gives it if it is not known.
    ///
    /// # Errors
    /// Those of `open`; `ClosedError`, `ForkedError`.
    pub(crate) fn model_of<M: Clone + Send + Sync + 'static>(
        &self,
        name: &str,
        stream_of: fn(&M) -> StreamId,
        open: impl FnOnce() -> PyResult<M>,
    ) -> PyResult<M> {
        if let Some(stream) = self.store()?.stream(name) {
            let models = self.models.lock();
            let known = models.get(name).filter(|known| known.stream == stream.id());
            if let Some(model) = known.and_then(|known| known.model.downcast_ref::<M>()) {
                return Ok(model.clone());
            }
        }
        let model = open()?;
        let known = KnownModel { stream: stream_of(&model), model: Arc::new(model.clone()) };
        let mut models = self.models.lock();
        let is_full = models.len() >= MODELS_MAX;
        let all = if is_full { std::mem::take(&mut *models) } else { HashMap::new() };
        let before = models.insert(name.to_owned(), known);
        drop(models);
        // Without the lock.
        drop((all, before));
        Ok(model)
    }

    /// The store, closed or not.
    pub(crate) fn store_even_closed(&self) -> PyResult<&Store> {
        self.store.get()
    }

    /// Runs `work` on the store as [`detached`] does.
    pub(crate) fn detached<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Store) -> Result<T> + Send,
    ) -> PyResult<T> {
        let store = self.store()?;
        detached(py, || work(store))
    }

    /// Runs `work` on the store as [`interruptible`] does.
    pub(crate) fn interruptible<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Store) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let store = self.store()?.clone();
        interruptible(py, move || work(&store))
    }

    /// Whether it was closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// The durability of a write that was called with or without `sync=True`.
    pub(crate) fn durability(&self, sync: bool) -> Durability {
        if sync { Durability::Synced } else { self.durability }
    }

    /// Closes it; later calls do nothing.
    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        let store = self.store.get()?;
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        #[cfg(feature = "sql")]
        drop(self.sql.replace(None));
        detached(py, || store.close())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Errors have nobody to go to here; what was acknowledged is in the WAL.
        if self.store.is_own() && !self.is_closed() {
            let _ = Python::try_attach(|py| self.close(py));
        }
    }
}

/// A store of this process that is open for writing in the folder of this path, without links; not
/// those of which `is_other` says so.
pub(crate) fn opened_at(
    path: &Path,
    is_other: impl Fn(&Arc<Handle>) -> bool,
) -> Option<Arc<Handle>> {
    // Those that go away go without the lock.
    let open: Vec<_> = OPEN.lock().iter().filter_map(Weak::upgrade).collect();
    let is_there = |handle: &&Arc<Handle>| {
        let Ok(store) = handle.store() else { return false };
        let own = store.path().and_then(|own| own.canonicalize().ok());
        handle.mode != "r" && own.is_some_and(|own| own == path)
    };
    open.iter().filter(is_there).find(|handle| !is_other(handle)).cloned()
}

/// Closes what is still open. Python calls it at exit.
#[pyfunction]
#[pyo3(name = "_close_all")]
pub(crate) fn close_all(py: Python<'_>) {
    interpreter_exits();
    let open = std::mem::take(&mut *OPEN.lock());
    for handle in open.iter().filter_map(Weak::upgrade) {
        if handle.store.is_own()
            && let Err(error) = handle.close(py)
        {
            error.write_unraisable(py, None);
        }
    }
}

/// What leaving a `with` block comes to: the body's own exception says more than what closing met
/// after it.
///
/// # Errors
/// Closing's own, where the body has raised none.
pub(crate) fn leave(raised: &Bound<'_, PyTuple>, closed: PyResult<()>) -> PyResult<bool> {
    match closed {
        Err(error) if raised.get_item(0).is_ok_and(|kind| kind.is_none()) => Err(error),
        _ => Ok(false),
    }
}
