//! Members of groups: they join, poll, commit and leave by requests.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use timestrata_engine::Changes;
use timestrata_topic::{Assignor, Consumer, ConsumerOptions, Reset, TopicPartition};

use super::consume::{no_json, poll_limits, wait, write_records};
use crate::endpoint::{Form, Parameter, parameter};
use crate::error::{Failure, Result, success};
use crate::members::{Given, MemberKey, assignment_json};
use crate::routes::asked::Question;
use crate::routes::parameters::Members;
use crate::state::{AppState, blocking};
use crate::waiting::Waiter;

/// The longest that a member may not be heard of.
const SESSION_MAX: Duration = Duration::from_secs(3_600);

pub(super) const SEEN: Parameter = parameter(
    "seen",
    Form::Number(u64::MAX),
    "The number of the last poll whose answer came; records of a later one are given again",
);

pub(super) const OPTIONS: &[Parameter] = &[
    parameter("member", Form::Text, "The member's name; one that no other has unless given"),
    parameter(
        "reset",
        Form::OneOf(&["earliest", "latest", "error"]),
        "Where to begin without a committed offset, or where that is gone",
    ),
    parameter(
        "strategy",
        Form::OneOf(&["sticky", "range", "round_robin"]),
        "How the group shares partitions",
    ),
    parameter(
        "session",
        Form::Any,
        "After how long without a poll or a heartbeat it is taken for dead; 30 s",
    ),
    parameter(
        "poll_interval_max",
        Form::Any,
        "After how long without a poll it is taken for dead in spite of heartbeats; 5 min",
    ),
    parameter("auto_commit", Form::Any, "How often what polls gave is committed by the next one"),
];

pub(super) const COMMIT: &[Parameter] = &[parameter(
    "offsets",
    Form::Any,
    "A list of {\"partition\": ..., \"offset\": ...}, each the one that comes next; all that was given \
     unless said",
)];

pub(super) const SEEK: &[Parameter] = &[
    super::PARTITION,
    parameter("offset", Form::Number(u64::MAX), "The offset that it goes on with"),
];

pub(in crate::routes) type Named = (String, String, String);

pub(in crate::routes) fn key_of((topic, group, member): Named) -> MemberKey {
    MemberKey { topic, group, member }
}

pub(super) async fn join(
    question: Question<(String, String)>,
    mut members: Members,
) -> Result<Response> {
    let (state, (topic, group)) = question.named()?;
    let session = members.duration_ns("session")?.map(Duration::from_nanos);
    let poll_interval_max = members.duration_ns("poll_interval_max")?.map(Duration::from_nanos);
    let resets =
        [("earliest", Reset::Earliest), ("latest", Reset::Latest), ("error", Reset::Error)];
    let strategies = [
        ("sticky", Assignor::Sticky),
        ("range", Assignor::Range),
        ("round_robin", Assignor::RoundRobin),
    ];
    let options = ConsumerOptions {
        group: Some(group.clone()),
        member: members.text("member")?,
        reset: members.word("reset", &resets)?.unwrap_or(Reset::Earliest),
        strategy: members.word("strategy", &strategies)?.unwrap_or_default(),
        session: session.unwrap_or(ConsumerOptions::default().session),
        poll_interval_max: poll_interval_max
            .unwrap_or(ConsumerOptions::default().poll_interval_max),
        tells_changes: false,
        auto_commit: members.duration_ns("auto_commit")?.map(Duration::from_nanos),
    };
    if options.session.is_zero() || options.session > SESSION_MAX {
        return Err(Failure::bad_request(format!(
            "session: it must be more than nothing, and at most {} s",
            SESSION_MAX.as_secs()
        )));
    }
    blocking(move || {
        // One that isn't there yet would be waited for.
        state.topic(&topic)?;
        let session = options.session;
        let mut consumer = Consumer::new(&state.store, options)?;
        consumer.subscribe([topic.as_str()])?;
        consumer.refresh()?;
        let member = consumer.member().to_owned();
        let assignment = assignment_json(&consumer);
        let key = MemberKey { topic, group, member: member.clone() };
        state.members.add(&state.metrics, key, consumer, session)?;
        Ok(success(json!({
            "member": member,
            "session": session.as_secs_f64(),
            "poll": 0,
            "assignment": assignment,
        })))
    })
    .await
}

pub(super) async fn poll(mut question: Question<Named>) -> Result<Response> {
    let limits = poll_limits(&mut question.asked)?;
    let wait = wait(&mut question.asked, &question.state)?;
    let mut seen = question.asked.maybe_number("seen", u64::MAX)?;
    let (state, named) = question.named()?;
    let member = state.members.find(&state.metrics, &key_of(named))?;
    let begun = member.begin_poll(&state.store);
    let mut waiter = Waiter::new(&state, wait);
    loop {
        waiter.begin_look();
        let (looked, number, seen) = (begun.member(), begun.number(), seen.take());
        let given = blocking(move || looked.look(number, seen, limits)).await?;
        if !given.polled.is_empty() || !waiter.wait().await? {
            return answer(&state, given);
        }
    }
}

fn answer(state: &AppState, given: Given) -> Result<Response> {
    let count: usize = given.polled.iter().map(|polled| polled.records.len()).sum();
    state.metrics.records_given.inc_by(count as u64);
    let begin = format!(r#"{{"success":true,"data":{{"poll":{},"records":["#, given.number);
    let mut out = begin.into_bytes();
    write_records(&given.polled, b',', &mut out).map_err(no_json)?;
    let end = format!(r#"],"assignment":{}}},"error":null}}"#, given.assignment);
    out.extend_from_slice(end.as_bytes());
    given.told();
    Ok(([(header::CONTENT_TYPE, "application/json")], out).into_response())
}

/// An offset that is to be committed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Committed {
    #[serde(default)]
    partition: u32,
    offset: u64,
}

/// The offsets that a body names.
///
/// # Errors
/// `400` for what is no list of them.
pub(in crate::routes) fn offsets_of(
    topic: &str,
    list: Value,
) -> Result<BTreeMap<TopicPartition, u64>> {
    let list: Vec<Committed> = serde_json::from_value(list)
        .map_err(|error| Failure::bad_request(format!("offsets: {error}")))?;
    let of = |Committed { partition, offset }: Committed| {
        (TopicPartition { topic: topic.to_owned(), partition }, offset)
    };
    Ok(list.into_iter().map(of).collect())
}

/// What was committed.
pub(in crate::routes) fn committed_json(offsets: &BTreeMap<TopicPartition, u64>) -> Value {
    let each = offsets.iter();
    let each: Vec<Value> = each
        .map(|(place, offset)| json!({ "partition": place.partition, "offset": offset }))
        .collect();
    json!({ "committed": each })
}

pub(super) async fn commit(
    mut question: Question<Named>,
    mut members: Members,
) -> Result<Response> {
    let seen = question.asked.maybe_number("seen", u64::MAX)?;
    let (state, named) = question.named()?;
    let key = key_of(named);
    let offsets = members.take("offsets").map(|list| offsets_of(&key.topic, list)).transpose()?;
    let member = state.members.find(&state.metrics, &key)?;
    blocking(move || {
        let done = member.with(seen, |consumer| {
            let offsets = offsets.unwrap_or_else(|| consumer.uncommitted());
            consumer.commit_offsets(&offsets, Changes::new())?;
            Ok(offsets)
        })?;
        Ok(success(committed_json(&done)))
    })
    .await
}

/// The partitions that others wait for: they get them with the next poll.
pub(super) async fn heartbeat(question: Question<Named>) -> Result<Response> {
    let (state, named) = question.named()?;
    let member = state.members.find(&state.metrics, &key_of(named))?;
    blocking(move || {
        let wanted = member.heartbeat(&state.store)?;
        let wanted: Vec<u32> = wanted.into_iter().map(|place| place.partition).collect();
        Ok(success(json!({ "wanted_back": wanted })))
    })
    .await
}

pub(super) async fn seek(question: Question<Named>, mut members: Members) -> Result<Response> {
    let (state, named) = question.named()?;
    let key = key_of(named);
    let partition = members.number("partition")?.unwrap_or(0);
    let offset = members.number("offset")?.ok_or_else(|| {
        Failure::bad_request("offset: say where the member is to go on, as {\"offset\": 0}")
    })?;
    let member = state.members.find(&state.metrics, &key)?;
    blocking(move || {
        let assignment = member.with(None, |consumer| {
            consumer.seek(&TopicPartition { topic: key.topic.clone(), partition }, offset)?;
            Ok(assignment_json(consumer))
        })?;
        Ok(success(json!({ "assignment": assignment })))
    })
    .await
}

/// With what was given committed, if the member was made so.
pub(super) async fn leave(question: Question<Named>) -> Result<Response> {
    let (state, named) = question.named()?;
    let key = key_of(named);
    blocking(move || {
        state.members.remove(&state.metrics, &key)?;
        Ok(success(json!({ "left": key.member })))
    })
    .await
}
