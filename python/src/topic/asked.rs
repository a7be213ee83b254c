//! How a program wants to consume.

use std::time::Duration;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyDict;
use timestrata_topic::{Assignor, ConsumerOptions, Reset};

use super::told::Told;
use crate::settings::{span_ns, word};

/// What `Store.consumer` and `Topic.consumer` were asked for.
#[derive(Debug)]
pub(crate) struct ConsumerAsked {
    group: Option<String>,
    member: Option<String>,
    reset: String,
    strategy: String,
    session: f64,
    poll_interval_max: f64,
    pub(crate) told: Told,
    auto_commit: Option<f64>,
    pub(crate) idle_timeout: Option<f64>,
}

const RESETS: [(&str, Reset); 3] =
    [("earliest", Reset::Earliest), ("latest", Reset::Latest), ("error", Reset::Error)];
const STRATEGIES: [(&str, Assignor); 3] = [
    ("sticky", Assignor::Sticky),
    ("range", Assignor::Range),
    ("round_robin", Assignor::RoundRobin),
];

impl ConsumerAsked {
    /// As both methods take it: the group, and the rest by name.
    pub(super) fn of(group: Option<String>, named: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut asked = Self {
            group,
            member: None,
            reset: "earliest".to_owned(),
            strategy: "sticky".to_owned(),
            session: 30.0,
            poll_interval_max: 300.0,
            told: Told::default(),
            auto_commit: None,
            idle_timeout: None,
        };
        for (name, given) in named.into_iter().flatten() {
            asked.take(&name.extract::<PyBackedStr>()?, &given)?;
        }
        Ok(asked)
    }

    fn take(&mut self, name: &str, given: &Bound<'_, PyAny>) -> PyResult<()> {
        let taken = match name {
            "member" => given.extract().map(|member| self.member = member),
            "reset" => given.extract().map(|reset| self.reset = reset),
            "strategy" => given.extract().map(|strategy| self.strategy = strategy),
            "session" => given.extract().map(|session| self.session = session),
            "poll_interval_max" => given.extract().map(|span| self.poll_interval_max = span),
            "auto_commit" => given.extract().map(|span| self.auto_commit = span),
            "idle_timeout" => given.extract().map(|span| self.idle_timeout = span),
            "on_assigned" => call(given).map(|call| self.told.assigned = call),
            "on_revoked" => call(given).map(|call| self.told.revoked = call),
            "on_lost" => call(given).map(|call| self.told.lost = call),
            other => {
                let what = format!("consumer() got an unexpected keyword argument '{other}'");
                return Err(PyTypeError::new_err(what));
            }
        };
        taken.map_err(|error| {
            let py = given.py();
            match error.is_instance_of::<PyTypeError>(py) {
                true => PyTypeError::new_err(format!("argument '{name}': {}", error.value(py))),
                false => error,
            }
        })
    }

    pub(super) fn options(&self) -> PyResult<ConsumerOptions> {
        let span =
            |what, seconds| Ok::<_, PyErr>(span_ns(what, seconds)?.map(Duration::from_nanos));
        Ok(ConsumerOptions {
            group: self.group.clone(),
            member: self.member.clone(),
            reset: word("reset", &self.reset, &RESETS)?,
            strategy: word("strategy", &self.strategy, &STRATEGIES)?,
            session: span("session", Some(self.session))?.unwrap_or_default(),
            poll_interval_max: span("poll_interval_max", Some(self.poll_interval_max))?
                .unwrap_or_default(),
            tells_changes: self.told.is_some(),
            auto_commit: span("auto_commit", self.auto_commit)?,
        })
    }
}

/// Who is to be called, if anybody.
fn call(given: &Bound<'_, PyAny>) -> PyResult<Option<Py<PyAny>>> {
    Ok((!given.is_none()).then(|| given.clone().unbind()))
}
