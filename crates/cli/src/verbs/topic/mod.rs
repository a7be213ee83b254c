//! Topics: `topic create|list|describe|set|retain|delete`, and the verbs that read, write and prove.

mod admin;
pub(crate) mod checkpoint;
pub(crate) mod consistency;
pub(crate) mod consume;
pub(crate) mod groups;
pub(crate) mod kcat;
pub(crate) mod keygen;
mod pattern;
mod place;
mod printing;
pub(crate) mod produce;
pub(crate) mod prove;
pub(crate) mod verify_consistency;
pub(crate) mod verify_proof;
pub(crate) mod vkey;
pub(crate) mod witness;

pub(crate) use admin::{TopicCommand, run};

use clap::Args;
use timestrata::Access;

use crate::at::At;
use crate::faces::{StoreArg, StoreFace, TopicFace};
use crate::failure::Result;

/// A topic of a store.
#[derive(Debug, Args)]
struct TopicOfStore {
    #[command(flatten)]
    store: StoreArg,
    /// The topic.
    topic: String,
}

/// A topic, and the store that is closed once it is done with.
type Opened = (Box<dyn StoreFace>, Box<dyn TopicFace>);

impl TopicOfStore {
    /// The store, and the topic in it.
    fn open(&self, access: Access) -> Result<Opened> {
        self.of(self.store.open(access, None)?)
    }

    /// The same as they were, for reading.
    fn open_at(&self, at: &At) -> Result<Opened> {
        self.of(self.store.read(at)?)
    }

    fn of(&self, store: Box<dyn StoreFace>) -> Result<Opened> {
        let topic = store.topic(&self.topic)?;
        Ok((store, topic))
    }
}
