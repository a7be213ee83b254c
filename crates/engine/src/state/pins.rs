//! Pins as an open store holds them: what each sees, and the runs that it keeps.

use std::sync::Arc;

use timestrata_format::SeqNo;
use timestrata_format::manifest::Pin;

use super::core::StoreState;
use super::version::{RunFolder, RunHandle, Version};
use crate::scan::StreamView;
use crate::tombstones::Tombstones;
use crate::{Result, Snapshot};

/// A pin as listed.
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
}

impl PinState {
    /// The view that a pin keeps. Runs that the streams still have are shared with them.
    pub(crate) fn load(folder: &RunFolder, core: &StoreState, pin: &Pin) -> Result<Self> {
        let mut views = Vec::with_capacity(pin.streams.len());
        let mut all_runs = Vec::new();
        for pinned in &pin.streams {
            let state = &core.streams[core.slot_of(pinned.stream)?];
            let mut runs = Vec::with_capacity(pinned.runs.len());
            for meta in &pinned.runs {
                runs.push(match state.version.run(meta.id) {
                    Some(run) => Arc::clone(run),
                    None => folder.handle(&state.stream, meta.clone())?,
                });
            }
            all_runs.extend(runs.iter().cloned());
            let tombstones = Tombstones::of(pinned.tombstones.iter().copied());
            let version = Version::new(runs, tombstones);
            let view = StreamView {
                stream: Arc::clone(&state.stream),
                sources: version.sources(),
                tombstones: version.tombstones,
            };
            views.push((pinned.stream, Arc::new(view)));
        }
        let info =
            PinInfo { name: pin.name.clone(), seq: pin.seq, created_wall_ns: pin.created_wall_ns };
        Ok(Self { info, snapshot: Snapshot::new(pin.seq, views), runs: all_runs })
    }
}
