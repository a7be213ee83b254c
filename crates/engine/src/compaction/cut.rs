//! Where the outputs of a merge are cut.
//!
//! Cuts fall on a fixed grid: keys are seen as 64-bit places, and a cell of rank `r` is
//! `4^r` places wide and begins at a multiple of that. So cells of two merges are either
//! nested or apart, and a later merge of one cell drags no neighbour in. Called by the
//! strategies; the grid needs no state.

use timestrata_format::{LeadKey, RunMeta};

/// Rank of the cell that holds every place.
const RANK_ALL: u32 = 32;

/// Where a rewrite begins a new output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Cuts {
    /// Ascending. A new output begins at the first row whose leading key is not below the
    /// next of these.
    pub(crate) keys: Vec<LeadKey>,
    /// A new output begins at the next change of the leading key once the current one is
    /// this long. Rows with equal leading keys never go to two outputs.
    pub(crate) bytes_max: u64,
}

impl Cuts {
    /// By size alone.
    pub(super) fn by_size(bytes_max: u64) -> Self {
        Self { keys: Vec::new(), bytes_max }
    }
}

/// A key's place: its order in 64 bits (of an id, the first eight bytes).
pub(super) fn place(key: LeadKey) -> u64 {
    match key {
        LeadKey::Time(time) => time.cast_unsigned() ^ (1 << 63),
        LeadKey::Offset(offset) => offset,
        LeadKey::Id16(id) => u64::from_be_bytes(id.as_chunks().0[0]),
        LeadKey::Id32(id) => u64::from_be_bytes(id.as_chunks().0[0]),
    }
}

/// The smallest key at a place, of the same kind as `like`.
fn key_at(place: u64, like: LeadKey) -> LeadKey {
    match like {
        LeadKey::Time(_) => LeadKey::Time((place ^ (1 << 63)).cast_signed()),
        LeadKey::Offset(_) => LeadKey::Offset(place),
        LeadKey::Id16(_) => LeadKey::Id16(id_at(place)),
        LeadKey::Id32(_) => LeadKey::Id32(id_at(place)),
    }
}

fn id_at<const BYTES: usize>(place: u64) -> [u8; BYTES] {
    let mut id = [0; BYTES];
    id[..8].copy_from_slice(&place.to_be_bytes());
    id
}

/// The part of a run's bytes that lies in the places `[lo, hi]`, if its rows are spread
/// evenly over its keys.
pub(super) fn bytes_within(run: &RunMeta, lo: u64, hi: u64) -> u64 {
    let (min, max) = (place(run.key_min), place(run.key_max));
    let (from, to) = (lo.max(min), hi.min(max));
    if from > to {
        return 0;
    }
    let part = u128::from(to - from) + 1;
    let whole = u128::from(max - min) + 1;
    u64::try_from(u128::from(run.file_bytes) * part / whole).unwrap_or(u64::MAX)
}

/// Cuts for flushed runs of mostly ordered keys: one between what is new and what is late
/// (so that new rows overlap nothing), and cells that grow fourfold with the distance from
/// the newest keys (so that old windows get few, large pieces, and are complete).
pub(super) fn by_age(inputs: &[&RunMeta], others: &[RunMeta], bytes_max: u64) -> Cuts {
    let (Some(low), Some(high)) =
        (inputs.iter().map(|run| run.key_min).min(), inputs.iter().map(|run| run.key_max).max())
    else {
        return Cuts::by_size(bytes_max);
    };
    // The middle one: a single row dated far ahead must not move the grid.
    let newest = middle(inputs.iter().map(|run| run.key_max).collect()).unwrap_or(high);
    let typical_low = middle(inputs.iter().map(|run| run.key_min).collect()).unwrap_or(low);
    let seq_min = inputs.iter().map(|run| run.seq_min).min().unwrap_or_default();
    let frontier = others
        .iter()
        .filter(|run| run.seq_max < seq_min && run.key_max <= newest)
        .map(|run| run.key_max)
        .max();
    let from = frontier.map_or(typical_low, |key| key.max(typical_low));
    let span = place(newest).saturating_sub(place(from)).max(1);
    let bytes: u64 = inputs.iter().map(|run| run.file_bytes).sum();
    let span = u128::from(span) * u128::from(bytes_max) / u128::from(bytes.max(bytes_max).max(1));
    let rank = (0..RANK_ALL).find(|rank| width(*rank) >= span).unwrap_or(RANK_ALL);
    let mut keys: Vec<LeadKey> = cells_around(place(newest), rank, place(low), place(high))
        .into_iter()
        .map(|place| key_at(place, low))
        .chain(frontier.and_then(LeadKey::successor))
        .filter(|key| low < *key && *key <= high)
        .collect();
    keys.sort_unstable();
    keys.dedup();
    Cuts { keys, bytes_max }
}

fn middle(mut keys: Vec<LeadKey>) -> Option<LeadKey> {
    keys.sort_unstable();
    keys.get(keys.len() / 2).copied()
}

fn width(rank: u32) -> u128 {
    1 << (2 * rank)
}

/// Starts of the cells between `low` and `high`: of `rank` at `center`, of higher ranks the
/// further away.
fn cells_around(center: u64, rank: u32, low: u64, high: u64) -> Vec<u64> {
    let mut starts = Vec::new();
    let base = u128::from(center) / width(rank) * width(rank);
    let (mut below, mut step) = (base, rank);
    while below > u128::from(low) {
        starts.push(below);
        while step < RANK_ALL && below % width(step + 1) == 0 {
            step += 1;
        }
        below = below.saturating_sub(width(step));
    }
    let (mut above, mut step) = (base + width(rank), rank);
    while above <= u128::from(high) {
        starts.push(above);
        while step < RANK_ALL && above % width(step + 1) == 0 {
            step += 1;
        }
        above += width(step);
    }
    starts.into_iter().filter_map(|start| u64::try_from(start).ok()).collect()
}

/// Cuts into the largest cells that hold at most `cell_bytes` each, as far as the inputs'
/// key ranges tell.
pub(super) fn by_bytes(inputs: &[&RunMeta], cell_bytes: u64, bytes_max: u64) -> Cuts {
    let mut cuts = Cuts::by_size(bytes_max);
    let (Some(low), Some(high)) =
        (inputs.iter().map(|run| run.key_min).min(), inputs.iter().map(|run| run.key_max).max())
    else {
        return cuts;
    };
    let (from, to) = (u128::from(place(low)), u128::from(place(high)));
    let rank =
        (0..RANK_ALL).find(|rank| from / width(*rank) == to / width(*rank)).unwrap_or(RANK_ALL);
    let mut starts = Vec::new();
    split(inputs, from / width(rank) * width(rank), rank, cell_bytes.max(1), &mut starts);
    cuts.keys = starts
        .into_iter()
        .map(|start| key_at(start, low))
        .filter(|key| low < *key && *key <= high)
        .collect();
    cuts
}

fn split(inputs: &[&RunMeta], start: u128, rank: u32, cell_bytes: u64, starts: &mut Vec<u64>) {
    let Ok(first) = u64::try_from(start) else {
        return;
    };
    let last = u64::try_from(start + width(rank) - 1).unwrap_or(u64::MAX);
    let inside: Vec<&RunMeta> = inputs
        .iter()
        .copied()
        .filter(|run| place(run.key_min) <= last && first <= place(run.key_max))
        .collect();
    let bytes: u64 = inside.iter().map(|run| bytes_within(run, first, last)).sum();
    if rank == 0 || bytes <= cell_bytes {
        if !inside.is_empty() {
            starts.push(first);
        }
        return;
    }
    for quarter in 0..4 {
        split(&inside, start + quarter * width(rank - 1), rank - 1, cell_bytes, starts);
    }
}
