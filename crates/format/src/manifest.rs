//! The manifest: an append-only log of framed edits.
//!
//! Each edit is atomic: all of its operations hold, or none. The file is a
//! [`ManifestHeader`], then one frame ([`crate::frame`]) an edit.

mod edit;

use crate::header::{HeaderError, check_seal, decode_preamble, encode_preamble, seal};
use crate::input::Input;
use crate::{RunFormat, RunId, RunMeta, SeqNo, StoreId, StreamId, Tombstone, WalId};

pub use edit::{decode_edit, encode_edit};

/// The first bytes of a manifest.
pub const MANIFEST_MAGIC: [u8; 8] = *b"TSTRATA\0";

/// Length of a manifest's header; the first frame follows.
pub const MANIFEST_HEADER_BYTES: usize = 64;

/// What stands at the start of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManifestHeader {
    /// Format version of the whole store.
    pub format_version: u32,
    /// Identity of the store, and the salt of all its checksums.
    pub store_id: StoreId,
    /// Rises by one with each rewriting of the manifest.
    pub generation: u64,
    /// The segment with which the writer begins its part of the log; 0 where that is not told.
    pub log_begins: WalId,
    /// Whether that segment was there when this was written. If not, it was by the time of the
    /// second edit.
    pub log_begun: bool,
}

impl ManifestHeader {
    /// Its bytes.
    pub fn encode(&self) -> [u8; MANIFEST_HEADER_BYTES] {
        let mut bytes = [0; MANIFEST_HEADER_BYTES];
        bytes[..16].copy_from_slice(&encode_preamble(MANIFEST_MAGIC, self.format_version));
        bytes[16..32].copy_from_slice(&self.store_id.0);
        bytes[32..40].copy_from_slice(&self.generation.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.log_begins.0.to_le_bytes());
        bytes[48] = u8::from(self.log_begun);
        seal(&mut bytes);
        bytes
    }

    /// Reads the header at the start of a manifest's bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let mut input = Input::new(bytes);
        let format_version = decode_preamble(&mut input, MANIFEST_MAGIC)?;
        let sealed = Input::new(bytes).bytes(MANIFEST_HEADER_BYTES, "manifest header")?;
        check_seal(sealed, "manifest header checksum")?;
        let store_id = StoreId(input.array("store id")?);
        let generation = input.u64("generation")?;
        let log_begins = WalId(input.u64("first segment of the writer's log")?);
        let log_begun = input.u8("whether the log was begun")? != 0;
        Ok(Self { format_version, store_id, generation, log_begins, log_begun })
    }
}

/// How rows with equal keys live together.
///
/// ```
/// # use timestrata_format::manifest::Merge;
/// assert_ne!(Merge::Keep, Merge::Latest); // every row stays; or one row a key, the newest
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Merge {
    /// Every row stays; equal keys keep commit order.
    Keep,
    /// One row a key: the latest commit wins.
    Latest,
}

/// What may be thrown away by itself.
///
/// ```
/// # use timestrata_format::manifest::Retention;
/// let gib = Retention { bytes: Some(1 << 30), ..Retention::default() };
/// assert_eq!(gib.age_ns, None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// Rows whose time is further back than this, and that have been in the store as long,
    /// go. Nanoseconds. Streams with a time key only.
    pub age_ns: Option<u64>,
    /// When the stream's runs take more than this, the oldest go.
    pub bytes: Option<u64>,
}

/// A stream as the manifest keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamDefinition {
    /// Its identity.
    pub id: StreamId,
    /// Its name, unique in the store.
    pub name: String,
    /// The Arrow schema as an encapsulated IPC schema message.
    pub schema_ipc: Vec<u8>,
    /// Names of the key columns, the leading one first.
    pub key: Vec<String>,
    /// Merge rule.
    pub merge: Merge,
    /// Format of compacted runs.
    pub run_format: RunFormat,
    /// Retention.
    pub retention: Retention,
    /// What the model on top wants to remember (codec, kind), sorted by name.
    pub properties: Vec<(String, String)>,
}

/// One stream as a pin sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedStream {
    /// The stream.
    pub stream: StreamId,
    /// Its runs, which stay on disk as long as the pin.
    pub runs: Vec<RunMeta>,
    /// Its tombstones.
    pub tombstones: Vec<Tombstone>,
}

/// A named, durable snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// Its name, unique in the store.
    pub name: String,
    /// The commit it sees.
    pub seq: SeqNo,
    /// Wall clock when it was made, nanoseconds since the epoch.
    pub created_wall_ns: i64,
    /// What it sees.
    pub streams: Vec<PinnedStream>,
}

/// One change to the state that the manifest keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManifestOp {
    /// A new stream.
    CreateStream(StreamDefinition),
    /// A stream has other columns from now on. All commits before are in its runs.
    AlterStream(StreamDefinition),
    /// A stream's times are told in a finer unit from now on: all that is known of its runs and tombstones, those of pins
    /// too, is in the unit before.
    RefineTimes {
        /// The stream.
        stream: StreamId,
        /// How many of the new unit make one of the old; 2 or more.
        factor: i64,
    },
    /// A stream and all its runs and tombstones go.
    DropStream(StreamId),
    /// A new run.
    AddRun(RunMeta),
    /// A run leaves the version (a pin may keep its file).
    RemoveRun {
        /// Its stream.
        stream: StreamId,
        /// The run.
        run: RunId,
    },
    /// A range delete that runs must still heed.
    AddTombstone {
        /// Its stream.
        stream: StreamId,
        /// The range delete.
        tombstone: Tombstone,
    },
    /// A range delete that has been applied to every run it touches.
    RemoveTombstone {
        /// Its stream.
        stream: StreamId,
        /// The range delete.
        tombstone: Tombstone,
    },
    /// Every commit of the stream up to and with `seq` is in runs and tombstones: the WAL is
    /// not needed for it.
    FlushedThrough {
        /// The stream.
        stream: StreamId,
        /// The commit.
        seq: SeqNo,
    },
    /// A stream's retention changed.
    SetRetention {
        /// The stream.
        stream: StreamId,
        /// From now on.
        retention: Retention,
    },
    /// A new pin.
    AddPin(Pin),
    /// A pin goes.
    RemovePin(String),
    /// Run ids below this have been given out.
    NextRunId(RunId),
    /// Stream ids below this have been given out.
    NextStreamId(StreamId),
    /// Segments of the WAL before this one are not needed.
    WalFloor(WalId),
    /// The store was closed in good order: every commit up to `last_seq` is in runs, and the
    /// WAL holds nothing.
    Closed {
        /// The last commit of the store.
        last_seq: SeqNo,
    },
    /// When the last commit was made, milliseconds since the epoch: no later one has an earlier time. Where an edit adds a
    /// commit that is not in the WAL, it is the time of that.
    CommitTime(u64),
    /// A commit that is not in the WAL: its number is not given again, whatever becomes of what it changed.
    Committed(SeqNo),
    /// Of the commit that the edit adds: its rows of a stream are those of the ranges that it deletes which stay. Changes nothing.
    Rewritten(StreamId),
    /// What the edit removes of a stream has expired by its retention. Changes nothing.
    Expired(StreamId),
    /// How far somebody has followed the changes of commits.
    SetFollower {
        /// Its name, unique in the store.
        name: String,
        /// The last commit that is done.
        seq: SeqNo,
    },
    /// A follower goes.
    RemoveFollower(String),
}

/// Operations that hold together or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VersionEdit {
    /// In this order.
    pub ops: Vec<ManifestOp>,
}

#[cfg(test)]
mod tests;
