//! Export of a partition as files of C2SP's `tlog-tiles`, for clients and auditors written by others.

use std::path::Path;

use timestrata_engine::{Error, ErrorKind, Io, Result, Snapshot};
use timestrata_merkle::{Place, TILE_HEIGHT, Tile, TileKind, tiles_of};

use super::entries::KeptEntries;
use super::partition::Partition;
use super::record::Records;
use super::retain::records;
use super::tree::PartitionTree;
use super::{Topic, files};

/// What was written of a log.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_engine::Io;
/// use timestrata_topic::KeyFile;
/// # use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// # let opened = Record { key: Some(b"door"), value: Some(b"opened"), ..Record::default() };
/// # events.send(&opened, &SendOptions::default())?;
/// # let folder = tempfile::tempdir()?;
/// # let out = folder.path();
/// # let key = KeyFile::generate(&Io::os(), &out.join("log.key"), "example.org/log")?;
/// # events.checkpoint_by(0, &key)?;
/// let exported = events.export_tiles(&Io::os(), 0, &out.join("tiles"))?;
/// assert_eq!((exported.size, exported.gone), (1, 0));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExportedTiles {
    /// Records of the tree.
    pub size: u64,
    /// Files of hashes and of entries that are there now.
    pub tiles: u64,
    /// Files of entries that can't be made, as not all of their records are kept, nor their entries alone.
    pub gone: u64,
}

impl Topic {
    /// Writes what a partition was at its last checkpoint into a folder: `checkpoint`, `tile/L/N` and
    /// `tile/entries/N`. Full tiles that are there already are left as they are, so that the same
    /// folder can be brought up to date; the checkpoint comes last.
    ///
    /// # Errors
    /// `OutOfRange` without a checkpoint; what reading and writing may fail with.
    pub fn export_tiles(&self, io: &Io, partition: u32, out: &Path) -> Result<ExportedTiles> {
        let part = self.partition(partition)?;
        let (note, checkpoint) = self.stored_checkpoint(partition, "")?;
        let tree = PartitionTree::copy(&part, &self.store)?;
        let snapshot = part.snapshot(&self.store)?;
        let mut done = ExportedTiles { size: checkpoint.size, ..ExportedTiles::default() };
        for tile in tiles_of(checkpoint.size) {
            let path = out.join(tile.to_string());
            if tile.is_full() && io.disk.exists(&path).unwrap_or(false) {
                done.tiles += 1;
                continue;
            }
            match bytes_of(&part, &tree, &snapshot, &tile)? {
                Some(bytes) => {
                    files::place(&*io.disk, &path, &bytes)?;
                    done.tiles += 1;
                }
                None => done.gone += 1,
            }
        }
        files::replace(&*io.disk, &out.join("checkpoint"), &note)?;
        Ok(done)
    }

    /// One of the files that [`export_tiles`](Self::export_tiles) writes, as bytes, which never change; `None` for one
    /// that the last checkpoint doesn't cover, and for entries that are not all kept ([`keep_entries`](super::TopicOptions::keep_entries)).
    ///
    /// ```
    /// use timestrata_engine::{Settings, Store};
    /// use timestrata_merkle::{Hash, KeyName, Signer};
    /// # use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Store::memory(Settings::default())?;
    /// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
    /// # let opened = Record { key: Some(b"door"), value: Some(b"opened"), ..Record::default() };
    /// # events.send(&opened, &SendOptions::default())?;
    /// let tile = "tile/0/000.p/1".parse()?;
    /// assert!(events.tile(0, &tile)?.is_none()); // nothing is signed yet
    /// let signer = Signer::from_seed(KeyName::new("example.org/log")?, [7; 32]);
    /// events.checkpoint(0, &signer, None)?;
    /// let leaf = Hash::of_leaf(&events.entry(0, 0)?);
    /// assert_eq!(events.tile(0, &tile)?.as_deref(), Some(&leaf.as_bytes()[..]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such partition; what reading may fail with.
    pub fn tile(&self, partition: u32, tile: &Tile) -> Result<Option<Vec<u8>>> {
        let part = self.partition(partition)?;
        if self.last_checkpoint(partition)?.is_none() {
            return Ok(None);
        }
        // What is behind it may not be synced yet, and so may be otherwise after a crash.
        let (_, checkpoint) = self.stored_checkpoint(partition, "")?;
        if tile.leaves().end > checkpoint.size {
            return Ok(None);
        }
        let tree = PartitionTree::copy(&part, &self.store)?;
        bytes_of(&part, &tree, &part.snapshot(&self.store)?, tile)
    }
}

/// What a tile is as a file; `None` for entries that are not all kept.
fn bytes_of(
    partition: &Partition,
    tree: &PartitionTree<'_>,
    snapshot: &Snapshot,
    tile: &Tile,
) -> Result<Option<Vec<u8>>> {
    match tile.kind {
        TileKind::Hashes(level) => hashes(tree, level, tile).map(Some),
        TileKind::Entries => entries(partition, snapshot, tile),
    }
}

fn hashes(tree: &PartitionTree<'_>, level: u8, tile: &Tile) -> Result<Vec<u8>> {
    if tile.is_full() {
        return Ok(tree.tile(level, tile.index)?.iter().flat_map(|hash| hash.0).collect());
    }
    let first = tile.index.saturating_mul(super::tiles::WIDTH);
    let mut bytes = Vec::new();
    for index in (first..).take(tile.width) {
        let place = Place { level: level * TILE_HEIGHT, index };
        bytes.extend(tree.hash_at(place)?.0);
    }
    Ok(bytes)
}

/// Entries with their lengths before them; `None` if not all are kept.
fn entries(partition: &Partition, snapshot: &Snapshot, tile: &Tile) -> Result<Option<Vec<u8>>> {
    // Of most tiles all records or none are gone.
    let mut entries = KeptEntries::of(snapshot, partition, tile.leaves())?.into_map()?;
    for batch in records(snapshot, partition.records, tile.leaves())? {
        for (offset, record) in Records::of(&batch?)?.iter() {
            let (time, mut entry) = (record.timestamp_ns.unwrap_or_default(), Vec::new());
            partition.entry(offset, time, &record, &mut entry)?;
            entries.insert(offset, entry);
        }
    }
    if !entries.keys().copied().eq(tile.leaves()) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    for (offset, entry) in entries {
        // An envelope is far below what 16 bits count: its longest part is a topic's name.
        let length = u16::try_from(entry.len()).map_err(|_| {
            Error::new(ErrorKind::InvalidData, format!("the entry {offset} is too long"))
        })?;
        bytes.extend(length.to_be_bytes());
        bytes.extend(entry);
    }
    Ok(Some(bytes))
}
