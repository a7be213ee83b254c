//! A store with a time log, in use, and what it is held against.

use timestrata_engine::{Durability, Result, SeqNo, Snapshot, Store};
use timestrata_timelog::{EntryBatch, Timelog, TimelogOptions, TimelogView};

use super::step::Write;
use crate::story::Story;
use crate::subject::{Action, Base, Judgement, Model, Problem, Session};

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
    seq: u64,
    values: Vec<Timed>,
}

impl Model for TimelogModel {
    type Change = TimelogChange;

    fn seq(&self) -> u64 {
        self.seq
    }

    fn after(&self, changes: &[TimelogChange]) -> Self {
        let mut next = self.clone();
        next.seq += 1;
        for change in changes {
            match change {
                TimelogChange::Put(values) => next.values.extend_from_slice(values),
                TimelogChange::Delete(lo, hi) => {
                    next.values.retain(|(time, _)| !(*lo..*hi).contains(time));
                }
            }
        }
        // It keeps the order of equal times.
        next.values.sort_by_key(|(time, _)| *time);
        next
    }
}

/// An open store with its time log.
#[derive(Debug)]
pub struct Timelogs {
    base: Base,
    log: Timelog,
}

impl Session for Timelogs {
    type Model = TimelogModel;
    type Write = Write;

    fn empty_model() -> TimelogModel {
        TimelogModel::default()
    }

    fn attach(base: Base, story: &mut Story<TimelogModel>) -> Result<Self> {
        let log = Timelog::create(&base.store, NAME, TimelogOptions::default())?;
        story.made(base.disk.operations());
        Ok(Self { base, log })
    }

    fn base(&self) -> &Base {
        &self.base
    }

    fn base_mut(&mut self) -> &mut Base {
        &mut self.base
    }

    fn write(&mut self, write: &Write, story: &mut Story<TimelogModel>) -> Result<()> {
        let durability = write.durability;
        story.commit_begun(self.base.disk.operations(), std::slice::from_ref(&write.change));
        let outcome = match &write.change {
            TimelogChange::Put(values) => self.put(values, durability),
            TimelogChange::Delete(lo, hi) => self.log.delete_range_with(*lo..*hi, durability),
        };
        let seq = outcome.map(|seq| seq.map_or(0, |seq| seq.0));
        self.base.committed(seq, durability, story)
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

    fn compare(
        store: &Store,
        snapshot: &Snapshot,
        model: &TimelogModel,
        is_made: bool,
    ) -> Judgement<()> {
        if store.stream(NAME).is_none() && !is_made && model.values.is_empty() {
            return Ok(());
        }
        let view = Timelog::open(store, NAME)?.view_of(snapshot.clone());
        compare(&view, &model.values).map_err(|problem| match problem {
            Problem::Wrong(what) => {
                Problem::Wrong(format!("at commit {}: the time log {what}", model.seq))
            }
            failed => failed,
        })
    }
}

impl Timelogs {
    /// One value takes a shorter way.
    fn put(&self, values: &[Timed], durability: Durability) -> Result<Option<SeqNo>> {
        if let [(time, value)] = values {
            return self.log.append_with(*time, value.as_bytes(), durability).map(Some);
        }
        let mut batch = EntryBatch::new();
        for (time, value) in values {
            batch.push(*time, value.as_bytes())?;
        }
        self.log.extend_batch(batch, durability)
    }
}

fn compare(view: &TimelogView, expected: &[Timed]) -> Judgement<()> {
    let wrong = |message: String| Err(Problem::Wrong(message));
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
