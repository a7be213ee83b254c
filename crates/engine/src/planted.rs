//! Faults that tests plant on purpose: the simulator must notice each of them, or nobody
//! knows that it would notice a real one.
//!
//! The engine makes some, and the models on top of it others. Only builds with the feature
//! `planted-faults` can make them, which the simulator alone asks for: elsewhere `is_planted` is a
//! constant. A fault holds in the thread that planted it, for as long as its guard lives, and in the
//! threads of stores that were opened there meanwhile.
//!
//! In the same builds a thread can ask where in the order of commits its last one stands.

use timestrata_format::SeqNo;

/// What can be planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Plant {
    /// Checksums of run data and of log records are not looked at.
    SkippedChecksum,
    /// A flush forgets the range deletes that older runs must heed.
    LostTombstone,
    /// Recovery gives back the first change of a commit only.
    HalfReplayed,
    /// Deletes by key are forgotten, in commits and in bulk.
    KeptKeys,
    /// Retention by bytes lets runs go without the older ones that they cover.
    UncoveredRetention,
    /// A flush lets go of the log up to its end as it finds it, and not of what it knows to be
    /// in runs: what is committed meanwhile goes with it.
    StaleFloor,
    /// Topics: a send that is repeated is answered without waiting for the first one's sync.
    UnsyncedRepeat,
    /// Topics: an opened partition forgets its last record, whose offset is handed out again.
    OffsetTwice,
    /// Graphs: an edge is kept at its source only.
    OneDirection,
    /// Logs: an entry is acknowledged as synced before it is.
    UnsyncedEntry,
    /// Time logs: a value is acknowledged as synced before it is.
    UnsyncedValue,
    /// Several models: a commit of theirs is acknowledged as synced before it is.
    UnsyncedTogether,
    /// Several models: what the first of them changes is committed by itself.
    CommitInTwo,
    /// A writer doesn't look whether it still holds the store's lock.
    UnlookedLock,
    /// A store goes on after a failure that leaves in doubt what is on disk.
    UnheededFailure,
    /// A backup leaves the oldest run of each stream out.
    BackupWithoutRun,
    /// A backup says that it is of a moment before the one that it is of.
    BackupOfTwoMoments,
    /// Opening sets a run aside that the manifest names.
    NamedRunSetAside,
    /// Opening removes run files that no version names, and doesn't set them aside.
    OrphansRemoved,
}

/// Notes which place in the order of commits this thread has just given to a commit.
#[cfg(not(feature = "planted-faults"))]
#[inline]
pub(crate) const fn placed(_seq: SeqNo) {}

/// Whether this thread is to make the fault.
#[cfg(not(feature = "planted-faults"))]
#[must_use]
pub const fn is_planted(_fault: Plant) -> bool {
    false
}

/// What a thread of the store's own does, with the faults of the thread that starts it.
#[cfg(not(feature = "planted-faults"))]
pub(crate) fn carried<F: FnOnce() + Send + 'static>(body: F) -> F {
    body
}

#[cfg(feature = "planted-faults")]
pub use planting::{Planted, is_planted, plant, take_placed};
#[cfg(feature = "planted-faults")]
pub(crate) use planting::{carried, placed};

#[cfg(feature = "planted-faults")]
mod planting {
    use std::cell::Cell;

    use super::{Plant, SeqNo};

    thread_local! {
        static PLANTED: Cell<Option<Plant>> = const { Cell::new(None) };
        static PLACED: Cell<Option<SeqNo>> = const { Cell::new(None) };
    }

    /// Notes which place in the order of commits this thread has just given to a commit.
    pub(crate) fn placed(seq: SeqNo) {
        PLACED.set(Some(seq));
    }

    /// The place in the order that this thread has last given to a commit since it asked last: also
    /// where a call doesn't tell, and where it failed afterwards, so that the commit is in doubt.
    #[must_use]
    pub fn take_placed() -> Option<SeqNo> {
        PLACED.take()
    }

    /// Takes the fault away when it is dropped.
    #[derive(Debug)]
    pub struct Planted(());

    /// Plants a fault in this thread.
    #[must_use]
    pub fn plant(fault: Plant) -> Planted {
        PLANTED.set(Some(fault));
        Planted(())
    }

    impl Drop for Planted {
        fn drop(&mut self) {
            PLANTED.set(None);
        }
    }

    /// What a thread of the store's own does, with the faults of the thread that starts it.
    pub(crate) fn carried(body: impl FnOnce() + Send + 'static) -> impl FnOnce() + Send + 'static {
        let fault = PLANTED.get();
        move || {
            let _planted = fault.map(plant);
            body();
        }
    }

    /// Whether this thread is to make the fault.
    #[must_use]
    pub fn is_planted(fault: Plant) -> bool {
        PLANTED.get() == Some(fault)
    }
}
