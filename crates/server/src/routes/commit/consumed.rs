//! How far a member of a group has read, as a step of a commit says it.

use std::collections::BTreeMap;
use std::sync::Arc;

use timestrata_topic::TopicPartition;

use super::step::Step;
use crate::error::{Failure, Result};
use crate::members::Member;
use crate::routes::topics::members::{key_of, offsets_of};
use crate::state::AppState;

/// A member, and what of its records is done.
pub(super) struct Consumed {
    pub(super) member: Arc<Member>,
    /// The last poll whose answer came.
    pub(super) seen: Option<u64>,
    /// The next offset of each partition; `None`: behind all that was given.
    pub(super) offsets: Option<BTreeMap<TopicPartition, u64>>,
}

impl Consumed {
    /// What a step says.
    ///
    /// # Errors
    /// `404` for a member that isn't there, `400` for what is no such step.
    pub(super) fn of(state: &AppState, mut step: Step<'_>) -> Result<Self> {
        let needed = |name: &str, given: Option<String>| {
            given.ok_or_else(|| {
                Failure::bad_request(format!(
                    "{name} is missing: say of which member's records it is"
                ))
            })
        };
        let group = step.text("group")?;
        let group = needed("group", group)?;
        let member = step.text("member")?;
        let member = needed("member", member)?;
        let seen = step.number("seen")?;
        let offsets = step.take("offsets", "a list of {\"partition\": ..., \"offset\": ...}")?;
        let topic = step.name.clone();
        step.finish("group, member, seen and offsets")?;
        let offsets = offsets.map(|list| offsets_of(&topic, list)).transpose()?;
        let member = state.members.find(&state.metrics, &key_of((topic, group, member)))?;
        Ok(Self { member, seen, offsets })
    }
}
