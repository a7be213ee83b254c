//! Topics of a server.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use timestrata::merkle::{AddCheckpoint, Witness};
use timestrata::timelog::Unit;
use timestrata::topic::{GroupStart, OwnedRecord, PartitionCheckpoint};
use timestrata_client::Request;

use super::super::{
    ExportedTiles, GroupPlace, RecordsFace, RetentionChange, Start, StartPlace, TopicFace,
};
use super::records::ServedRecords;
use super::{ServedStore, list, number, partition_of, retention_members, text};
use crate::failure::{Failure, Result};
use crate::times;

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
            "retention_groups_age_seconds": said["retention_groups_age"],
            "compression": said["compression"],
            "keep_entries": said["keep_entries"],
            "partitions": partitions,
        }))
    }

    fn partitions(&self) -> Result<u32> {
        let partitions = number(&self.said()?, "partitions")?;
        u32::try_from(partitions).map_err(|_| super::unlike("partitions"))
    }

    fn change(&self, partitions: Option<u32>, retention: &RetentionChange) -> Result<()> {
        let mut members = retention_members(&retention.named);
        if !retention.keep_all {
            // What is not named stays.
            members.retain(|name, bound| match name.as_str() {
                "compact" => bound.as_bool() == Some(true),
                _ => !bound.is_null(),
            });
        }
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
            let name = text(group, "group")?;
            let mut readers: BTreeMap<u32, String> = BTreeMap::new();
            for member in list(&group["members"], "members")? {
                let member_name = text(member, "member")?;
                let partitions = list(&member["partitions"], "partitions")?;
                for partition in partitions {
                    let number = partition.as_u64().and_then(|number| u32::try_from(number).ok());
                    let number = number.ok_or_else(|| super::unlike("partitions"))?;
                    readers.insert(number, member_name.to_owned());
                }
                if partitions.is_empty() {
                    let member = Some(member_name.to_owned());
                    found.push(GroupPlace { group: name.to_owned(), member, ..Default::default() });
                }
            }
            for of in list(&group["offsets"], "offsets")? {
                let partition = partition_of(of)?;
                found.push(GroupPlace {
                    group: name.to_owned(),
                    partition: Some(partition),
                    committed: Some(number(of, "committed")?),
                    end: Some(number(of, "end")?),
                    member: readers.remove(&partition),
                });
            }
            for (partition, member) in readers {
                let (partition, member) = (Some(partition), Some(member));
                let group = name.to_owned();
                found.push(GroupPlace { group, partition, member, ..Default::default() });
            }
        }
        Ok(found)
    }

    fn reset_group(&self, group: &str, partition: u32, to: GroupStart) -> Result<u64> {
        let path = ["topics", &self.name, "groups", group];
        let body = match to {
            GroupStart::Earliest => json!({ "partition": partition, "to": "earliest" }),
            GroupStart::Latest => json!({ "partition": partition, "to": "latest" }),
            GroupStart::Offset(offset) => json!({ "partition": partition, "offset": offset }),
            GroupStart::Time(time) => {
                json!({ "partition": partition, "to": times::format(time, Unit::Nano) })
            }
        };
        let said = self.store.server.request("PUT", &path).send_json(&body)?;
        for of in list(&said["offsets"], "offsets")? {
            if partition_of(of)? == partition {
                return number(of, "committed");
            }
        }
        Err(super::unlike("offsets"))
    }

    fn delete_group(&self, group: &str) -> Result<u64> {
        let path = ["topics", &self.name, "groups", group];
        let said = self.store.server.request("DELETE", &path).json()?;
        number(&said, "partitions")
    }

    fn offsets_at(&self, place: StartPlace) -> Result<BTreeMap<u32, u64>> {
        let time = match place {
            StartPlace::Time(time) => Some(times::format(time, Unit::Nano)),
            _ => None,
        };
        let mut found = BTreeMap::new();
        for of in list(&self.get("offsets").with_some("time", time).json()?, "offsets")? {
            let (first, end) = (number(of, "first")?, number(of, "end")?);
            let offset = match place {
                StartPlace::Earliest => first,
                StartPlace::Latest => end,
                StartPlace::Offset(offset) => offset,
                StartPlace::Last(records) => end.saturating_sub(records).max(first),
                StartPlace::Time(_) => of["at_time"].as_u64().unwrap_or(end),
            };
            found.insert(partition_of(of)?, offset);
        }
        Ok(found)
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

    fn checkpoint_all(&self, key: Option<&Path>) -> Result<Vec<PartitionCheckpoint>> {
        Self::refuse_key(key)?;
        let said = self.post("checkpoints").json()?;
        let of = |one: &Value| {
            let is_new = one["new"].as_bool().ok_or_else(|| super::unlike("new"))?;
            let note = text(one, "checkpoint")?.to_owned();
            Ok(PartitionCheckpoint { partition: partition_of(one)?, note, is_new })
        };
        list(&said, "checkpoints")?.iter().map(of).collect()
    }

    fn cosignature_request(&self, _: u32, _: u64) -> Result<AddCheckpoint> {
        Err(Failure::usage(
            "a server's topics are not cosigned from afar",
            "ask the witness where the store's directory is, while no server has it open",
        ))
    }

    fn add_cosignatures(
        &self,
        partition: u32,
        _: &AddCheckpoint,
        _: &str,
        _: &[Witness],
        _: Option<&Path>,
    ) -> Result<Vec<String>> {
        self.cosignature_request(partition, 0).map(|_| Vec::new())
    }

    fn has_checkpoint(&self, _: u32) -> Result<bool> {
        // It serves what there is; export says so.
        Ok(true)
    }

    fn consistency(&self, partition: u32, old: u64, new: Option<u64>) -> Result<String> {
        let request = self.get("consistency").with("partition", partition.to_string());
        let request = request.with("old", old.to_string());
        let said = request.with_some("new", new.map(|new| new.to_string())).json()?;
        let mut lines = String::new();
        for hash in list(&said["hashes"], "hashes")? {
            lines.push_str(hash.as_str().ok_or_else(|| super::unlike("hashes"))?);
            lines.push('\n');
        }
        Ok(lines)
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
