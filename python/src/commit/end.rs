//! The end of a commit's block: what was noted becomes parts of one commit.

use pyo3::prelude::*;
use timestrata::commit_together;
use timestrata_engine::{CommitPart, Durability};
use timestrata_graph::GraphWrite;
use timestrata_logs::LogsWrite;
use timestrata_table::TableWrite;
use timestrata_timelog::TimelogWrite;
use timestrata_topic::{OffsetsWrite, TopicWrite};

use crate::graph::{CommitGraph, GraphSteps};
use crate::interrupt::detached;
use crate::logs::CommitLogs;
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

fn cloned<T>(py: Python<'_>, parts: &[(String, Py<T>)]) -> Vec<(String, Py<T>)> {
    parts.iter().map(|(name, part)| (name.clone(), part.clone_ref(py))).collect()
}

impl Parts {
    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            tables: cloned(py, &self.tables),
            topics: cloned(py, &self.topics),
            logs: cloned(py, &self.logs),
            graphs: cloned(py, &self.graphs),
            timelogs: cloned(py, &self.timelogs),
            consumer: self.consumer.as_ref().map(|consumer| consumer.clone_ref(py)),
        }
    }

    /// Commits all of it; gives its place in the order of commits.
    pub(super) fn commit(
        &self,
        py: Python<'_>,
        store: &Bound<'_, Store>,
        durability: Option<Durability>,
    ) -> PyResult<u64> {
        let mut tables: Vec<TableRows> = Vec::new();
        for (_, part) in &self.tables {
            tables.extend(part.get().take(py)?);
        }
        let mut timelogs: Vec<TimelogWrite> = Vec::new();
        for (_, part) in &self.timelogs {
            timelogs.extend(part.get().take(store)?);
        }
        let mut logs: Vec<LogsWrite> = Vec::new();
        for (_, part) in &self.logs {
            logs.extend(part.get().take(store)?);
        }
        let mut topics: Vec<(&Py<CommitTopic>, TopicRecords)> = Vec::new();
        for (_, part) in &self.topics {
            topics.extend(part.get().take(py)?.map(|records| (part, records)));
        }
        let mut graphs: Vec<GraphSteps> = Vec::new();
        for (_, part) in &self.graphs {
            graphs.extend(part.get().take(store)?);
        }
        let mut table_writes: Vec<TableWrite<'_>> = tables.iter().map(TableRows::write).collect();
        let mut topic_writes: Vec<TopicWrite<'_>> =
            topics.iter().map(|(_, records)| records.write()).collect();
        let mut graph_writes: Vec<GraphWrite<'_>> =
            graphs.iter_mut().map(GraphSteps::write).collect();
        let reading = self.consumer.as_ref().map(|consumer| consumer.get().reading());
        let mut reading = reading.transpose()?;
        let mut offsets = match &mut reading {
            None => None,
            Some(reading) => {
                let given = reading.given_so_far()?;
                Some(OffsetsWrite::up_to(reading.open()?, given))
            }
        };
        let handle = &store.get().handle;
        let is_synced = !topic_writes.is_empty() || offsets.is_some();
        let durability = durability.unwrap_or_else(|| handle.durability(is_synced));
        let model = handle.store()?;
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
        for ((part, _), write) in topics.iter().zip(&topic_writes) {
            part.get().set_receipts(write.receipts());
        }
        Ok(seq.0)
    }
}
