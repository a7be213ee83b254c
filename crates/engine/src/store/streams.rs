//! The catalog: streams are created, dropped and changed through the manifest alone.

use std::sync::Arc;

use timestrata_format::manifest::{ManifestOp, Retention, StreamDefinition, VersionEdit};
use timestrata_format::{SeqNo, StreamId};

use super::core::StreamState;
use super::engine::Engine;
use super::version::Version;
use crate::manifest::{ManifestLog, from_definition, to_definition};
use crate::run;
use crate::wal::check_loggable;
use crate::{Error, ErrorKind, Result, Stream, StreamSpec};

impl Engine {
    /// Creates a stream durably, or gives the one that is there with the same spec.
    pub(crate) fn create_stream(&self, spec: StreamSpec) -> Result<StreamId> {
        let mut manifest = self.lock_manifest()?;
        if let Some(existing) = self.stream_by_name(&spec.name) {
            let known = to_definition(existing.id(), existing.spec());
            if known == to_definition(existing.id(), &spec) {
                return Ok(existing.id());
            }
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                format!("stream '{}' exists with another definition", spec.name),
            ));
        }
        let id = manifest.state().next_stream;
        Stream::new(id, spec.clone())?;
        run::check_column_types(&spec.schema)?;
        check_loggable(&spec.schema)?;
        let (definition, stream) = as_stored(id, &spec)?;
        let edit = VersionEdit { ops: vec![ManifestOp::CreateStream(definition)] };
        self.commit_edit(&mut manifest, &edit, SeqNo::default())?;
        let state = StreamState::new(stream, Version::default(), SeqNo::default())?;
        self.core.lock().add_stream(state);
        Ok(id)
    }

    /// A stream by name.
    pub(crate) fn stream_by_name(&self, name: &str) -> Option<Arc<Stream>> {
        let core = self.core.lock();
        let slot = core.slot_of_name(name)?;
        Some(Arc::clone(&core.streams[slot].stream))
    }

    /// Removes a stream durably. Its files go when no snapshot reads them any more.
    pub(crate) fn drop_stream(&self, name: &str) -> Result<()> {
        let mut manifest = self.lock_manifest()?;
        let (slot, stream, version, last_seq) = {
            let core = self.core.lock();
            let slot = core.slot_of_name(name).ok_or_else(|| no_stream_named(name))?;
            let state = &core.streams[slot];
            (slot, Arc::clone(&state.stream), Arc::clone(&state.version), core.last_seq)
        };
        let pins = &manifest.state().pins;
        let holder = pins.values().find(|pin| pin.streams.iter().any(|p| p.stream == stream.id()));
        if let Some(pin) = holder {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("stream '{name}' is kept by the pin '{}': unpin that first", pin.name),
            ));
        }
        let edit = VersionEdit { ops: vec![ManifestOp::DropStream(stream.id())] };
        self.commit_edit(&mut manifest, &edit, last_seq)?;
        for run in &version.runs {
            run.mark_obsolete();
        }
        let mut core = self.core.lock();
        core.remove_stream(slot);
        drop(core);
        self.room.notify_all();
        // The stream is dropped, whatever comes of this; a failure that counts has poisoned the store.
        let _ = self.release_log(&mut manifest);
        Ok(())
    }

    /// Changes a stream's retention durably.
    pub(crate) fn set_retention(&self, id: StreamId, retention: Retention) -> Result<()> {
        let mut manifest = self.lock_manifest()?;
        let stream = self.stream_by_id(id)?;
        let changed = Stream::new(id, StreamSpec { retention, ..stream.spec().clone() })?;
        let edit = VersionEdit { ops: vec![ManifestOp::SetRetention { stream: id, retention }] };
        self.commit_edit(&mut manifest, &edit, SeqNo::default())?;
        let mut core = self.core.lock();
        let slot = core.slot_of(id)?;
        core.redefine_stream(slot, Arc::new(changed));
        Ok(())
    }

    /// Gives a stream another name durably.
    pub(crate) fn rename_stream(&self, id: StreamId, name: &str) -> Result<Arc<Stream>> {
        let mut manifest = self.lock_manifest()?;
        let stream = self.stream_by_id(id)?;
        if self.stream_by_name(name).is_some_and(|other| other.id() != id) {
            let message = format!("there is a stream '{name}' already");
            return Err(Error::new(ErrorKind::AlreadyExists, message));
        }
        let spec = StreamSpec { name: name.to_owned(), ..stream.spec().clone() };
        self.redefine(&mut manifest, &stream, &spec)
    }

    /// Gives a stream other properties durably.
    pub(crate) fn alter_stream_properties(
        &self,
        id: StreamId,
        properties: Vec<(String, String)>,
    ) -> Result<Arc<Stream>> {
        let mut manifest = self.lock_manifest()?;
        let stream = self.stream_by_id(id)?;
        self.redefine(&mut manifest, &stream, &stream.with_properties(properties))
    }

    /// Changes what doesn't touch a stream's rows.
    fn redefine(
        &self,
        manifest: &mut ManifestLog,
        stream: &Arc<Stream>,
        spec: &StreamSpec,
    ) -> Result<Arc<Stream>> {
        if stream.spec() == spec {
            return Ok(Arc::clone(stream));
        }
        let id = stream.id();
        Stream::new(id, spec.clone())?;
        let (definition, changed) = as_stored(id, spec)?;
        let edit = VersionEdit { ops: vec![ManifestOp::AlterStream(definition)] };
        self.commit_edit(manifest, &edit, SeqNo::default())?;
        let mut core = self.core.lock();
        let slot = core.slot_of(id)?;
        core.redefine_stream(slot, Arc::clone(&changed));
        Ok(changed)
    }
}

/// A stream as the manifest will give it back at the next open, which must be what is used now.
pub(super) fn as_stored(
    id: StreamId,
    spec: &StreamSpec,
) -> Result<(StreamDefinition, Arc<Stream>)> {
    let definition = to_definition(id, spec);
    let stream = from_definition(&definition).map_err(|problem| {
        let message = format!("stream '{}' can't be stored: {problem}", spec.name);
        Error::new(ErrorKind::InvalidArgument, message)
    })?;
    Ok((definition, Arc::new(stream)))
}

/// The error for a name that the store doesn't hold.
pub(crate) fn no_stream_named(name: &str) -> Error {
    let shown: String = name.chars().take(80).collect();
    Error::new(ErrorKind::NotFound, format!("there is no stream '{shown}'"))
}
