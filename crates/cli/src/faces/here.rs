//! Faces over a store that this process has opened.

mod logs;
mod tables;
mod timelogs;
mod topics;

use timestrata::logs::{Logs, is_logs};
use timestrata::table::{Table, is_table};
use timestrata::timelog::{Codec, Timelog, TimelogOptions, Unit};
use timestrata::topic::{Topic, TopicOptions};
use timestrata::{Durability, Store};

use super::{Kind, LogsFace, StoreFace, TableFace, TimelogFace, TopicFace};
use crate::failure::Result;

/// A store that was opened.
pub(super) struct OpenedStore {
    store: Store,
}

impl OpenedStore {
    pub(super) fn new(store: Store) -> Self {
        Self { store }
    }
}

impl StoreFace for OpenedStore {
    fn kind_of(&self, name: &str) -> Result<Option<Kind>> {
        let Some(stream) = self.store.stream(name) else { return Ok(None) };
        let is_named = |names: Vec<String>| names.iter().any(|known| known == name);
        Ok(match () {
            () if is_table(&stream) => Some(Kind::Table),
            () if is_logs(&stream) => Some(Kind::Logs),
            () if is_named(Topic::names(&self.store)) => Some(Kind::Topic),
            () if is_named(Timelog::names(&self.store)) => Some(Kind::Timelog),
            () => None,
        })
    }

    fn table(&self, name: &str) -> Result<Box<dyn TableFace>> {
        Ok(Box::new(tables::OpenedTable::new(Table::open(&self.store, name)?)))
    }

    fn logs(&self, name: &str) -> Result<Box<dyn LogsFace>> {
        let logs = Logs::open(&self.store, name)?;
        Ok(Box::new(logs::OpenedLogs::new(&self.store, logs)?))
    }

    fn timelog(&self, name: &str) -> Result<Box<dyn TimelogFace>> {
        Ok(Box::new(timelogs::OpenedTimelog(Timelog::open(&self.store, name)?)))
    }

    fn topic(&self, name: &str) -> Result<Box<dyn TopicFace>> {
        let topic = Topic::open(&self.store, name)?;
        Ok(Box::new(topics::OpenedTopic::new(self.store.clone(), topic)))
    }

    fn create_timelog(&self, name: &str, codec: Codec, unit: Unit) -> Result<Box<dyn TimelogFace>> {
        let options = TimelogOptions { codec, unit, ..TimelogOptions::default() };
        let log = Timelog::create(&self.store, name, options)?;
        Ok(Box::new(timelogs::OpenedTimelog(log)))
    }

    fn topics(&self) -> Result<Vec<String>> {
        Ok(Topic::names(&self.store))
    }

    fn create_topic(&self, name: &str, options: &TopicOptions) -> Result<()> {
        Topic::create(&self.store, name, options)?;
        Ok(())
    }

    fn drop_topic(&self, name: &str) -> Result<()> {
        Ok(Topic::drop(&self.store, name)?)
    }

    #[cfg(feature = "sql")]
    fn changes(
        &self,
        name: Option<&str>,
        since: Option<u64>,
    ) -> Result<Box<dyn super::ChangesFace>> {
        let since = since.map(timestrata::SeqNo);
        let feed = match name {
            Some(name) => self.store.follow(name, since)?,
            None => self.store.changes_since(since.unwrap_or_default())?,
        };
        Ok(Box::new(OpenedChanges { feed, has_name: name.is_some() }))
    }

    fn sync(&self) -> Result<()> {
        self.store.sync()?;
        Ok(())
    }

    fn close(&self) -> Result<()> {
        Ok(self.store.close()?)
    }
}

/// Bytes of changes that are read at once, about.
#[cfg(feature = "sql")]
const CHANGES_BYTES: usize = 4 << 20;

#[cfg(feature = "sql")]
struct OpenedChanges {
    feed: timestrata::ChangeFeed,
    has_name: bool,
}

#[cfg(feature = "sql")]
impl super::ChangesFace for OpenedChanges {
    fn next(&mut self, timeout: std::time::Duration) -> Result<Vec<Vec<u8>>> {
        let mut found = self.feed.poll(CHANGES_BYTES)?;
        if found.is_empty() && !timeout.is_zero() && self.feed.wait(timeout)? {
            found = self.feed.poll(CHANGES_BYTES)?;
        }
        let lines = found.iter().map(timestrata_server::commit_as_json);
        Ok(lines.collect::<timestrata::Result<_>>()?)
    }

    fn save(&mut self) -> Result<()> {
        if self.has_name {
            self.feed.save(self.feed.last_seq())?;
        }
        Ok(())
    }
}

/// How deletes are kept before they are told of.
const DURABILITY: Durability = Durability::Synced;
