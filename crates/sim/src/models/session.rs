//! A store with one of each model, in use.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, RecordBatch, StringArray, TimestampSecondArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use timestrata::graph::{BlockId, Edge, Graph, GraphChanges, GraphOptions, GraphWrite, NewBlock};
use timestrata::logs::{Logs, LogsOptions, LogsWrite, NewEntry};
use timestrata::table::{Table, TableOptions, TableWrite};
use timestrata::timelog::{EntryBatch, Timelog, TimelogOptions, TimelogWrite};
use timestrata::topic::{
    Consumer, ConsumerOptions, OffsetsWrite, PollLimits, Record, Topic, TopicOptions,
    TopicPartition, TopicWrite,
};
use timestrata::{
    Cell, CommitPart, Error, ErrorKind, Result, SeqNo, Settings, Store, commit_together,
};

use super::model::{ModelsChange, ModelsModel};
use super::step::{self, Write, of_all};
use crate::subject::{
    Action, Alphabet, Judgement, Showing, Subject, Work, settings_of_several_streams,
};

pub(super) const TABLE: &str = "rows";
pub(super) const LOG: &str = "lines";
pub(super) const TOPIC: &str = "events";
pub(super) const GRAPH: &str = "code";
pub(super) const TIMELOG: &str = "door";
pub(super) const GROUP: &str = "readers";
pub(super) const KIND: &str = "calls";

/// What is open of a store.
#[derive(Debug)]
pub struct ModelsParts {
    table: Table,
    logs: Logs,
    topic: Topic,
    graph: Graph,
    timelog: Timelog,
}

/// Stores with one of each model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Models;

impl Subject for Models {
    type Model = ModelsModel;
    type Write = Write;
    type Parts = ModelsParts;
    const KIND: &'static str = "models";
    const ALPHABET: Alphabet<Write> = step::ALPHABET;
    const CHOSEN: &'static [&'static str] = step::CHOSEN;

    fn settings() -> Settings {
        settings_of_several_streams()
    }

    fn attach(store: &Store) -> Result<ModelsParts> {
        Ok(ModelsParts {
            table: Table::create(store, TABLE, &table_schema(), &TableOptions::default())?,
            logs: Logs::create(store, LOG, &LogsOptions::default())?,
            topic: Topic::create(store, TOPIC, &TopicOptions::default())?,
            graph: Graph::create(store, GRAPH, &GraphOptions::default())?,
            timelog: Timelog::create(store, TIMELOG, TimelogOptions::default())?,
        })
    }

    fn write(
        parts: &mut ModelsParts,
        work: &mut Work<'_, ModelsModel>,
        write: &Write,
    ) -> Result<()> {
        let store = work.store;
        work.commit(&write.changes, write.durability, || parts.commit(store, write))
    }

    fn is_only_a_commit(write: &Write) -> bool {
        // A reader looks at its topic first.
        !write.changes.contains(&ModelsChange::Read)
    }

    fn after_recovery(_: u64) -> Vec<Action<Write>> {
        let write = |number, durability, bytes| {
            Action::Write(Write { changes: of_all(number), durability, bytes })
        };
        vec![
            write(1_000, timestrata::Durability::Written, 0),
            write(1_010, timestrata::Durability::Synced, 0),
            Action::Flush,
            Action::Compact,
        ]
    }

    fn after_failure() -> Write {
        Write { changes: of_all(2_000), durability: timestrata::Durability::Synced, bytes: 0 }
    }

    fn compare(showing: &Showing<'_>, model: &ModelsModel) -> Judgement<()> {
        super::read::compare(showing, model)
    }
}

impl ModelsParts {
    fn commit(&self, store: &Store, write: &Write) -> Result<SeqNo> {
        let texts: Vec<String> =
            write.changes.iter().map(|change| text(change, write.bytes)).collect();
        let mut table = TableWrite::new(&self.table);
        let mut timelog = TimelogWrite::new(&self.timelog);
        let mut topic = TopicWrite::new(&self.topic);
        let (mut entries, mut changes) = (Vec::new(), GraphChanges::new());
        let (stream, mut reads) = (store.stream_of(self.table.id())?, false);
        for (change, text) in write.changes.iter().zip(&texts) {
            match change {
                ModelsChange::Row(number) if write.bytes == 0 => {
                    table.append_row(stream.clone(), vec![Cell::Int(*number), Cell::Text(text)]);
                }
                ModelsChange::Row(number) => table.append(row(*number, text)?),
                ModelsChange::Entry(_) => entries.push(NewEntry::new(text.as_str())),
                ModelsChange::Record(_) => {
                    topic.send(Record { value: Some(text.as_bytes()), ..Record::default() });
                }
                ModelsChange::Block(number) => {
                    let block = NewBlock {
                        id: Some(id(*number)),
                        content: text.as_bytes(),
                        ..NewBlock::default()
                    };
                    let edge = Edge::new(id(*number), KIND, id(*number));
                    changes = changes.put(block).link(edge);
                }
                ModelsChange::Value(number) => {
                    let mut values = EntryBatch::new();
                    values.push(*number, text.as_bytes())?;
                    timelog.append(values)?;
                }
                ModelsChange::Older(than) => {
                    table.delete(..*than)?;
                    timelog.delete(..*than)?;
                    changes = changes.delete(id(than - 1));
                }
                ModelsChange::Read => reads = true,
            }
        }
        let mut logs = LogsWrite::of_entries(&self.logs, entries)?;
        let mut graph = GraphWrite::new(&self.graph, changes);
        let mut reader = reads.then(|| reader(store)).transpose()?;
        let mut offsets = reader.as_mut().map(OffsetsWrite::new);
        // In an order that is nobody's.
        let mut all: Vec<&mut dyn CommitPart> =
            vec![&mut topic, &mut timelog, &mut graph, &mut logs, &mut table];
        all.extend(offsets.as_mut().map(|offsets| offsets as &mut dyn CommitPart));
        commit_together(store, &mut all, write.durability)
    }
}

/// A consumer that has read all there is.
fn reader(store: &Store) -> Result<Consumer> {
    let group = Some(GROUP.to_owned());
    let mut consumer = Consumer::new(store, ConsumerOptions { group, ..Default::default() })?;
    consumer.assign([TopicPartition { topic: TOPIC.to_owned(), partition: 0 }])?;
    while !consumer.poll(Duration::ZERO, PollLimits::default())?.is_empty() {}
    Ok(consumer)
}

/// What something says: its number first.
fn text(change: &ModelsChange, more: usize) -> String {
    let number = match change {
        ModelsChange::Row(number)
        | ModelsChange::Entry(number)
        | ModelsChange::Record(number)
        | ModelsChange::Block(number)
        | ModelsChange::Value(number)
        | ModelsChange::Older(number) => *number,
        ModelsChange::Read => 0,
    };
    format!("{number} {}", "x".repeat(more))
}

/// The number that a text begins with; none that there is if it doesn't.
pub(super) fn number_of(text: &str) -> i64 {
    text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(-1)
}

pub(super) fn id(number: i64) -> BlockId {
    let [high, low] = [1, number].map(i64::to_be_bytes);
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&high);
    bytes[8..].copy_from_slice(&low);
    BlockId::new(bytes)
}

fn table_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("time", DataType::Timestamp(TimeUnit::Second, None), false),
        Field::new("text", DataType::Utf8, true),
    ]))
}

fn row(number: i64, text: &str) -> Result<RecordBatch> {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(TimestampSecondArray::from(vec![number])),
        Arc::new(StringArray::from(vec![text])),
    ];
    RecordBatch::try_new(table_schema(), columns).map_err(|error: ArrowError| {
        Error::new(ErrorKind::InvalidData, "a row makes no batch").caused_by(error)
    })
}
