//! The edges of a graph in memory, kept in step with commits.
//!
//! They are loaded when they are first needed. Writers are not blocked meanwhile: what they commit during the
//! load is recorded, and applied after it. From then on each commit is added to a delta over the loaded
//! edges; when the delta has grown, a thread of its own merges both into a new base.

use std::borrow::Cow;
use std::sync::Arc;

use timestrata_engine::{Result, SeqNo};

use super::adjacency::{self, Base, Change, View, has_place};
use super::changes::EdgeChange;
use super::edge::{Edge, EdgeKey};
use super::loading::CACHE_BYTES_MAX;

/// Changes from which on a merge is worth its time.
const CHANGES_MIN: usize = 16 << 10;
/// It is, once one in so many edges has changed.
const CHANGED_SHARE: usize = 8;

/// So many blocks are deleted one by one before the edges are read for that...
const DELETED_MIN: u64 = 16;
/// ...and only as many are read as take about as long as the deletes have.
const READ_PER_DELETED: u64 = 256;

/// What is in memory of a graph's edges.
#[derive(Debug)]
pub(super) struct Resident {
    state: ResidentState,
    /// Changes each time that what is in memory is made anew, so that who made it meanwhile of
    /// something older doesn't put that in its place.
    epoch: u64,
    /// The last commit that may have changed edges: the last there was when the graph was opened, or a
    /// later one that somebody told of.
    changed: SeqNo,
    /// The snapshot that was read.
    read_at: SeqNo,
    /// Bytes that all edges may take.
    pub(super) bytes_max: u64,
    /// Blocks that were deleted one by one while the edges were not in memory.
    deleted: u64,
    /// How many are to be deleted before the edges are read for that.
    deleted_wanted: u64,
}

#[derive(Debug, Default)]
enum ResidentState {
    /// Nothing.
    #[default]
    Absent,
    /// Somebody reads the edges; these were committed meanwhile.
    Loading(Vec<Noted>),
    Ready {
        view: View,
        /// Whether somebody merges.
        is_merging: bool,
    },
}

/// A change that was committed while edges are read.
#[derive(Debug)]
enum Noted {
    Link(Edge),
    Unlink(EdgeKey),
}

impl Noted {
    fn of(change: &EdgeChange<'_>) -> Self {
        match change {
            EdgeChange::Link(edge) => Self::Link((*edge).clone()),
            EdgeChange::Unlink(key) => Self::Unlink(key.as_ref().clone()),
        }
    }

    fn change(&self) -> EdgeChange<'_> {
        match self {
            Self::Link(edge) => EdgeChange::Link(edge),
            Self::Unlink(key) => EdgeChange::Unlink(Cow::Borrowed(key)),
        }
    }
}

/// What reading all edges begins with.
#[derive(Debug)]
pub(super) enum Begun {
    /// They are there.
    Ready(View),
    /// Whoever asked reads them.
    Load(u64),
    /// What is in memory is of another time than what is asked for.
    Other,
}

impl Resident {
    /// Nothing, of a graph that was opened when this was the last commit.
    pub(super) fn new(opened_at: SeqNo) -> Self {
        Self {
            state: ResidentState::Absent,
            epoch: 0,
            changed: opened_at,
            read_at: SeqNo(0),
            bytes_max: CACHE_BYTES_MAX,
            deleted: 0,
            deleted_wanted: DELETED_MIN,
        }
    }

    /// The edges as the last commit has them, if they are in memory: to be asked by who holds back other
    /// changes, of a store that it writes to.
    pub(super) fn newest(&self) -> Option<&View> {
        match &self.state {
            ResidentState::Ready { view, .. } => Some(view),
            _ => None,
        }
    }

    /// Told of each block that is deleted by itself: gives how many edges it would be worth to read by
    /// now, if they are not in memory and it is time to ask.
    pub(super) fn is_wanted_by_delete(&mut self) -> Option<u64> {
        if !matches!(self.state, ResidentState::Absent) {
            return None;
        }
        self.deleted += 1;
        if self.deleted < self.deleted_wanted {
            return None;
        }
        self.deleted_wanted = self.deleted_wanted.saturating_mul(2);
        Some(self.deleted.saturating_mul(READ_PER_DELETED))
    }

    /// The edges as a snapshot has them, if they are in memory. One who `follows` isn't told of
    /// commits, and so knows of no snapshot but the one that was read.
    pub(super) fn at(&self, snapshot: SeqNo, follows: bool) -> Option<View> {
        let ResidentState::Ready { view, .. } = &self.state else { return None };
        let is_same = if follows { snapshot == self.read_at } else { snapshot >= self.changed };
        is_same.then(|| view.clone())
    }

    /// What there is for a snapshot; whoever is told to load has to say how that ended.
    pub(super) fn begin(&mut self, snapshot: SeqNo, follows: bool) -> Begun {
        if let Some(view) = self.at(snapshot, follows) {
            return Begun::Ready(view);
        }
        let is_newest = if follows { snapshot > self.read_at } else { snapshot >= self.changed };
        if !is_newest || (!follows && !matches!(self.state, ResidentState::Absent)) {
            return Begun::Other;
        }
        self.state = ResidentState::Loading(Vec::new());
        self.epoch += 1;
        Begun::Load(self.epoch)
    }

    /// Takes over what was read at a snapshot.
    pub(super) fn loaded(&mut self, epoch: u64, snapshot: SeqNo, loaded: &Result<View>) {
        if epoch != self.epoch {
            return;
        }
        let state = std::mem::take(&mut self.state);
        if let (ResidentState::Loading(changes), Ok(view)) = (state, loaded) {
            self.state = ResidentState::Ready { view: view.clone(), is_merging: false };
            self.read_at = snapshot;
            self.add(&changes.iter().map(Noted::change).collect::<Vec<_>>());
        }
    }

    /// Adds what a commit has changed.
    pub(super) fn change(&mut self, seq: SeqNo, changes: &[EdgeChange<'_>]) {
        if !changes.is_empty() {
            self.changed = self.changed.max(seq);
            self.add(changes);
        }
    }

    fn add(&mut self, changes: &[EdgeChange<'_>]) {
        match &mut self.state {
            ResidentState::Absent => {}
            ResidentState::Loading(noted) => noted.extend(changes.iter().map(Noted::of)),
            ResidentState::Ready { view, .. } => {
                if change(view, changes).is_err() {
                    // Too many nodes or kinds to be in memory: who asks reads the streams, and is told.
                    self.forget();
                }
            }
        }
    }

    /// Forgets all of it: what is committed is not known any more.
    pub(super) fn forget(&mut self) {
        self.state = ResidentState::Absent;
        self.epoch += 1;
    }

    /// What is to be merged now, if it is time: only who is given something merges.
    pub(super) fn merge_due(&mut self) -> Option<(u64, View)> {
        let ResidentState::Ready { view, is_merging } = &mut self.state else { return None };
        let changed = view.delta().edges();
        let is_due = changed >= CHANGES_MIN && changed * CHANGED_SHARE >= view.base().edges();
        if !is_due || std::mem::replace(is_merging, true) {
            return None;
        }
        Some((self.epoch, view.clone()))
    }

    /// Lets somebody else merge.
    pub(super) fn give_up_merge(&mut self, epoch: u64) {
        if let ResidentState::Ready { is_merging, .. } = &mut self.state
            && epoch == self.epoch
        {
            *is_merging = false;
        }
    }

    /// Takes over what a merge has made.
    pub(super) fn merged(&mut self, epoch: u64, from: &View, base: Result<Base>) {
        let ResidentState::Ready { view, is_merging } = &mut self.state else { return };
        if epoch != self.epoch {
            return;
        }
        *is_merging = false;
        let Ok(base) = base.map(Arc::new) else { return };
        if let Ok(delta) = view.delta().moved(from.base(), from.delta(), &base) {
            let tells_all = view.tells_all();
            *view =
                View::new(base, Arc::new(delta), Arc::clone(view.kinds())).telling_all(tells_all);
        }
    }
}

/// Whether all that a change says has a place in memory.
fn is_in_memory(change: &EdgeChange<'_>) -> bool {
    match change {
        EdgeChange::Link(edge) => edge.properties.is_none() && has_place(edge.valid_from_ns),
        EdgeChange::Unlink(_) => true,
    }
}

/// Makes some more changes to a view.
fn change(view: &mut View, changes: &[EdgeChange<'_>]) -> Result<()> {
    let mut kinds = Arc::clone(view.kinds());
    let mut known = Vec::with_capacity(changes.len());
    for change in changes {
        let key = change.key();
        let kind = match kinds.number(&key.kind) {
            Some(kind) => kind,
            None => Arc::make_mut(&mut kinds).intern(&key.kind)?,
        };
        known.push(match change {
            EdgeChange::Link(edge) => Change::Link(adjacency::Edge {
                source: key.source,
                kind,
                target: key.target,
                weight: edge.weight,
                valid_from: edge.valid_from_ns,
            }),
            EdgeChange::Unlink(_) => {
                Change::Unlink { source: key.source, kind, target: key.target }
            }
        });
    }
    view.change(kinds, &known)?;
    if !changes.iter().all(is_in_memory) {
        *view = std::mem::take(view).telling_all(false);
    }
    Ok(())
}
