//! A store with a log, in use.

use timestrata_engine::{Durability, Result, Store};
use timestrata_logs::{Logs, LogsOptions, NewEntry};

use super::read;
use super::step::{self, Write};
use crate::story::Model;
use crate::subject::{Action, Alphabet, Judgement, Showing, Subject, Work};

/// The log.
pub(super) const NAME: &str = "app";
/// A word that some messages have.
pub(super) const WORD: &str = "rare";

/// A log after some number of commits: messages and a field of each entry, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogModel {
    pub(super) entries: Vec<(String, i64)>,
}

impl Model for LogModel {
    type Change = (String, i64);

    fn apply(&mut self, change: &(String, i64)) {
        self.entries.push(change.clone());
    }
}

/// Logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LogEntries;

fn entry((message, number): &(String, i64)) -> NewEntry {
    let mut entry = NewEntry::new(message.as_str());
    entry.fields.int("n", *number);
    entry
}

impl Subject for LogEntries {
    type Model = LogModel;
    type Write = Write;
    type Parts = Logs;
    const KIND: &'static str = "logs";
    const ALPHABET: Alphabet<Write> = step::ALPHABET;
    const CHOSEN: &'static [&'static str] = step::CHOSEN;

    fn attach(store: &Store) -> Result<Logs> {
        Logs::create(store, NAME, &LogsOptions::default())
    }

    fn write(logs: &mut Logs, work: &mut Work<'_, LogModel>, write: &Write) -> Result<()> {
        let (store, durability) = (work.store, write.durability);
        work.commit(&write.entries, durability, || {
            match write.entries.as_slice() {
                [one] => logs.write_with(&entry(one), durability).map(drop),
                many => {
                    let entries: Vec<NewEntry> = many.iter().map(entry).collect();
                    logs.write_many(&entries, durability).map(drop)
                }
            }?;
            // The log tells when entries arrived, and not which commit that was: nobody else commits.
            Ok(store.snapshot()?.seq())
        })
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

    fn compare(showing: &Showing<'_>, model: &LogModel) -> Judgement<()> {
        read::compare(showing, model)
    }
}
