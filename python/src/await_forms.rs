//! Await forms: methods that write, and SQL, for programs that have an event loop.
//!
//! Each is the method of its name, called in a thread (`crate::awaiting`): signatures are those of the methods.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::awaiting;
use crate::graph::Graph;
use crate::logs::Logs;
#[cfg(feature = "sql")]
use crate::store::Store;
use crate::table::Table;
use crate::timelog::Timelog;
use crate::topic::{Producer, Topic};

#[cfg(feature = "sql")]
#[pymethods]
impl Store {
    /// Ask in SQL without holding up an event loop, as `sql` does: all rows are read in a thread, and are in memory then.
    ///
    /// A task that is cancelled ends the query, within a moment; a statement that writes may have been carried out.
    ///
    /// Examples
    /// --------
    /// >>> import asyncio, timestrata
    /// >>> store = timestrata.open()
    /// >>> rows = asyncio.run(store.sql_async("SELECT 1 AS x"))
    /// >>> rows.to_pylist()
    /// [{'x': 1}]
    #[pyo3(signature = (*given, **named), text_signature = "($self, query, params=None, *, tables=None, timeout=None)")]
    fn sql_async<'py>(
        slf: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::rows(slf, "sql", given, named)
    }
}

#[pymethods]
impl Table {
    /// `append` without holding up an event loop: what it writes is written in a thread, and a task that is cancelled waits for its end.
    #[pyo3(signature = (*given, **named), text_signature = "($self, rows, *, sync=False, on_mismatch=\"error\")")]
    fn append_async<'py>(
        slf: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::write(slf, "append", given, named)
    }

    /// `ingest` without holding up an event loop: what it writes is written in a thread, and a task that is cancelled waits for its end.
    #[pyo3(signature = (*given, **named), text_signature = "($self, source, format=None, *, delimiter=None, header=True, quote=None, comment=None, skip_lines=0, decimal=None, thousands=None, null_text=None, fill_short_rows=False, encoding=None, sample_rows=None, time_unit=None, time_format=None, time_of_load=False, batch_rows=None, on_error=\"fail\", on_mismatch=\"error\", dry_run=False, sync=True)")]
    fn ingest_async<'py>(
        slf: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::write(slf, "ingest", given, named)
    }

    /// `delete` without holding up an event loop: what it writes is written in a thread, and a task that is cancelled waits for its end.
    #[pyo3(signature = (*given, **named), text_signature = "($self, start=None, end=None, *, where=None, params=None, sync=False)")]
    fn delete_async<'py>(
        slf: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::write(slf, "delete", given, named)
    }
}

#[pymethods]
impl Topic {
    /// `send` without holding up an event loop: what it writes is written in a thread, and a task that is cancelled waits for its end.
    #[pyo3(signature = (*given, **named), text_signature = "($self, record, *, partition=None)")]
    fn send_async<'py>(
        slf: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::write(slf, "send", given, named)
    }

    /// `send_batch` without holding up an event loop: what it writes is written in a thread, and a task that is cancelled waits for its end.
    #[pyo3(signature = (*given, **named), text_signature = "($self, records, *, partition=None)")]
    fn send_batch_async<'py>(
        slf: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::write(slf, "send_batch", given, named)
    }
}

#[pymethods]
impl Producer {
    /// `send` without holding up an event loop: what it writes is written in a thread, and a task that is cancelled waits for its end.
    #[pyo3(signature = (*given, **named), text_signature = "($self, record, *, partition=None, durability=None, expected_offset=None, sequence=None)")]
    fn send_async<'py>(
        slf: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::write(slf, "send", given, named)
    }

    /// `send_batch` without holding up an event loop: what it writes is written in a thread, and a task that is cancelled waits for its end.
    #[pyo3(signature = (*given, **named), text_signature = "($self, records, *, partition=None, durability=None, expected_offset=None, sequence=None, also=None)")]
    fn send_batch_async<'py>(
        slf: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::write(slf, "send_batch", given, named)
    }
}

#[pymethods]
impl Logs {
    /// `write` without holding up an event loop: what it writes is written in a thread, and a task that is cancelled waits for its end.
    #[pyo3(signature = (*given, **named), text_signature = "($self, message, /, *, level=None, source_time=None, labels=None, sync=False, **fields)")]
    fn write_async<'py>(
        slf: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::write(slf, "write", given, named)
    }

    /// `write_many` without holding up an event loop: what it writes is written in a thread, and a task that is cancelled waits for its end.
    #[pyo3(signature = (*given, **named), text_signature = "($self, entries, sync=False)")]
    fn write_many_async<'py>(
        slf: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::write(slf, "write_many", given, named)
    }
}

#[pymethods]
impl Graph {
    /// `put` without holding up an event loop: what it writes is written in a thread, and a task that is cancelled waits for its end.
    #[pyo3(signature = (*given, **named), text_signature = "($self, content, *, id=None, version=None, source_uri=None, metadata=None, durability=None)")]
    fn put_async<'py>(
        slf: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::write(slf, "put", given, named)
    }

    /// `put_many` without holding up an event loop: what it writes is written in a thread, and a task that is cancelled waits for its end.
    #[pyo3(signature = (*given, **named), text_signature = "($self, blocks, durability=None)")]
    fn put_many_async<'py>(
        slf: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::write(slf, "put_many", given, named)
    }

    /// `link` without holding up an event loop: what it writes is written in a thread, and a task that is cancelled waits for its end.
    #[pyo3(signature = (*given, **named), text_signature = "($self, source, kind, target, *, weight=None, valid_from=None, properties=None, durability=None)")]
    fn link_async<'py>(
        slf: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::write(slf, "link", given, named)
    }

    /// `link_many` without holding up an event loop: what it writes is written in a thread, and a task that is cancelled waits for its end.
    #[pyo3(signature = (*given, **named), text_signature = "($self, edges, durability=None)")]
    fn link_many_async<'py>(
        slf: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::write(slf, "link_many", given, named)
    }

    /// `delete` without holding up an event loop: what it writes is written in a thread, and a task that is cancelled waits for its end.
    #[pyo3(signature = (*given, **named), text_signature = "($self, id, *, durability=None)")]
    fn delete_async<'py>(
        slf: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::write(slf, "delete", given, named)
    }
}

#[pymethods]
impl Timelog {
    /// `append` without holding up an event loop: what it writes is written in a thread, and a task that is cancelled waits for its end.
    #[pyo3(signature = (*given, **named), text_signature = "($self, obj_or_ts, obj_or_none=..., *, ts=None, sync=False)")]
    fn append_async<'py>(
        slf: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::write(slf, "append", given, named)
    }

    /// `extend` without holding up an event loop: what it writes is written in a thread, and a task that is cancelled waits for its end.
    #[pyo3(signature = (*given, **named), text_signature = "($self, pairs_or_timestamps, objects=None, *, mostly_ordered=None, insert_on_error=None, atomic=None, sync=False)")]
    fn extend_async<'py>(
        slf: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::write(slf, "extend", given, named)
    }

    /// `delete` without holding up an event loop: what it writes is written in a thread, and a task that is cancelled waits for its end.
    #[pyo3(signature = (*given, **named), text_signature = "($self, t1, t2=None)")]
    fn delete_async<'py>(
        slf: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaiting::write(slf, "delete", given, named)
    }
}
