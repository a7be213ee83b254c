//! What a commit changes, by stream: gathered from its steps, and made.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;

use serde_json::{Value, json};
use timestrata::commit_together;
use timestrata_engine::{
    CommitPart, Durability, Error, ErrorKind, Result as StoreResult, SeqNo, Store,
};
use timestrata_graph::{ChangeLines, Graph, GraphOptions, GraphWrite};
use timestrata_logs::{Logs, LogsOptions, LogsWrite, NewEntry};
use timestrata_timelog::{Timelog, TimelogWrite};
use timestrata_topic::{OffsetsWrite, Topic, TopicOptions, TopicWrite};

use super::consumed::Consumed;
use super::step::{Model, Step};
use super::table::TablePart;
use crate::error::{Failure, Result};
use crate::json_lines::JsonLines;
use crate::routes::logs::entries::entries_of as log_entries_of;
use crate::routes::timelogs::entries::{Range as TimeRange, entries_of};
use crate::routes::timelogs::to_write;
use crate::routes::topics::members::committed_json;
use crate::routes::topics::produce::{NewRecords, SentRecord, as_record, records_of_json};
use crate::state::{AppState, or_made};

/// What a commit is to change.
pub(super) struct Parts<'a> {
    state: &'a AppState,
    /// By which streams are made that aren't there.
    store: &'a Store,
    tables: BTreeMap<String, TablePart>,
    logs: BTreeMap<String, (Logs, Vec<NewEntry>)>,
    topics: BTreeMap<String, TopicPart>,
    graphs: BTreeMap<String, (Graph, ChangeLines)>,
    timelogs: BTreeMap<String, (Timelog, TimelogWrite)>,
    timelog_entries: usize,
    consumed: Option<Consumed>,
    told: Vec<Told>,
}

/// Records for a topic.
struct TopicPart {
    topic: Topic,
    records: NewRecords,
    expected_offset: Option<u64>,
    /// Who sends them, and the epoch that it began with.
    producer: Option<(String, u64)>,
}

/// What is told of a step.
enum Told {
    Rows(usize),
    Entries(usize),
    /// Of a topic: places among its records.
    Records(String, Range<usize>),
    /// Of a graph: places among the blocks that are put.
    Put(String, Range<usize>),
    Committed,
}

impl<'a> Parts<'a> {
    /// Nothing yet. `store` makes the streams of the commit.
    pub(super) fn new(state: &'a AppState, store: &'a Store) -> Self {
        Self {
            state,
            store,
            tables: BTreeMap::new(),
            logs: BTreeMap::new(),
            topics: BTreeMap::new(),
            graphs: BTreeMap::new(),
            timelogs: BTreeMap::new(),
            timelog_entries: 0,
            consumed: None,
            told: Vec::new(),
        }
    }

    /// Adds what a step is to change, behind what was added before.
    ///
    /// # Errors
    /// `400` for what is no such step; what opening a stream, or making it, may fail with.
    pub(super) fn add(&mut self, step: Step<'_>) -> Result<()> {
        let told = match step.model {
            Model::Topic if step.is_consumed() => {
                if self.consumed.is_some() {
                    return Err(Failure::bad_request(
                        "a commit takes one member's offsets: commit those of another by another",
                    ));
                }
                self.consumed = Some(Consumed::of(self.state, step)?);
                Told::Committed
            }
            Model::Table => {
                let part = self.tables.entry(step.name.clone()).or_default();
                Told::Rows(part.add(self.store, step)?)
            }
            Model::Topic => self.add_records(step)?,
            Model::Logs => self.add_log_entries(step)?,
            Model::Graph => self.add_changes(step)?,
            Model::Timelog => self.add_entries(step)?,
        };
        self.told.push(told);
        Ok(())
    }

    fn add_records(&mut self, mut step: Step<'_>) -> Result<Told> {
        let records = records_of_json(needed_list(&mut step, "records")?)?;
        let partition: Option<u32> = step.number("partition")?;
        let expected_offset = step.number("expected_offset")?;
        let producer = match (step.text("producer_id")?, step.number("epoch")?) {
            (None, None) => None,
            (Some(id), Some(epoch)) => Some((id, epoch)),
            _ => {
                return Err(Failure::bad_request(
                    "producer_id and epoch belong together: POST /topics/TOPIC/producers/ID begins, and gives the \
                     epoch",
                ));
            }
        };
        let name = step.name.clone();
        step.finish("records, partition, expected_offset, producer_id and epoch")?;
        let begin = self.topics.get(&name).map_or(0, |part| part.records.len());
        if records.is_empty() {
            return Ok(Told::Records(name, begin..begin));
        }
        let part = match self.topics.entry(name.clone()) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => {
                let make = || Topic::create(self.store, &name, &TopicOptions::default());
                let topic = or_made(self.state.topics.open(&self.state.store, &name), make)?;
                let (records, producer) = (Vec::new(), producer.clone());
                place.insert(TopicPart { topic, records, expected_offset: None, producer })
            }
        };
        if part.producer != producer {
            return Err(Failure::bad_request(
                "a commit's records of one topic are of one producer, or of none",
            ));
        }
        part.expected_offset = part.expected_offset.or(expected_offset);
        let records = records.into_iter().map(|(record, named)| (record, partition.or(named)));
        part.records.extend(records);
        Ok(Told::Records(name, begin..part.records.len()))
    }

    fn add_log_entries(&mut self, mut step: Step<'_>) -> Result<Told> {
        let entries = log_entries_of(JsonLines::new(needed_list(&mut step, "entries")?))?;
        let name = step.name.clone();
        step.finish("entries")?;
        let count = entries.len();
        if count == 0 {
            return Ok(Told::Entries(0));
        }
        let (_, all) = match self.logs.entry(name.clone()) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => {
                let make = || Logs::create(self.store, &name, &LogsOptions::default());
                place.insert((or_made(Logs::open(self.store, &name), make)?, Vec::new()))
            }
        };
        all.extend(entries);
        Ok(Told::Entries(count))
    }

    fn add_changes(&mut self, mut step: Step<'_>) -> Result<Told> {
        let lines = needed_list(&mut step, "changes")?;
        let name = step.name.clone();
        step.finish("changes")?;
        let (_, all) = match self.graphs.entry(name.clone()) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => {
                let make = || Graph::create(self.store, &name, &GraphOptions::default());
                let graph = or_made(Graph::open(self.store, &name), make)?;
                place.insert((graph, ChangeLines::default()))
            }
        };
        let begin = all.put_count();
        all.read(std::io::BufReader::new(JsonLines::new(lines)))?;
        Ok(Told::Put(name, begin..all.put_count()))
    }

    fn add_entries(&mut self, mut step: Step<'_>) -> Result<Told> {
        let deleted = step.deleted()?;
        let lines = match &deleted {
            None => Some(needed_list(&mut step, "entries")?),
            Some(_) => None,
        };
        let (codec, unit) = (step.text("codec")?, step.text("unit")?);
        let name = step.name.clone();
        step.finish("entries or delete, codec and unit")?;
        let (log, write) = match self.timelogs.entry(name.clone()) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => {
                let log = to_write(self.store, &name)?;
                let write = TimelogWrite::new(&log);
                place.insert((log, write))
            }
        };
        for (what, is, wanted) in
            [("codec", log.codec().name(), codec), ("unit", log.unit().name(), unit)]
        {
            if wanted.as_deref().is_some_and(|wanted| wanted != is) {
                let why = format!("time log '{name}' has another {what} than is expected: {is}");
                return Err(Error::new(ErrorKind::Conflict, why).into());
            }
        }
        if let Some([from, to]) = deleted {
            write.delete(TimeRange { from, to }.bounds(log.unit())?)?;
        }
        let Some(lines) = lines else { return Ok(Told::Entries(0)) };
        let entries = entries_of(log, JsonLines::new(lines), self.store.wall_ns())?;
        let count = entries.len();
        entries.add_to(write)?;
        self.timelog_entries += count;
        Ok(Told::Entries(count))
    }

    /// Makes the commit, which is synced. Gives its place in the order of commits, and what became of each step.
    ///
    /// # Errors
    /// As `commit_together`: nothing was changed then.
    pub(super) fn commit(mut self) -> Result<(SeqNo, Vec<Value>)> {
        let Some(Consumed { member, seen, offsets }) = self.consumed.take() else {
            return self.commit_with(None, &Value::Null);
        };
        member.with(seen, |consumer| {
            let offsets = offsets.unwrap_or_else(|| consumer.uncommitted());
            let told = committed_json(&offsets);
            self.commit_with(Some(OffsetsWrite::up_to(consumer, offsets)), &told)
        })
    }

    fn commit_with(
        &self,
        mut offsets: Option<OffsetsWrite<'_>>,
        committed: &Value,
    ) -> Result<(SeqNo, Vec<Value>)> {
        let mut tables: Vec<_> = self.tables.values().filter_map(TablePart::write).collect();
        let logs = self.logs.values();
        let logs = logs.map(|(log, entries)| LogsWrite::of_entries(log, entries.clone()));
        let mut logs = logs.collect::<StoreResult<Vec<_>>>()?;
        let mut topics: BTreeMap<&str, TopicWrite<'_>> =
            self.topics.iter().map(|(name, part)| (name.as_str(), part.write())).collect();
        let mut graphs: BTreeMap<&str, GraphWrite<'_>> = self
            .graphs
            .iter()
            .map(|(name, (graph, lines))| (name.as_str(), GraphWrite::new(graph, lines.changes())))
            .collect();
        let mut timelogs: Vec<TimelogWrite> =
            self.timelogs.values().map(|(_, write)| write.clone()).collect();

        let mut all: Vec<&mut dyn CommitPart> = Vec::new();
        all.extend(tables.iter_mut().map(|part| part as &mut dyn CommitPart));
        all.extend(logs.iter_mut().map(|part| part as &mut dyn CommitPart));
        all.extend(topics.values_mut().map(|part| part as &mut dyn CommitPart));
        all.extend(graphs.values_mut().map(|part| part as &mut dyn CommitPart));
        all.extend(timelogs.iter_mut().map(|part| part as &mut dyn CommitPart));
        all.extend(offsets.iter_mut().map(|part| part as &mut dyn CommitPart));
        let seq = commit_together(self.store, &mut all, Durability::Synced)?;

        self.count();
        let told = self.told.iter().map(|told| match told {
            Told::Rows(count) => json!({ "rows": count }),
            Told::Entries(count) => json!({ "entries": count }),
            Told::Records(name, places) => {
                let receipts = topics.get(name.as_str()).map(TopicWrite::receipts);
                let receipts = receipts.and_then(|all| all.get(places.clone()));
                let receipts = receipts.unwrap_or_default().iter();
                let sent: Vec<_> = receipts.map(|one| SentRecord::new(name, one)).collect();
                json!({ "records": sent })
            }
            Told::Put(name, places) => {
                let changed = graphs.get(name.as_str()).and_then(GraphWrite::changed);
                let put = changed.and_then(|changed| changed.put.get(places.clone()));
                let put = put.unwrap_or_default().iter();
                let put: Vec<Value> = put
                    .map(|(id, version)| json!({ "block": id.to_string(), "version": version }))
                    .collect();
                json!({ "put": put })
            }
            Told::Committed => committed.clone(),
        });
        Ok((seq, told.collect()))
    }

    fn count(&self) {
        let metrics = &self.state.metrics;
        let rows: usize = self.tables.values().map(TablePart::row_count).sum();
        metrics.rows_ingested.inc_by(rows as u64);
        let entries: usize = self.logs.values().map(|(_, entries)| entries.len()).sum();
        metrics.log_entries.inc_by(entries as u64);
        let records: usize = self.topics.values().map(|part| part.records.len()).sum();
        metrics.records_sent.inc_by(records as u64);
        metrics.timelog_entries.inc_by(self.timelog_entries as u64);
    }
}

impl TopicPart {
    fn write(&self) -> TopicWrite<'_> {
        let mut write = TopicWrite::new(&self.topic);
        self.records.iter().for_each(|record| write.send(as_record(record)));
        if let Some(offset) = self.expected_offset {
            write.expect_offset(offset);
        }
        if let Some((id, epoch)) = &self.producer {
            write.by_producer(id, *epoch);
        }
        write
    }
}

/// A member that must be a list.
fn needed_list<'b>(step: &mut Step<'b>, name: &str) -> Result<&'b [u8]> {
    match step.raw(name) {
        Some(list) if list.starts_with('[') => Ok(list.as_bytes()),
        Some(_) => Err(Failure::bad_request(format!("{name} must be a list"))),
        None => Err(Failure::bad_request(format!("it has no {name}"))),
    }
}
