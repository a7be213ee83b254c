//! Audit of a partition: its records are compared with the hashes that were stored when they were appended,
//! the stored tiles with each other, and the whole tree with the last checkpoint.
//!
//! Checksums of files show damage by a disk. An audit also shows changes by somebody who has corrected the
//! checksums.

use timestrata_engine::{Error, ErrorKind, Result, RunningQuery};
use timestrata_merkle::{Checkpoint, Edge, Hash, Note, Place, TileKind};

use super::Topic;
use super::entries::KeptEntries;
use super::partition::Partition;
use super::record::Records;
use super::retain::records;
use super::tiles::WIDTH;
use super::tree::PartitionTree;

/// How many findings an error names; of more it says how many there are.
const FINDINGS_NAMED: usize = 20;

/// What an audit has found so far.
#[derive(Default)]
struct Findings {
    named: Vec<String>,
    count: usize,
}

impl Findings {
    fn add(&mut self, what: String) {
        self.count += 1;
        if self.named.len() < FINDINGS_NAMED {
            self.named.push(what);
        }
    }

    /// An error of all of them, if there are any.
    fn into_result(self, part: &Partition) -> Result<()> {
        let more = match self.count - self.named.len() {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        match self.count {
            0 => Ok(()),
            _ => {
                let what = format!("{part}: {}{more}", self.named.join("; "));
                Err(Error::new(ErrorKind::Corruption, what))
            }
        }
    }
}

/// What an audit went through.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// # use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// # let opened = Record { key: Some(b"door"), value: Some(b"opened"), ..Record::default() };
/// # events.send(&opened, &SendOptions::default())?;
/// let audited = events.audit(0)?;
/// assert_eq!((audited.records, audited.root), (1, events.root(0, None)?.1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Audited {
    /// Records that are kept, each held against its hash.
    pub records: u64,
    /// Records that ever were: leaves of the tree.
    pub size: u64,
    /// The root of the tree, made anew from its leaves.
    pub root: Hash,
}

impl Topic {
    /// Reads all of a partition, makes its tree anew from the stored leaves, and holds each record, each
    /// stored tile and the last checkpoint against it. Writing goes on meanwhile.
    ///
    /// # Errors
    /// `Corruption` that says which records, tiles and checkpoint are others than they were: the first twenty, and how many more.
    pub fn audit(&self, partition: u32) -> Result<Audited> {
        self.audited(partition, None)
    }

    /// The same until nobody waits for it any more.
    ///
    /// # Errors
    /// As [`audit`](Self::audit); `Cancelled` and `TimedOut` where the query has ended.
    pub fn audit_for(&self, partition: u32, query: &RunningQuery) -> Result<Audited> {
        self.audited(partition, Some(query))
    }

    fn audited(&self, partition: u32, query: Option<&RunningQuery>) -> Result<Audited> {
        let part = self.partition(partition)?;
        let tree = PartitionTree::copy(&part, &self.store)?;
        let snapshot = part.snapshot(&self.store)?;
        let mut findings = Findings::default();
        let (kept, size) = (self.offsets(partition)?.start, tree.size());
        let mut leaves = Leaves { tree: &tree, tile: None, query };
        let mut counted = 0;
        let mut entry = Vec::new();
        for batch in records(&snapshot, part.records, kept..size)? {
            for (offset, record) in Records::of(&batch?)?.iter() {
                let time = record.timestamp_ns.unwrap_or_default();
                part.entry(offset, time, &record, &mut entry)?;
                if Hash::of_leaf(&entry) != leaves.at(offset)? {
                    findings.add(format!("the record at offset {offset} was altered"));
                }
                counted += 1;
            }
        }
        let mut leaves = Leaves { tree: &tree, tile: None, query };
        for kept in KeptEntries::of(&snapshot, &part, 0..size)? {
            let (offset, entry) = kept?;
            if Hash::of_leaf(&entry) != leaves.at(offset)? {
                findings.add(format!("the kept entry at offset {offset} was altered"));
            }
        }
        let root = rebuilt(&tree, query, &mut findings)?;
        match tree.root(size) {
            Ok(stored) if stored == root => {}
            Ok(_) => findings.add("its tree doesn't have the root that its leaves make".to_owned()),
            // What was found so far is told all the same.
            Err(error) if findings.count > 0 => findings.add(error.to_string()),
            Err(error) => return Err(error),
        }
        if let Some(note) = self.last_checkpoint(partition)? {
            let checkpoint = Note::parse(&note).and_then(|note| note.text().parse::<Checkpoint>());
            match checkpoint {
                Err(error) => findings.add(format!("its last checkpoint: {error}")),
                // One that was signed meanwhile is of more records than were looked at.
                Ok(checkpoint) if checkpoint.size > size => {}
                Ok(checkpoint) => {
                    let at = checkpoint.size;
                    if tree.root(at)? != checkpoint.root {
                        findings
                            .add(format!("its last checkpoint, of {at} records, has another root"));
                    }
                }
            }
        }
        findings.into_result(&part)?;
        Ok(Audited { records: counted, size, root })
    }
}

/// The root of a tree made from its leaves alone; each tile that gets full is held against the one that
/// is stored.
fn rebuilt(
    tree: &PartitionTree<'_>,
    query: Option<&RunningQuery>,
    findings: &mut Findings,
) -> Result<Hash> {
    let mut made = Edge::default();
    let mut failed = None;
    let mut leaves = Leaves { tree, tile: None, query };
    for offset in 0..tree.size() {
        made.append(leaves.at(offset)?, |tile, subtree, roots| {
            let TileKind::Hashes(level) = tile.kind else { return };
            let index = tile.index;
            match tree.has_stored(level, index, subtree, roots) {
                Ok(true) => {}
                Ok(false) => findings.add(format!("its stored tile {level}/{index} was altered")),
                Err(error) => drop(failed.get_or_insert(error)),
            }
        });
        if let Some(failed) = failed {
            return Err(failed);
        }
    }
    Ok(made.root())
}

/// The leaves of a tree, one after the other.
struct Leaves<'a, 'b> {
    tree: &'a PartitionTree<'b>,
    /// The tile that was read last.
    tile: Option<(u64, Vec<Hash>)>,
    /// Asked at each tile whether to go on.
    query: Option<&'a RunningQuery>,
}

impl Leaves<'_, '_> {
    fn at(&mut self, offset: u64) -> Result<Hash> {
        let index = offset / WIDTH;
        if self.tile.as_ref().is_none_or(|(at, _)| *at != index) {
            self.query.map_or(Ok(()), RunningQuery::check)?;
            let full = self.tree.size() / WIDTH;
            let hashes = match index < full {
                true => self.tree.tile(0, index)?,
                false => (full * WIDTH..self.tree.size())
                    .map(|index| self.tree.hash_at(Place { level: 0, index }))
                    .collect::<Result<_>>()?,
            };
            self.tile = Some((index, hashes));
        }
        let inside = usize::try_from(offset % WIDTH).unwrap_or(usize::MAX);
        let found = self.tile.as_ref().and_then(|(_, hashes)| hashes.get(inside));
        let missing = || Error::new(ErrorKind::Corruption, format!("there is no leaf {offset}"));
        found.copied().ok_or_else(missing)
    }
}
