//! Holds what was seen, and what crashes leave, against the replay of the commits in their order.

use std::collections::BTreeMap;

use timestrata_engine::{Access, Merge};

use super::journal::{Journal, Records};
use super::totals::Totals;
use crate::disk::{CrashState, SimDisk};
use crate::streams::{Row, STREAMS, StreamsModel, scan_stream, shown};
use crate::subject::{Model, open};

/// Mixtures of what was not synced, at each moment.
const MIXTURES: usize = 3;

/// The store after each commit, and when each commit was begun.
struct History {
    models: Vec<StreamsModel>,
    begun_at: Vec<u64>,
}

pub(super) fn judge(seed: u64, disk: &SimDisk, journal: &Journal, totals: &mut Totals) {
    let records = journal.0.lock();
    totals.violations.extend(records.problems.iter().map(|problem| (seed, problem.clone())));
    let history = match replay(&records) {
        Ok(history) => history,
        Err(problem) => {
            totals.violations.push((seed, problem));
            return;
        }
    };
    for seen in &records.seen {
        if let Err(problem) = compare(&history, seen.seq, &seen.rows) {
            totals.violations.push((seed, format!("{}: {problem}", seen.who)));
        }
    }
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
fn replay(records: &Records) -> Result<History, String> {
    let mut by_seq = BTreeMap::new();
    for commit in records.commits.iter().filter(|commit| !commit.is_refused) {
        let Some((seq, ..)) = commit.acknowledged else {
            return Err("a commit was neither acknowledged nor refused".to_owned());
        };
        if by_seq.insert(seq, commit).is_some() {
            return Err(format!("two commits have number {seq}"));
        }
    }
    let mut history = History {
        models: vec![StreamsModel::new(&[Merge::Keep, Merge::Latest])],
        begun_at: vec![0],
    };
    for (seq, commit) in by_seq {
        let last = history.models.last().map_or(0, Model::seq);
        let next = history.models.last().map(|model| model.after(&commit.changes));
        if seq != last + 1 {
            return Err(format!("no commit has number {}", last + 1));
        }
        history.models.extend(next);
        history.begun_at.push(commit.begun_at);
    }
    Ok(history)
}

fn compare(history: &History, seq: u64, rows: &[Vec<Row>; 2]) -> Result<(), String> {
    let Some(model) = history.models.get(seq as usize) else {
        return Err(format!("sees commit {seq}, which was never made"));
    };
    for (stream, rows) in rows.iter().enumerate() {
        let expected = model.rows(stream);
        if *rows != expected {
            let (name, rows, expected) = (STREAMS[stream], shown(rows), shown(&expected));
            return Err(format!("at commit {seq}: '{name}' holds {rows}, expected {expected}"));
        }
    }
    Ok(())
}

fn judge_state(
    state: &CrashState,
    moment: u64,
    records: &Records,
    history: &History,
) -> Result<(), String> {
    let said = |error: timestrata_engine::Error| format!("can't be read: {error}");
    let store =
        open(&state.disk, Access::Write).map_err(|error| format!("can't be opened: {error}"))?;
    let snapshot = store.snapshot().map_err(said)?;
    let seq = snapshot.seq().0;
    let least = records.least(moment, state.kind);
    if seq < least {
        return Err(format!("commit {least} was acknowledged and is lost; the last one is {seq}"));
    }
    let begun_at = history.begun_at.get(seq as usize);
    if begun_at.is_none_or(|begun_at| *begun_at > moment) {
        return Err(format!("commit {seq} was found, and not begun yet"));
    }
    let mut rows = [Vec::new(), Vec::new()];
    for (rows, name) in rows.iter_mut().zip(STREAMS) {
        let stream = store.expect_stream(name).map_err(said)?;
        let (forward, backward, count) = scan_stream(&snapshot, stream.id()).map_err(said)?;
        if backward != forward || count != forward.len() as u64 {
            return Err(format!("'{name}' differs if read from its end, or counted"));
        }
        *rows = forward;
    }
    compare(history, seq, &rows)?;
    // Closing would flush; nobody looks at that here.
    state.disk.crash_at(state.disk.operations());
    Ok(())
}
