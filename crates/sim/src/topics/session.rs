//! A store of topics in use.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use timestrata_engine::planted::take_placed;
use timestrata_engine::{
    Changes, Durability, Error, ErrorKind, Result, Settings, Store, StreamId, StreamSpec,
};
use timestrata_merkle::{KeyName, Signer};
use timestrata_topic::{
    Consumer, ConsumerOptions, Record, SendOptions, Topic, TopicOptions, TopicPartition,
    TopicRetention,
};

use super::model::{Part, TopicChange, TopicRecord, TopicsModel};
use super::read;
use super::step::{self, Write, record};
use crate::subject::{
    Action, Alphabet, Judgement, Showing, Subject, Work, misfit, settings_of_several_streams,
};

/// The group that consumes.
pub(super) const GROUP: &str = "readers";
/// The producer that repeats itself.
pub(super) const PRODUCER: &str = "loader";
/// The stream beside.
pub(super) const BESIDE: &str = "ledger";
/// Records of a full tile.
const TILE: u64 = 256;

/// Topics, and a stream beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Topics;

/// What is open of them.
#[derive(Debug)]
pub struct TopicsParts {
    log: Topic,
    pair: Topic,
    beside: StreamId,
    signer: Signer,
    /// What the idempotent producer has sent without an answer.
    unanswered: Option<(u64, Vec<TopicRecord>)>,
}

fn topic_of(store: &Store, part: Part, partitions: u32) -> Result<Topic> {
    let (name, _) = part.place();
    match store.stream(name) {
        Some(_) => Topic::open(store, name),
        None => Topic::create(store, name, &TopicOptions { partitions, ..Default::default() }),
    }
}

fn beside_schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![Field::new("row", DataType::Int64, false)]))
}

impl Subject for Topics {
    type Model = TopicsModel;
    type Write = Write;
    type Parts = TopicsParts;
    const KIND: &'static str = "topics";
    const ALPHABET: Alphabet<Write> = step::ALPHABET;
    const CHOSEN: &'static [&'static str] = step::CHOSEN;

    fn settings() -> Settings {
        settings_of_several_streams()
    }

    fn attach(store: &Store) -> Result<TopicsParts> {
        let (log, pair) = (topic_of(store, Part::Log, 1)?, topic_of(store, Part::Left, 2)?);
        let beside = match store.stream(BESIDE) {
            Some(stream) => stream.id(),
            None => store.create_stream(StreamSpec::new(BESIDE, beside_schema()))?,
        };
        let name = KeyName::new("sim").map_err(|error| {
            Error::new(ErrorKind::InvalidArgument, error.to_string()).caused_by(error)
        })?;
        let signer = Signer::from_seed(name, [7; 32]);
        Ok(TopicsParts { log, pair, beside, signer, unanswered: None })
    }

    fn write(
        parts: &mut TopicsParts,
        work: &mut Work<'_, TopicsModel>,
        write: &Write,
    ) -> Result<()> {
        match write {
            Write::Send { records, durability } => parts.send(work, records, *durability),
            Write::Repeat { records, first } => parts.repeat(work, records, *first),
            Write::Checkpoint { part } => {
                let (topic, partition) = (parts.topic(*part), part.place().1);
                let sign = || topic.checkpoint(partition, &parts.signer, None).map(|_| ());
                one_commit(work, &[TopicChange::Checkpoint(*part)], Durability::Synced, sign)
            }
            Write::Consume { part, row } => parts.consume(work, *part, *row),
            Write::Retain { records } => parts.retain(work, *records),
            Write::Supersede => {
                let end = work.story.last().part(Part::Log).end();
                let changes = [TopicChange::Superseded(Part::Log, end - end % TILE)];
                let compact = TopicRetention { compact: true, ..TopicRetention::default() };
                parts.retain_as(work, compact, &changes)
            }
        }
    }

    fn is_only_a_commit(write: &Write) -> bool {
        matches!(write, Write::Send { .. } | Write::Consume { .. } | Write::Checkpoint { .. })
    }

    fn after_recovery(_: u64) -> Vec<Action<Write>> {
        let send = |turn, durability| {
            Action::Write(Write::Send {
                records: vec![
                    (Part::Log, record(turn, 0)),
                    (Part::Right, record(turn, 1)),
                    (Part::Log, record(turn, 2)),
                ],
                durability,
            })
        };
        vec![
            send(900, Durability::Written),
            Action::Write(Write::Checkpoint { part: Part::Log }),
            Action::Write(Write::Repeat {
                records: vec![record(901, 0)],
                first: Durability::Synced,
            }),
            send(902, Durability::Synced),
            Action::Write(Write::Consume { part: Part::Log, row: 900 }),
            Action::Flush,
            Action::Compact,
        ]
    }

    fn after_failure() -> Write {
        let records = vec![(Part::Log, record(903, 0))];
        Write::Send { records, durability: Durability::Synced }
    }

    fn compare(showing: &Showing<'_>, model: &TopicsModel) -> Judgement<()> {
        read::compare(showing, model)
    }
}

/// What is one commit, or none if nothing was to do.
fn one_commit(
    work: &mut Work<'_, TopicsModel>,
    changes: &[TopicChange],
    durability: Durability,
    make: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let store = work.store;
    let before = store.snapshot()?.seq();
    work.begin(changes);
    let outcome = make();
    let is_alone = !work.story.is_shared();
    if outcome.is_ok() && is_alone && store.snapshot()?.seq() == before {
        work.story.commit_refused();
        return Ok(());
    }
    let seq = outcome.and_then(|()| Ok(store.snapshot()?.seq()));
    work.committed(seq, durability)
}

impl TopicsParts {
    fn topic(&self, part: Part) -> &Topic {
        match part {
            Part::Log => &self.log,
            Part::Left | Part::Right => &self.pair,
        }
    }

    /// Records of one topic in one commit, each for the partition that it names.
    fn send(
        &self,
        work: &mut Work<'_, TopicsModel>,
        records: &[(Part, TopicRecord)],
        durability: Durability,
    ) -> Result<()> {
        let of = |part: Part| {
            let records = records.iter().filter(move |(of, _)| *of == part);
            records.map(|(_, record)| record.clone()).collect::<Vec<_>>()
        };
        for topic in [&[Part::Log][..], &[Part::Left, Part::Right]] {
            let parts = topic.iter().map(|part| (*part, of(*part)));
            let parts: Vec<_> = parts.filter(|(_, records)| !records.is_empty()).collect();
            let Some((first, _)) = parts.first() else { continue };
            let changes = parts.iter().map(|(part, all)| TopicChange::Sent(*part, all.clone()));
            let changes: Vec<_> = changes.collect();
            let sent: Vec<Record<'_>> = parts
                .iter()
                .flat_map(|(part, all)| {
                    let partition = Some(part.place().1);
                    all.iter().map(move |record| Record { partition, ..record.record() })
                })
                .collect();
            let topic = self.topic(*first);
            let options = SendOptions { durability, ..SendOptions::default() };
            // One by itself takes a shorter way.
            let send = || match sent.as_slice() {
                [only] => topic.send(only, &options).map(|_| ()),
                all => topic.send_batch(all, &options).map(|_| ()),
            };
            one_commit(work, &changes, durability, send)?;
        }
        Ok(())
    }

    /// Sends as the idempotent producer, and again: the second time nothing may happen.
    fn repeat(
        &mut self,
        work: &mut Work<'_, TopicsModel>,
        records: &[TopicRecord],
        first_durability: Durability,
    ) -> Result<()> {
        let sequence = match &self.unanswered {
            // As a producer does that had no answer.
            Some((sequence, sent)) if sent == records => *sequence,
            _ => self.log.next_sequence(0, PRODUCER)?,
        };
        if let Some(expected) = work.story.known().map(|model| model.sequence)
            && self.unanswered.is_none()
            && sequence != expected
        {
            return Err(misfit(format!(
                "sequence {sequence} is next for a producer, expected {expected}"
            )));
        }
        self.unanswered = Some((sequence, records.to_vec()));
        let sent: Vec<_> = records.iter().map(TopicRecord::record).collect();
        let sequence = Some((PRODUCER, Some(sequence)));
        // What was only written is synced once its repeat is acknowledged.
        let synced = SendOptions { sequence, ..SendOptions::default() };
        let options = SendOptions { durability: first_durability, ..synced };
        let changes = [
            TopicChange::Sent(Part::Log, records.to_vec()),
            TopicChange::Sequence(records.len() as u64),
        ];
        let mut first = Vec::new();
        let send = || {
            first = self.log.send_batch(&sent, &options)?;
            Ok(())
        };
        one_commit(work, &changes, first_durability, send)?;
        let _ = take_placed();
        let again = self.log.send_batch(&sent, &synced)?;
        if again != first || take_placed().is_some() {
            return Err(misfit("what was sent again was stored again"));
        }
        self.unanswered = None;
        work.story.last_is_synced(work.disk.operations());
        Ok(())
    }

    fn consume(&self, work: &mut Work<'_, TopicsModel>, part: Part, row: i64) -> Result<()> {
        let (topic, partition) = part.place();
        let end = match work.story.known() {
            Some(model) => model.part(part).end(),
            None => self.topic(part).offsets(partition)?.end,
        };
        let group = Some(GROUP.to_owned());
        let options = ConsumerOptions { group, ..ConsumerOptions::default() };
        let mut consumer = Consumer::new(work.store, options)?;
        let place = TopicPartition { topic: topic.to_owned(), partition };
        let rows =
            RecordBatch::try_new(beside_schema(), vec![Arc::new(Int64Array::from(vec![row]))]);
        let rows = rows.map_err(|error| {
            Error::new(ErrorKind::InvalidData, "a row makes no batch").caused_by(error)
        })?;
        let changes = [TopicChange::Group(part, end), TopicChange::Beside(row)];
        let commit = || {
            let others = Changes::new().insert(self.beside, rows);
            consumer.commit_offsets(&BTreeMap::from([(place, end)]), others)
        };
        one_commit(work, &changes, Durability::Synced, commit)
    }

    fn retain(&self, work: &mut Work<'_, TopicsModel>, records: u64) -> Result<()> {
        let log = work.story.last().part(Part::Log);
        let kept: Vec<u64> = log.records.keys().rev().take(records as usize).copied().collect();
        // Fewer than that: nothing goes.
        let floor = match kept.len() as u64 == records {
            true => kept.last().copied().unwrap_or(log.floor),
            false => log.floor,
        };
        let keep = TopicRetention { records: Some(records), ..TopicRetention::default() };
        self.retain_as(work, keep, &[TopicChange::Floor(Part::Log, floor)])
    }

    fn retain_as(
        &self,
        work: &mut Work<'_, TopicsModel>,
        retention: TopicRetention,
        changes: &[TopicChange],
    ) -> Result<()> {
        self.log.set_retention(retention)?;
        let retain = || self.log.retain().map(|_| ());
        one_commit(work, changes, Durability::Written, retain)?;
        self.log.set_retention(TopicRetention::default())
    }
}
