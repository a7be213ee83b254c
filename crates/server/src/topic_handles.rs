//! Topics that are open: what a handle knows of its topic is made once, and not for each request.

use std::collections::HashMap;

use timestrata_engine::locks::Mutex;
use timestrata_engine::{Result, Store};
use timestrata_topic::Topic;

/// Handles that are kept.
const KEPT_MAX: usize = 1_024;

/// Handles by name.
#[derive(Debug, Default)]
pub(crate) struct TopicHandles(Mutex<HashMap<String, Topic>>);

impl TopicHandles {
    /// A topic that exists: the one that has the name now.
    ///
    /// # Errors
    /// As [`Topic::open`].
    pub(crate) fn open(&self, store: &Store, name: &str) -> Result<Topic> {
        let mut kept = self.0.lock();
        let now = store.stream(name).map(|stream| stream.id());
        if let Some(topic) = kept.get(name).filter(|topic| Some(topic.stream_id()) == now) {
            return Ok(topic.clone());
        }
        kept.remove(name);
        drop(kept);
        let topic = Topic::open(store, name)?;
        let mut kept = self.0.lock();
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(name.to_owned(), topic.clone());
        Ok(topic)
    }
}
