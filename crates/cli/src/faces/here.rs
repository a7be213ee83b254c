//! Faces over a store that this process has opened.

mod graphs;
mod logs;
mod tables;
mod timelogs;
mod topics;

use serde_json::Value;
#[cfg(feature = "sql")]
use timestrata::SeqNo;
use timestrata::graph::{Graph, GraphOptions};
use timestrata::logs::Logs;
use timestrata::table::Table;
use timestrata::timelog::{Timelog, TimelogOptions};
use timestrata::topic::{Topic, TopicOptions};
use timestrata::{Durability, Retention, Store, purge_by_name_for, store_info};

#[cfg(feature = "sql")]
use super::{ChangesFace, ChangesFrom};
use super::{
    GraphFace, GraphWork, Kind, LogsFace, NewTimelog, Purged, StoreFace, TableFace, TimelogFace,
    TimelogRetention, TopicFace,
};
use crate::failure::Result;
use crate::interrupt::Interrupt;

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
    fn names(&self, kind: Kind) -> Result<Vec<String>> {
        Ok(match kind {
            Kind::Table => Table::names(&self.store),
            Kind::Logs => Logs::names(&self.store),
            Kind::Timelog => Timelog::names(&self.store),
            Kind::Topic => Topic::names(&self.store),
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

    fn graph(&self, name: &str) -> Result<Box<dyn GraphFace>> {
        let view = Graph::open(&self.store, name)?.view()?;
        Ok(Box::new(graphs::OpenedGraph { name: name.to_owned(), view }))
    }

    fn change_graph(&self, name: &str, work: GraphWork<'_>) -> Result<()> {
        let is_new = self.store.stream(name).is_none();
        let graph = Graph::create(&self.store, name, &GraphOptions::default())?;
        let changed = work(&graph);
        drop(graph);
        if changed.is_err() && is_new {
            // What went wrong first is what is told.
            let _ = Graph::drop(&self.store, name);
        }
        changed
    }

    fn info(&self, name: Option<&str>) -> Result<Value> {
        let mut info = store_info(&self.store, &self.store.snapshot()?, name)?;
        info["path"] = self.store.path().map(|path| path.display().to_string()).into();
        Ok(info)
    }

    fn create_timelog(&self, name: &str, wanted: &NewTimelog) -> Result<Box<dyn TimelogFace>> {
        let NewTimelog { codec, unit, retention, min_time } = *wanted;
        let is_changed = retention != TimelogRetention::default();
        let retention = is_changed.then(|| match Timelog::open(&self.store, name) {
            Ok(log) => log.retention(),
            Err(_) => Ok(Retention::default()),
        });
        let kept = retention.transpose()?;
        let options = TimelogOptions {
            codec,
            unit,
            retention: kept.map(|kept| timelogs::over(&wanted.retention, kept)),
            min_time,
            ..TimelogOptions::default()
        };
        let log = Timelog::create(&self.store, name, options)?;
        Ok(Box::new(timelogs::OpenedTimelog(log)))
    }

    fn create_topic(&self, name: &str, options: &TopicOptions) -> Result<()> {
        Topic::create(&self.store, name, options)?;
        Ok(())
    }

    fn drop_topic(&self, name: &str) -> Result<()> {
        Ok(Topic::drop(&self.store, name)?)
    }

    #[cfg(feature = "sql")]
    fn changes(&self, from: ChangesFrom<'_>) -> Result<Box<dyn ChangesFace>> {
        Ok(Box::new(match from {
            ChangesFrom::Commit(since) => OpenedChanges {
                feed: self.store.changes_since(SeqNo(since))?,
                is_remembered: false,
            },
            ChangesFrom::Follower { name, since } => OpenedChanges {
                feed: self.store.follow(name, since.map(SeqNo))?,
                is_remembered: true,
            },
        }))
    }

    fn purge(&self, names: &[&str], interrupt: &Interrupt) -> Result<Purged> {
        let heard = interrupt.clone();
        let query = self.store.begin_query_for("purge", None, move || !heard.is_heard());
        let report = purge_by_name_for(&self.store, names, &query)?;
        Ok(Purged {
            seq: report.seq.0,
            files: report.files,
            bytes: report.bytes,
            still_read: report.still_read.len() as u64,
        })
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
    is_remembered: bool,
}

#[cfg(feature = "sql")]
impl ChangesFace for OpenedChanges {
    fn next(&mut self, timeout: std::time::Duration) -> Result<Vec<Vec<u8>>> {
        let found = match timeout.is_zero() {
            true => self.feed.poll(CHANGES_BYTES)?,
            false => self.feed.follow(CHANGES_BYTES, timeout)?,
        };
        let lines = found.iter().map(timestrata_server::commit_as_json);
        Ok(lines.collect::<timestrata::Result<_>>()?)
    }

    fn save(&mut self) -> Result<()> {
        if self.is_remembered {
            self.feed.save(self.feed.last_seq())?;
        }
        Ok(())
    }
}

/// How deletes are kept before they are told of.
const DURABILITY: Durability = Durability::Synced;
