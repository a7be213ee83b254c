//! What a workload drives: a kind of store in use, and the model that it is held against.
//!
//! The runner knows stores only from here, so that each kind is crashed, failed and judged
//! in the same ways. A [`Subject`] is a kind of store, a [`Session`] one of its stores in use.

use std::fmt;
use std::hash::Hash;
use std::path::Path;
use std::time::Duration;

use timestrata_engine::{
    Access, Durability, Error, ErrorKind, Maintenance, Result, SeqNo, Settings, Snapshot, Store,
};

use crate::disk::SimDisk;
use crate::io_on;
use crate::story::{Found, Model, Story};

/// Where the store is on the simulated disk: two directories that are not there yet.
pub(crate) const STORE_DIR: &str = "/data/store";
/// Where a backup of it goes.
pub(crate) const COPY_DIR: &str = "/data/copy";
const PIN: &str = "pin";
/// Seed of the store's identity.
const STORE_SEED: u64 = 77;

/// What a session does at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action<W> {
    /// What only this kind of store does.
    Write(W),
    /// Sync.
    Sync,
    /// Flush.
    Flush,
    /// Compact all there is.
    Compact,
    /// Pin the store, or take the pin away.
    Pin,
    /// Close and open again.
    Reopen,
}

/// Letters of a kind's own, each with what it writes: a function of its turn, so that a workload is
/// fully named by its letters.
pub(crate) type Alphabet<W> = &'static [(char, fn(usize) -> Vec<W>)];

/// A kind of store that workloads drive.
pub trait Subject: Copy + Eq + Hash + fmt::Debug + Send + Sync + 'static {
    /// What its stores are held against.
    type Model: Model;
    /// What only this kind of store does.
    type Write: Clone + 'static;
    /// What is open of a store, beside the store itself.
    type Parts;
    /// What the command line calls workloads of this kind.
    const KIND: &'static str;
    /// Its steps; none has a letter that all kinds have.
    const ALPHABET: Alphabet<Self::Write>;
    /// Longer workloads, each with a reason.
    const CHOSEN: &'static [&'static str];

    /// How the store is opened.
    fn settings() -> Settings {
        settings()
    }

    /// Makes what is missing in an open store.
    fn attach(store: &Store) -> Result<Self::Parts>;

    /// Does one thing. After an error the story says what was begun and not acknowledged.
    fn write(
        parts: &mut Self::Parts,
        work: &mut Work<'_, Self::Model>,
        write: &Self::Write,
    ) -> Result<()>;

    /// Whether a write that fails on the disk always leaves its commit in doubt: it does no I/O
    /// but that.
    fn is_only_a_commit(write: &Self::Write) -> bool;

    /// What is done with a store that recovered to commit `seq`.
    fn after_recovery(seq: u64) -> Vec<Action<Self::Write>>;

    /// A `Synced` commit, tried after a failure.
    fn after_failure() -> Self::Write;

    /// Holds a snapshot against a model; what holds nothing may be missing if it isn't promised.
    fn compare(showing: &Showing<'_>, model: &Self::Model) -> Judgement<()>;
}

/// What a kind's sessions do.
pub(crate) type ActionOf<S> = Action<<S as Subject>::Write>;
/// What a kind's stores have promised.
pub(crate) type StoryOf<S> = Story<<S as Subject>::Model>;

/// An open store with all that its kind has in it.
pub(crate) struct Session<S: Subject> {
    pub(crate) disk: SimDisk,
    pub(crate) store: Store,
    pinned: bool,
    parts: S::Parts,
}

impl<S: Subject> Session<S> {
    /// Opens the store, which nobody else uses, and makes what is missing in it.
    pub(crate) fn start(disk: &SimDisk, story: &mut StoryOf<S>) -> Result<Self> {
        let store = open::<S>(disk, Access::Write)?;
        let pinned = !store.pins().is_empty();
        Ok(Self { pinned, ..Self::attach(disk, &store, story)? })
    }

    /// Makes what is missing in an open store, for one of those who use it.
    pub(crate) fn attach(disk: &SimDisk, store: &Store, story: &mut StoryOf<S>) -> Result<Self> {
        let parts = S::attach(store)?;
        story.made(disk.operations());
        Ok(Self { disk: disk.clone(), store: store.clone(), pinned: false, parts })
    }

    /// Does one thing. After an error the story says what was begun and not acknowledged.
    pub(crate) fn act(&mut self, action: &ActionOf<S>, story: &mut StoryOf<S>) -> Result<()> {
        let Self { disk, store, pinned, parts } = self;
        match action {
            Action::Write(write) => {
                S::write(parts, &mut Work { disk, store, pinned: *pinned, story }, write)?;
            }
            Action::Sync => {
                store.sync()?;
                story.acknowledged(disk.operations(), Durability::Synced);
            }
            Action::Flush => store.flush()?,
            Action::Compact => store.compact(None)?,
            Action::Pin if *pinned => {
                story.unpin_begun(disk.operations());
                store.unpin(PIN)?;
                story.unpin_done(disk.operations());
                *pinned = false;
            }
            Action::Pin => {
                story.pin_begun(disk.operations());
                store.pin(PIN)?;
                story.pin_done(disk.operations());
                *pinned = true;
            }
            Action::Reopen => {
                store.close()?;
                story.acknowledged(disk.operations(), Durability::Synced);
                *self = Self::start(&disk.clone(), story)?;
            }
        }
        Ok(())
    }
}

/// An open store that is written to, and the story that is told of it.
#[derive(Debug)]
pub struct Work<'a, M: Model> {
    pub(crate) disk: &'a SimDisk,
    pub(crate) store: &'a Store,
    pub(crate) pinned: bool,
    pub(crate) story: &'a mut Story<M>,
}

impl<M: Model> Work<'_, M> {
    /// Makes a commit, and tells of its beginning and its end.
    pub(crate) fn commit<Q: Into<Option<SeqNo>>>(
        &mut self,
        changes: &[M::Change],
        durability: Durability,
        make: impl FnOnce() -> Result<Q>,
    ) -> Result<()> {
        self.begin(changes);
        self.committed(make(), durability)
    }

    /// Tells that a commit begins.
    pub(crate) fn begin(&mut self, changes: &[M::Change]) {
        self.story.commit_begun(self.disk.operations(), changes);
    }

    /// Tells how the commit that was begun last has ended.
    pub(crate) fn committed<Q: Into<Option<SeqNo>>>(
        &mut self,
        outcome: Result<Q>,
        durability: Durability,
    ) -> Result<()> {
        let Self { disk, store, story, .. } = self;
        let seq = outcome.inspect_err(|error| {
            let may_be_found = leaves_doubt(error)
                // Of several who wait for a sync that fails, one is told what failed.
                || (story.is_shared() && error.kind() == ErrorKind::Poisoned);
            match may_be_found && store.is_poisoned() {
                true => story.commit_in_doubt(),
                false => story.commit_refused(),
            }
        })?;
        story.acknowledged(disk.operations(), durability);
        let (expected, given) = (story.last_seq(), seq.into().map_or(0, |seq| seq.0));
        if !story.is_shared() && given != expected {
            return Err(misfit(format_args!("commit {expected} was given number {given}")));
        }
        Ok(())
    }
}

/// So small that a few rows exercise every path; nothing in the background.
pub(crate) fn settings() -> Settings {
    Settings {
        memtable_bytes_max: 8 << 10,
        memory_bytes_max: 32 << 10,
        wal_segment_bytes: 4 << 10,
        wal_bytes_max: 16 << 10,
        run_batch_rows: 8,
        run_bytes_max: 4 << 10,
        level0_runs_max: 2,
        history_min: Duration::ZERO,
        maintenance: Maintenance::Manual,
        ..Settings::default()
    }
}

/// The same for models whose commits are to several streams: else all of them would go straight to runs. And with a history, some
/// of which is let go of again.
pub(crate) fn settings_of_several_streams() -> Settings {
    Settings {
        wal_segment_bytes: 16 << 10,
        wal_bytes_max: 48 << 10,
        history_min: Duration::from_secs(3600),
        history_bytes_max: 64 << 10,
        ..settings()
    }
}

/// Opens the store on a disk.
pub(crate) fn open<S: Subject>(disk: &SimDisk, access: Access) -> Result<Store> {
    open_at::<S>(disk, Path::new(STORE_DIR), access)
}

/// Opens a store on a disk.
pub(crate) fn open_at<S: Subject>(disk: &SimDisk, dir: &Path, access: Access) -> Result<Store> {
    Store::open_with(io_on(disk, STORE_SEED), dir, access, S::settings())
}

/// What a store says of itself doesn't fit what was done with it.
pub(crate) fn misfit(what: impl fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidData, what.to_string())
}

/// Whether a commit that failed so may be found all the same.
pub(crate) fn leaves_doubt(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Io | ErrorKind::NoSpace)
}

/// Why a store is not what it should be.
#[derive(Debug)]
pub enum Problem {
    /// It answers, wrongly.
    Wrong(String),
    /// It doesn't answer.
    Failed(Error),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(message) => f.write_str(message),
            Self::Failed(error) => write!(f, "can't be read: {error}"),
        }
    }
}

impl Problem {
    /// The same, of something.
    pub(crate) fn of(self, what: impl fmt::Display) -> Self {
        match self {
            Self::Wrong(message) => Self::Wrong(format!("{what} {message}")),
            failed => failed,
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Problem> for String {
    fn from(problem: Problem) -> Self {
        problem.to_string()
    }
}

pub(crate) type Judgement<T> = std::result::Result<T, Problem>;

/// What answers wrongly.
pub(crate) fn wrong<T>(message: String) -> Judgement<T> {
    Err(Problem::Wrong(message))
}

/// A store as a snapshot shows it.
#[derive(Debug)]
pub struct Showing<'a> {
    pub(crate) store: &'a Store,
    pub(crate) snapshot: &'a Snapshot,
    /// Whether what holds nothing must be there as well.
    pub(crate) is_made: bool,
}

impl<'a> Showing<'a> {
    /// What a store shows in which everything was made.
    pub(crate) fn of_made(store: &'a Store, snapshot: &'a Snapshot) -> Self {
        Self { store, snapshot, is_made: true }
    }

    /// Whether this is what the store shows now: a pin sees rows of long ago.
    pub(crate) fn is_live(&self) -> Result<bool> {
        Ok(self.store.snapshot()?.seq() == self.snapshot.seq())
    }

    /// Holds it against a model.
    pub(crate) fn compare<S: Subject>(&self, model: &S::Model) -> Judgement<()> {
        let at = self.snapshot.seq();
        S::compare(self, model).map_err(|problem| problem.of(format_args!("at commit {at}:")))
    }
}

/// Holds a store against its story: all that it shows must be what was after one commit.
pub(crate) fn read<S: Subject>(
    store: &Store,
    story: &StoryOf<S>,
    is_made: bool,
) -> Judgement<Found> {
    let snapshot = store.snapshot()?;
    let seq = snapshot.seq().0;
    let Some(model) = story.model(seq) else {
        return wrong(format!("the store says that it is at commit {seq}, which was never made"));
    };
    Showing { store, snapshot: &snapshot, is_made }.compare::<S>(model)?;
    let pins = store.pins();
    let pin = match pins.as_slice() {
        [] => None,
        [pin] if pin.name == PIN => Some(pin.seq.0),
        _ => return wrong(format!("unknown pins: {pins:?}")),
    };
    if let Some(at) = pin {
        let Some(model) = story.pinned(at) else {
            return wrong(format!("a pin sees commit {at}, where none was made"));
        };
        Showing { store, snapshot: &store.snapshot_at(PIN)?, is_made }.compare::<S>(model)?;
    }
    Ok(Found { seq, pin })
}
