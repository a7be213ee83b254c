//! What a store has promised: the model after each commit, and when each promise was given.
//!
//! Every event carries the number of the disk's next operation, so that the promises that
//! hold at a crash point are those whose number is not above the crash point's.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use timestrata_engine::Durability;

use crate::disk::CrashKind;
use crate::journal::{Change, Fate, Journal};

/// What a store must hold, after each commit.
pub trait Model: Clone + Default + Send + Sync + 'static {
    /// One change of a commit.
    type Change: Clone + fmt::Debug + Send + Sync + 'static;

    /// Makes one change.
    fn apply(&mut self, change: &Self::Change);

    /// The store after one more commit: all of its changes, in order.
    #[must_use]
    fn after(&self, changes: &[Self::Change]) -> Self {
        let mut next = self.clone();
        changes.iter().for_each(|change| next.apply(change));
        next
    }
}

/// A promise, or the beginning of something that may be found done.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Event {
    Made,
    /// Commits up to this one may be found.
    Begun(u64),
    Acknowledged(u64, Durability),
    PinBegun(u64),
    PinDone(u64),
    UnpinBegun,
    UnpinDone,
}

/// The only pin there is, at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum PinPromise {
    /// It must not be there.
    #[default]
    Absent,
    /// It must be there and see this commit.
    Present(u64),
    /// It may be there, and then sees this commit.
    InDoubt(u64),
}

/// What must be found at a moment. Commits are named by their place in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Promises {
    pub(crate) is_made: bool,
    /// The last commit that the process being killed can't take.
    pub(crate) written: u64,
    /// The last commit that a power cut can't take.
    pub(crate) synced: u64,
    /// The last commit that was begun.
    pub(crate) begun: u64,
    pub(crate) pin: PinPromise,
}

impl Promises {
    /// The least commit that must be found after such a crash.
    pub(crate) fn least(&self, kind: CrashKind) -> u64 {
        match kind {
            CrashKind::Killed => self.written.max(self.synced),
            CrashKind::PowerCut => self.synced,
        }
    }
}

/// A story that is a part of one that several write.
#[derive(Debug, Clone)]
struct JournalPart {
    journal: Arc<Journal>,
    /// The commit that was begun last.
    current: usize,
}

/// All that happened to a store so far.
///
/// Where others commit to the store as well, it goes to a journal, and this one knows no state.
#[derive(Debug, Clone)]
pub(crate) struct Story<M: Model> {
    /// The store after each commit; the place in the list is the commit.
    history: Vec<M>,
    start: Promises,
    events: Vec<(u64, Event)>,
    /// The models that pins see, by commit: a pin outlives a history that a crash cut.
    pinned: BTreeMap<u64, M>,
    shared: Option<JournalPart>,
}

impl<M: Model> Story<M> {
    /// The story of a store without a commit.
    pub(crate) fn new() -> Self {
        let (start, events) = (Promises::default(), Vec::new());
        Self { history: vec![M::default()], start, events, pinned: BTreeMap::new(), shared: None }
    }

    /// The part of a journal that one of several writes.
    pub(crate) fn shared(journal: Arc<Journal>) -> Self {
        Self { shared: Some(JournalPart { journal, current: 0 }), ..Self::new() }
    }

    /// Whether others commit to the store as well.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// The store after the last commit, if nobody else makes any.
    pub(crate) fn known(&self) -> Option<&M> {
        (!self.is_shared()).then(|| self.last())
    }

    /// The story as it goes on after a crash that left the store as it was after commit
    /// `seq`, with or without its pin.
    pub(crate) fn continued(&self, promises: &Promises, kind: CrashKind, found: Found) -> Self {
        let seq = found.seq;
        let synced = match kind {
            CrashKind::Killed => promises.synced,
            CrashKind::PowerCut => seq,
        };
        // A pin in doubt of a killed process is there for all to see, but can still be lost.
        let pin = match (found.pin, promises.pin, kind) {
            (Some(pin), PinPromise::InDoubt(_), CrashKind::Killed) => PinPromise::InDoubt(pin),
            (Some(pin), ..) => PinPromise::Present(pin),
            (None, PinPromise::InDoubt(pin), CrashKind::Killed) => PinPromise::InDoubt(pin),
            (None, ..) => PinPromise::Absent,
        };
        let is_made = promises.is_made || seq > 0;
        Self {
            history: self.history[..=seq as usize].to_vec(),
            start: Promises { is_made, written: seq, synced, begun: seq, pin },
            events: Vec::new(),
            pinned: self.pinned.clone(),
            shared: None,
        }
    }

    /// The store after the last commit.
    pub(crate) fn last(&self) -> &M {
        &self.history[self.history.len() - 1]
    }

    /// The number of the last commit.
    pub(crate) fn last_seq(&self) -> u64 {
        self.history.len() as u64 - 1
    }

    /// The store after commit `seq`.
    pub(crate) fn model(&self, seq: u64) -> Option<&M> {
        self.history.get(usize::try_from(seq).ok()?)
    }

    /// What a pin at commit `seq` sees.
    pub(crate) fn pinned(&self, seq: u64) -> Option<&M> {
        self.pinned.get(&seq)
    }

    fn note(&mut self, operation: u64, event: Event) {
        self.events.push((operation, event));
    }

    pub(crate) fn made(&mut self, operation: u64) {
        self.note(operation, Event::Made);
    }

    pub(crate) fn commit_begun(&mut self, operation: u64, changes: &[M::Change]) {
        if let Some(shared) = &mut self.shared {
            let changes = changes.iter().map(|change| Arc::new(change.clone()) as Change);
            shared.current = shared.journal.begun(operation, changes.collect());
            return;
        }
        self.history.push(self.last().after(changes));
        self.note(operation, Event::Begun(self.last_seq()));
    }

    /// Forgets the last commit, which was refused without a trace.
    pub(crate) fn commit_refused(&mut self) {
        if let Some(shared) = &self.shared {
            shared.journal.refused(shared.current);
            return;
        }
        self.history.pop();
        self.events.pop();
    }

    /// A commit that failed may be found all the same.
    pub(crate) fn commit_in_doubt(&mut self) {
        if let Some(shared) = &self.shared {
            shared.journal.ended(shared.current, |seq| Fate::InDoubt { seq });
        }
    }

    pub(crate) fn acknowledged(&mut self, operation: u64, durability: Durability) {
        if let Some(shared) = &self.shared {
            let fate = |seq| Fate::Acknowledged { seq, at: operation, durability };
            shared.journal.ended(shared.current, fate);
            return;
        }
        self.note(operation, Event::Acknowledged(self.last_seq(), durability));
    }

    /// The last commit that was acknowledged is synced as well.
    pub(crate) fn last_is_synced(&mut self, operation: u64) {
        match &self.shared {
            Some(shared) => shared.journal.synced_too(shared.current, operation),
            None => self.acknowledged(operation, Durability::Synced),
        }
    }

    pub(crate) fn pin_begun(&mut self, operation: u64) {
        self.note(operation, Event::PinBegun(self.last_seq()));
        self.pinned.insert(self.last_seq(), self.last().clone());
    }

    pub(crate) fn pin_done(&mut self, operation: u64) {
        self.note(operation, Event::PinDone(self.last_seq()));
    }

    pub(crate) fn unpin_begun(&mut self, operation: u64) {
        self.note(operation, Event::UnpinBegun);
    }

    pub(crate) fn unpin_done(&mut self, operation: u64) {
        self.note(operation, Event::UnpinDone);
    }

    /// The promises that hold before operation `operation`.
    pub(crate) fn promises_at(&self, operation: u64) -> Promises {
        let mut promises = self.start;
        for (_, event) in self.events.iter().filter(|(at, _)| *at <= operation) {
            match event {
                Event::Made => promises.is_made = true,
                Event::Begun(seq) => promises.begun = *seq,
                Event::Acknowledged(_, Durability::Buffered) => {}
                Event::Acknowledged(seq, Durability::Written) => promises.written = *seq,
                Event::Acknowledged(seq, Durability::Synced) => promises.synced = *seq,
                Event::PinBegun(seq) => promises.pin = PinPromise::InDoubt(*seq),
                Event::PinDone(seq) => promises.pin = PinPromise::Present(*seq),
                Event::UnpinBegun => {
                    if let PinPromise::Present(seq) = promises.pin {
                        promises.pin = PinPromise::InDoubt(seq);
                    }
                }
                Event::UnpinDone => promises.pin = PinPromise::Absent,
            }
        }
        promises
    }
}

/// What a store was found to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// Its last commit.
    pub(crate) seq: u64,
    /// The commit that its pin sees.
    pub(crate) pin: Option<u64>,
}
