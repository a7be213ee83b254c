//! A store with a log, in use.

use timestrata_engine::{Durability, Result, Snapshot, Store};
use timestrata_logs::{Logs, LogsOptions, NewEntry};

use super::read;
use super::step::Write;
use crate::story::Story;
use crate::subject::{Action, Base, Judgement, Model, Session};

/// The log.
pub(super) const NAME: &str = "app";
/// A word that some messages have.
pub(super) const WORD: &str = "rare";

/// A log after some number of commits: messages and a field of each entry, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogModel {
    seq: u64,
    pub(super) entries: Vec<(String, i64)>,
}

impl Model for LogModel {
    type Change = (String, i64);

    fn seq(&self) -> u64 {
        self.seq
    }

    fn after(&self, changes: &[(String, i64)]) -> Self {
        let mut next = self.clone();
        next.seq += 1;
        next.entries.extend_from_slice(changes);
        next
    }
}

/// An open store with its log.
#[derive(Debug)]
pub struct LogEntries {
    base: Base,
    logs: Logs,
}

fn entry((message, number): &(String, i64)) -> NewEntry {
    let mut entry = NewEntry::new(message.as_str());
    entry.fields.int("n", *number);
    entry
}

impl Session for LogEntries {
    type Model = LogModel;
    type Write = Write;

    fn empty_model() -> LogModel {
        LogModel::default()
    }

    fn attach(base: Base, story: &mut Story<LogModel>) -> Result<Self> {
        let logs = Logs::create(&base.store, NAME, &LogsOptions::default())?;
        story.made(base.disk.operations());
        Ok(Self { base, logs })
    }

    fn base(&self) -> &Base {
        &self.base
    }

    fn base_mut(&mut self) -> &mut Base {
        &mut self.base
    }

    fn write(&mut self, write: &Write, story: &mut Story<LogModel>) -> Result<()> {
        story.commit_begun(self.base.disk.operations(), &write.entries);
        let durability = write.durability;
        let written = match write.entries.as_slice() {
            [one] => self.logs.write_with(&entry(one), durability).map(drop),
            many => {
                let entries: Vec<NewEntry> = many.iter().map(entry).collect();
                self.logs.write_many(&entries, durability).map(drop)
            }
        };
        // The log tells when entries arrived, and not which commit that was: nobody else commits.
        let store = self.base.store.clone();
        let seq = written.and_then(|()| Ok(store.snapshot()?.seq().0));
        self.base.committed(seq, durability, story)
    }

    fn is_only_a_commit(write: &Write) -> bool {
        // Of many, a field may get its column first.
        write.entries.len() == 1
    }

    fn after_recovery(_: u64) -> Vec<Action<Write>> {
        let write = |turn: usize, durability| {
            let entries = vec![(format!("{WORD} {turn}"), turn as i64), (format!("m {turn}"), 0)];
            Action::Write(Write { entries, durability })
        };
        vec![
            write(900, Durability::Written),
            write(901, Durability::Synced),
            Action::Flush,
            Action::Compact,
        ]
    }

    fn after_failure() -> Write {
        Write { entries: vec![(format!("{WORD} 903"), 903)], durability: Durability::Synced }
    }

    fn compare(
        store: &Store,
        snapshot: &Snapshot,
        model: &LogModel,
        is_made: bool,
    ) -> Judgement<()> {
        read::compare(store, snapshot, model, is_made)
    }
}
