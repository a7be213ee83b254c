//! The catalog: streams are created, dropped and changed through the manifest alone.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use timestrata_format::manifest::{ManifestOp, Retention, StreamDefinition};
use timestrata_format::{SeqNo, StreamId};

use super::provisional::{with_mark, without_mark};
use crate::manifest::{ManifestLog, ManifestState};
use crate::run;
use crate::state::{Edit, Engine, Maker, Seen, Slot, StreamState, Version};
use crate::stream::{from_definition, to_definition};
use crate::wal::check_loggable;
use crate::{Error, ErrorKind, Result, Stream, StreamSpec};

impl Engine {
    /// Creates streams durably, all of them or none, or gives those that are there with the same specs. What `maker` makes is there
    /// for nobody else until a commit has changed it.
    pub(crate) fn create_streams(
        &self,
        specs: &[StreamSpec],
        maker: Option<Maker>,
    ) -> Result<Vec<StreamId>> {
        let mut manifest = self.lock_manifest()?;
        specs.iter().try_for_each(|spec| self.clear_name(&mut manifest, &spec.name, maker))?;
        let mut ids = Vec::with_capacity(specs.len());
        let mut made: HashMap<&str, Arc<Stream>> = HashMap::new();
        let mut states = Vec::new();
        let mut next = manifest.state().next_stream;
        let group = next.to_string();
        let mut edit = Edit::begin(self, &mut manifest);
        for spec in specs {
            let existing = made.get(spec.name.as_str()).cloned();
            if let Some(existing) = existing.or_else(|| self.stream_by_name(&spec.name)) {
                ids.push(same_stream(&existing, spec)?);
                continue;
            }
            Stream::new(next, spec.clone())?;
            run::check_column_types(&spec.schema)?;
            check_loggable(&spec.schema)?;
            let (definition, stream) = match maker {
                None => as_stored(next, &without_mark(spec))?,
                Some(_) => as_stored(next, &with_mark(spec, &group))?,
            };
            edit.change(ManifestOp::CreateStream(definition));
            made.insert(&spec.name, Arc::clone(&stream));
            states.push(StreamState::new(stream, Version::default(), SeqNo::default())?);
            ids.push(next);
            next = next.next();
        }
        if states.is_empty() {
            return Ok(ids);
        }
        edit.commit()?.recycle();
        let mut core = self.core.lock();
        for state in states {
            core.provisional.extend(maker.map(|maker| (state.stream.id(), maker)));
            core.add_stream(state);
        }
        Ok(ids)
    }

    /// What somebody else is making under this name stays, since it is wanted here too; what is left of a commit that is not there goes.
    fn clear_name(
        &self,
        manifest: &mut ManifestLog,
        name: &str,
        maker: Option<Maker>,
    ) -> Result<()> {
        let (slot, seen) = {
            let core = self.core.lock();
            let Some(slot) = core.slot_of_name(name) else { return Ok(()) };
            (slot, core.seen(slot, maker))
        };
        match seen {
            Seen::No => self.drop_unmade(manifest, vec![slot]),
            Seen::BeingMade(stream) => self.settle_group(manifest, &stream),
            Seen::Yes(stream) if maker.is_none() => self.settle_group(manifest, &stream),
            Seen::Yes(_) => Ok(()),
        }
    }

    /// A stream by name.
    pub(crate) fn stream_by_name(&self, name: &str) -> Option<Arc<Stream>> {
        let core = self.core.lock();
        let slot = core.slot_of_name(name)?;
        Some(Arc::clone(&core.streams[slot].stream))
    }

    /// Removes streams durably, all of them or none. Their files go when no snapshot reads them any more.
    pub(crate) fn drop_streams(&self, names: &[&str]) -> Result<()> {
        let mut manifest = self.lock_manifest()?;
        let (dropped, last_seq) = {
            let core = self.core.lock();
            let slots: BTreeSet<Slot> = names
                .iter()
                .map(|name| core.slot_of_name(name).ok_or_else(|| no_stream_named(name)))
                .collect::<Result<_>>()?;
            let dropped = slots.into_iter().map(|slot| {
                let state = &core.streams[slot];
                (slot, Arc::clone(&state.stream), Arc::clone(&state.version))
            });
            (dropped.collect::<Vec<_>>(), core.last_seq)
        };
        if dropped.is_empty() {
            return Ok(());
        }
        check_unpinned(manifest.state(), dropped.iter().map(|(_, stream, _)| stream))?;
        let mut edit = Edit::begin(self, &mut manifest);
        for (_, stream, version) in &dropped {
            edit.change(ManifestOp::DropStream(stream.id()));
            version.runs.iter().for_each(|run| edit.retires(run));
        }
        edit.waits_for(last_seq);
        edit.commit()?.recycle();
        let mut core = self.core.lock();
        dropped.iter().for_each(|(slot, _, _)| core.remove_stream(*slot));
        drop(core);
        self.room.notify_all();
        // The streams are dropped, whatever comes of this; a failure that counts has poisoned the store.
        let _ = self.release_log(&mut manifest);
        Ok(())
    }

    /// Changes a stream's retention durably.
    pub(crate) fn set_retention(&self, id: StreamId, retention: Retention) -> Result<()> {
        let mut manifest = self.lock_manifest()?;
        let stream = self.settled(&mut manifest, id)?;
        let changed = Stream::new(id, StreamSpec { retention, ..stream.spec().clone() })?;
        let mut edit = Edit::begin(self, &mut manifest);
        edit.change(ManifestOp::SetRetention { stream: id, retention });
        edit.commit()?.recycle();
        let mut core = self.core.lock();
        let slot = core.slot_of(id)?;
        core.redefine_stream(slot, Arc::new(changed));
        Ok(())
    }

    /// Gives a stream another name durably.
    pub(crate) fn rename_stream(&self, id: StreamId, name: &str) -> Result<Arc<Stream>> {
        let mut manifest = self.lock_manifest()?;
        let stream = self.settled(&mut manifest, id)?;
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
        let stream = self.settled(&mut manifest, id)?;
        self.redefine(&mut manifest, &stream, &stream.with_properties(properties))
    }

    /// A stream by its id, durable by itself: what is about to be changed may not go with a commit.
    fn settled(&self, manifest: &mut ManifestLog, id: StreamId) -> Result<Arc<Stream>> {
        self.settle_group(manifest, &*self.stream_by_id(id)?)?;
        self.stream_by_id(id)
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
        let mut edit = Edit::begin(self, manifest);
        edit.change(ManifestOp::AlterStream(definition));
        edit.commit()?.recycle();
        let mut core = self.core.lock();
        let slot = core.slot_of(id)?;
        core.redefine_stream(slot, Arc::clone(&changed));
        Ok(changed)
    }
}

/// The id of a stream that is there, if it is what was asked for.
fn same_stream(existing: &Stream, spec: &StreamSpec) -> Result<StreamId> {
    let known = to_definition(existing.id(), &without_mark(existing.spec()));
    if known == to_definition(existing.id(), &without_mark(spec)) {
        return Ok(existing.id());
    }
    let message = format!("stream '{}' exists with another definition", spec.name);
    Err(Error::new(ErrorKind::AlreadyExists, message))
}

/// An error if a pin keeps one of the streams.
fn check_unpinned<'a>(
    state: &ManifestState,
    streams: impl Iterator<Item = &'a Arc<Stream>>,
) -> Result<()> {
    let kept: HashMap<StreamId, &str> = state
        .pins
        .values()
        .flat_map(|pin| pin.streams.iter().map(|pinned| (pinned.stream, pin.name.as_str())))
        .collect();
    for stream in streams {
        if let Some(pin) = kept.get(&stream.id()) {
            let message =
                format!("stream '{}' is kept by the pin '{pin}': unpin that first", stream.name());
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
    }
    Ok(())
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
