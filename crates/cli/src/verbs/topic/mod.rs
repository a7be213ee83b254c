//! Topics: `topic create|list|describe|set|retain|delete`, and the verbs that read, write and prove.

mod admin;
pub(crate) mod checkpoint;
pub(crate) mod consume;
pub(crate) mod groups;
pub(crate) mod keygen;
pub(crate) mod produce;
pub(crate) mod prove;
pub(crate) mod verify_proof;

pub(crate) use admin::{TopicCommand, run};

use std::path::PathBuf;

use clap::Args;
use timestrata::topic::Topic;
use timestrata::{Access, Store};

use super::at::At;
use super::open;
use crate::failure::Result;

/// A topic of a store.
#[derive(Debug, Args)]
struct TopicOfStore {
    /// The store's directory.
    dir: PathBuf,
    /// The topic.
    topic: String,
}

impl TopicOfStore {
    /// The store, and the topic in it.
    fn open(&self, access: Access) -> Result<(Store, Topic)> {
        self.of(open(&self.dir, access)?)
    }

    /// The same as they were, for reading.
    fn open_at(&self, at: &At) -> Result<(Store, Topic)> {
        self.of(at.open(&self.dir)?)
    }

    fn of(&self, store: Store) -> Result<(Store, Topic)> {
        let topic = Topic::open(&store, &self.topic)?;
        Ok((store, topic))
    }
}
