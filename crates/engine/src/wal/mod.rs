//! The write-ahead log: what makes a commit survive before its rows are in a run.
//!
//! Owns the files of `DIR/wal`. [`Wal`] appends records and makes them durable, one sync for
//! all who wait; [`WalReader`] gives them back, to recovery and to read-only followers. The
//! invariant: what is read is a prefix of what was appended that contains all that was
//! synced; a hole below that is an error and never a shorter log. `docs/format.md` has the
//! byte maps.
//!
//! A payload is a sequence of entries, which [`PayloadBuilder`] and [`RowRecord`] lay out:
//! single rows ([`RowLayout`]), Arrow batches ([`encode_batch`]), range deletes. The store is the caller
//! of all of it: appends come in commit order under its commit lock, syncs from any thread.

mod batch;
mod payload;
mod reader;
mod row;
mod row_record;
mod segment;
mod spares;
mod sync;
mod writer;

pub(crate) use batch::{check_loggable, decode_batch, encode_batch};
pub(crate) use payload::{PayloadBuilder, decode_range};
pub(crate) use reader::{ReadMode, WalPosition, WalReader, WalRecord, WalTail};
pub(crate) use row::RowLayout;
pub(crate) use row_record::RowRecord;
pub(crate) use spares::OldSegments;
pub(crate) use writer::{Wal, WalStart};

/// Whether the log gives files such a name.
pub(crate) fn is_file_name(name: &str) -> bool {
    segment::FileName::parse(name).is_some()
}

#[cfg(test)]
mod tests;
