//! The Python extension module `timestrata._timestrata`: one file a class.
//!
//! Every class is frozen: what changes is behind the engine's own locks. The GIL is released
//! wherever the engine may wait, no lock is held while Python code may run, and long loops hear
//! Ctrl-C. Python's own parts (errors, what the command needs of Python) are in `timestrata/`.

use pyo3::prelude::*;

mod codec;
mod command;
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
mod settings;
#[cfg(feature = "sql")]
mod sql;
mod store;
mod table;
mod timelog;
mod timestamp;
mod topic;
mod typed;

/// The native part of timestrata. Import from `timestrata` instead.
#[pymodule]
fn _timestrata(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("FORMAT_VERSION", timestrata_engine::FORMAT_VERSION)?;
    module.add_function(wrap_pyfunction!(open::open, module)?)?;
    module.add_function(wrap_pyfunction!(repair::repair, module)?)?;
    module.add_function(wrap_pyfunction!(command::run_command, module)?)?;
    module.add_function(wrap_pyfunction!(codec::cbor_encode, module)?)?;
    module.add_function(wrap_pyfunction!(codec::cbor_decode, module)?)?;
    module.add_class::<store::Store>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<table::Rows>()?;
    module.add_class::<table::RowsIter>()?;
    module.add_class::<graph::Block>()?;
    module.add_class::<graph::Edge>()?;
    module.add_class::<graph::GraphView>()?;
    module.add_class::<graph::Graph>()?;
    module.add_class::<graph::Route>()?;
    module.add_class::<graph::Walk>()?;
    module.add_class::<logs::LogBucket>()?;
    module.add_class::<logs::LogEntries>()?;
    module.add_class::<logs::LogEntriesIter>()?;
    module.add_class::<logs::LogEntry>()?;
    module.add_class::<logs::LogFacet>()?;
    module.add_class::<logs::LogTail>()?;
    module.add_class::<logs::Logs>()?;
    module.add_class::<topic::Consumer>()?;
    module.add_class::<topic::Producer>()?;
    module.add_class::<topic::Proof>()?;
    module.add_class::<topic::Receipt>()?;
    module.add_class::<topic::Record>()?;
    module.add_class::<topic::SigningKey>()?;
    module.add_class::<topic::Topic>()?;
    module.add_function(wrap_pyfunction!(topic::verify, module)?)?;
    module.add_function(wrap_pyfunction!(topic::verify_consistency, module)?)?;
    module.add_class::<timelog::Timelog>()?;
    module.add_class::<timelog::TimelogIter>()?;
    module.add_class::<timelog::PageSpan>()?;
    module.add_class::<timelog::PageSpanIter>()?;
    module.add_class::<timelog::PageSpanObjectsView>()?;
    module.add_class::<reports::BackupReport>()?;
    module.add_class::<reports::CheckReport>()?;
    module.add_class::<reports::Finding>()?;
    module.add_class::<reports::Pin>()?;
    module.add_class::<reports::RecoveryReport>()?;
    module.add_class::<reports::RepairReport>()?;
    fork::watch(module)?;
    events::stop_at_exit(module)?;
    handle::close_at_exit(module)
}
