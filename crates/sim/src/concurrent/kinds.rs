//! All kinds of workloads on one store: their changes in one order, their sessions side by side.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use timestrata_engine::{Durability, Error, ErrorKind, Result, Snapshot, Store};

use super::journal::Journal;
use crate::story::{Ledger, Story};
use crate::subject::{Action, Base, ChangeOf, Judgement, Model, ModelOf, Session, Step, StoryOf};
use crate::{GraphStep, Letter, LogStep, StreamStep, TableStep, TimelogStep, TopicStep};

/// A change of any kind.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Stream(ChangeOf<StreamStep>),
    Table(ChangeOf<TableStep>),
    Topic(ChangeOf<TopicStep>),
    Graph(ChangeOf<GraphStep>),
    Log(ChangeOf<LogStep>),
    Timelog(ChangeOf<TimelogStep>),
}

/// A store of all kinds after some number of commits.
#[derive(Debug, Clone)]
pub(super) struct Whole {
    pub(super) seq: u64,
    pub(super) streams: ModelOf<StreamStep>,
    tables: ModelOf<TableStep>,
    topics: ModelOf<TopicStep>,
    graphs: ModelOf<GraphStep>,
    logs: ModelOf<LogStep>,
    timelogs: ModelOf<TimelogStep>,
}

impl Whole {
    pub(super) fn new() -> Self {
        Self {
            seq: 0,
            streams: empty::<StreamStep>(),
            tables: empty::<TableStep>(),
            topics: empty::<TopicStep>(),
            graphs: empty::<GraphStep>(),
            logs: empty::<LogStep>(),
            timelogs: empty::<TimelogStep>(),
        }
    }

    pub(super) fn after(&self, changes: &[Change]) -> Self {
        let mut next = self.clone();
        next.seq += 1;
        Kind::all().iter().for_each(|kind| (kind.advance)(&mut next, changes));
        next
    }
}

fn empty<S: Step>() -> ModelOf<S> {
    S::Session::empty_model()
}

/// A kind that several use at once.
trait Part: Step {
    /// Steps whose changes are known before, whoever else is at work.
    const LETTERS: &'static str;
    /// Steps of which one actor only may take any.
    const OF_ONE: &'static str = "";

    fn wrap(change: ChangeOf<Self>) -> Change;

    fn unwrap(change: &Change) -> Option<&ChangeOf<Self>>;

    fn of(whole: &mut Whole) -> &mut ModelOf<Self>;
}

/// Makes one actor's use of a kind.
type Attach = fn(Base, &Arc<Journal>) -> Result<Box<dyn Lane>>;

/// What there is to know of a kind.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub(super) letters: &'static str,
    pub(super) of_one: &'static str,
    /// Its part of an open store, for one of those who use it.
    pub(super) attach: Attach,
    advance: fn(&mut Whole, &[Change]),
    compare: fn(&Store, &Snapshot, &Whole, bool) -> Judgement<()>,
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.letters)
    }
}

impl Kind {
    /// All of them, plain streams first.
    pub(super) const fn all() -> [Self; 6] {
        [
            Self::of::<StreamStep>(),
            Self::of::<TableStep>(),
            Self::of::<TopicStep>(),
            Self::of::<GraphStep>(),
            Self::of::<LogStep>(),
            Self::of::<TimelogStep>(),
        ]
    }

    const fn of<P: Part>() -> Self {
        Self {
            letters: P::LETTERS,
            of_one: P::OF_ONE,
            attach: attach::<P>,
            advance: advance::<P>,
            compare: compare::<P>,
        }
    }

    /// Holds what a snapshot shows of this kind against the model.
    pub(super) fn compare(
        &self,
        store: &Store,
        snapshot: &Snapshot,
        whole: &Whole,
        is_made: bool,
    ) -> std::result::Result<(), String> {
        Ok((self.compare)(store, snapshot, whole, is_made)?)
    }
}

fn attach<P: Part>(base: Base, journal: &Arc<Journal>) -> Result<Box<dyn Lane>> {
    let ledger = Of::<P> { journal: Arc::clone(journal), part: PhantomData };
    let mut story = Story::shared(empty::<P>(), Arc::new(ledger));
    let session = P::Session::attach(base, &mut story)?;
    Ok(Box::new(SessionLane::<P> { session, story }))
}

fn advance<P: Part>(whole: &mut Whole, changes: &[Change]) {
    let changes: Vec<_> = changes.iter().filter_map(P::unwrap).cloned().collect();
    if !changes.is_empty() {
        let part = P::of(whole);
        *part = part.after(&changes);
    }
}

fn compare<P: Part>(
    store: &Store,
    snapshot: &Snapshot,
    whole: &Whole,
    is_made: bool,
) -> Judgement<()> {
    P::Session::compare(store, snapshot, P::of(&mut whole.clone()), is_made)
}

/// The journal, for the commits of a kind.
struct Of<P> {
    journal: Arc<Journal>,
    part: PhantomData<fn() -> P>,
}

impl<P> fmt::Debug for Of<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Of")
    }
}

impl<P: Part> Ledger<ChangeOf<P>> for Of<P> {
    fn begun(&self, operation: u64, changes: &[ChangeOf<P>]) -> usize {
        self.journal.begun(operation, changes.iter().cloned().map(P::wrap).collect())
    }

    fn refused(&self, commit: usize) {
        self.journal.refused(commit);
    }

    fn acknowledged(&self, commit: usize, seq: u64, operation: u64, durability: Durability) {
        self.journal.acknowledged(commit, seq, operation, durability);
    }

    fn synced_too(&self, commit: usize, operation: u64) {
        self.journal.synced_too(commit, operation);
    }

    fn in_doubt(&self, commit: usize, seq: u64) {
        self.journal.in_doubt(commit, seq);
    }
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

struct SessionLane<P: Part> {
    session: P::Session,
    story: StoryOf<P>,
}

impl<P: Part> Lane for SessionLane<P> {
    fn act(&mut self, letter: char, turn: usize) -> std::result::Result<(), Box<Failed>> {
        let letter = Letter::<P>::parse(letter);
        let actions = letter.map(|letter| letter.actions(turn)).unwrap_or_default();
        actions.iter().try_for_each(|action| self.try_act(action))
    }
}

impl<P: Part> SessionLane<P> {
    fn try_act(
        &mut self,
        action: &Action<<P::Session as Session>::Write>,
    ) -> std::result::Result<(), Box<Failed>> {
        let Err(error) = self.session.act(action, &mut self.story) else { return Ok(()) };
        if error.kind() == ErrorKind::Busy {
            // Nothing of it was kept.
            return Ok(());
        }
        let is_poisoned = self.session.store().is_poisoned();
        let again = is_poisoned.then(|| self.session.act(action, &mut self.story));
        Err(Box::new(Failed { error, again }))
    }
}

macro_rules! part {
    ($step:ty, $variant:ident, $field:ident, $letters:expr, $of_one:expr) => {
        impl Part for $step {
            const LETTERS: &'static str = $letters;
            const OF_ONE: &'static str = $of_one;

            fn wrap(change: ChangeOf<Self>) -> Change {
                Change::$variant(change)
            }

            fn unwrap(change: &Change) -> Option<&ChangeOf<Self>> {
                match change {
                    Change::$variant(change) => Some(change),
                    _ => None,
                }
            }

            fn of(whole: &mut Whole) -> &mut ModelOf<Self> {
                &mut whole.$field
            }
        }
    };
}

// Left out: other columns and names, of which whoever writes rows has to know; identities that are handed
// out; what expires, but for tables; what goes by what a call happens to find. Of one actor: an idempotent
// producer, and a group.
part!(StreamStep, Stream, streams, "aabsswwleetodkgu", "");
part!(TableStep, Table, tables, "abqqonnuijdk", "t");
part!(TopicStep, Topic, topics, "sbtm", "qqqgg");
part!(GraphStep, Graph, graphs, "bwxlukde", "");
part!(LogStep, Log, logs, "eswx", "");
part!(TimelogStep, Timelog, timelogs, "aslexd", "");
