//! Compaction of streams keyed by time or offset.
//!
//! Flushed runs that overlap are merged and cut into windows: what is newer than all before
//! becomes runs that overlap nothing, late rows become pieces over older windows. Over one
//! window pieces are merged by size: only when a merge at least doubles the size of what
//! each row lives in, so a busy window's large runs are rewritten a number of times that
//! grows with the logarithm of its size, and a window without late rows never. Called by
//! `choose`.

use timestrata_format::RunMeta;

use super::choose::{CompactionPlan, StrategyInput};
use super::cut;
use super::order;

/// A layer may be this many times as large as the largest above it to be taken along.
const SIMILAR: u64 = 2;
/// A layer counts if it has at least this part of the heaviest one.
const WEIGHTY_PART: u64 = 8;
/// Layers over one key, in multiples of those of similar size, before size no longer counts.
const DEEP: usize = 4;
/// A merge is not widened beyond this many full runs.
const WIDEN_RUNS_MAX: u64 = 4;

/// Runs over one stretch of keys that overlap none of each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layer {
    pub(super) runs: Vec<usize>,
    pub(super) bytes: u64,
    pub(super) largest_bytes: u64,
}

pub(super) fn choose(input: &StrategyInput<'_>) -> Option<CompactionPlan> {
    let (fresh, settled) = fresh_and_settled(input.runs);
    if let Some(chosen) = pick(input, &fresh, &|layers| is_worth(input, layers)) {
        let others: Vec<RunMeta> = input
            .runs
            .iter()
            .enumerate()
            .filter(|(index, _)| !chosen.contains(index))
            .map(|(_, run)| run.clone())
            .collect();
        let cuts = cut::by_age(&input.metas(&chosen), &others, input.run_bytes_max);
        return Some(input.rewrite(&chosen, 1, cuts));
    }
    let chosen = pick(input, &settled, &|layers| is_worth(input, layers))?;
    let cuts = cut::by_bytes(&input.metas(&chosen), input.run_bytes_max, input.run_bytes_max);
    Some(input.rewrite(&chosen, 1, cuts))
}

/// Flushed runs with nothing compacted over them, and all others; both oldest first.
pub(super) fn fresh_and_settled(runs: &[RunMeta]) -> (Vec<usize>, Vec<usize>) {
    let mut all: Vec<usize> = (0..runs.len()).collect();
    order::sort_by_commit(runs, &mut all);
    let compacted: Vec<&RunMeta> = runs.iter().filter(|run| run.level > 0).collect();
    all.into_iter().partition(|index| {
        let run = &runs[*index];
        run.level == 0
            && !compacted
                .iter()
                .any(|other| other.seq_max > run.seq_max && order::overlap(other, run))
    })
}

/// Whether merging these layers at least doubles what each of their rows lives in: its run,
/// or its layer where that is more than a run may be long. A layer that is small beside the
/// others is no reason to rewrite them.
fn is_worth(input: &StrategyInput<'_>, layers: &[Layer]) -> bool {
    let total: u64 = layers.iter().map(|layer| layer.bytes).fold(0, u64::saturating_add);
    let heaviest = layers.iter().map(|layer| layer.bytes.min(input.run_bytes_max)).max();
    let growth = (input.layers_max as u64).saturating_sub(1).max(2);
    let weighty = heaviest.unwrap_or(0) / WEIGHTY_PART;
    layers.iter().filter(|layer| layer.bytes >= weighty).count() >= input.layers_max
        && layers.iter().all(|layer| {
            let home =
                if layer.bytes > input.run_bytes_max { layer.bytes } else { layer.largest_bytes };
            home.saturating_mul(growth) <= total
        })
}

/// The cheapest set of layers of the pool that is `worth` merging, closed over the order
/// of commits; where runs lie too deep, the newest even if they are not worth it.
pub(super) fn pick(
    input: &StrategyInput<'_>,
    pool: &[usize],
    worth: &dyn Fn(&[Layer]) -> bool,
) -> Option<Vec<usize>> {
    let depth = order::layers(input.runs, pool);
    let mut best: Option<(u64, Vec<usize>)> = None;
    for anchor in pool {
        let over = layers_over(input.runs, pool, &depth, *anchor);
        let least = best.as_ref().map_or(u64::MAX, |(bytes, _)| *bytes);
        let found = match worthwhile(input, &over, worth, least) {
            None if over.len() > DEEP * input.layers_max => {
                let chosen: Vec<usize> = over
                    .iter()
                    .take(input.layers_max)
                    .flat_map(|layer| layer.runs.iter().copied())
                    .collect();
                let closed = order::close(input.runs, &chosen);
                (layers_among(input.runs, &closed).len() > 1).then_some(closed)
            }
            found => found,
        };
        if let Some(chosen) = found {
            let bytes = order::bytes_of(input.runs, &chosen);
            if best.as_ref().is_none_or(|(least, _)| bytes < *least) {
                best = Some((bytes, chosen));
            }
        }
    }
    best.map(|(_, chosen)| chosen)
}

/// The layers that overlap the run at `anchor`, newest first.
fn layers_over(runs: &[RunMeta], pool: &[usize], depth: &[usize], anchor: usize) -> Vec<Layer> {
    let mut over: Vec<(usize, usize)> = pool
        .iter()
        .zip(depth)
        .filter(|(index, _)| order::overlap(&runs[**index], &runs[anchor]))
        .map(|(index, depth)| (*depth, *index))
        .collect();
    over.sort_by_key(|(depth, _)| std::cmp::Reverse(*depth));
    let mut layers: Vec<(usize, Layer)> = Vec::new();
    for (depth, index) in over {
        let bytes = runs[index].file_bytes;
        match layers.last_mut() {
            Some((of, layer)) if *of == depth => {
                layer.runs.push(index);
                layer.bytes = layer.bytes.saturating_add(bytes);
                layer.largest_bytes = layer.largest_bytes.max(bytes);
            }
            _ => layers.push((depth, Layer { runs: vec![index], bytes, largest_bytes: bytes })),
        }
    }
    layers.into_iter().map(|(_, layer)| layer).collect()
}

/// The newest stretch of neighbouring layers that is worth merging, also after its closure,
/// and that is not dearer than what was found before.
fn worthwhile(
    input: &StrategyInput<'_>,
    over: &[Layer],
    worth: &dyn Fn(&[Layer]) -> bool,
    bytes_below: u64,
) -> Option<Vec<usize>> {
    for start in 0..over.len() {
        let first_end = (start + 2..=over.len()).find(|end| worth(&over[start..*end]));
        if let Some(end) = first_end {
            if over[start..end].iter().map(|layer| layer.bytes).sum::<u64>() >= bytes_below {
                continue;
            }
            let end = widened(input, over, start, end, worth);
            let chosen: Vec<usize> =
                over[start..end].iter().flat_map(|layer| layer.runs.iter().copied()).collect();
            let closed = order::close(input.runs, &chosen);
            // Layers are counted over the whole pool: what looked like two may be one here.
            if worth(&layers_among(input.runs, &closed)) {
                return Some(closed);
            }
        }
    }
    None
}

/// Takes further layers of similar size along, which saves merging the result with them.
fn widened(
    input: &StrategyInput<'_>,
    over: &[Layer],
    start: usize,
    end: usize,
    worth: &dyn Fn(&[Layer]) -> bool,
) -> usize {
    let mut end = end;
    while let Some(next) = over.get(end) {
        let taken = &over[start..end];
        let largest = taken.iter().map(|layer| layer.bytes).max().unwrap_or(0);
        let bytes: u64 = taken.iter().map(|layer| layer.bytes).sum();
        if next.bytes > largest.saturating_mul(SIMILAR)
            || bytes.saturating_add(next.bytes) > input.run_bytes_max.saturating_mul(WIDEN_RUNS_MAX)
            || !worth(&over[start..=end])
        {
            break;
        }
        end += 1;
    }
    end
}

/// The layers of a set that is oldest first, newest first.
fn layers_among(runs: &[RunMeta], chosen: &[usize]) -> Vec<Layer> {
    let depth = order::layers(runs, chosen);
    let height = depth.iter().max().map_or(0, |deepest| deepest + 1);
    let mut layers = vec![Layer { runs: Vec::new(), bytes: 0, largest_bytes: 0 }; height];
    for (index, depth) in chosen.iter().zip(depth) {
        let bytes = runs[*index].file_bytes;
        let layer = &mut layers[depth];
        layer.runs.push(*index);
        layer.bytes = layer.bytes.saturating_add(bytes);
        layer.largest_bytes = layer.largest_bytes.max(bytes);
    }
    layers.reverse();
    layers
}
