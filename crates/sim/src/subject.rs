//! What a workload drives: a kind of store in use, and the model that it is held against.
//!
//! The runner knows stores only from here, so that each kind is crashed, failed and judged
//! in the same ways. [`Step`] is a letter of a kind's workloads, [`Session`] does what it says.

use std::fmt;
use std::hash::Hash;
use std::path::Path;

use timestrata_engine::{
    Access, Durability, Error, ErrorKind, Maintenance, Result, Settings, Snapshot, Store,
};

use crate::disk::SimDisk;
use crate::io_on;
use crate::story::{Found, Story};

/// Where the store is on the simulated disk: two directories that are not there yet.
pub(crate) const STORE_DIR: &str = "/data/store";
/// Where a backup of it goes.
pub(crate) const COPY_DIR: &str = "/data/copy";
const PIN: &str = "pin";
/// Seed of the store's identity.
const STORE_SEED: u64 = 77;

/// What a store must hold, after each commit.
pub trait Model: Clone {
    /// One change of a commit.
    type Change: Clone + fmt::Debug + Send + Sync + 'static;

    /// The last commit.
    fn seq(&self) -> u64;

    /// The store after one more commit: all of its changes, in order.
    #[must_use]
    fn after(&self, changes: &[Self::Change]) -> Self;
}

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

/// One step of a workload of its kind, a function of its turn: so a workload is fully named by its letters.
pub trait Step: Copy + Eq + Hash + fmt::Debug + Send + Sync + 'static {
    /// What takes the steps.
    type Session: Session;
    /// Each step with its letter; none has one that all kinds have ([`Letter`](crate::Letter)).
    const ALPHABET: &'static [(char, Self)];
    /// Longer workloads, each with a reason.
    const CHOSEN: &'static [&'static str];
    /// What the command line calls workloads of this kind.
    const KIND: &'static str;

    /// What the step writes at this turn.
    fn writes(self, turn: usize) -> Vec<WriteOf<Self>>;
}

/// What only a kind's sessions do.
pub(crate) type WriteOf<S> = <<S as Step>::Session as Session>::Write;
/// What a kind's sessions do.
pub(crate) type ActionOf<S> = Action<WriteOf<S>>;
/// What a kind's stores are held against.
pub(crate) type ModelOf<S> = <<S as Step>::Session as Session>::Model;
/// What a kind's stores have promised.
pub(crate) type StoryOf<S> = Story<ModelOf<S>>;
/// A kind's changes.
pub(crate) type ChangeOf<S> = <ModelOf<S> as Model>::Change;

/// An open store with all that its kind has in it.
pub trait Session: Sized {
    /// What it is held against.
    type Model: Model;
    /// What only this kind of store does.
    type Write: Clone;

    /// A store without a commit, in the model.
    fn empty_model() -> Self::Model;

    /// Makes what is missing in an open store.
    fn attach(base: Base, story: &mut Story<Self::Model>) -> Result<Self>;

    /// How the store is opened.
    fn settings() -> Settings {
        settings()
    }

    /// The part that all kinds have.
    fn base(&self) -> &Base;

    /// The same, to be changed.
    fn base_mut(&mut self) -> &mut Base;

    /// Does one thing. After an error the story says what was begun and not acknowledged.
    fn write(&mut self, write: &Self::Write, story: &mut Story<Self::Model>) -> Result<()>;

    /// Whether a write that fails on the disk always leaves its commit in doubt: it does no I/O
    /// but that.
    fn is_only_a_commit(write: &Self::Write) -> bool;

    /// What is done with a store that recovered to commit `seq`.
    fn after_recovery(seq: u64) -> Vec<Action<Self::Write>>;

    /// A `Synced` commit, tried after a failure.
    fn after_failure() -> Self::Write;

    /// Holds a snapshot against a model; what holds nothing may be missing if it isn't promised.
    fn compare(
        store: &Store,
        snapshot: &Snapshot,
        model: &Self::Model,
        is_made: bool,
    ) -> Judgement<()>;

    /// Opens the store, and makes what is missing in it.
    fn start(disk: &SimDisk, story: &mut Story<Self::Model>) -> Result<Self> {
        Self::attach(Base::of_opened(disk, open::<Self>(disk, Access::Write)?), story)
    }

    /// The store.
    fn store(&self) -> &Store {
        &self.base().store
    }

    /// Does one thing, as [`write`](Self::write).
    fn act(&mut self, action: &Action<Self::Write>, story: &mut Story<Self::Model>) -> Result<()> {
        match action {
            Action::Write(write) => self.write(write, story),
            Action::Sync => self.base().sync(story),
            Action::Flush => self.store().flush(),
            Action::Compact => self.store().compact(None),
            Action::Pin => self.base_mut().toggle_pin(story),
            Action::Reopen => {
                self.store().close()?;
                let disk = self.base().disk.clone();
                story.acknowledged(disk.operations(), Durability::Synced);
                *self = Self::start(&disk, story)?;
                Ok(())
            }
        }
    }
}

/// An open store, and what is the same for every kind.
#[derive(Debug)]
pub struct Base {
    pub(crate) disk: SimDisk,
    pub(crate) store: Store,
    pub(crate) pinned: bool,
}

impl Base {
    /// The only one who uses an open store.
    fn of_opened(disk: &SimDisk, store: Store) -> Self {
        let pinned = !store.pins().is_empty();
        Self { disk: disk.clone(), store, pinned }
    }

    /// One of several who use an open store.
    pub(crate) fn of(disk: &SimDisk, store: &Store) -> Self {
        Self { disk: disk.clone(), store: store.clone(), pinned: false }
    }

    /// Tells the story how the commit that was begun last has ended.
    pub(crate) fn committed<M: Model>(
        &self,
        outcome: Result<u64>,
        durability: Durability,
        story: &mut Story<M>,
    ) -> Result<()> {
        let seq = outcome.inspect_err(|error| {
            let may_be_found = leaves_doubt(error)
                // Of several who wait for a sync that fails, one is told what failed.
                || (story.is_shared() && error.kind() == ErrorKind::Poisoned);
            match may_be_found && self.store.is_poisoned() {
                true => story.commit_in_doubt(),
                false => story.commit_refused(),
            }
        })?;
        story.acknowledged(self.disk.operations(), durability);
        if story.is_shared() {
            return Ok(());
        }
        if seq != story.last().seq() {
            let message = format!("commit {} was given number {seq}", story.last().seq());
            return Err(Error::new(ErrorKind::InvalidData, message));
        }
        Ok(())
    }

    fn sync<M: Model>(&self, story: &mut Story<M>) -> Result<()> {
        self.store.sync()?;
        story.acknowledged(self.disk.operations(), Durability::Synced);
        Ok(())
    }

    fn toggle_pin<M: Model>(&mut self, story: &mut Story<M>) -> Result<()> {
        if self.pinned {
            story.unpin_begun(self.disk.operations());
            self.store.unpin(PIN)?;
            story.unpin_done(self.disk.operations());
        } else {
            story.pin_begun(self.disk.operations());
            self.store.pin(PIN)?;
            story.pin_done(self.disk.operations());
        }
        self.pinned = !self.pinned;
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
        maintenance: Maintenance::Manual,
        ..Settings::default()
    }
}

/// The same for models whose commits are to several streams: else all of them would go straight to runs.
pub(crate) fn settings_of_several_streams() -> Settings {
    Settings { wal_segment_bytes: 16 << 10, wal_bytes_max: 48 << 10, ..settings() }
}

/// Opens the store on a disk.
pub(crate) fn open<S: Session>(disk: &SimDisk, access: Access) -> Result<Store> {
    open_at::<S>(disk, Path::new(STORE_DIR), access)
}

/// Opens a store on a disk.
pub(crate) fn open_at<S: Session>(disk: &SimDisk, dir: &Path, access: Access) -> Result<Store> {
    Store::open_with(io_on(disk, STORE_SEED), dir, access, S::settings())
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

/// Holds a store against its story: all that it shows must be what was after one commit.
pub(crate) fn read<S: Session>(
    store: &Store,
    story: &Story<S::Model>,
    is_made: bool,
) -> Judgement<Found> {
    let snapshot = store.snapshot()?;
    let seq = snapshot.seq().0;
    let Some(model) = story.model(seq) else {
        let message = format!("the store says that it is at commit {seq}, which was never made");
        return Err(Problem::Wrong(message));
    };
    S::compare(store, &snapshot, model, is_made)?;
    let pins = store.pins();
    let pin = match pins.as_slice() {
        [] => None,
        [pin] if pin.name == PIN => Some(pin.seq.0),
        _ => return Err(Problem::Wrong(format!("unknown pins: {pins:?}"))),
    };
    if let Some(at) = pin {
        let Some(model) = story.pinned(at) else {
            return Err(Problem::Wrong(format!("a pin sees commit {at}, where none was made")));
        };
        S::compare(store, &store.snapshot_at(PIN)?, model, is_made)?;
    }
    Ok(Found { seq, pin })
}
