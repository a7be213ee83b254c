//! The end of a commit's block: what was noted becomes parts of one commit.

use pyo3::prelude::*;
use timestrata::commit_together;
use timestrata_engine::{CommitPart, Durability, SeqNo};
use timestrata_graph::GraphWrite;
use timestrata_logs::LogsWrite;
use timestrata_table::TableWrite;
use timestrata_timelog::TimelogWrite;
use timestrata_topic::{OffsetsWrite, TopicWrite};

use crate::graph::{CommitGraph, GraphSteps};
use crate::interrupt::detached;
use crate::logs::CommitLogs;
use crate::opened::MadeForCommit;
use crate::store::Store;
use crate::table::{CommitTable, TableRows};
use crate::timelog::CommitTimelog;
use crate::topic::{CommitTopic, Consumer, TopicRecords};

/// What is to change, by model and name.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) tables: Vec<(String, Py<CommitTable>)>,
    pub(super) topics: Vec<(String, Py<CommitTopic>)>,
    pub(super) logs: Vec<(String, Py<CommitLogs>)>,
    pub(super) graphs: Vec<(String, Py<CommitGraph>)>,
    pub(super) timelogs: Vec<(String, Py<CommitTimelog>)>,
    pub(super) consumer: Option<Py<Consumer>>,
}

impl Parts {
    /// Commits all of it; gives its place in the order of commits.
    pub(super) fn commit(
        &self,
        py: Python<'_>,
        store: &Bound<'_, Store>,
        durability: Option<Durability>,
    ) -> PyResult<u64> {
        let made = MadeForCommit::new(&store.get().handle);
        match self.commit_with(py, &made, durability) {
            Ok(seq) => {
                made.keep(py);
                Ok(seq.0)
            }
            Err(error) => {
                made.give_up(py);
                Err(error)
            }
        }
    }

    fn commit_with(
        &self,
        py: Python<'_>,
        made: &MadeForCommit<'_>,
        durability: Option<Durability>,
    ) -> PyResult<SeqNo> {
        let mut taken = self.take(py, made)?;
        let mut table_writes: Vec<TableWrite<'_>> =
            taken.tables.iter().map(TableRows::write).collect();
        let mut topic_writes: Vec<TopicWrite<'_>> =
            taken.topics.iter().map(|(_, records)| records.write()).collect();
        let mut graph_writes: Vec<GraphWrite<'_>> =
            taken.graphs.iter_mut().map(GraphSteps::write).collect();
        let reading = self.consumer.as_ref().map(|consumer| consumer.get().reading());
        let mut reading = reading.transpose()?;
        let mut offsets = match &mut reading {
            None => None,
            Some(reading) => {
                let given = reading.given_so_far()?;
                Some(OffsetsWrite::up_to(reading.open()?, given))
            }
        };
        let is_synced = !topic_writes.is_empty() || offsets.is_some();
        let durability = durability.unwrap_or_else(|| made.handle.durability(is_synced));
        let model = made.handle.store()?;
        let (timelogs, logs) = (&mut taken.timelogs, &mut taken.logs);
        let seq = detached(py, || {
            let mut all: Vec<&mut dyn CommitPart> = Vec::new();
            all.extend(table_writes.iter_mut().map(|part| part as &mut dyn CommitPart));
            all.extend(timelogs.iter_mut().map(|part| part as &mut dyn CommitPart));
            all.extend(logs.iter_mut().map(|part| part as &mut dyn CommitPart));
            all.extend(topic_writes.iter_mut().map(|part| part as &mut dyn CommitPart));
            all.extend(graph_writes.iter_mut().map(|part| part as &mut dyn CommitPart));
            all.extend(offsets.iter_mut().map(|part| part as &mut dyn CommitPart));
            commit_together(model, &mut all, durability)
        })?;
        for ((part, _), write) in taken.topics.iter().zip(&topic_writes) {
            part.get().set_receipts(write.receipts());
        }
        Ok(seq)
    }

    /// What was noted, for models that are there, or are made.
    fn take(&self, py: Python<'_>, made: &MadeForCommit<'_>) -> PyResult<Taken<'_>> {
        let mut taken = Taken::default();
        for (_, part) in &self.tables {
            taken.tables.extend(part.get().take(py, made)?);
        }
        for (_, part) in &self.timelogs {
            taken.timelogs.extend(part.get().take(py, made)?);
        }
        for (_, part) in &self.logs {
            taken.logs.extend(part.get().take(py, made)?);
        }
        for (_, part) in &self.topics {
            taken.topics.extend(part.get().take(py, made)?.map(|records| (part, records)));
        }
        for (_, part) in &self.graphs {
            taken.graphs.extend(part.get().take(py, made)?);
        }
        Ok(taken)
    }
}

/// What is on its way into the commit.
#[derive(Default)]
struct Taken<'a> {
    tables: Vec<TableRows>,
    timelogs: Vec<TimelogWrite>,
    logs: Vec<LogsWrite>,
    topics: Vec<(&'a Py<CommitTopic>, TopicRecords)>,
    graphs: Vec<GraphSteps>,
}
