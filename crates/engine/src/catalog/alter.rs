//! Other columns for streams that have rows.
//!
//! What is in memory goes to runs first, while commits wait: memtables and the log hold rows of
//! one set of columns only. Runs stay as they are, and are read as rows of the new columns. Where the leading
//! time gets a finer unit, keys of runs and range deletes are told in it from the same edit on, those of pins too.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use timestrata_format::StreamId;
use timestrata_format::manifest::ManifestOp;

use super::streams::as_stored;
use crate::manifest::{ManifestLog, ManifestState};
use crate::run::check_column_types;
use crate::state::{Edit, Engine, RunHandle, Slot, StoreState, StreamState, Version, no_stream};
use crate::wal::check_loggable;
use crate::{ErrorKind, Result, Stream, finer_times};

/// Lets commits go on, whatever came of the change.
struct Altering<'a>(&'a Engine);

impl Drop for Altering<'_> {
    fn drop(&mut self) {
        self.0.core.lock().is_altering = false;
        self.0.room.notify_all();
    }
}

/// A stream with the columns that it is to have.
struct Altered {
    slot: Slot,
    old: Arc<Stream>,
    new: Arc<Stream>,
}

impl Altered {
    /// How many units of the new leading time make one of the old, where it is finer.
    fn factor(&self) -> Option<i64> {
        let lead =
            |stream: &Stream| stream.schema().field(stream.lead_column()).data_type().clone();
        finer_times(&lead(&self.old), &lead(&self.new))
    }
}

impl Engine {
    /// Gives a stream other columns, durably.
    pub(crate) fn alter_stream(&self, id: StreamId, schema: SchemaRef) -> Result<Arc<Stream>> {
        self.alter_streams(&[(id, schema)])?;
        let core = self.core.lock();
        let slot = core.slot_of(id)?;
        Ok(Arc::clone(&core.streams[slot].stream))
    }

    /// Gives streams other columns, durably: all of them, or none.
    pub(crate) fn alter_streams(&self, wanted: &[(StreamId, SchemaRef)]) -> Result<()> {
        let _flushing = self.flushing.lock();
        let _compacting = self.compacting.lock();
        self.check_writable()?;
        let wanted = {
            let mut core = self.core.lock();
            let wanted = to_be_altered(&core, wanted)?;
            if wanted.is_empty() {
                return Ok(());
            }
            core.is_altering = true;
            wanted
        };
        let _altering = Altering(self);
        for (slot, id, _) in &wanted {
            self.core.lock().seal(*slot);
            while self.core.lock().at(*slot, *id).is_some_and(|state| !state.sealed.is_empty()) {
                self.flush_oldest()?;
            }
        }
        let mut manifest = self.lock_manifest()?;
        let last_seq = self.core.lock().last_seq;
        let mut altered = Vec::with_capacity(wanted.len());
        let mut definitions = Vec::with_capacity(wanted.len());
        for (slot, id, schema) in wanted {
            let old = {
                let core = self.core.lock();
                Arc::clone(&core.at(slot, id).ok_or_else(|| no_stream(id))?.stream)
            };
            let (definition, new) = as_stored(id, old.altered(schema)?.spec())?;
            let one = Altered { slot, old, new };
            if let Some(factor) = one.factor() {
                check_times(manifest.state(), &one.old, factor)?;
            }
            definitions.push(definition);
            altered.push(one);
        }
        let mut edit = Edit::begin(self, &mut manifest);
        for (one, definition) in altered.iter().zip(definitions) {
            if let Some(factor) = one.factor() {
                edit.change(ManifestOp::RefineTimes { stream: definition.id, factor });
            }
            edit.change(ManifestOp::AlterStream(definition));
        }
        edit.waits_for(last_seq);
        edit.commit()?.recycle();
        self.show_altered(&manifest, altered)
    }

    /// Has readers see the columns that the manifest has by now.
    fn show_altered(&self, manifest: &ManifestLog, altered: Vec<Altered>) -> Result<()> {
        let state = manifest.state();
        let mut core = self.core.lock();
        let mut before = Vec::with_capacity(altered.len());
        let has_refined = altered.iter().any(|one| one.factor().is_some());
        for one in &altered {
            let id = one.new.id();
            let known = &core.streams[one.slot];
            let entry = state.streams.get(&id).ok_or_else(|| no_stream(id))?;
            let follow = |run: &Arc<RunHandle>| {
                let meta = entry.runs.get(&run.meta.id).unwrap_or(&run.meta);
                self.folder.following(&one.new, run, meta)
            };
            let runs = known.version.runs.iter().map(follow).collect::<Result<_>>()?;
            let tombstones = match one.factor() {
                Some(_) => entry.to_heed(),
                None => known.version.tombstones.clone(),
            };
            let (version, flushed) = (Version::new(runs, tombstones), known.flushed_through);
            let mut next = StreamState::new(Arc::clone(&one.new), version, flushed)?;
            next.model_lock = Arc::clone(&known.model_lock);
            before.push(core.replace_stream(one.slot, next));
        }
        let pins = match has_refined {
            true => core.refined_pins(&self.folder, state)?,
            false => Vec::new(),
        };
        drop(core);
        drop((before, pins));
        Ok(())
    }
}

/// Streams that get columns which they don't have yet, if all of them can be given.
fn to_be_altered(
    core: &StoreState,
    wanted: &[(StreamId, SchemaRef)],
) -> Result<Vec<(Slot, StreamId, SchemaRef)>> {
    let mut changed = Vec::with_capacity(wanted.len());
    for (id, schema) in wanted {
        let slot = core.slot_of(*id)?;
        let stream = &core.streams[slot].stream;
        if stream.schema().fields() == schema.fields() {
            continue;
        }
        check_column_types(schema)?;
        check_loggable(schema)?;
        stream.altered(Arc::clone(schema))?;
        changed.push((slot, *id, Arc::clone(schema)));
    }
    Ok(changed)
}

/// An error if a finer unit can't hold the times of all runs, of the stream or of a pin of it.
fn check_times(state: &ManifestState, stream: &Stream, factor: i64) -> Result<()> {
    let id = stream.id();
    let live = state.streams.get(&id).into_iter().flat_map(|entry| entry.runs.values());
    let pinned = state.pins.values().flat_map(|pin| &pin.streams);
    let pinned = pinned.filter(|pinned| pinned.stream == id).flat_map(|pinned| &pinned.runs);
    let keys = live.chain(pinned).flat_map(|run| [run.key_min, run.key_max]);
    let Some(key) = keys.into_iter().find(|key| key.in_finer_unit(factor).is_none()) else {
        return Ok(());
    };
    let (least, greatest) = (i64::MIN / factor, i64::MAX / factor);
    let why = format!(
        "its times can't be told in a unit of which {factor} make one of theirs: {key} is among them, and 64 bits hold \
         {least} to {greatest} then"
    );
    let error = stream.spec().error(ErrorKind::InvalidArgument, why);
    Err(error
        .hinting("choose a coarser unit, or delete rows with such times and compact the store"))
}
