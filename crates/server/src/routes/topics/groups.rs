//! `/topics/{topic}/groups`: where the groups of a topic are, and who their members are.

use std::collections::BTreeMap;

use axum::response::Response;
use serde_json::{Value, json};
use timestrata_topic::Topic;

use crate::error::{Failure, Result, success};
use crate::routes::asked::Question;
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

pub(super) async fn reset(
    question: Question<(String, String)>,
    mut members: Members,
) -> Result<Response> {
    let (state, (name, group)) = question.named()?;
    let partition = members.number("partition")?.unwrap_or(0);
    let offset = members.number("offset")?.ok_or_else(|| {
        Failure::bad_request("offset: say where the group is to go on, as {\"offset\": 0}")
    })?;
    blocking(move || {
        let topic = state.topic(&name)?;
        topic.reset_group(&group, partition, offset)?;
        Ok(success(group_json(&topic, &group, &committed(&topic, &group)?)?))
    })
    .await
}
