//! A model of an open store, as the classes of Python hold it: topics, logs and graphs.

use std::cell::OnceCell;
use std::sync::Arc;

use pyo3::prelude::*;
use timestrata_engine::{ProvisionalStreams, Result, Store, StreamId};

use crate::handle::Handle;
use crate::interrupt::{detached, interruptible};

/// A model, and the store that it is of.
#[derive(Debug, Clone)]
pub(crate) struct Opened<M> {
    pub(crate) handle: Arc<Handle>,
    model: M,
}

/// How a kind of model is opened and made.
pub(crate) struct Ways<M, O> {
    pub(crate) open: fn(&Store, &str) -> Result<M>,
    pub(crate) create: fn(&Store, &str, &O) -> Result<M>,
    pub(crate) options: fn(&M) -> Result<O>,
    /// The stream that has its name.
    pub(crate) stream: fn(&M) -> StreamId,
}

impl<M: Clone + Send + Sync + 'static, O: Default> Ways<M, O> {
    /// The model of this name as it is; made for a commit, as a new one is, if it is missing.
    pub(crate) fn or_made(
        &self,
        py: Python<'_>,
        made: &MadeForCommit<'_>,
        name: &str,
    ) -> PyResult<M>
    where
        O: Sync,
    {
        let Self { open, create, stream, .. } = *self;
        made.model(py, name, stream, open, |store| create(store, name, &O::default()))
    }
}

/// What a commit makes because it is missing: it is there once the commit is, and goes with it if that fails.
pub(crate) struct MadeForCommit<'a> {
    pub(crate) handle: &'a Handle,
    streams: OnceCell<ProvisionalStreams>,
}

impl<'a> MadeForCommit<'a> {
    pub(crate) fn new(handle: &'a Handle) -> Self {
        Self { handle, streams: OnceCell::new() }
    }

    /// The store, by which it is to be made.
    pub(crate) fn store(&self) -> PyResult<&Store> {
        let store = self.handle.store()?;
        Ok(self.streams.get_or_init(|| store.provisional()).store())
    }

    /// The model of this name; made if it is missing.
    pub(crate) fn model<M: Clone + Send + Sync + 'static>(
        &self,
        py: Python<'_>,
        name: &str,
        stream: fn(&M) -> StreamId,
        open: fn(&Store, &str) -> Result<M>,
        create: impl FnOnce(&Store) -> Result<M> + Send,
    ) -> PyResult<M> {
        self.handle.model_of(name, stream, || {
            let is_there = self.handle.detached(py, |store| Ok(store.stream(name).is_some()))?;
            if is_there {
                return self.handle.detached(py, |store| open(store, name));
            }
            let store = self.store()?;
            detached(py, || create(store))
        })
    }

    /// The commit is made.
    pub(crate) fn keep(self, py: Python<'_>) {
        if let Some(streams) = self.streams.into_inner() {
            // It is made, whatever becomes of what it has not changed.
            let _ = py.detach(|| streams.keep());
        }
    }

    /// The commit is not made.
    pub(crate) fn give_up(self, py: Python<'_>) {
        py.detach(|| drop(self.streams));
    }
}

impl<M: Send + Sync> Opened<M> {
    /// The model of this name; made if it is missing and may be. `wanted` puts what was asked for in the
    /// place of the options that it has, or of those that a new one would have.
    ///
    /// # Errors
    /// The model's own, where it can't be changed to what was asked for.
    pub(crate) fn named<O: Clone + Default + PartialEq>(
        py: Python<'_>,
        handle: &Arc<Handle>,
        name: &str,
        may_make: bool,
        ways: &Ways<M, O>,
        wanted: impl Fn(O) -> O + Send + Sync,
    ) -> PyResult<Self> {
        let may_make = may_make && handle.mode != "r";
        let model = handle.detached(py, |store| {
            if store.stream(name).is_none() && may_make {
                return (ways.create)(store, name, &wanted(O::default()));
            }
            let found = (ways.open)(store, name)?;
            let options = (ways.options)(&found)?;
            let wanted = wanted(options.clone());
            match wanted == options {
                true => Ok(found),
                // Changes what can be changed, or says what it is and what was asked for.
                false => (ways.create)(store, name, &wanted),
            }
        })?;
        Ok(Self { handle: Arc::clone(handle), model })
    }

    /// The model.
    ///
    /// # Errors
    /// `ClosedError` once the store is closed, `ForkedError` in a child of its process.
    pub(crate) fn model(&self) -> PyResult<&M> {
        self.handle.store()?;
        Ok(&self.model)
    }

    /// The model, for what it knows without its store.
    pub(crate) fn even_closed(&self) -> &M {
        &self.model
    }

    /// Runs `work` on it as [`detached`] does.
    pub(crate) fn detached<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&M) -> Result<T> + Send,
    ) -> PyResult<T> {
        let model = self.model()?;
        detached(py, || work(model))
    }
}

impl<M: Clone + Send + 'static> Opened<M> {
    /// Runs `work` on it as [`interruptible`] does.
    pub(crate) fn interruptible<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&M) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        self.handle.store()?;
        let model = self.model.clone();
        interruptible(py, move || work(&model))
    }
}
