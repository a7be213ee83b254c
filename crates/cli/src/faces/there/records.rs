//! Records of a server's topic, asked for until there are no more.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use timestrata::timelog::Unit;
use timestrata::topic::OwnedRecord;
use timestrata_client::Request;

use super::super::{RecordsFace, Start, StartPlace, TakeRecord, TopicFace};
use super::topics::ServedTopic;
use super::{list, number, partition_of, text, unlike};
use crate::failure::Result;
use crate::times;

/// Reads a topic as one by oneself, or as a member of a group.
pub(super) enum ServedRecords {
    Alone(Positions),
    Member(Member),
}

impl ServedRecords {
    pub(super) fn begin(topic: ServedTopic, start: &Start) -> Result<Self> {
        Ok(match start {
            Start::Group(group) => Self::Member(Member::join(topic, group)?),
            start => Self::Alone(Positions::begin(topic, start)?),
        })
    }
}

impl RecordsFace for ServedRecords {
    fn poll(&mut self, timeout: Duration, most: usize, take: TakeRecord<'_>) -> Result<usize> {
        match self {
            Self::Alone(positions) => positions.poll(timeout, most, take),
            Self::Member(member) => member.poll(timeout, most, take),
        }
    }

    fn close(self: Box<Self>) -> Result<()> {
        match *self {
            Self::Alone(_) => Ok(()),
            Self::Member(member) => member.leave(),
        }
    }
}

/// Takes a record of an answer.
fn take_record(line: &Value, take: TakeRecord<'_>) -> Result<()> {
    let record = OwnedRecord::of_json(line)?;
    take(partition_of(line)?, number(line, "offset")?, &record.record())
}

/// Where reading is in each partition, as a server is told it.
pub(super) struct Positions {
    topic: ServedTopic,
    places: BTreeMap<u32, String>,
    /// Whether partitions that are added are read too.
    is_of_all: bool,
}

impl Positions {
    fn begin(topic: ServedTopic, start: &Start) -> Result<Self> {
        let (only, start) = match start {
            Start::At(only, start) => (*only, *start),
            Start::Group(_) => (None, StartPlace::Earliest),
        };
        let mut places = BTreeMap::new();
        // A place that the server finds itself is asked for as it is: it may not be there yet.
        let as_asked = match start {
            StartPlace::Time(time) => Some(times::format(time, Unit::Nano)),
            StartPlace::Earliest => Some("earliest".to_owned()),
            _ => None,
        };
        for (partition, offset) in topic.offsets_at(start)? {
            let place = as_asked.clone().unwrap_or_else(|| offset.to_string());
            places.insert(partition, place);
        }
        if let Some(only) = only {
            let place = places.remove(&only).unwrap_or_else(|| "earliest".to_owned());
            places = BTreeMap::from([(only, place)]);
        }
        Ok(Self { topic, places, is_of_all: only.is_none() })
    }

    fn poll(&mut self, timeout: Duration, most: usize, take: TakeRecord<'_>) -> Result<usize> {
        let taken = self.look(Duration::ZERO, most, take)?;
        if taken > 0 || timeout.is_zero() {
            return Ok(taken);
        }
        if self.is_of_all {
            for of in list(&self.topic.get("offsets").json()?, "offsets")? {
                let place = || "earliest".to_owned();
                self.places.entry(partition_of(of)?).or_insert_with(place);
            }
        }
        let share = timeout / u32::try_from(self.places.len().max(1)).unwrap_or(u32::MAX);
        self.look(share, most, take)
    }

    /// One look at each partition.
    fn look(&mut self, wait: Duration, most: usize, take: TakeRecord<'_>) -> Result<usize> {
        let mut taken = 0;
        for (partition, place) in &mut self.places {
            if taken >= most {
                break;
            }
            let request = self
                .topic
                .get("records")
                .with("partition", partition.to_string())
                .with("from", place.as_str())
                .with("limit", (most - taken).to_string());
            let mut lines = waiting(request, wait).lines()?;
            let next = lines.next_offset().ok_or_else(|| unlike("Timestrata-Next"))?;
            for line in &mut lines {
                take_record(&line?, take)?;
                taken += 1;
            }
            *place = next.to_string();
        }
        Ok(taken)
    }
}

fn waiting(request: Request<'_>, wait: Duration) -> Request<'_> {
    // Of what was, nothing can be waited for.
    let wait = (!wait.is_zero()).then(|| format!("{}ms", wait.as_millis()));
    request.with_some("wait", wait)
}

/// A member of a group. What a poll gave is committed once it was taken.
pub(super) struct Member {
    topic: ServedTopic,
    group: String,
    member: String,
}

impl Member {
    fn join(topic: ServedTopic, group: &str) -> Result<Self> {
        let path = ["topics", &topic.name, "groups", group, "members"];
        let joined = topic.store.server.request("POST", &path).send_json(&json!({}))?;
        let member = text(&joined, "member")?.to_owned();
        Ok(Self { topic, group: group.to_owned(), member })
    }

    fn ask(&self, method: &'static str, what: Option<&str>) -> Request<'_> {
        let mut path =
            vec!["topics", &self.topic.name, "groups", &self.group, "members", &self.member];
        path.extend(what);
        self.topic.store.server.request(method, &path)
    }

    fn poll(&mut self, timeout: Duration, most: usize, take: TakeRecord<'_>) -> Result<usize> {
        let request = self.ask("POST", Some("poll")).with("limit", most.to_string());
        let given = waiting(request, timeout).json()?;
        let records = list(&given["records"], "records")?;
        for record in records {
            take_record(record, take)?;
        }
        if !records.is_empty() {
            let seen = number(&given, "poll")?.to_string();
            self.ask("POST", Some("commit")).with("seen", seen).send_json(&json!({}))?;
        }
        Ok(records.len())
    }

    fn leave(&self) -> Result<()> {
        self.ask("DELETE", None).json()?;
        Ok(())
    }
}
