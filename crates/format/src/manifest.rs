//! The manifest: an append-only log of framed edits.
//!
//! Each edit is atomic: all of its operations hold, or none.

use crate::{RunFormat, RunId, RunMeta, SeqNo, StreamId, Tombstone, WalId};

/// How rows with equal keys live together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Merge {
    /// Every row stays; equal keys keep commit order.
    Keep,
    /// One row a key: the latest commit wins.
    Latest,
}

/// What may be thrown away by itself.
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
}

/// Operations that hold together or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VersionEdit {
    /// In this order.
    pub ops: Vec<ManifestOp>,
}
