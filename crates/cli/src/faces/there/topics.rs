//! Topics of a server.

use std::path::Path;

use serde_json::{Value, json};
use timestrata::topic::{OwnedRecord, TopicRetention};
use timestrata_client::Request;

use super::super::{ExportedTiles, GroupPlace, RecordsFace, Start, TopicFace};
use super::records::ServedRecords;
use super::{ServedStore, list, number, partition_of, retention_members, text};
use crate::failure::{Failure, Result};

#[derive(Clone)]
pub(super) struct ServedTopic {
    pub(super) store: ServedStore,
    pub(super) name: String,
}

impl ServedTopic {
    pub(super) fn new(store: ServedStore, name: &str) -> Self {
        Self { store, name: name.to_owned() }
    }

    /// A request that reads.
    pub(super) fn get(&self, what: &str) -> Request<'_> {
        self.store.get(&["topics", &self.name, what])
    }

    fn post(&self, what: &str) -> Request<'_> {
        self.store.server.request("POST", &["topics", &self.name, what])
    }

    /// What the server says of the topic.
    fn said(&self) -> Result<Value> {
        Ok(self.store.get(&["topics", &self.name]).json()?)
    }

    /// The key stays with whoever has it.
    fn refuse_key(key: Option<&Path>) -> Result<()> {
        match key {
            None => Ok(()),
            Some(_) => Err(Failure::usage(
                "--key is for a store's directory: no key goes over the network",
                "leave it out: the server signs by its own ('topics.key_file')",
            )),
        }
    }
}

impl TopicFace for ServedTopic {
    fn described(&self) -> Result<Value> {
        let said = self.said()?;
        let mut partitions = Vec::new();
        for of in list(&said["offsets"], "offsets")? {
            let partition = partition_of(of)?;
            let root = self.get("root").with("partition", partition.to_string()).json()?;
            partitions.push(json!({
                "partition": partition,
                "first": number(of, "first")?,
                "end": number(of, "end")?,
                "root": text(&root, "root")?,
            }));
        }
        Ok(json!({
            "name": self.name,
            "record_bytes_max": said["record_bytes_max"],
            "timestamp": said["timestamp"],
            "retention_age_seconds": said["retention_age"],
            "retention_bytes": said["retention_bytes"],
            "retention_records": said["retention_records"],
            "compact": said["compact"],
            "compression": said["compression"],
            "partitions": partitions,
        }))
    }

    fn partitions(&self) -> Result<u32> {
        let partitions = number(&self.said()?, "partitions")?;
        u32::try_from(partitions).map_err(|_| super::unlike("partitions"))
    }

    fn change(&self, partitions: Option<u32>, retention: Option<TopicRetention>) -> Result<()> {
        let mut members = retention.as_ref().map(retention_members).unwrap_or_default();
        if let Some(partitions) = partitions {
            members.insert("partitions".to_owned(), partitions.into());
        }
        let request = self.store.server.request("PATCH", &["topics", &self.name]);
        request.send_json(&members.into())?;
        Ok(())
    }

    fn retain(&self) -> Result<(u64, u64)> {
        let thrown = self.post("retain").json()?;
        Ok((number(&thrown, "expired")?, number(&thrown, "superseded")?))
    }

    fn audit(&self, partition: u32) -> Result<(u64, u64, String)> {
        let audited = self.get("audit").with("partition", partition.to_string()).json()?;
        let root = text(&audited, "root")?.to_owned();
        Ok((number(&audited, "records")?, number(&audited, "size")?, root))
    }

    fn send(&self, records: &[OwnedRecord], partition: Option<u32>) -> Result<()> {
        let mut body = String::new();
        for record in records {
            let mut value = record.record().to_json("", 0, 0);
            if let Some(members) = value.as_object_mut() {
                for place in ["topic", "partition", "offset"] {
                    members.remove(place);
                }
                members.retain(|_, part| !part.is_null());
            }
            body.push_str(&value.to_string());
            body.push('\n');
        }
        let request = self.post("records");
        let request =
            request.with_some("partition", partition.map(|partition| partition.to_string()));
        request.send("application/x-ndjson", &mut body.as_bytes())?;
        Ok(())
    }

    fn read(&self, start: &Start) -> Result<Box<dyn RecordsFace>> {
        Ok(Box::new(ServedRecords::begin(self.clone(), start)?))
    }

    fn groups(&self) -> Result<Vec<GroupPlace>> {
        let mut found = Vec::new();
        for group in list(&self.get("groups").json()?, "groups")? {
            for of in list(&group["offsets"], "offsets")? {
                found.push(GroupPlace {
                    group: text(group, "group")?.to_owned(),
                    partition: partition_of(of)?,
                    committed: number(of, "committed")?,
                    end: number(of, "end")?,
                });
            }
        }
        Ok(found)
    }

    fn reset_group(&self, group: &str, partition: u32, offset: u64) -> Result<()> {
        let path = ["topics", &self.name, "groups", group];
        let body = json!({ "partition": partition, "offset": offset });
        self.store.server.request("PUT", &path).send_json(&body)?;
        Ok(())
    }

    fn prove(&self, partition: u32, offset: u64, key: Option<&Path>) -> Result<String> {
        Self::refuse_key(key)?;
        let request = self.get("proof").with("partition", partition.to_string());
        Ok(request.with("offset", offset.to_string()).text()?)
    }

    fn checkpoint(&self, partition: u32, key: Option<&Path>) -> Result<String> {
        Self::refuse_key(key)?;
        Ok(self.post("checkpoint").with("partition", partition.to_string()).text()?)
    }

    fn export_tiles(&self, partition: u32, _: &Path) -> Result<ExportedTiles> {
        Err(Failure::usage(
            "a server's tiles need no export: it serves them to auditors itself",
            format!(
                "read them at {}/topics/{}/log/{partition}/",
                self.store.server.url(),
                self.name
            ),
        ))
    }
}
