//! The Python extension module `timestrata._timestrata`: one file a class.
//!
//! Every class is frozen: what changes is behind the engine's own locks. The GIL is released
//! wherever the engine may wait, no lock is held while Python code may run, and long loops hear
//! Ctrl-C. Python's own parts (errors, what the command needs of Python) are in `timestrata/`.

use pyo3::pymodule;

mod allocator;
mod await_forms;
mod awaiting;
mod changes;
mod codec;
mod command;
mod commit;
mod error;
mod events;
mod fork;
mod graph;
mod handle;
mod interrupt;
mod lock;
mod logs;
mod open;
mod opened;
mod path;
mod payload;
mod queries;
mod repair;
mod reports;
mod rows;
mod server;
mod settings;
#[cfg(feature = "sql")]
mod sql;
mod staging;
mod store;
mod table;
mod timelog;
mod timestamp;
mod topic;
mod typed;

/// The native part of timestrata. Import from `timestrata` instead.
#[pymodule]
mod _timestrata {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        allocator::allocated_bytes,
        allocator::allocator_bytes,
        awaiting::Asking,
        changes::{Change, Changes, CommittedChanges},
        codec::{cbor_decode, cbor_encode, cbor_to_json},
        command::run_command,
        commit::Commit,
        graph::{Block, CommitGraph, Edge, Graph, GraphView, Route, Walk},
        logs::{
            CommitLogs, LogBucket, LogEntries, LogEntriesIter, LogEntry, LogFacet, LogTail, Logs,
        },
        open::open,
        repair::repair,
        reports::{
            BackupReport, CheckReport, Finding, Pin, PurgeReport, RecoveryReport, RepairReport,
        },
        server::Server,
        store::Store,
        table::{CommitTable, Rows, RowsIter, Table},
        timelog::{
            CommitTimelog, DropInTimelog, PageSpan, PageSpanIter, PageSpanObjectsView, Timelog,
            TimelogIter, TimelogTail,
        },
        topic::{
            CommitTopic, Consumer, Producer, Proof, Receipt, Record, SigningKey, Topic, verify,
            verify_checkpoints, verify_consistency,
        },
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("FORMAT_VERSION", timestrata_engine::FORMAT_VERSION)?;
        crate::fork::watch(module)?;
        let atexit = module.py().import("atexit")?;
        // What is registered first is called last: events are told until the stores are closed.
        atexit.call_method1("register", (wrap_pyfunction!(crate::events::stop, module)?,))?;
        atexit.call_method1("register", (wrap_pyfunction!(crate::handle::close_all, module)?,))?;
        Ok(())
    }
}
