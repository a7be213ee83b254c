//! Assignment of partitions to the members of a group, as pure functions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A partition of a topic, by the topic's name.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_topic::{Consumer, ConsumerOptions, TopicPartition};
/// # use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// # let opened = Record { key: Some(b"door"), value: Some(b"opened"), ..Record::default() };
/// # events.send(&opened, &SendOptions::default())?;
/// let place = TopicPartition { topic: "events".into(), partition: 0 };
/// let mut reader = Consumer::new(&store, ConsumerOptions::default())?;
/// reader.assign([place.clone()])?;
/// reader.refresh()?;
/// assert_eq!(reader.lag(&place)?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: String,
    /// The partition.
    pub partition: u32,
}

/// As errors name it.
impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "topic '{}' partition {}", self.topic, self.partition)
    }
}

/// How partitions are shared among the members of a group, as Kafka's strategies of these names do.
///
/// ```
/// use timestrata_topic::{Assignor, ConsumerOptions};
///
/// let options = ConsumerOptions { strategy: Assignor::Range, ..ConsumerOptions::default() };
/// assert_ne!(options.strategy, Assignor::default());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Assignor {
    /// Of each topic, neighbouring partitions to each member.
    Range,
    /// One after the other to each member in turn, over all topics.
    RoundRobin,
    /// As evenly as can be, and every member keeps what it has as far as that allows.
    #[default]
    Sticky,
}

/// What each member wants: names of topics.
pub(super) type Wishes = BTreeMap<String, BTreeSet<String>>;
/// Who has each partition.
pub(super) type Owners = BTreeMap<TopicPartition, String>;

/// Shares out `partitions` (how many each topic has). Each that somebody wants has one owner, who
/// wants it.
pub(super) fn assign(
    strategy: Assignor,
    wishes: &Wishes,
    partitions: &BTreeMap<String, u32>,
    owners: &Owners,
) -> Owners {
    match strategy {
        Assignor::Range => by_range(wishes, partitions),
        Assignor::RoundRobin => by_turns(wishes, partitions),
        Assignor::Sticky => evenly(wishes, partitions, owners),
    }
}

/// All partitions, in order.
pub(crate) fn all(partitions: &BTreeMap<String, u32>) -> impl Iterator<Item = TopicPartition> {
    partitions.iter().flat_map(|(topic, count)| {
        (0..*count).map(|partition| TopicPartition { topic: topic.clone(), partition })
    })
}

/// Members that want a topic, in order.
fn wanting<'a>(wishes: &'a Wishes, topic: &str) -> Vec<&'a String> {
    wishes.iter().filter(|(_, topics)| topics.contains(topic)).map(|(member, _)| member).collect()
}

fn by_range(wishes: &Wishes, partitions: &BTreeMap<String, u32>) -> Owners {
    let mut owners = Owners::new();
    for (topic, count) in partitions {
        let members = wanting(wishes, topic);
        let Ok(among) = u32::try_from(members.len()) else { continue };
        if among == 0 {
            continue;
        }
        // The first ones get one more where it doesn't come out even.
        let (each, more) = (count / among, count % among);
        let mut next = 0;
        for (place, member) in (0..among).zip(members) {
            let end = next + each + u32::from(place < more);
            owners.extend((next..end).map(|partition| {
                (TopicPartition { topic: topic.clone(), partition }, member.clone())
            }));
            next = end;
        }
    }
    owners
}

fn by_turns(wishes: &Wishes, partitions: &BTreeMap<String, u32>) -> Owners {
    let members: Vec<&String> = wishes.keys().collect();
    let mut turn = 0;
    let mut owners = Owners::new();
    for partition in all(partitions) {
        let wants = |member: &&&String| {
            wishes.get(**member).is_some_and(|topics| topics.contains(&partition.topic))
        };
        let circle = members.iter().cycle().skip(turn).take(members.len());
        let Some((steps, member)) = circle.enumerate().find(|(_, member)| wants(member)) else {
            continue;
        };
        turn = (turn + steps + 1) % members.len();
        owners.insert(partition, (*member).clone());
    }
    owners
}

/// What is still owned by who wants it stays; the rest goes to who has least; then one at a time goes
/// from who has most to who has least, until nobody has two more than another.
fn evenly(wishes: &Wishes, partitions: &BTreeMap<String, u32>, before: &Owners) -> Owners {
    let wants = |member: &String, topic: &str| {
        wishes.get(member).is_some_and(|topics| topics.contains(topic))
    };
    let mut held: BTreeMap<&String, BTreeSet<TopicPartition>> =
        wishes.keys().map(|member| (member, BTreeSet::new())).collect();
    let mut free = Vec::new();
    for partition in all(partitions) {
        let owner = before.get(&partition).filter(|owner| wants(owner, &partition.topic));
        match owner.and_then(|owner| held.get_mut(owner)) {
            Some(of_owner) => drop(of_owner.insert(partition)),
            None => free.push(partition),
        }
    }
    for partition in free {
        let mut able: Vec<_> =
            held.iter_mut().filter(|(member, _)| wants(member, &partition.topic)).collect();
        able.sort_by_key(|(_, has)| has.len());
        if let Some((_, has)) = able.into_iter().next() {
            has.insert(partition);
        }
    }
    while let Some((from, to, partition)) = move_that_evens(&held, wants) {
        if let Some(has) = held.get_mut(from) {
            has.remove(&partition);
        }
        if let Some(has) = held.get_mut(to) {
            has.insert(partition);
        }
    }
    let owned = held.into_iter().flat_map(|(member, has)| {
        has.into_iter().map(move |partition| (partition, member.clone()))
    });
    owned.collect()
}

/// A partition whose move makes two members' shares less different: those two whose shares differ
/// most, so that nobody gives away what others have to give back.
fn move_that_evens<'a>(
    held: &BTreeMap<&'a String, BTreeSet<TopicPartition>>,
    wants: impl Fn(&String, &str) -> bool,
) -> Option<(&'a String, &'a String, TopicPartition)> {
    let mut best = None;
    let mut most = 1;
    for (from, has) in held {
        for (to, other) in held {
            let difference = has.len().saturating_sub(other.len());
            if difference <= most {
                continue;
            }
            let moved = has.iter().rev().find(|partition| wants(to, &partition.topic));
            if let Some(partition) = moved {
                (best, most) = (Some((*from, *to, partition.clone())), difference);
            }
        }
    }
    best
}

#[cfg(test)]
mod tests;
