//! Streams that are made for one commit: found, settled and taken back.

use std::collections::BTreeSet;
use std::sync::Arc;

use timestrata_format::manifest::ManifestOp;

use super::streams::as_stored;
use crate::manifest::ManifestLog;
use crate::state::{Edit, Engine, Maker, Seen, Slot};
use crate::stream::PROVISIONAL_PROPERTY;
use crate::{ErrorKind, Result, Stream, StreamSpec};

impl Engine {
    /// A stream by name, as somebody sees it who makes streams, or as anybody does. One that somebody else is making is there from
    /// now on, whatever becomes of the commit that it is made for: it has been seen.
    pub(crate) fn find_stream(&self, name: &str, by: Option<Maker>) -> Option<Arc<Stream>> {
        let seen = {
            let core = self.core.lock();
            core.seen(core.slot_of_name(name)?, by)
        };
        match seen {
            Seen::No => None,
            Seen::Yes(stream) => Some(stream),
            Seen::BeingMade(stream) => {
                let mut manifest = self.lock_manifest().ok()?;
                self.settle_group(&mut manifest, &stream).ok()?;
                drop(manifest);
                self.find_stream(name, by)
            }
        }
    }

    /// Makes a stream durable by itself, with those that were made together with it.
    ///
    /// # Errors
    /// As an edit of the manifest.
    pub(crate) fn settle_stream(&self, name: &str, by: Option<Maker>) -> Result<()> {
        let Some(stream) = self.find_stream(name, by) else { return Ok(()) };
        let is_being_made = self.core.lock().provisional.contains_key(&stream.id());
        if stream.provisional_group().is_none() || is_being_made {
            return Ok(());
        }
        let mut manifest = self.lock_manifest()?;
        self.settle_group(&mut manifest, &stream)
    }

    /// As [`settle_stream`](Self::settle_stream), for who has the manifest.
    pub(super) fn settle_group(&self, manifest: &mut ManifestLog, stream: &Stream) -> Result<()> {
        let Some(group) = stream.provisional_group() else { return Ok(()) };
        let together: Vec<(Slot, Arc<Stream>)> = {
            let core = self.core.lock();
            let together = core.made_together(group);
            together.map(|(slot, state)| (slot, Arc::clone(&state.stream))).collect()
        };
        let mut edit = Edit::begin(self, manifest);
        let mut settled = Vec::with_capacity(together.len());
        for (slot, stream) in &together {
            let (definition, stream) = as_stored(stream.id(), &without_mark(stream.spec()))?;
            edit.change(ManifestOp::AlterStream(definition));
            settled.push((*slot, stream));
        }
        if edit.is_empty() {
            return Ok(());
        }
        edit.commit()?.recycle();
        let mut core = self.core.lock();
        for (slot, stream) in settled {
            core.provisional.remove(&stream.id());
            core.redefine_stream(slot, stream);
        }
        Ok(())
    }

    /// The commit is there: so is what was made for it. What it has not changed after all is made durable by itself.
    ///
    /// # Errors
    /// As an edit of the manifest: what the commit has not changed may be gone after a crash then.
    pub(crate) fn keep_provisional(&self, maker: Maker) -> Result<()> {
        let unchanged: Vec<Arc<Stream>> = {
            let mut core = self.core.lock();
            let slots = core.take_made_by(maker);
            let unchanged = slots.into_iter().filter(|slot| core.is_unmade(*slot));
            unchanged.map(|slot| Arc::clone(&core.streams[slot].stream)).collect()
        };
        if unchanged.is_empty() {
            return Ok(());
        }
        let mut manifest = self.lock_manifest()?;
        unchanged.iter().try_for_each(|stream| self.settle_group(&mut manifest, stream))
    }

    /// The commit was not made: neither are its streams.
    ///
    /// # Errors
    /// As an edit of the manifest. They stay hidden then, and the next opening takes them out.
    pub(crate) fn discard_provisional(&self, maker: Maker) -> Result<()> {
        // Before the streams are let go of: who makes them anew waits for it.
        let mut manifest = self.lock_manifest()?;
        let slots = self.core.lock().take_made_by(maker);
        self.drop_unmade(&mut manifest, slots)
    }

    /// Drops what was made for commits that are not there, and makes the rest durable by itself: at opening.
    ///
    /// # Errors
    /// As an edit of the manifest, but for a full disk: then it is for the next opening, and what is not there is hidden.
    pub(crate) fn settle_provisional(&self) -> Result<()> {
        let (unmade, made): (Vec<_>, Vec<_>) = {
            let core = self.core.lock();
            let marked =
                core.live().filter(|(_, state)| state.stream.provisional_group().is_some());
            let marked = marked.map(|(slot, state)| (slot, Arc::clone(&state.stream)));
            marked.partition(|(slot, _)| core.is_unmade(*slot))
        };
        if unmade.is_empty() && made.is_empty() {
            return Ok(());
        }
        let mut manifest = self.lock_manifest()?;
        let unmade = unmade.into_iter().map(|(slot, _)| slot).collect();
        let settle = || {
            self.drop_unmade(&mut manifest, unmade)?;
            made.iter().try_for_each(|(_, stream)| self.settle_group(&mut manifest, stream))
        };
        match settle() {
            Err(error) if error.kind() == ErrorKind::NoSpace => Ok(()),
            outcome => outcome,
        }
    }

    /// Drops those of these streams that no commit has changed, nor one that was made together with them. No pin of ours keeps one;
    /// where the manifest says that one does, it stays, as a stream without rows.
    pub(super) fn drop_unmade(&self, manifest: &mut ManifestLog, slots: Vec<Slot>) -> Result<()> {
        let pinned: BTreeSet<_> = {
            let pins = manifest.state().pins.values();
            pins.flat_map(|pin| pin.streams.iter().map(|pinned| pinned.stream)).collect()
        };
        let (kept, unmade): (Vec<_>, Vec<_>) = {
            let core = self.core.lock();
            let unmade = slots.into_iter().filter(|slot| core.is_unmade(*slot));
            let unmade = unmade.map(|slot| (slot, Arc::clone(&core.streams[slot].stream)));
            unmade.partition(|(_, stream)| pinned.contains(&stream.id()))
        };
        let mut edit = Edit::begin(self, manifest);
        unmade.iter().for_each(|(_, stream)| edit.change(ManifestOp::DropStream(stream.id())));
        if !edit.is_empty() {
            edit.commit()?.recycle();
            let mut core = self.core.lock();
            unmade.iter().for_each(|(slot, _)| core.remove_stream(*slot));
        }
        kept.iter().try_for_each(|(_, stream)| self.settle_group(manifest, stream))
    }
}

/// A spec as it is without the mark of those that are made for a commit.
pub(super) fn without_mark(spec: &StreamSpec) -> StreamSpec {
    let mut spec = spec.clone();
    spec.properties.retain(|(key, _)| key != PROVISIONAL_PROPERTY);
    spec
}

/// A spec with the mark.
pub(super) fn with_mark(spec: &StreamSpec, group: &str) -> StreamSpec {
    let mut spec = without_mark(spec);
    spec.properties.push((PROVISIONAL_PROPERTY.to_owned(), group.to_owned()));
    spec.properties.sort();
    spec
}
