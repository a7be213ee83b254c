//! What is damaged, and which rows are missing for it.
//!
//! Owns the list of what a scan has left out, and the store's memory of which runs
//! have damage: compaction sets those aside. Damage is noted by whoever meets it: readers, compaction,
//! the scrubber.

use std::collections::BTreeMap;

use timestrata_format::RunId;
use timestrata_io::sync::Mutex;

use crate::{Error, ErrorKind, MissingRange};

/// Places that are remembered of one run at most; more don't change what can be done.
const PLACES_MAX: usize = 256;

/// What one reading has left out.
#[derive(Debug, Default)]
pub(crate) struct LeftOut(Mutex<Vec<MissingRange>>);

impl LeftOut {
    /// Notes what an error says is missing, once.
    ///
    /// # Errors
    /// The error itself, if it is none of damage.
    pub(crate) fn note(&self, error: Error) -> Result<(), Error> {
        let missing = error.missing().filter(|_| error.kind() == ErrorKind::Corruption);
        let Some(missing) = missing.cloned() else { return Err(error) };
        let mut list = self.0.lock();
        if !list.contains(&missing) {
            list.push(missing);
        }
        Ok(())
    }

    /// All so far.
    pub(crate) fn list(&self) -> Vec<MissingRange> {
        self.0.lock().clone()
    }
}

/// The runs of an open store that are known to be damaged.
#[derive(Debug, Default)]
pub(crate) struct DamagedRuns(Mutex<BTreeMap<RunId, Vec<MissingRange>>>);

impl DamagedRuns {
    /// Remembers what came of reading a run, if that was damage.
    pub(crate) fn note<T>(&self, run: RunId, outcome: &Result<T, Error>) {
        if let Err(error) = outcome
            && error.kind() == ErrorKind::Corruption
            && let Some(missing) = error.missing()
        {
            self.add(run, missing.clone());
        }
    }

    /// Remembers a place of a run.
    pub(crate) fn add(&self, run: RunId, missing: MissingRange) {
        let mut runs = self.0.lock();
        let places = runs.entry(run).or_default();
        let is_known = places.iter().any(|known| {
            (known.key_min, known.key_max, known.offset)
                == (missing.key_min, missing.key_max, missing.offset)
        });
        if !is_known && places.len() < PLACES_MAX {
            places.push(missing);
        }
    }

    /// Forgets a run: it is gone, or all of it has been found whole.
    pub(crate) fn forget(&self, run: RunId) {
        self.0.lock().remove(&run);
    }

    /// The runs of which rows are missing. (A damaged filter costs none.)
    pub(crate) fn ids(&self) -> Vec<RunId> {
        let runs = self.0.lock();
        let with_rows = runs.iter().filter(|(_, places)| places.iter().any(|at| at.rows > 0));
        with_rows.map(|(run, _)| *run).collect()
    }

    /// What is damaged, by run.
    pub(crate) fn list(&self) -> Vec<MissingRange> {
        self.0.lock().values().flatten().cloned().collect()
    }

    /// The first place known of a run.
    pub(crate) fn first_of(&self, run: RunId) -> Option<MissingRange> {
        self.0.lock().get(&run).and_then(|places| places.first().cloned())
    }
}
