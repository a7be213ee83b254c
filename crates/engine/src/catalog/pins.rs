//! Pins: named snapshots that outlive the process.

use std::collections::HashMap;

use timestrata_format::manifest::{ManifestOp, Pin, PinnedStream};
use timestrata_format::{SeqNo, StreamId};

use crate::state::{Edit, Engine, PinState, Slot, StoreState, StreamState, heeded};
use crate::tombstones::Tombstones;
use crate::{Error, ErrorKind, Result};

const NAME_BYTES_MAX: usize = 255;

/// The streams that are there at a commit, not those that are being made for a later one, with their range deletes up to it. Those of
/// later commits, which large ones may bring meanwhile, would take the place of older ones that the pin has to heed.
struct Deletes(HashMap<StreamId, Tombstones>);

impl Deletes {
    fn of(core: &mut StoreState) -> Self {
        let slots = core.live().map(|(slot, _)| slot);
        let made: Vec<Slot> = slots.filter(|slot| !core.is_unmade(*slot)).collect();
        let deletes = made.into_iter().map(|slot| {
            let state = &mut core.streams[slot];
            (state.stream.id(), state.view().tombstones.clone())
        });
        Self(deletes.collect())
    }
}

impl Engine {
    /// Pins the store as it is now. Everything in memory goes to runs first.
    pub(crate) fn pin(&self, name: &str) -> Result<SeqNo> {
        check_name("pin", name)?;
        self.check_writable()?;
        // While these are held no run can come to hold commits from both sides of the pin.
        let _flushing = self.flushing.lock();
        let _compacting = self.compacting.lock();
        let (seq, deletes) = {
            let mut core = self.core_to_view(None);
            core.seal_all();
            (core.last_seq, Deletes::of(&mut core))
        };
        while self.oldest_sealed().is_some_and(|oldest| oldest <= seq) {
            self.flush_oldest()?;
        }
        let mut manifest = self.lock_manifest()?;
        if manifest.state().pins.contains_key(name) {
            return Err(Error::new(ErrorKind::AlreadyExists, format!("the pin '{name}' exists")));
        }
        let pin = self.pin_at(name, seq, &deletes);
        let mut edit = Edit::begin(self, &mut manifest);
        edit.change(ManifestOp::AddPin(pin.clone()));
        edit.waits_for(seq);
        edit.commit()?.recycle();
        let mut core = self.core.lock();
        let state = PinState::load(&self.folder, &core, &pin, None)?;
        core.pins.insert(name.to_owned(), state);
        Ok(seq)
    }

    fn oldest_sealed(&self) -> Option<SeqNo> {
        let core = self.core.lock();
        core.live()
            .filter_map(|(_, state)| state.sealed.front().map(|sealed| sealed.first_seq()))
            .min()
    }

    /// What every stream's runs hold of the commits up to `seq`.
    fn pin_at(&self, name: &str, seq: SeqNo, deletes: &Deletes) -> Pin {
        let core = self.core.lock();
        let of_stream = |state: &StreamState| {
            let stream = state.stream.id();
            let pieces = deletes.0.get(&stream)?.pieces();
            let mut runs = state.version.metas();
            runs.retain(|meta| meta.seq_max <= seq);
            let tombstones = heeded(&runs, pieces);
            Some(PinnedStream { stream, runs, tombstones })
        };
        Pin {
            name: name.to_owned(),
            seq,
            created_wall_ns: self.io.clock.wall_ns(),
            streams: core.live().filter_map(|(_, state)| of_stream(state)).collect(),
        }
    }

    /// Lets a pin go, and the files that only it kept.
    pub(crate) fn unpin(&self, name: &str) -> Result<()> {
        let mut manifest = self.lock_manifest()?;
        if !manifest.state().pins.contains_key(name) {
            return Err(no_pin(name));
        }
        let runs = self.core.lock().pins.get(name).map(|pin| pin.runs.clone());
        let in_streams = manifest.state().runs_of_streams();
        let mut edit = Edit::begin(self, &mut manifest);
        edit.change(ManifestOp::RemovePin(name.to_owned()));
        let mut only_pinned = runs.unwrap_or_default();
        only_pinned.retain(|run| !in_streams.contains(&run.meta.id));
        only_pinned.iter().for_each(|run| edit.retires(run));
        edit.commit()?.recycle();
        self.core.lock().pins.remove(name);
        Ok(())
    }
}

/// Refuses what is no name of a pin or a follower.
pub(super) fn check_name(what: &str, name: &str) -> Result<()> {
    if !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.chars().any(char::is_control) {
        return Ok(());
    }
    let message =
        format!("a {what}'s name must be 1 to {NAME_BYTES_MAX} bytes without control characters");
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

/// Names the pin that isn't there.
pub(crate) fn no_pin(name: &str) -> Error {
    let shown: String = name.chars().take(80).collect();
    Error::new(ErrorKind::NotFound, format!("there is no pin '{shown}'"))
}
