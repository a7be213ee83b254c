//! What a commit is to change, by model and name.

use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;

use crate::graph::CommitGraph;
use crate::logs::CommitLogs;
use crate::table::CommitTable;
use crate::timelog::CommitTimelog;
use crate::topic::{CommitTopic, Consumer};

/// What a commit is to change.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) list: Vec<Part>,
    pub(super) consumer: Option<Py<Consumer>>,
}

/// So many has a commit over each of the models, and a few more.
const PARTS_TOGETHER: usize = 8;

impl Parts {
    /// The part of this kind with this name.
    pub(super) fn find<T: StagedPart>(&self, py: Python<'_>, name: &str) -> Option<Py<T>> {
        let mut all = self.list.iter().filter_map(T::of);
        all.find(|part| part.get().name() == name).map(|part| part.clone_ref(py))
    }

    pub(super) fn add<T: StagedPart>(&mut self, part: Py<T>) {
        if self.list.is_empty() {
            self.list.reserve(PARTS_TOGETHER);
        }
        self.list.push(T::into_part(part));
    }
}

/// What is to change in one table, topic, log, graph or time log.
pub(super) enum Part {
    Table(Py<CommitTable>),
    Topic(Py<CommitTopic>),
    Logs(Py<CommitLogs>),
    Graph(Py<CommitGraph>),
    Timelog(Py<CommitTimelog>),
}

/// The class of a [`Part`].
pub(super) trait StagedPart: PyClass<Frozen = True> + Sync {
    /// Of the table, the topic, or what else it is for.
    fn name(&self) -> &str;

    fn of(part: &Part) -> Option<&Py<Self>>;

    fn into_part(part: Py<Self>) -> Part;
}

macro_rules! staged_part {
    ($class:ident, $kind:ident) => {
        impl StagedPart for $class {
            fn name(&self) -> &str {
                self.name()
            }

            fn of(part: &Part) -> Option<&Py<Self>> {
                match part {
                    Part::$kind(part) => Some(part),
                    _ => None,
                }
            }

            fn into_part(part: Py<Self>) -> Part {
                Part::$kind(part)
            }
        }
    };
}

staged_part!(CommitTable, Table);
staged_part!(CommitTopic, Topic);
staged_part!(CommitLogs, Logs);
staged_part!(CommitGraph, Graph);
staged_part!(CommitTimelog, Timelog);
