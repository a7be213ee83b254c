//! Who is called when a member of a group is given partitions, and before it loses them.

use std::collections::BTreeSet;

use pyo3::prelude::*;
use timestrata_topic::{AssignmentChanges, TopicPartition};

/// What a program gave to be called, each with a list of (topic, partition).
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) assigned: Option<Py<PyAny>>,
    pub(crate) revoked: Option<Py<PyAny>>,
    pub(crate) lost: Option<Py<PyAny>>,
}

impl Told {
    /// Whether anybody wants to be told.
    pub(crate) fn is_some(&self) -> bool {
        self.assigned.is_some() || self.revoked.is_some() || self.lost.is_some()
    }

    /// Calls who wants to be told: of what is gone first, so that what is new is told last.
    pub(crate) fn tell(&self, py: Python<'_>, changes: &AssignmentChanges) -> PyResult<()> {
        let calls = [
            (&self.lost, &changes.lost),
            (&self.revoked, &changes.revoked),
            (&self.assigned, &changes.assigned),
        ];
        for (call, places) in calls {
            if let (Some(call), false) = (call, places.is_empty()) {
                call.call1(py, (pairs(places),))?;
            }
        }
        Ok(())
    }
}

fn pairs(places: &BTreeSet<TopicPartition>) -> Vec<(&str, u32)> {
    places.iter().map(|place| (place.topic.as_str(), place.partition)).collect()
}
