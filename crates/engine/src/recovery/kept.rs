//! What is kept of the past, and what it takes on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use timestrata_format::{RunId, SeqNo, WalId};

use super::moment::history_of;
use crate::Result;
use crate::directory::WAL_DIR;
use crate::manifest::{self, History, ManifestState};
use crate::state::Engine;
use crate::wal::segment_files;

/// What is kept of the past, and of it the oldest commit that can be read by the history; `None` where there is none.
pub(crate) fn kept(engine: &Engine) -> Result<(Option<SeqNo>, KeptBytes)> {
    if let Some(manifest) = &engine.manifest {
        let manifest = manifest.lock();
        let (of_history, bytes) = kept_by(manifest.state(), manifest.history());
        drop(manifest);
        return Ok((
            of_history.as_ref().map(|(oldest, _)| *oldest),
            bytes.with_log(engine, of_history)?,
        ));
    }
    if engine.follower.is_none() {
        return Ok((None, KeptBytes::default()));
    }
    let Some(loaded) = manifest::load_again(&*engine.io.disk, &engine.dir)? else {
        return Ok((None, KeptBytes::default()));
    };
    let history = history_of(engine, &loaded);
    let (of_history, bytes) = kept_by(&loaded.state, history.as_ref());
    Ok((of_history.as_ref().map(|(oldest, _)| *oldest), bytes.with_log(engine, of_history)?))
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

/// Oldest commit, and the segments of the log that only the history needs.
type OfHistory = Option<(SeqNo, Range<WalId>)>;

fn kept_by(state: &ManifestState, history: Option<&History>) -> (OfHistory, KeptBytes) {
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
    let of_history = history.map(|history| (history.oldest(), history.floor()..state.wal_floor));
    (of_history, bytes)
}

impl KeptBytes {
    fn with_log(mut self, engine: &Engine, of_history: OfHistory) -> Result<Self> {
        if let Some((_, segments)) = of_history {
            let files = segment_files(&*engine.io.disk, &engine.dir.join(WAL_DIR))?;
            self.log =
                files.iter().filter(|(id, _)| segments.contains(id)).map(|(_, len)| len).sum();
        }
        Ok(self)
    }
}
