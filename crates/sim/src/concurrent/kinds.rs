//! All kinds of workloads on one store: their changes in one order, their sessions side by side.

use std::sync::Arc;

use timestrata_engine::{Error, ErrorKind, Result, Store};

use crate::disk::SimDisk;
use crate::journal::{Change, Journal};
use crate::letter::actions;
use crate::story::{Model, Story};
use crate::subject::{ActionOf, Judgement, Session, Showing, StoryOf, Subject};
use crate::{Graphs, LogEntries, Streams, Tables, Timelogs, Topics};

/// A store of some kinds after some number of commits: what it must hold of each.
#[derive(Clone)]
pub(super) struct Whole(Vec<Arc<dyn Part>>);

impl Whole {
    /// A store without a commit.
    pub(super) fn new(kinds: &[Kind]) -> Self {
        Self(kinds.iter().map(|kind| (kind.empty)()).collect())
    }

    pub(super) fn after(&self, changes: &[Change]) -> Self {
        let after = |part: &Arc<dyn Part>| part.after(changes).unwrap_or_else(|| Arc::clone(part));
        Self(self.0.iter().map(after).collect())
    }

    /// Holds what a snapshot shows against this.
    pub(super) fn compare(&self, showing: &Showing<'_>) -> std::result::Result<(), String> {
        Ok(self.0.iter().try_for_each(|part| part.compare(showing))?)
    }
}

/// What a store must hold of one kind.
trait Part {
    /// The same after a commit; `None` if that has no change of this kind.
    fn after(&self, changes: &[Change]) -> Option<Arc<dyn Part>>;

    /// Holds what a snapshot shows of this kind against it.
    fn compare(&self, showing: &Showing<'_>) -> Judgement<()>;
}

struct PartOf<S: Subject>(S::Model);

impl<S: Subject> Part for PartOf<S> {
    fn after(&self, changes: &[Change]) -> Option<Arc<dyn Part>> {
        let own = changes.iter().filter_map(|change| change.downcast_ref());
        let own: Vec<<S::Model as Model>::Change> = own.cloned().collect();
        (!own.is_empty()).then(|| Arc::new(Self(self.0.after(&own))) as Arc<dyn Part>)
    }

    fn compare(&self, showing: &Showing<'_>) -> Judgement<()> {
        showing.compare::<S>(&self.0)
    }
}

/// Makes one actor's use of a kind.
type Attach = fn(&SimDisk, &Store, &Arc<Journal>) -> Result<Box<dyn Lane>>;

/// What there is to know of a kind that several use at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    /// Steps whose changes are known before, whoever else is at work.
    pub(super) letters: &'static str,
    /// Steps of which one actor only may take any.
    pub(super) of_one: &'static str,
    /// Its part of an open store, for one of those who use it.
    pub(super) attach: Attach,
    /// What a store without a commit must hold of it.
    empty: fn() -> Arc<dyn Part>,
}

impl Kind {
    /// All of them, plain streams first.
    ///
    /// Left out: other columns and names, of which whoever writes rows has to know; identities that are
    /// handed out; what expires, but for tables; what goes by what a call happens to find. Of one actor:
    /// an idempotent producer, and a group.
    pub(super) fn all() -> [Self; 6] {
        [
            Self::of::<Streams>("aabsswwleetodkgu", ""),
            Self::of::<Tables>("abqqonnuijdk", "t"),
            Self::of::<Topics>("sbtm", "qqqgg"),
            Self::of::<Graphs>("bwxlukde", ""),
            Self::of::<LogEntries>("eswx", ""),
            Self::of::<Timelogs>("aslexd", ""),
        ]
    }

    fn of<S: Subject>(letters: &'static str, of_one: &'static str) -> Self {
        let empty = || Arc::new(PartOf::<S>(S::Model::default())) as Arc<dyn Part>;
        Self { letters, of_one, attach: attach::<S>, empty }
    }
}

fn attach<S: Subject>(
    disk: &SimDisk,
    store: &Store,
    journal: &Arc<Journal>,
) -> Result<Box<dyn Lane>> {
    let mut story = Story::shared(Arc::clone(journal));
    let session = Session::<S>::attach(disk, store, &mut story)?;
    Ok(Box::new(SessionLane { session, story }))
}

/// One actor's use of one kind.
pub(super) trait Lane {
    /// Does what a letter says.
    fn act(&mut self, letter: char, turn: usize) -> std::result::Result<(), Box<Failed>>;
}

/// A call that failed.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) error: Error,
    /// What the same call, made again on a poisoned store, came to; `None`: the store is not poisoned.
    pub(super) again: Option<Result<()>>,
}

struct SessionLane<S: Subject> {
    session: Session<S>,
    story: StoryOf<S>,
}

impl<S: Subject> Lane for SessionLane<S> {
    fn act(&mut self, letter: char, turn: usize) -> std::result::Result<(), Box<Failed>> {
        actions::<S>(letter, turn).iter().try_for_each(|action| self.try_act(action))
    }
}

impl<S: Subject> SessionLane<S> {
    fn try_act(&mut self, action: &ActionOf<S>) -> std::result::Result<(), Box<Failed>> {
        let Err(error) = self.session.act(action, &mut self.story) else { return Ok(()) };
        if error.kind() == ErrorKind::Busy {
            // Nothing of it was kept.
            return Ok(());
        }
        let is_poisoned = self.session.store.is_poisoned();
        let again = is_poisoned.then(|| self.session.act(action, &mut self.story));
        Err(Box::new(Failed { error, again }))
    }
}
