//! Joining small neighbours, and the change of format of what has settled.
//!
//! Runs that overlap nothing need no merge: rows that came in key order stay where they
//! were flushed, unless their runs are tiny or the stream wants another file format. All
//! of the compaction of an offset stream whose runs never overlap. Called by `choose` when
//! nothing needs a merge.
//!
//! Where rows are replaced by keys that the time is no part of, each flush also says of the rows that it replaces, at their
//! old times, that they are gone. So its run reaches into the one before, and no further: such runs are
//! never deep, and none is alone. They are joined as if they were, and the replaced rows go.
//!
//! ```text
//!   commits   3              [g......]     g: the row of the run below that is gone
//!             2         [g......]
//!             1    [.......]
//!   times     ->
//! ```

use timestrata_format::{RunFormat, RunMeta};

use super::choose::{CompactionPlan, StrategyInput};
use super::cut::Cuts;
use super::order;

/// Runs below this part of a full run are worth joining.
const SMALL_PART: u64 = 8;
/// Hot runs of so many full runs change their format together: they become small, and would have to
/// be joined, and so written once more, if each were done alone.
const HOT_RUNS_AT_ONCE: u64 = 8;
/// A run has settled when so many times the runs that may overlap are newer.
const SETTLED_FACTOR: usize = 2;
/// A stretch of runs has so many ends.
const ENDS: usize = 2;

pub(super) fn choose(input: &StrategyInput<'_>) -> Option<CompactionPlan> {
    let chains = lone_chains(input);
    let joined =
        || chains.iter().filter_map(|chain| small_neighbours(input, chain)).max_by_key(Vec::len);
    let settled = || settled_hot(input, &chains);
    let chosen = match input.force {
        // Else each run that has become small would be joined with all that were before it.
        true => settled().or_else(joined),
        false => joined().or_else(settled),
    }?;
    Some(input.rewrite(&chosen, 1, Cuts::by_size(input.run_bytes_max)))
}

/// Runs that overlap no other, as chains of neighbours in key order.
fn lone_chains(input: &StrategyInput<'_>) -> Vec<Vec<usize>> {
    let runs = input.runs;
    let mut by_key: Vec<usize> = (0..runs.len()).collect();
    by_key.sort_by_key(|index| runs[*index].key_min);
    let mut chains = vec![Vec::new()];
    let mut reached = None;
    for (position, index) in by_key.iter().enumerate() {
        let run = &runs[*index];
        let meets_older = reached.is_some_and(|key| run.key_min <= key);
        let meets_next =
            by_key.get(position + 1).is_some_and(|next| runs[*next].key_min <= run.key_max);
        reached = reached.max(Some(run.key_max));
        if meets_older || meets_next {
            chains.push(Vec::new());
        } else if let Some(chain) = chains.last_mut() {
            chain.push(*index);
        }
    }
    chains.retain(|chain| !chain.is_empty());
    chains
}

/// Small runs that reach into their neighbours: the longest stretch in key order that is worth joining, and
/// that is neither tied to other runs by the order of commits nor lies over, or under, more than those at its ends.
pub(super) fn reaching(input: &StrategyInput<'_>) -> Option<CompactionPlan> {
    let mut by_key: Vec<usize> = (0..input.runs.len()).collect();
    by_key.sort_by_key(|index| (input.runs[*index].key_min, input.runs[*index].seq_min));
    let chosen = by_key
        .chunk_by(|one, next| is_small(input, *one) == is_small(input, *next))
        .filter_map(|stretch| small_neighbours(input, stretch))
        .filter(|stretch| lies_alone(input.runs, stretch))
        .max_by_key(Vec::len)?;
    Some(input.rewrite(&chosen, 1, Cuts::by_size(input.run_bytes_max)))
}

fn is_small(input: &StrategyInput<'_>, index: usize) -> bool {
    input.runs[index].file_bytes < input.run_bytes_max / SMALL_PART
}

/// Whether runs can be merged without others, and share keys with two others at most.
fn lies_alone(runs: &[RunMeta], stretch: &[usize]) -> bool {
    let Some(span) = order::Span::of(runs, stretch) else { return false };
    let others = (0..runs.len()).filter(|index| !stretch.contains(index));
    others.filter(|index| span.shares_keys(&runs[*index])).count() <= ENDS
        && order::close(runs, stretch).len() == stretch.len()
}

/// The longest stretch of a chain that is worth joining: enough runs, none of them more
/// than half of the whole (or two, under force), and no more than a full run together.
fn small_neighbours(input: &StrategyInput<'_>, chain: &[usize]) -> Option<Vec<usize>> {
    let (small, total_max, count_min) = if input.force {
        (input.run_bytes_max / 2, input.run_bytes_max / 4 * 3, 2)
    } else {
        (input.run_bytes_max / SMALL_PART, input.run_bytes_max, input.layers_max)
    };
    let bytes = |index: &usize| input.runs[*index].file_bytes;
    let mut best: Option<&[usize]> = None;
    for start in 0..chain.len() {
        let (mut total, mut largest) = (0_u64, 0);
        for (end, index) in chain.iter().enumerate().skip(start) {
            total = total.saturating_add(bytes(index));
            largest = bytes(index).max(largest);
            let is_close = input.is_close(chain[start], *index);
            if largest >= small || total > total_max || !is_close {
                break;
            }
            let stretch = &chain[start..=end];
            let is_worth = input.force || largest.saturating_mul(2) <= total;
            if stretch.len() >= count_min
                && is_worth
                && best.is_none_or(|best| stretch.len() > best.len())
            {
                best = Some(stretch);
            }
        }
    }
    best.map(<[usize]>::to_vec)
}

/// Hot runs of a cold stream that are old enough to stay as they are: neighbours up to some
/// full runs, or one that lies under others.
fn settled_hot(input: &StrategyInput<'_>, chains: &[Vec<usize>]) -> Option<Vec<usize>> {
    if input.format == RunFormat::Hot {
        return None;
    }
    let newer_min = if input.force { 0 } else { SETTLED_FACTOR * input.layers_max };
    let is_settled = |index: &usize| {
        let run = &input.runs[*index];
        let newer = input.runs.iter().filter(|other| other.seq_min > run.seq_max).count();
        run.format == RunFormat::Hot && newer >= newer_min
    };
    for chain in chains {
        let mut rest = chain.iter().copied().skip_while(|index| !is_settled(index));
        let Some(first) = rest.next() else {
            continue;
        };
        let mut chosen = vec![first];
        for index in rest.take_while(is_settled) {
            chosen.push(index);
            let bytes_max = input.run_bytes_max.saturating_mul(HOT_RUNS_AT_ONCE);
            let is_full = order::bytes_of(input.runs, &chosen) > bytes_max;
            if is_full || !input.is_close(first, index) {
                chosen.pop();
                break;
            }
        }
        return Some(chosen);
    }
    (0..input.runs.len()).find(is_settled).map(|index| vec![index])
}
