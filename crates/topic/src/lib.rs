//! Topics: an event log of partitions, with offsets, and proofs that third parties can check.
//!
//! A topic is a stream of its own name, which remembers what is not a record (groups, producers,
//! floors, checkpoints), and two streams a partition: its records, and the full tiles of their hash
//! tree, each committed with the record that fills it. What a partition needs in memory is made from
//! these when it is first used.
//!
//! Invariant: a partition's offsets are dense, and leaf *n* of its tree is the envelope of the record
//! at offset *n*, whether that record is still kept or not.
//!
//! ```
//! use std::time::Duration;
//!
//! use timestrata_engine::{Settings, Store};
//! use timestrata_merkle::{Hash, verify_inclusion};
//! use timestrata_topic::{
//!     Consumer, ConsumerOptions, PollLimits, Record, SendOptions, Topic, TopicOptions,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = Store::memory(Settings::default())?;
//! let events = Topic::create(&store, "events", &TopicOptions::default())?;
//! let opened = Record { key: Some(b"door"), value: Some(b"opened"), ..Record::default() };
//! let receipt = events.send(&opened, &SendOptions::default())?;
//! assert_eq!((receipt.partition, receipt.offset), (0, 0));
//!
//! // A group remembers how far it has read.
//! let options = ConsumerOptions { group: Some("alarms".into()), ..Default::default() };
//! let mut alarms = Consumer::new(&store, options)?;
//! alarms.subscribe(["events"])?;
//! let polled = alarms.poll(Duration::ZERO, PollLimits::default())?;
//! assert_eq!(polled[0].records.len(), 1);
//! alarms.commit()?;
//!
//! // Who knows the root can check that the record is in the log, without trusting the store.
//! let (size, root) = events.root(0, None)?;
//! let leaf = Hash::of_leaf(&events.entry(0, 0)?);
//! let proof = events.inclusion_proof(0, 0, size)?;
//! verify_inclusion(leaf, 0, size, &proof, root)?;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod audit;
mod checkpoint;
mod commit_part;
mod consumer;
mod entries;
mod envelope;
mod epochs;
mod export;
mod files;
mod group;
mod group_admin;
mod group_offsets;
mod handle;
mod hub;
mod json;
mod key_file;
mod last_of_key;
mod membership;
mod options;
mod partition;
mod partitioner;
mod polling;
mod position;
mod proof;
mod published;
mod read;
mod record;
mod retain;
mod send;
mod sender;
mod state;
mod tiles;
mod time_index;
mod tree;
mod witnessed;

pub use audit::Audited;
pub use checkpoint::{Proved, origin_of, verify_record};
pub use commit_part::{OffsetsWrite, TopicWrite};
pub use consumer::Consumer;
pub use envelope::{RecordPlace, write_envelope};
pub use export::ExportedTiles;
pub use group::{Assignor, TopicPartition};
pub use group_admin::{GroupOfStore, GroupStart};
pub use handle::{Topic, record_streams};
pub use json::{ClaimedPlace, OwnedRecord, PlainRecord};
pub use key_file::KeyFile;
pub use membership::AssignmentChanges;
pub use options::{
    PARTITIONS_MAX, RECORD_BYTES_MAX, Stamp, TopicOptions, TopicRetention, is_topic, is_topic_part,
    topic_of_stream,
};
pub use partitioner::{murmur2, partition_of};
pub use polling::{ConsumerOptions, PollLimits, Polled, Reset, Waiting};
pub use proof::RecordProof;
pub use published::{
    PartitionCheckpoint, hashes_of_text, text_of_hashes, verifier_of_log, verify_checkpoints,
};
pub use read::TopicView;
pub use record::{Record, Records, record_schema};
pub use retain::Thrown;
pub use send::{Receipt, SendOptions};
pub use timestrata_values::name::NAME_BYTES_MAX;
