//! What is kept of the past, and what it takes on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use timestrata_format::{RunId, SeqNo, WalId};

use super::moment::history_of;
use crate::Result;
use crate::directory::WAL_DIR;
use crate::manifest::{self, History, LoadedManifest, ManifestState};
use crate::state::Engine;
use crate::wal::segment_files;

/// The oldest commit that can be read by the history; `None` where there is none.
pub(crate) fn oldest_commit(engine: &Engine) -> Result<Option<SeqNo>> {
    of_past(engine, |_, history| history.map(History::oldest))
}

/// What the past takes on disk.
pub(crate) fn kept_bytes(engine: &Engine) -> Result<KeptBytes> {
    let (mut bytes, segments) = of_past(engine, kept_by)?;
    if !segments.is_empty() {
        let files = segment_files(&*engine.io.disk, &engine.dir.join(WAL_DIR))?;
        bytes.log = files.iter().filter(|(id, _)| segments.contains(id)).map(|(_, len)| len).sum();
    }
    Ok(bytes)
}

/// What `tell` makes of the manifest and of the history, if there is one; of a store without files the default.
fn of_past<T: Default>(
    engine: &Engine,
    tell: impl FnOnce(&ManifestState, Option<&History>) -> T,
) -> Result<T> {
    if let Some(manifest) = &engine.manifest {
        let manifest = manifest.lock();
        return Ok(tell(manifest.state(), manifest.history()));
    }
    if engine.follower.is_none() {
        return Ok(T::default());
    }
    let loaded = manifest::load_again(&*engine.io.disk, &engine.dir)?;
    let of_loaded =
        |loaded: LoadedManifest| tell(&loaded.state, history_of(engine, &loaded).as_ref());
    Ok(loaded.map(of_loaded).unwrap_or_default())
}

/// What the past takes on disk.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KeptBytes {
    /// Runs that only the history needs,
    pub(crate) runs: u64,
    /// and log.
    pub(crate) log: u64,
    /// Runs that only pins need.
    pub(crate) pinned: u64,
}

/// Bytes without those of the log, and the segments of that which only the history needs.
fn kept_by(state: &ManifestState, history: Option<&History>) -> (KeptBytes, Range<WalId>) {
    let live: BTreeSet<RunId> =
        state.streams.values().flat_map(|entry| entry.runs.keys()).copied().collect();
    let of_pins = state.all_runs().into_iter().filter(|(id, _)| !live.contains(id));
    let of_pins: BTreeMap<RunId, u64> = of_pins.map(|(id, run)| (id, run.file_bytes)).collect();
    let retired = history.into_iter().flat_map(History::retired);
    let retired: BTreeMap<RunId, u64> = retired
        .filter(|run| !of_pins.contains_key(&run.id))
        .map(|run| (run.id, run.file_bytes))
        .collect();
    let bytes = KeptBytes { runs: retired.values().sum(), log: 0, pinned: of_pins.values().sum() };
    (bytes, history.map_or_else(Range::default, |history| history.floor()..state.wal_floor))
}
