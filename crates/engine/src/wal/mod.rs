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

use std::path::Path;

use timestrata_format::WalId;
use timestrata_io::Disk;

use crate::{Error, Result};

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

/// The segments that there are in the log's directory, in order.
pub(crate) fn segment_ids(disk: &dyn Disk, dir: &Path) -> Result<Vec<WalId>> {
    let entries = match disk.list(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| Error::io("list the log", dir, error))?,
    };
    let names = entries.iter().filter(|entry| !entry.is_dir);
    let mut ids: Vec<WalId> = names
        .filter_map(|entry| match segment::FileName::parse(&entry.name)? {
            segment::FileName::Segment(id) => Some(id),
            segment::FileName::Spare(_) => None,
        })
        .collect();
    ids.sort_unstable();
    Ok(ids)
}

#[cfg(test)]
mod tests;
