//! What is to be in one commit with records or with offsets: rows of tables, and what other models take.

use std::sync::Arc;

use arrow_array::RecordBatch;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use timestrata_table::Table as TableModel;

use super::{Consumer, Topic};
use crate::error::invalid;
use crate::graph::Graph;
use crate::handle::Handle;
use crate::logs::{CommitLogs, Logs};
use crate::store::Store;
use crate::table::Table;
use crate::timelog::Timelog;

/// Pairs of what is changed and what it is given.
pub(super) type Pairs<'py> = Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>;

/// What a caller wants in the same commit.
pub(super) enum Also<'py> {
    /// Rows of tables alone, which need no more than these.
    Rows(Vec<(TableModel, RecordBatch)>),
    /// What several models take, each in the order given.
    Models(Pairs<'py>),
}

impl<'py> Also<'py> {
    pub(super) fn of(
        py: Python<'py>,
        handle: &Handle,
        pairs: Option<Pairs<'py>>,
    ) -> PyResult<Self> {
        let pairs = pairs.unwrap_or_default();
        let tables = pairs.iter().map(|(model, rows)| Some((model.cast::<Table>().ok()?, rows)));
        match tables.collect::<Option<Vec<_>>>() {
            None => Ok(Self::Models(pairs)),
            Some(tables) => {
                let rows = tables.into_iter();
                let rows = rows.map(|(table, rows)| table.get().rows_for(py, handle, rows));
                rows.collect::<PyResult<_>>().map(Self::Rows)
            }
        }
    }
}

/// Commits how far a consumer says that it has been read with what models take: all of it or nothing.
pub(super) fn commit_consumed(
    consumer: &Bound<'_, Consumer>,
    handle: &Arc<Handle>,
    also: &Pairs<'_>,
) -> PyResult<()> {
    let py = consumer.py();
    let store = Bound::new(py, Store::new(Arc::clone(handle)))?;
    let commit = store.call_method0("commit")?;
    commit.call_method0("__enter__")?;
    for (model, given) in also {
        stage(&commit, handle, model, given)?;
    }
    commit.call_method1("consumed", (consumer,))?;
    commit.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
    Ok(())
}

/// Adds to a commit what a model is given, as its method for many takes it.
fn stage(
    commit: &Bound<'_, PyAny>,
    handle: &Arc<Handle>,
    model: &Bound<'_, PyAny>,
    given: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let (of, kind, method) = if let Ok(table) = model.cast::<Table>() {
        (Some(Arc::clone(&table.get().handle)), "table", "append")
    } else if let Ok(topic) = model.cast::<Topic>() {
        (Some(Arc::clone(&topic.get().topic.handle)), "topic", "send_batch")
    } else if let Ok(logs) = model.cast::<Logs>() {
        (Some(Arc::clone(logs.get().handle())), "logs", "write_many")
    } else if let Ok(graph) = model.cast::<Graph>() {
        (Some(Arc::clone(graph.get().handle())), "graph", "put_many")
    } else if let Ok(log) = model.cast::<Timelog>() {
        (log.get().stored_handle(), "timelog", "extend")
    } else {
        let what = format!(
            "also: it has pairs of a table, a topic, a log, a graph or a time log and what is added to it, and not of {}",
            model.get_type().name()?
        );
        return Err(PyTypeError::new_err(what));
    };
    if of.is_none_or(|of| !Arc::ptr_eq(&of, handle)) {
        return Err(invalid(format!("also: a {kind} is of another store than the consumer")));
    }
    let name = model.getattr("name")?;
    let part = commit.call_method1(kind, (name,))?;
    if let (Ok(part), Ok(logs)) = (part.cast::<CommitLogs>(), model.cast::<Logs>()) {
        return part.get().write_labelled(given, logs.get().own_labels());
    }
    part.call_method1(method, (given,))?;
    Ok(())
}
