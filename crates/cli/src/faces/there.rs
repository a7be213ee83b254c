//! Faces over a server that has the store open.

mod graph_copy;
mod graphs;
mod logs;
mod records;
mod tables;
mod timelogs;
mod topics;

use serde_json::{Map, Value, json};
use timestrata::topic::{Stamp, TopicOptions, TopicRetention};
use timestrata_client::{Request, Server};

#[cfg(feature = "sql")]
use super::{ChangesFace, ChangesFrom};
use super::{
    GraphFace, GraphWork, Kind, LogsFace, NewTimelog, Purged, StoreFace, TableFace, TimelogFace,
    TopicFace,
};
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;

/// A store behind a server, at a moment of the past if one is named.
#[derive(Clone)]
pub(super) struct ServedStore {
    server: Server,
    at: Option<String>,
}

impl ServedStore {
    pub(super) fn new(server: Server, at: Option<String>) -> Self {
        Self { server, at }
    }

    /// A request that reads.
    fn get(&self, path: &[&str]) -> Request<'_> {
        self.server.get(path).with_some("at", self.at.as_deref())
    }
}

/// What an answer of a server lacks that speaks otherwise than this command.
fn unlike(what: &str) -> Failure {
    Failure::failed(
        format!("the server's answer has no '{what}'"),
        "use the command of the server's version",
    )
}

/// A whole number of an answer.
fn number(value: &Value, name: &str) -> Result<u64> {
    value.get(name).and_then(Value::as_u64).ok_or_else(|| unlike(name))
}

/// A number of an answer that is a partition's.
fn partition_of(value: &Value) -> Result<u32> {
    u32::try_from(number(value, "partition")?).map_err(|_| unlike("partition"))
}

/// A text of an answer.
fn text<'a>(value: &'a Value, name: &str) -> Result<&'a str> {
    value.get(name).and_then(Value::as_str).ok_or_else(|| unlike(name))
}

/// A list of an answer; `name` is what it is in.
fn list<'a>(value: &'a Value, name: &str) -> Result<&'a Vec<Value>> {
    value.as_array().ok_or_else(|| unlike(name))
}

/// What is to be kept of a topic, as requests say it.
fn retention_members(retention: &TopicRetention) -> Map<String, Value> {
    let age = retention.age_ns.map(|age| format!("{age}ns"));
    let members = json!({
        "retention_age": age,
        "retention_bytes": retention.bytes,
        "retention_records": retention.records,
        "compact": retention.compact,
        "retention_groups_age": retention.groups_age_ns.map(|age| format!("{age}ns")),
    });
    members.as_object().cloned().unwrap_or_default()
}

/// Below which path a server has what is of a kind.
fn path_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Table => "tables",
        Kind::Logs => "logs",
        Kind::Timelog => "timelogs",
        Kind::Topic => "topics",
    }
}

impl StoreFace for ServedStore {
    fn names(&self, kind: Kind) -> Result<Vec<String>> {
        let names = self.get(&[path_of(kind)]).json()?;
        let names = list(&names, "names")?.iter();
        Ok(names.filter_map(|name| name.as_str().map(str::to_owned)).collect())
    }

    fn table(&self, name: &str) -> Result<Box<dyn TableFace>> {
        Ok(Box::new(tables::ServedTable::new(self.clone(), name)))
    }

    fn logs(&self, name: &str) -> Result<Box<dyn LogsFace>> {
        Ok(Box::new(logs::ServedLogs::new(self.clone(), name)))
    }

    fn timelog(&self, name: &str) -> Result<Box<dyn TimelogFace>> {
        Ok(Box::new(timelogs::ServedTimelog::open(self.clone(), name)?))
    }

    fn topic(&self, name: &str) -> Result<Box<dyn TopicFace>> {
        Ok(Box::new(topics::ServedTopic::new(self.clone(), name)))
    }

    fn graph(&self, name: &str) -> Result<Box<dyn GraphFace>> {
        Ok(Box::new(graphs::ServedGraph { store: self.clone(), name: name.to_owned() }))
    }

    fn change_graph(&self, name: &str, work: GraphWork<'_>) -> Result<()> {
        graph_copy::change(self, name, work)
    }

    fn info(&self, name: Option<&str>) -> Result<Value> {
        let mut info = self.get(&["info"]).with_some("name", name).json()?;
        if !info.is_object() {
            return Err(unlike("streams"));
        }
        info["path"] = self.server.url().into();
        Ok(info)
    }

    fn create_timelog(&self, name: &str, wanted: &NewTimelog) -> Result<Box<dyn TimelogFace>> {
        let mut members = timelogs::retention_members(&wanted.retention);
        members.insert("codec".to_owned(), wanted.codec.name().into());
        members.insert("unit".to_owned(), wanted.unit.name().into());
        if let Some(min_time) = wanted.min_time {
            members.insert("min_ts".to_owned(), min_time.into());
        }
        self.server.request("PUT", &["timelogs", name]).send_json(&members.into())?;
        self.timelog(name)
    }

    fn create_topic(&self, name: &str, options: &TopicOptions) -> Result<()> {
        let mut members = retention_members(&options.retention);
        members.insert("partitions".to_owned(), options.partitions.into());
        members.insert("record_bytes_max".to_owned(), options.record_bytes_max.into());
        let clock = if options.stamp == Stamp::Store { "store" } else { "producer" };
        members.insert("timestamp".to_owned(), clock.into());
        if let Some(packing) = options.compression {
            members.insert("compression".to_owned(), packing.to_string().into());
        }
        if options.keep_entries {
            members.insert("keep_entries".to_owned(), true.into());
        }
        self.server.request("PUT", &["topics", name]).send_json(&members.into())?;
        Ok(())
    }

    fn drop_topic(&self, name: &str) -> Result<()> {
        self.server.request("DELETE", &["topics", name]).json()?;
        Ok(())
    }

    #[cfg(feature = "sql")]
    fn changes(&self, from: ChangesFrom<'_>) -> Result<Box<dyn ChangesFace>> {
        let server = self.server.clone();
        Ok(Box::new(match from {
            ChangesFrom::Commit(since) => ServedChanges { server, follower: None, since },
            ChangesFrom::Follower { name, since } => {
                let since = place_of(&server, name, since)?;
                ServedChanges { server, follower: Some(name.to_owned()), since }
            }
        }))
    }

    fn purge(&self, names: &[&str], _: &Interrupt) -> Result<Purged> {
        // An interrupt ends the connection, and with that the server gives it up.
        let report =
            self.server.request("POST", &["purge"]).send_json(&json!({ "names": names }))?;
        Ok(Purged {
            seq: number(&report, "seq")?,
            files: number(&report, "files")?,
            bytes: number(&report, "bytes")?,
            still_read: number(&report, "still_read")?,
        })
    }

    fn sync(&self) -> Result<()> {
        // What a server has acknowledged has been synced.
        Ok(())
    }

    fn close(&self) -> Result<()> {
        Ok(())
    }
}

/// How far a follower is. One that is new is made.
#[cfg(feature = "sql")]
fn place_of(server: &Server, name: &str, since: Option<u64>) -> Result<u64> {
    let known = server.get(&["followers"]).json()?;
    match list(&known, "followers")?.iter().find(|one| one["name"] == name) {
        Some(known) => number(known, "seq"),
        None => {
            let body = since.map_or(json!({}), |since| json!({ "seq": since }));
            number(&server.request("PUT", &["followers", name]).send_json(&body)?, "seq")
        }
    }
}

#[cfg(feature = "sql")]
struct ServedChanges {
    server: Server,
    follower: Option<String>,
    /// The last commit that was given.
    since: u64,
}

#[cfg(feature = "sql")]
impl ChangesFace for ServedChanges {
    fn next(&mut self, timeout: std::time::Duration) -> Result<Vec<Vec<u8>>> {
        let request = self.server.get(&["changes"]).with("since", self.since.to_string());
        let mut lines = request.with("wait", format!("{}ms", timeout.as_millis())).lines()?;
        let mut found = Vec::new();
        while let Some(line) = lines.next_line()? {
            let commit: Value = serde_json::from_slice(line)
                .map_err(|error| Failure::plain(format!("the server's answer: {error}")))?;
            self.since = number(&commit, "seq")?;
            let mut line = line.to_vec();
            line.push(b'\n');
            found.push(line);
        }
        Ok(found)
    }

    fn save(&mut self) -> Result<()> {
        if let Some(name) = &self.follower {
            let body = json!({ "seq": self.since });
            self.server.request("PUT", &["followers", name]).send_json(&body)?;
        }
        Ok(())
    }
}
