//! Holds what was seen, and what crashes leave, against the replay of the commits in their order.

use std::collections::BTreeMap;

use timestrata_engine::Access;

use super::kinds::{Kind, Whole};
use super::totals::Totals;
use crate::Streams;
use crate::disk::{CrashState, SimDisk};
use crate::journal::{Commit, Fate, Journal, Records};
use crate::subject::{Showing, open};

/// Mixtures of what was not synced, at each moment.
const MIXTURES: usize = 3;

/// The store after each commit, and when each commit was begun.
struct History {
    models: Vec<Whole>,
    begun_at: Vec<u64>,
}

/// Holds all snapshots that were kept against the commits, and lets go of them.
pub(super) fn compare_seen(journal: &Journal, kinds: &[Kind]) {
    let (replayed, seen) = {
        let mut records = journal.0.lock();
        (replay(&records, kinds), std::mem::take(&mut records.seen))
    };
    // What is wrong with the order is told by who judges crashes.
    let Ok(history) = replayed else { return };
    for seen in seen {
        let seq = seen.snapshot.seq().0;
        let showing = Showing::of_made(&seen.store, &seen.snapshot);
        let compared = history.at(seq).and_then(|model| model.compare(&showing));
        if let Err(problem) = compared {
            journal.problem(format!("{}: {problem}", seen.who));
        }
    }
}

pub(super) fn judge(
    seed: u64,
    disk: &SimDisk,
    journal: &Journal,
    kinds: &[Kind],
    totals: &mut Totals,
) {
    let records = journal.0.lock();
    totals.violations.extend(records.problems.iter().map(|problem| (seed, problem.clone())));
    let history = match replay(&records, kinds) {
        Ok(history) => history,
        Err(problem) => {
            totals.violations.push((seed, problem));
            return;
        }
    };
    for moment in disk.take_captured().into_iter().chain(records.last_moment.clone()) {
        totals.crashes += 1;
        for state in moment.states(MIXTURES) {
            totals.images += 1;
            let judged = judge_state(&state, moment.operation(), &records, &history);
            totals.operations += state.disk.operations();
            if let Err(problem) = judged {
                let (at, label) = (moment.operation(), &state.label);
                let problem = format!("crash at operation {at}, {label}: {problem}");
                totals.violations.push((seed, problem));
                return;
            }
        }
    }
}

/// The commits in their order: each number once, and none missing.
fn replay(records: &Records, kinds: &[Kind]) -> Result<History, String> {
    let mut by_seq: BTreeMap<u64, &Commit> = BTreeMap::new();
    for commit in &records.commits {
        match commit.fate {
            Fate::Refused | Fate::InDoubt { .. } => {}
            Fate::Open => return Err("a commit was neither acknowledged nor refused".to_owned()),
            Fate::Acknowledged { seq, .. } => {
                if by_seq.insert(seq, commit).is_some() {
                    return Err(format!("two commits have number {seq}"));
                }
            }
        }
    }
    for commit in &records.commits {
        if let Fate::InDoubt { seq } = commit.fate {
            by_seq.entry(seq).or_insert(commit);
        }
    }
    let mut history = History { models: vec![Whole::new(kinds)], begun_at: vec![0] };
    for (seq, commit) in by_seq {
        let next = history.models.len() as u64;
        if seq != next {
            return Err(format!("no commit has number {next}"));
        }
        let after = history.models.last().map(|model| model.after(&commit.changes));
        history.models.extend(after);
        history.begun_at.push(commit.begun_at);
    }
    Ok(history)
}

impl History {
    fn at(&self, seq: u64) -> Result<&Whole, String> {
        let model = self.models.get(seq as usize);
        model.ok_or_else(|| format!("sees commit {seq}, which was never made"))
    }
}

fn judge_state(
    state: &CrashState,
    moment: u64,
    records: &Records,
    history: &History,
) -> Result<(), String> {
    let said = |error: timestrata_engine::Error| format!("can't be read: {error}");
    let store = open::<Streams>(&state.disk, Access::Write)
        .map_err(|error| format!("can't be opened: {error}"))?;
    let snapshot = store.snapshot().map_err(said)?;
    let seq = snapshot.seq().0;
    let least = records.least(moment, state.kind);
    if seq < least {
        return Err(format!("commit {least} was acknowledged and is lost; the last one is {seq}"));
    }
    let model = history.at(seq)?;
    let begun_at = history.begun_at.get(seq as usize);
    if begun_at.is_none_or(|begun_at| *begun_at > moment) {
        return Err(format!("commit {seq} was found, and not begun yet"));
    }
    model.compare(&Showing::of_made(&store, &snapshot))?;
    // Closing would flush; nobody looks at that here.
    state.disk.crash_at(state.disk.operations());
    Ok(())
}
