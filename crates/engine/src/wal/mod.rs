//! The write-ahead log: what makes a commit survive before its rows are in a run.
//!
//! Owns the files of `DIR/wal`. [`Wal`] appends records and makes them durable, one sync for
//! all who wait; [`WalReader`] gives them back, to recovery and to read-only followers. The
//! invariant: what is read is a prefix of what was appended that contains all that was
//! synced; a hole below that is an error and never a shorter log. `docs/format.md` has the
//! byte maps.
//!
//! The log is a chain of segments, files of one length that are filled from front to back. The manifest's *floor* is
//! the first that is still needed; those below are used again, under a new name. A flush moves the floor up: to the
//! segment that holds the first commit which is in no run yet.
//!
//! ```text
//!            floor = 7
//!    5.wal   7.wal                          8.wal                            9.spare
//!    ~~~~~   start commit commit synced end start commit commit 0 ~ ~ ~      made ahead
//!            (10)   11     12     12    12  (12)   13     14    |
//!                                                               appends go here; behind it is what is left of
//!                                                               the file's earlier life, which no checksum fits
//! ```
//!
//! Say commits 11 and 12 are synced, 13 and 14 only written, and the power goes. What recovery finds at the first
//! place without a whole record decides:
//!
//! ```text
//!   found                                                            means
//!   13 whole, 14 torn, nothing behind                                the log ends with 13; 14 was not acknowledged as
//!                                                                    synced. Its bytes stay; the log goes on in 9.wal
//!   12 damaged, but the record `synced` behind it is whole           a durable commit is missing: corruption, which
//!                                                                    names 7.wal and the place of 12
//!   13 torn, and 9.wal begins with a start record that says "12"     an earlier recovery stopped here: on with 9.wal
//!   7.wal is not there                                               corruption, which names 7.wal
//! ```
//!
//! A payload is a sequence of entries, which [`PayloadBuilder`] and [`RowRecord`] lay out:
//! single rows ([`RowLayout`]), Arrow batches ([`encode_batch`]), range deletes. The store is the caller
//! of all of it: appends come in commit order under its commit lock, syncs from any thread.

mod batch;
mod past;
mod payload;
mod reader;
mod row;
mod row_record;
mod segment;
mod spares;
mod sync;
mod writer;

use std::collections::BTreeMap;
use std::path::Path;

use timestrata_format::WalId;
use timestrata_io::{DirEntry, Disk};

use crate::{Error, Result};

pub(crate) use batch::{check_loggable, decode_batch, encode_batch};
pub(crate) use payload::{PayloadBuilder, decode_range};
pub(crate) use reader::{ReadMode, WalPosition, WalReader, WalRecord, WalTail, each_record};
pub(crate) use row::RowLayout;
pub(crate) use row_record::RowRecord;
pub(crate) use segment::segment_path;
pub(crate) use spares::OldSegments;
pub(crate) use sync::SyncCounts;
pub(crate) use writer::{Wal, WalStart, ms_of};

/// Whether the log gives files such a name.
pub(crate) fn is_file_name(name: &str) -> bool {
    segment::FileName::parse(name).is_some()
}

/// The segments that there are in the log's directory, in order.
pub(crate) fn segment_ids(disk: &dyn Disk, dir: &Path) -> Result<Vec<WalId>> {
    Ok(segment_files(disk, dir)?.into_keys().collect())
}

/// The same, with the length of each file.
pub(crate) fn segment_files(disk: &dyn Disk, dir: &Path) -> Result<BTreeMap<WalId, u64>> {
    let entries = disk.list_if_there(dir).map_err(|error| Error::io("list the log", dir, error))?;
    let files = entries.iter().filter(|entry| !entry.is_dir);
    let segment = |entry: &DirEntry| match segment::FileName::parse(&entry.name)? {
        segment::FileName::Segment(id) => Some((id, entry.len)),
        segment::FileName::Spare(_) => None,
    };
    Ok(files.filter_map(segment).collect())
}

#[cfg(test)]
mod tests;
