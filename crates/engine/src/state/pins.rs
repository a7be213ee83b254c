//! Pins as an open store holds them: what each sees, and the runs that it keeps.

use std::sync::Arc;

use timestrata_format::manifest::Pin;
use timestrata_format::{SeqNo, StreamId};

use super::store_state::{StoreState, StreamState};
use super::version::{RunFolder, RunHandle, Version};
use crate::manifest::ManifestState;
use crate::scan::StreamView;
use crate::tombstones::Tombstones;
use crate::{Result, Snapshot};

/// A pin as listed.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(schema)))?;
/// # let mut appender = store.appender(kitchen)?;
/// # for (time, celsius) in [(1_000, 20.5), (2_000, 21.0), (3_000, 21.5)] {
/// #     appender.append(&[Cell::Int(time), Cell::Float(celsius)], Durability::Written)?;
/// # }
/// store.pin("monday")?;
/// let pin = &store.pins()[0];
/// assert_eq!((pin.name.as_str(), pin.seq), ("monday", store.stats().last_seq));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinInfo {
    /// Its name.
    pub name: String,
    /// The commit it sees.
    pub seq: SeqNo,
    /// Wall clock when it was made, nanoseconds since the epoch.
    pub created_wall_ns: i64,
}

/// A pin of an open store.
#[derive(Debug)]
pub(crate) struct PinState {
    pub(crate) info: PinInfo,
    pub(crate) snapshot: Snapshot,
    pub(crate) runs: Vec<Arc<RunHandle>>,
    /// What each stream had then.
    versions: Vec<(StreamId, Arc<Version>)>,
}

impl PinState {
    /// The view that a pin keeps. Runs that the streams still have are shared with them, others with what was known `before`
    /// of the same pin.
    pub(crate) fn load(
        folder: &RunFolder,
        core: &StoreState,
        pin: &Pin,
        before: Option<&Self>,
    ) -> Result<Self> {
        let mut views = Vec::with_capacity(pin.streams.len());
        let mut all_runs = Vec::new();
        let mut versions = Vec::with_capacity(pin.streams.len());
        for pinned in &pin.streams {
            let state = &core.streams[core.slot_of(pinned.stream)?];
            let mut runs = Vec::with_capacity(pinned.runs.len());
            for meta in &pinned.runs {
                let known = || before?.runs.iter().find(|run| run.meta.id == meta.id);
                runs.push(match (state.version.run(meta.id), known()) {
                    (Some(run), _) => Arc::clone(run),
                    (None, Some(run)) => folder.following(&state.stream, run, meta)?,
                    (None, None) => folder.handle(&state.stream, meta.clone())?,
                });
            }
            all_runs.extend(runs.iter().cloned());
            let tombstones = Tombstones::of(pinned.tombstones.iter().copied());
            let version = Arc::new(Version::new(runs, tombstones));
            versions.push((pinned.stream, Arc::clone(&version)));
            let view = StreamView {
                stream: Arc::clone(&state.stream),
                sources: version.sources(),
                tombstones: version.tombstones.clone(),
                threads: Arc::clone(&core.threads),
            };
            views.push((pinned.stream, Arc::new(view)));
        }
        let info =
            PinInfo { name: pin.name.clone(), seq: pin.seq, created_wall_ns: pin.created_wall_ns };
        Ok(Self { info, snapshot: Snapshot::new(pin.seq, views), runs: all_runs, versions })
    }

    /// The same pin by what the manifest says of it by now.
    pub(super) fn anew(
        &self,
        folder: &RunFolder,
        core: &StoreState,
        manifest: &ManifestState,
    ) -> Result<Option<Self>> {
        let pin = manifest.pins.get(&self.info.name);
        pin.map(|pin| Self::load(folder, core, pin, Some(self))).transpose()
    }

    /// The streams as they were, with the columns that they have now.
    pub(crate) fn core(&self, folder: &RunFolder, now: &StoreState) -> Result<StoreState> {
        let mut then = StoreState::default();
        then.last_seq = self.info.seq;
        then.next_stream = now.next_stream;
        then.threads = Arc::clone(&now.threads);
        for (stream, version) in &self.versions {
            let stream = &now.streams[now.slot_of(*stream)?].stream;
            let runs = version.runs.iter().map(|run| folder.following(stream, run, &run.meta));
            let version = Version::new(runs.collect::<Result<_>>()?, version.tombstones.clone());
            then.add_stream(StreamState::new(Arc::clone(stream), version, self.info.seq)?);
        }
        then.end_recovery();
        Ok(then)
    }
}

impl StoreState {
    /// Has pins see what the manifest says of them by now; gives those that they were.
    pub(crate) fn refined_pins(
        &mut self,
        folder: &RunFolder,
        manifest: &ManifestState,
    ) -> Result<Vec<PinState>> {
        let anew = self.pins.values().map(|pin| pin.anew(folder, self, manifest));
        let anew = anew.filter_map(Result::transpose).collect::<Result<Vec<_>>>()?;
        let replaced = anew.into_iter().map(|pin| self.pins.insert(pin.info.name.clone(), pin));
        Ok(replaced.collect::<Vec<_>>().into_iter().flatten().collect())
    }
}
