//! Compaction of streams keyed by ids.
//!
//! Ids come in no order, so every flush spans all of them. Flushed runs are merged and cut
//! into cells of the id space; in a cell, runs lie in layers each at least ten times as
//! large as the one above it: a layer that grows into the next power of ten is merged with
//! what lies there. So space stays within about a tenth, and a look-up meets few runs.
//! Cells keep the order of commits apart: a merge in one drags in no other. Called by
//! `choose`.

use super::choose::{CompactionPlan, StrategyInput};
use super::cut;
use super::window::{Layer, fresh_and_settled, pick};

/// A flushed batch is cut into cells of at least about this part of a full run.
const CELL_PART: u64 = 4;

pub(super) fn choose(input: &StrategyInput<'_>) -> Option<CompactionPlan> {
    let (fresh, settled) = fresh_and_settled(input.runs);
    let cell_bytes = input.run_bytes_max / CELL_PART;
    let chosen = pick(input, &fresh, &|layers| layers.len() >= input.layers_max && !grows(layers))
        .or_else(|| pick(input, &settled, &|layers| !grows(layers)))?;
    let cuts = cut::by_bytes(&input.metas(&chosen), cell_bytes, input.run_bytes_max);
    Some(input.rewrite(&chosen, 1, cuts))
}

/// Whether each layer, newest first, is of a higher power of ten than all above it together.
fn grows(layers: &[Layer]) -> bool {
    let mut above: u64 = 0;
    for layer in layers {
        if above > 0 && power(layer.bytes) <= power(above) {
            return false;
        }
        above = above.saturating_add(layer.bytes);
    }
    true
}

fn power(bytes: u64) -> u32 {
    bytes.max(1).ilog10()
}
