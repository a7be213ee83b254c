//! The end of a commit's block: what was noted becomes parts of one commit.

use pyo3::prelude::*;
use timestrata::commit_together;
use timestrata_engine::{CommitPart, Durability, SeqNo};
use timestrata_graph::GraphWrite;
use timestrata_logs::LogsWrite;
use timestrata_table::TableWrite;
use timestrata_timelog::TimelogWrite;
use timestrata_topic::{OffsetsWrite, TopicWrite};

use super::parts::{Part, Parts};
use crate::graph::GraphSteps;
use crate::interrupt::detached;
use crate::opened::MadeForCommit;
use crate::store::Store;
use crate::table::TableRows;
use crate::topic::{CommitTopic, TopicRecords};

/// Commits all of it; gives its place in the order of commits.
pub(super) fn commit_parts(
    py: Python<'_>,
    store: &Bound<'_, Store>,
    parts: &Parts,
    durability: Option<Durability>,
) -> PyResult<u64> {
    let made = MadeForCommit::new(&store.get().handle);
    match commit_with(py, parts, &made, durability) {
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
    py: Python<'_>,
    parts: &Parts,
    made: &MadeForCommit<'_>,
    durability: Option<Durability>,
) -> PyResult<SeqNo> {
    let mut taken = Vec::with_capacity(parts.list.len());
    for part in &parts.list {
        taken.extend(Taken::of(py, part, made)?);
    }
    let mut writes = Vec::with_capacity(taken.len() + 1);
    writes.extend(taken.iter_mut().map(Taken::write));
    let reading = parts.consumer.as_ref().map(|consumer| consumer.get().reading());
    let mut reading = reading.transpose()?;
    if let Some(reading) = &mut reading {
        let given = reading.given_so_far()?;
        writes.push(Write::Offsets(OffsetsWrite::up_to(reading.open()?, given)));
    }
    let is_synced = writes.iter().any(Write::is_synced);
    let durability = durability.unwrap_or_else(|| made.handle.durability(is_synced));
    let store = made.handle.store()?;
    let seq = detached(py, || {
        let mut all: Vec<&mut dyn CommitPart> = Vec::with_capacity(writes.len());
        all.extend(writes.iter_mut().map(Write::part));
        commit_together(store, &mut all, durability)
    })?;
    for write in writes {
        if let Write::Topic(part, write) = write {
            part.get().set_receipts(write.into_receipts());
        }
    }
    Ok(seq)
}

/// What is on its way into the commit.
enum Taken<'a> {
    Table(TableRows),
    Timelog(TimelogWrite),
    Logs(LogsWrite),
    Topic(&'a Py<CommitTopic>, TopicRecords),
    Graph(GraphSteps),
}

impl<'a> Taken<'a> {
    /// What was noted, for a model that is there, or is made; `None`: nothing.
    fn of(py: Python<'_>, part: &'a Part, made: &MadeForCommit<'_>) -> PyResult<Option<Self>> {
        Ok(match part {
            Part::Table(part) => part.get().take(py, made)?.map(Self::Table),
            Part::Timelog(part) => part.get().take(py, made)?.map(Self::Timelog),
            Part::Logs(part) => part.get().take(py, made)?.map(Self::Logs),
            Part::Topic(part) => {
                part.get().take(py, made)?.map(|records| Self::Topic(part, records))
            }
            Part::Graph(part) => part.get().take(py, made)?.map(Self::Graph),
        })
    }

    fn write(&mut self) -> Write<'_> {
        match self {
            Self::Table(rows) => Write::Table(rows.write()),
            Self::Timelog(write) => Write::Timelog(write),
            Self::Logs(write) => Write::Logs(write),
            Self::Topic(part, records) => Write::Topic(part, records.write()),
            Self::Graph(steps) => Write::Graph(steps.write()),
        }
    }
}

/// A part of the commit.
enum Write<'a> {
    Table(TableWrite<'a>),
    Timelog(&'a mut TimelogWrite),
    Logs(&'a mut LogsWrite),
    Topic(&'a Py<CommitTopic>, TopicWrite<'a>),
    Graph(GraphWrite<'a>),
    Offsets(OffsetsWrite<'a>),
}

impl Write<'_> {
    /// Whether its own methods sync, unless they are told otherwise.
    fn is_synced(&self) -> bool {
        matches!(self, Self::Topic(..) | Self::Offsets(_))
    }

    fn part(&mut self) -> &mut dyn CommitPart {
        match self {
            Self::Table(write) => write,
            Self::Timelog(write) => *write,
            Self::Logs(write) => *write,
            Self::Topic(_, write) => write,
            Self::Graph(write) => write,
            Self::Offsets(write) => write,
        }
    }
}
