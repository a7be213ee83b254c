//! What verbs ask of a store, a face for each model. Each face is there twice: over a store that this process has
//! opened ([`here`]), and over a server that has it open ([`there`]). Verbs know neither.

mod here;
mod place;
mod there;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde_json::Value;
use timestrata::Scan;
use timestrata::graph::Graph;
use timestrata::logs::filter::Filter;
use timestrata::logs::{Bucket, Clock, Entries, Facet, FacetsOptions, Query};
use timestrata::merkle::{AddCheckpoint, Witness};
use timestrata::timelog::{Codec, EntryBatch, TailCursor, Unit};
use timestrata::topic::{
    GroupStart, OwnedRecord, PartitionCheckpoint, Record, TopicOptions, TopicRetention,
};
use timestrata_client::ReceivedRows;
use timestrata_codeindex::{Kinds, Linked, Relation, Shown};

use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::output::{FoundEntries, Row, TimelogRows};
use crate::ranges::TimeRange;

pub(crate) use place::{Place, StoreArg, expect_directory, open, token_of};

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Table,
    Logs,
    Timelog,
    Topic,
}

impl Kind {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Table, Self::Logs, Self::Timelog, Self::Topic];
}

/// Rows, batch by batch.
pub(crate) trait Rows: Iterator<Item = timestrata::Result<RecordBatch>> {
    fn schema(&self) -> SchemaRef;

    /// What was left out as it is damaged, once all has been read.
    fn missing(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Rows for Scan {
    fn schema(&self) -> SchemaRef {
        Self::schema(self)
    }

    fn missing(&self) -> Vec<String> {
        Self::missing(self).iter().map(ToString::to_string).collect()
    }
}

impl Rows for ReceivedRows {
    fn schema(&self) -> SchemaRef {
        Self::schema(self)
    }
}

/// A store.
pub(crate) trait StoreFace {
    /// The names of all that is of a kind.
    fn names(&self, kind: Kind) -> Result<Vec<String>>;

    /// What a name stands for; `None` where nothing that has rows is called so.
    fn kind_of(&self, name: &str) -> Result<Option<Kind>> {
        for kind in Kind::ALL {
            if self.names(kind)?.iter().any(|known| known == name) {
                return Ok(Some(kind));
            }
        }
        Ok(None)
    }

    fn table(&self, name: &str) -> Result<Box<dyn TableFace>>;
    fn logs(&self, name: &str) -> Result<Box<dyn LogsFace>>;
    fn timelog(&self, name: &str) -> Result<Box<dyn TimelogFace>>;
    fn topic(&self, name: &str) -> Result<Box<dyn TopicFace>>;
    fn graph(&self, name: &str) -> Result<Box<dyn GraphFace>>;

    /// Has `work` change a graph, durably. It is made if it is missing, and where that fails one that was made for it goes again.
    fn change_graph(&self, name: &str, work: GraphWork<'_>) -> Result<()>;

    /// What it holds, or one stream of it, as `info --json` prints it.
    fn info(&self, name: Option<&str>) -> Result<Value>;

    /// Makes a time log; fine if it is there as asked for.
    fn create_timelog(&self, name: &str, wanted: &NewTimelog) -> Result<Box<dyn TimelogFace>>;

    /// Makes a topic; fine if it is there with these options.
    fn create_topic(&self, name: &str, options: &TopicOptions) -> Result<()>;
    fn drop_topic(&self, name: &str) -> Result<()>;

    /// What commits change.
    #[cfg(feature = "sql")]
    fn changes(&self, from: ChangesFrom<'_>) -> Result<Box<dyn ChangesFace>>;

    /// Erases what was deleted or replaced in what has these names, or in all, until it is given up by an interrupt.
    fn purge(&self, names: &[&str], interrupt: &Interrupt) -> Result<Purged>;

    /// Makes durable what was written.
    fn sync(&self) -> Result<()>;
    /// Ends it in good order.
    fn close(&self) -> Result<()>;
}

/// What is done to a graph.
pub(crate) type GraphWork<'a> = &'a mut dyn FnMut(&Graph) -> Result<()>;

/// What a purge has erased.
#[derive(Debug)]
pub(crate) struct Purged {
    /// The last commit before it.
    pub(crate) seq: u64,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// Files that somebody reads just now, and that go with their readers.
    pub(crate) still_read: u64,
}

/// Which rows of a table are wanted.
#[derive(Debug, Default)]
pub(crate) struct RowsWanted<'a> {
    pub(crate) from: Option<&'a str>,
    pub(crate) to: Option<&'a str>,
    pub(crate) columns: Option<&'a [String]>,
    pub(crate) limit: Option<usize>,
    pub(crate) reverse: bool,
    pub(crate) skip_damaged: bool,
}

pub(crate) trait TableFace {
    /// Rows in time order.
    fn rows(&self, wanted: &RowsWanted<'_>) -> Result<Box<dyn Rows>>;
    /// Deletes those of a range of times, durably. Gives how many there were.
    fn delete(&self, from: Option<&str>, to: Option<&str>) -> Result<u64>;
}

/// What of a log is set anew; what is `None` stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LogsChange {
    pub(crate) clock: Option<Clock>,
    /// No bound stays.
    pub(crate) keep_all: bool,
    pub(crate) age_ns: Option<u64>,
    pub(crate) bytes: Option<u64>,
}

/// A log as it is now, or was at the moment that was asked for.
pub(crate) trait LogsFace {
    fn search(&self, query: &Query) -> Result<FoundEntries>;
    fn count(&self, query: &Query) -> Result<u64>;
    /// The length of a stretch, and all stretches.
    fn histogram(&self, query: &Query, step: Option<i64>) -> Result<(i64, Vec<Bucket>)>;
    fn facets(&self, query: &Query, options: &FacetsOptions) -> Result<Vec<Facet>>;
    /// An entry with those around it; nothing where there is no such entry.
    fn context(&self, timestamp: i64, before: usize, after: usize) -> Result<Vec<Entries>>;
    /// When the last entry arrived.
    fn last_timestamp(&self) -> Result<Option<i64>>;
    /// The clock that queries go by which name none.
    fn clock(&self) -> Result<Clock>;
    /// Entries that arrive behind one.
    fn tail(&self, filter: Filter, after: i64) -> Result<Box<dyn TailFace>>;
    /// Sets what is to be set anew, durably.
    fn change(&self, change: &LogsChange) -> Result<()>;
    /// Deletes those that arrived in a range, durably. Gives how many there were.
    fn delete(&self, query: &Query) -> Result<u64>;
}

pub(crate) trait TailFace {
    /// The next entries; `None` where there are none for a while.
    fn next(&mut self) -> Result<Option<Entries>>;
}

/// Which entries of a time log are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntriesWanted {
    pub(crate) range: TimeRange,
    pub(crate) limit: Option<usize>,
    pub(crate) reverse: bool,
}

pub(crate) trait TimelogFace {
    fn unit(&self) -> Unit;
    fn codec(&self) -> Codec;
    /// Appends entries in one commit, which is durable once the store was synced.
    fn append(&self, batch: EntryBatch) -> Result<()>;
    fn rows(&self, wanted: EntriesWanted) -> Result<Box<dyn TimelogRows>>;
    /// Entries that come from a place on.
    fn tail(&self, from: &TailFrom) -> Result<Box<dyn TimelogTailFace>>;
    /// Sets what may be thrown away by itself, durably.
    fn set_retention(&self, change: &TimelogRetention) -> Result<()>;
    /// Deletes those of a range of times, durably. Gives how many there were.
    fn delete(&self, range: TimeRange) -> Result<u64>;
}

/// Where following a time log begins, and what it gives.
#[derive(Debug, Clone, Default)]
pub(crate) struct TailFrom {
    pub(crate) since: Option<i64>,
    pub(crate) after: Option<TailCursor>,
    pub(crate) late: bool,
}

pub(crate) trait TimelogTailFace {
    /// The place behind the last entry that was given.
    fn cursor(&self) -> TailCursor;
    /// The next entries, each with the place behind it; none where none come for a while.
    fn next(&mut self) -> Result<Vec<(Row, TailCursor)>>;
}

/// What of a time log's retention is set anew; what is `None` stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TimelogRetention {
    /// No bound stays.
    pub(crate) keep_all: bool,
    pub(crate) age_ns: Option<u64>,
    pub(crate) bytes: Option<u64>,
}

/// What a time log is made as.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NewTimelog {
    pub(crate) codec: Codec,
    pub(crate) unit: Unit,
    pub(crate) retention: TimelogRetention,
    pub(crate) min_time: Option<i64>,
}

/// Where reading a topic begins.
#[derive(Debug, Clone)]
pub(crate) enum Start {
    /// Where the group has committed; what was given is committed.
    Group(String),
    /// At a place of one partition, or of all.
    At(Option<u32>, StartPlace),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum StartPlace {
    Earliest,
    Latest,
    Offset(u64),
    /// Nanoseconds since 1970.
    Time(i64),
    /// So many records of each partition that are there, the last ones.
    Last(u64),
}

/// What is to be changed of a topic's retention.
#[derive(Debug)]
pub(crate) struct RetentionChange {
    /// Whether all bounds go that there are.
    pub(crate) keep_all: bool,
    /// Bounds that are named; what is not stays.
    pub(crate) named: TopicRetention,
}

/// Where a group is in a partition, and who reads that; a member that reads none is told without one.
#[derive(Debug, Default)]
pub(crate) struct GroupPlace {
    pub(crate) group: String,
    pub(crate) partition: Option<u32>,
    pub(crate) committed: Option<u64>,
    pub(crate) end: Option<u64>,
    pub(crate) member: Option<String>,
}

pub(crate) trait TopicFace {
    /// What it was made as and has, as `topic describe --json` prints it.
    fn described(&self) -> Result<Value>;
    fn partitions(&self) -> Result<u32>;
    fn change(&self, partitions: Option<u32>, retention: &RetentionChange) -> Result<()>;
    /// Throws away what retention lets go: how many have expired, how many were superseded.
    fn retain(&self) -> Result<(u64, u64)>;
    /// Records that were held against their hashes, records that ever were, the root of the tree.
    fn audit(&self, partition: u32) -> Result<(u64, u64, String)>;
    /// Appends records, durably, in one commit.
    fn send(&self, records: &[OwnedRecord], partition: Option<u32>) -> Result<()>;
    fn read(&self, start: &Start) -> Result<Box<dyn RecordsFace>>;
    fn groups(&self) -> Result<Vec<GroupPlace>>;
    /// Puts a group elsewhere, and says at which offset it goes on.
    fn reset_group(&self, group: &str, partition: u32, to: GroupStart) -> Result<u64>;
    /// Forgets what a group has committed, and says of how many partitions.
    fn delete_group(&self, group: &str) -> Result<u64>;
    /// The offset of a place in each partition, as it is now.
    fn offsets_at(&self, place: StartPlace) -> Result<BTreeMap<u32, u64>>;
    /// The proof that a record is in a partition; with a key, by a new checkpoint if one is needed.
    fn prove(&self, partition: u32, offset: u64, key: Option<&Path>) -> Result<String>;
    /// Signs what a partition is now, by a key of ours or by the server's.
    fn checkpoint(&self, partition: u32, key: Option<&Path>) -> Result<String>;
    /// Signs every partition that has records since its last checkpoint; gives the last of each.
    fn checkpoint_all(&self, key: Option<&Path>) -> Result<Vec<PartitionCheckpoint>>;
    /// What a witness is sent that has seen so many records.
    fn cosignature_request(&self, partition: u32, old: u64) -> Result<AddCheckpoint>;
    /// Keeps a witness's answer; says who has cosigned the last checkpoint by then.
    fn add_cosignatures(
        &self,
        partition: u32,
        asked: &AddCheckpoint,
        answer: &str,
        witnesses: &[Witness],
        key: Option<&Path>,
    ) -> Result<Vec<String>>;
    /// Whether a partition was ever signed.
    fn has_checkpoint(&self, partition: u32) -> Result<bool>;
    /// The proof that a partition was only appended to from `old` records to `new`, a hash a line.
    fn consistency(&self, partition: u32, old: u64, new: Option<u64>) -> Result<String>;
    /// Brings a folder up to date with the tiles of a partition; says what was done.
    fn export_tiles(&self, partition: u32, folder: &Path) -> Result<ExportedTiles>;
}

#[derive(Debug)]
pub(crate) struct ExportedTiles {
    pub(crate) tiles: u64,
    pub(crate) size: u64,
    pub(crate) gone: u64,
}

/// Takes a record with its partition and offset.
pub(crate) type TakeRecord<'a> = &'a mut dyn FnMut(u32, u64, &Record<'_>) -> Result<()>;

pub(crate) trait RecordsFace {
    /// The next records, waited for up to `timeout` where there are none. Gives how many.
    fn poll(&mut self, timeout: Duration, most: usize, take: TakeRecord<'_>) -> Result<usize>;
    /// Ends it; what a group was given is committed.
    fn close(self: Box<Self>) -> Result<()>;
}

/// A graph of sources; what is asked by a name is an error where nothing has it.
pub(crate) trait GraphFace {
    /// What has a name.
    fn named(&self, name: &str) -> Result<Vec<Shown>>;
    /// What everything that has a name is linked to.
    fn links(&self, name: &str, relation: Relation) -> Result<Vec<Linked>>;
    /// A shortest chain from one name to another, if there is one.
    fn chain(&self, from: &str, to: &str) -> Result<Option<Vec<Shown>>>;
    fn kinds(&self) -> Result<Kinds>;
    /// All blocks, then all edges, a line of JSON each without the line's end.
    fn lines(&self, has_content: bool, take: TakeLine<'_>) -> Result<()>;
}

/// Takes a line.
pub(crate) type TakeLine<'a> = &'a mut dyn FnMut(&str) -> Result<()>;

/// Where changes begin.
#[cfg(feature = "sql")]
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChangesFrom<'a> {
    /// Behind a commit. Nothing is remembered.
    Commit(u64),
    /// Behind what this follower has saved; one that is new begins behind `since`, or with the next commit.
    Follower { name: &'a str, since: Option<u64> },
}

/// Commits, each as a line of JSON.
#[cfg(feature = "sql")]
pub(crate) trait ChangesFace {
    /// The next ones, waited for up to `timeout` where there are none.
    fn next(&mut self, timeout: Duration) -> Result<Vec<Vec<u8>>>;
    /// Notes that all are done that were given, where it follows by a name.
    fn save(&mut self) -> Result<()>;
}
