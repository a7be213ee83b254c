//! Other columns for a stream that has rows.
//!
//! What is in memory goes to runs first, while commits wait: memtables and the log hold rows of
//! one set of columns only. Runs stay as they are, and are read as rows of the new columns.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use timestrata_format::StreamId;
use timestrata_format::manifest::ManifestOp;

use super::streams::as_stored;
use crate::run::check_column_types;
use crate::state::{Edit, Engine, StreamState, Version, no_stream};
use crate::wal::check_loggable;
use crate::{Result, Stream};

/// Lets commits go on, whatever came of the change.
struct Altering<'a>(&'a Engine);

impl Drop for Altering<'_> {
    fn drop(&mut self) {
        self.0.core.lock().is_altering = false;
        self.0.room.notify_all();
    }
}

impl Engine {
    /// Gives a stream other columns, durably.
    pub(crate) fn alter_stream(&self, id: StreamId, schema: SchemaRef) -> Result<Arc<Stream>> {
        let _flushing = self.flushing.lock();
        let _compacting = self.compacting.lock();
        self.check_writable()?;
        let slot = {
            let mut core = self.core.lock();
            let slot = core.slot_of(id)?;
            let stream = &core.streams[slot].stream;
            if stream.schema().fields() == schema.fields() {
                return Ok(Arc::clone(stream));
            }
            check_column_types(&schema)?;
            check_loggable(&schema)?;
            stream.altered(Arc::clone(&schema))?;
            core.is_altering = true;
            slot
        };
        let _altering = Altering(self);
        self.core.lock().seal(slot);
        while self.core.lock().at(slot, id).is_some_and(|state| !state.sealed.is_empty()) {
            self.flush_oldest()?;
        }
        let mut manifest = self.lock_manifest()?;
        let (old, version, last_seq) = {
            let core = self.core.lock();
            let state = core.at(slot, id).ok_or_else(|| no_stream(id))?;
            (Arc::clone(&state.stream), Arc::clone(&state.version), core.last_seq)
        };
        let altered = old.altered(schema)?;
        let (definition, stream) = as_stored(id, altered.spec())?;
        let runs = version.runs.iter().map(|run| self.folder.following(&stream, run));
        let runs = Version::new(runs.collect::<Result<_>>()?, version.tombstones.clone());
        let mut edit = Edit::begin(self, &mut manifest);
        edit.change(ManifestOp::AlterStream(definition));
        edit.waits_for(last_seq);
        edit.commit()?.recycle();
        let mut core = self.core.lock();
        let flushed_through = core.streams[slot].flushed_through;
        let mut state = StreamState::new(Arc::clone(&stream), runs, flushed_through)?;
        state.model_lock = Arc::clone(&core.streams[slot].model_lock);
        let before = core.replace_stream(slot, state);
        drop(core);
        drop(before);
        Ok(stream)
    }
}
