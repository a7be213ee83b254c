//! Times of a stream in a finer unit: all that the manifest knows of its runs and range deletes is multiplied.
//!
//! Run files stay as they are, and say in which unit they are by their own columns.

use timestrata_format::manifest::PinnedStream;
use timestrata_format::{RunMeta, StreamId, Tombstone};

use super::state::{ManifestState, StreamEntry};

impl ManifestState {
    /// Tells the times of a stream in a unit of which `factor` make one of those before. An `Err` says which times the new unit
    /// can't hold; nothing of the state is to be used then.
    pub(crate) fn refine_times(&mut self, stream: StreamId, factor: i64) -> Result<(), String> {
        let entry = self.streams.get_mut(&stream);
        entry.ok_or_else(|| format!("there is no stream {stream}"))?.refine_times(factor)?;
        let pinned = self.pins.values_mut().flat_map(|pin| &mut pin.streams);
        pinned.filter(|pinned| pinned.stream == stream).try_for_each(|pinned| {
            let PinnedStream { runs, tombstones, .. } = pinned;
            runs.iter_mut().try_for_each(|run| refine_run(run, factor))?;
            *tombstones = refined(tombstones.iter().copied(), factor).collect();
            Ok(())
        })
    }
}

impl StreamEntry {
    fn refine_times(&mut self, factor: i64) -> Result<(), String> {
        self.runs.values_mut().try_for_each(|run| refine_run(run, factor))?;
        let tombstones: Vec<Tombstone> = refined(self.tombstones(), factor).collect();
        self.forget_tombstones();
        tombstones.into_iter().for_each(|tombstone| self.add_tombstone(tombstone));
        Ok(())
    }
}

fn refine_run(run: &mut RunMeta, factor: i64) -> Result<(), String> {
    let refined = run.in_finer_unit(factor).ok_or_else(|| {
        format!(
            "run {} has times from {} to {}, and {factor} times as much is more than 64 bits hold",
            run.id, run.key_min, run.key_max
        )
    })?;
    *run = refined;
    Ok(())
}

/// Range deletes without those that hide no time that the finer unit has.
fn refined(
    tombstones: impl Iterator<Item = Tombstone>,
    factor: i64,
) -> impl Iterator<Item = Tombstone> {
    tombstones.filter_map(move |tombstone| {
        let range = tombstone.range.in_finer_unit(factor)?;
        Some(Tombstone { range, ..tombstone })
    })
}
