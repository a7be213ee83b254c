//! How a program wants to consume.

use std::time::Duration;

use pyo3::prelude::*;
use timestrata_topic::{Assignor, ConsumerOptions, Reset};

use super::told::Told;
use crate::settings::{span_ns, word};

/// What `Store.consumer` and `Topic.consumer` were asked for.
#[derive(Debug)]
pub(crate) struct ConsumerAsked<'a> {
    pub(crate) group: Option<String>,
    pub(crate) member: Option<String>,
    pub(crate) reset: &'a str,
    pub(crate) strategy: &'a str,
    pub(crate) session: f64,
    pub(crate) poll_interval_max: f64,
    pub(crate) told: Told,
    pub(crate) auto_commit: Option<f64>,
    pub(crate) idle_timeout: Option<f64>,
}

const RESETS: [(&str, Reset); 3] =
    [("earliest", Reset::Earliest), ("latest", Reset::Latest), ("error", Reset::Error)];
const STRATEGIES: [(&str, Assignor); 3] = [
    ("sticky", Assignor::Sticky),
    ("range", Assignor::Range),
    ("round_robin", Assignor::RoundRobin),
];

impl ConsumerAsked<'_> {
    pub(super) fn options(&self) -> PyResult<ConsumerOptions> {
        let span =
            |what, seconds| Ok::<_, PyErr>(span_ns(what, seconds)?.map(Duration::from_nanos));
        Ok(ConsumerOptions {
            group: self.group.clone(),
            member: self.member.clone(),
            reset: word("reset", self.reset, &RESETS)?,
            strategy: word("strategy", self.strategy, &STRATEGIES)?,
            session: span("session", Some(self.session))?.unwrap_or_default(),
            poll_interval_max: span("poll_interval_max", Some(self.poll_interval_max))?
                .unwrap_or_default(),
            tells_changes: self.told.is_some(),
            auto_commit: span("auto_commit", self.auto_commit)?,
        })
    }
}
