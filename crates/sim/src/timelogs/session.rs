//! A store with a time log, in use, and what it is held against.

use timestrata_engine::{Durability, Result, SeqNo, Store};
use timestrata_timelog::{EntryBatch, Timelog, TimelogOptions, TimelogView};

use super::step::{self, Write};
use crate::story::Model;
use crate::subject::{Action, Alphabet, Judgement, Showing, Subject, Work, wrong};

/// The time log.
const NAME: &str = "door";

/// A value with its time.
pub(super) type Timed = (i64, String);

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimelogChange {
    /// New values.
    Put(Vec<Timed>),
    /// The values of earlier commits with times in `[lo, hi)` go.
    Delete(i64, i64),
}

/// A time log after some number of commits: its values by time, equal times in the order of commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimelogModel {
    values: Vec<Timed>,
}

impl Model for TimelogModel {
    type Change = TimelogChange;

    fn apply(&mut self, change: &TimelogChange) {
        match change {
            TimelogChange::Put(values) => self.values.extend_from_slice(values),
            TimelogChange::Delete(lo, hi) => {
                self.values.retain(|(time, _)| !(*lo..*hi).contains(time));
            }
        }
        // It keeps the order of equal times.
        self.values.sort_by_key(|(time, _)| *time);
    }
}

/// Time logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timelogs;

impl Subject for Timelogs {
    type Model = TimelogModel;
    type Write = Write;
    type Parts = Timelog;
    const KIND: &'static str = "timelogs";
    const ALPHABET: Alphabet<Write> = step::ALPHABET;
    const CHOSEN: &'static [&'static str] = step::CHOSEN;

    fn attach(store: &Store) -> Result<Timelog> {
        Timelog::create(store, NAME, TimelogOptions::default())
    }

    fn write(log: &mut Timelog, work: &mut Work<'_, TimelogModel>, write: &Write) -> Result<()> {
        let Write { change, durability } = write;
        work.commit(std::slice::from_ref(change), *durability, || match change {
            TimelogChange::Put(values) => put(log, values, *durability),
            TimelogChange::Delete(lo, hi) => log.delete_range_with(*lo..*hi, *durability),
        })
    }

    fn is_only_a_commit(_: &Write) -> bool {
        true
    }

    fn after_recovery(_: u64) -> Vec<Action<Write>> {
        let put = |time, durability| {
            let change = TimelogChange::Put(vec![(time, format!("after recovery at {time}"))]);
            Action::Write(Write { change, durability })
        };
        vec![
            put(1_000, Durability::Written),
            put(3, Durability::Synced),
            Action::Flush,
            Action::Compact,
        ]
    }

    fn after_failure() -> Write {
        let change = TimelogChange::Put(vec![(2_000, "after the failure".to_owned())]);
        Write { change, durability: Durability::Synced }
    }

    fn compare(showing: &Showing<'_>, model: &TimelogModel) -> Judgement<()> {
        let Showing { store, snapshot, is_made } = *showing;
        if store.stream(NAME).is_none() && !is_made && model.values.is_empty() {
            return Ok(());
        }
        let view = Timelog::open(store, NAME)?.view_of(snapshot.clone());
        compare(&view, &model.values).map_err(|problem| problem.of("the time log"))
    }
}

/// One value takes a shorter way.
fn put(log: &Timelog, values: &[Timed], durability: Durability) -> Result<Option<SeqNo>> {
    if let [(time, value)] = values {
        return log.append_with(*time, value.as_bytes(), durability).map(Some);
    }
    let mut batch = EntryBatch::new();
    for (time, value) in values {
        batch.push(*time, value.as_bytes())?;
    }
    log.extend_batch(batch, durability)
}

fn compare(view: &TimelogView, expected: &[Timed]) -> Judgement<()> {
    let read = |reverse: bool| -> Result<Vec<Timed>> {
        let selection = view.range(..)?;
        let selection = if reverse { selection.reverse() } else { selection };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        selection.entries().map(|entry| entry.map(|e| (e.time, text(&e.value)))).collect()
    };
    let found = read(false)?;
    if found != expected {
        return wrong(format!("holds {}, expected {}", shown(&found), shown(expected)));
    }
    let mut backward = read(true)?;
    backward.reverse();
    if backward != found || view.len()? != found.len() as u64 {
        return wrong(format!("read from its end holds {}", shown(&backward)));
    }
    let ends = (view.min_time()?, view.max_time()?);
    let expected_ends = (expected.first().map(|(t, _)| *t), expected.last().map(|(t, _)| *t));
    match ends == expected_ends {
        true => Ok(()),
        false => wrong(format!("has the ends {ends:?}, expected {expected_ends:?}")),
    }
}

fn shown(values: &[Timed]) -> String {
    let short =
        |(time, value): &Timed| format!("{time}: {}", value.chars().take(24).collect::<String>());
    format!("[{}]", values.iter().map(short).collect::<Vec<_>>().join(", "))
}
