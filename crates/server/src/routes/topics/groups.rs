//! `/topics/{topic}/groups`: where the groups of a topic are, and who their members are.

use std::collections::{BTreeMap, BTreeSet};

use axum::response::Response;
use serde_json::{Value, json};
use timestrata_topic::{GroupStart, Topic, TopicPartition};

use crate::auth::Caller;
use crate::error::{Failure, Result, success};
use crate::moments::Reading;
use crate::routes::asked::{Question, nanoseconds};
use crate::routes::parameters::Members;
use crate::state::blocking;

/// A group as JSON: where it has committed, and its members with what each has.
fn group_json(topic: &Topic, group: &str, committed: &BTreeMap<u32, u64>) -> Result<Value> {
    let mut offsets = Vec::with_capacity(committed.len());
    for (partition, offset) in committed {
        let end = topic.offsets(*partition)?.end;
        offsets.push(json!({
            "partition": partition,
            "committed": offset,
            "end": end,
            "lag": end.saturating_sub(*offset),
        }));
    }
    let members = topic.members(group).into_iter().map(|(member, places)| {
        let of_topic = places.iter().filter(|place| place.topic == topic.name());
        let partitions: Vec<u32> = of_topic.map(|place| place.partition).collect();
        json!({ "member": member, "partitions": partitions })
    });
    let members: Vec<Value> = members.collect();
    Ok(json!({ "group": group, "offsets": offsets, "members": members }))
}

pub(super) async fn list(question: Question) -> Result<Response> {
    let (state, name) = question.named()?;
    blocking(move || {
        let topic = state.topic(&name)?;
        let mut groups = topic.groups()?;
        // Those that have committed nothing yet.
        for group in state.members.groups_of(&name) {
            groups.entry(group).or_default();
        }
        let all = groups.iter().map(|(group, committed)| group_json(&topic, group, committed));
        Ok(success(json!(all.collect::<Result<Vec<_>>>()?)))
    })
    .await
}

pub(super) async fn describe(question: Question<(String, String)>) -> Result<Response> {
    let (state, (name, group)) = question.named()?;
    blocking(move || {
        let topic = state.topic(&name)?;
        let committed = committed(&topic, &group)?;
        Ok(success(group_json(&topic, &group, &committed)?))
    })
    .await
}

/// Where a group has committed, by partition.
fn committed(topic: &Topic, group: &str) -> Result<BTreeMap<u32, u64>> {
    let mut found = BTreeMap::new();
    for partition in 0..topic.partitions() {
        if let Some(offset) = topic.committed(group, partition)? {
            found.insert(partition, offset);
        }
    }
    Ok(found)
}

/// Where a body has a group go on.
fn start_of(members: &mut Members) -> Result<GroupStart> {
    let to = members.text("to")?;
    match (members.number("offset")?, to.as_deref()) {
        (Some(offset), None) => Ok(GroupStart::Offset(offset)),
        (None, Some("earliest")) => Ok(GroupStart::Earliest),
        (None, Some("latest")) => Ok(GroupStart::Latest),
        (None, Some(text)) => Ok(GroupStart::Time(nanoseconds("to", text)?)),
        (None, None) => Err(Failure::bad_request(
            "offset: say where the group is to go on, as {\"offset\": 0}, or as {\"to\": \"latest\"}",
        )),
        (Some(_), Some(_)) => Err(Failure::bad_request("give offset or to, not both")),
    }
}

pub(super) async fn reset(
    question: Question<(String, String)>,
    mut members: Members,
) -> Result<Response> {
    let (state, (name, group)) = question.named()?;
    let partition = members.number("partition")?.unwrap_or(0);
    let to = start_of(&mut members)?;
    blocking(move || {
        let topic = state.topic(&name)?;
        topic.reset_group_to(&group, partition, to)?;
        Ok(success(group_json(&topic, &group, &committed(&topic, &group)?)?))
    })
    .await
}

pub(super) async fn forget(question: Question<(String, String)>) -> Result<Response> {
    let (state, (name, group)) = question.named()?;
    blocking(move || {
        // Those that were not heard of for too long are members no more.
        drop(state.members.remove_silent(&state.metrics));
        let partitions = state.topic(&name)?.delete_group(&group)?;
        Ok(success(json!({ "deleted": group, "partitions": partitions })))
    })
    .await
}

/// As far as the caller knows their topics.
pub(super) async fn all(caller: Caller, Reading(state): Reading) -> Result<Response> {
    let known: BTreeSet<String> = caller.known(Topic::names(state.read())).into_iter().collect();
    blocking(move || {
        let mut all = Vec::new();
        for group in Topic::groups_of(state.read())? {
            let is_known = |place: &TopicPartition| known.contains(&place.topic);
            let offsets = group.offsets.iter().filter(|(place, _)| is_known(place));
            let offsets: Vec<Value> = offsets.map(|(place, committed)| {
                json!({ "topic": place.topic, "partition": place.partition, "committed": committed })
            }).collect();
            let members = group.members.iter().filter_map(|(member, reads)| {
                let reads: Vec<Value> = reads.iter().filter(|place| is_known(place)).map(|place| {
                    json!({ "topic": place.topic, "partition": place.partition })
                }).collect();
                // Who has no partition yet, or none that the caller may know of.
                (!reads.is_empty()).then(|| json!({ "member": member, "partitions": reads }))
            });
            let members: Vec<Value> = members.collect();
            if !offsets.is_empty() || !members.is_empty() {
                all.push(json!({ "group": group.name, "offsets": offsets, "members": members }));
            }
        }
        Ok(success(json!(all)))
    })
    .await
}
