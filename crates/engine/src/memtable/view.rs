//! What readers get of a memtable: immutable sources and range deletes.

use std::sync::Arc;

use timestrata_format::SeqNo;

use crate::scan::Source;
use crate::tombstones::Tombstones;

/// A memtable frozen at one commit. Later appends and deletes don't change it.
#[derive(Debug)]
pub(crate) struct MemtableView {
    /// Oldest first: of two sources that share a leading key, every row of the earlier one
    /// was committed before every row of the later one.
    pub(crate) sources: Vec<Arc<dyn Source>>,
    /// Range deletes committed into the memtable. Older memtables and runs must heed them as well.
    pub(crate) tombstones: Tombstones,
    /// Rows of the sources, delete markers included.
    pub(crate) rows: usize,
    /// Memory that the sources hold, in bytes.
    pub(crate) bytes: usize,
    /// Oldest commit in the memtable, range deletes included.
    pub(crate) seq_min: Option<SeqNo>,
    /// Newest commit in the memtable, range deletes included.
    pub(crate) seq_max: Option<SeqNo>,
}

impl MemtableView {
    /// Oldest commit; a view of an empty memtable has none, and says 0.
    pub(crate) fn first_seq(&self) -> SeqNo {
        self.seq_min.unwrap_or_default()
    }

    /// Newest commit; a view of an empty memtable has none, and says 0.
    pub(crate) fn last_seq(&self) -> SeqNo {
        self.seq_max.unwrap_or_default()
    }
}
