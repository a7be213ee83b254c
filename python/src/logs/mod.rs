//! Structured logs: entries by the time of their arrival, searched and followed.

mod ahead;
mod arguments;
mod columns;
mod entries;
mod entry;
mod figures;
mod input;
mod object;
mod open;
mod read;
mod staged;
mod stats;
mod tail;
mod write;

pub(crate) use arguments::{level_of, position_of, query_of};
pub(crate) use entries::{Hits, LogEntries, LogEntriesIter, Search};
pub(crate) use entry::LogEntry;
pub(crate) use figures::{LogBucket, LogFacet};
pub(crate) use object::Logs;
pub(crate) use staged::CommitLogs;
pub(crate) use tail::LogTail;
