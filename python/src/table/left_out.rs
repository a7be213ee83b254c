//! What readings of `Rows` leave out because it is damaged.

use std::sync::Arc;

use arrow_array::RecordBatch;
use timestrata_engine::{MissingRange, Result, Scan};

use crate::lock::Lock;

/// What the readings of one `Rows` have left out so far, each place once. All of them read the same
/// snapshot, so a later one finds the same places.
#[derive(Debug, Default)]
pub(super) struct LeftOut(Lock<Vec<MissingRange>>);

impl LeftOut {
    pub(super) fn list(&self) -> Vec<MissingRange> {
        self.0.lock().clone()
    }

    fn note(&self, missing: Vec<MissingRange>) {
        let mut known = self.0.lock();
        for place in missing {
            if !known.contains(&place) {
                known.push(place);
            }
        }
    }
}

/// The batches of a scan that leaves damage out, and tells of it as it meets it.
pub(super) struct Telling {
    scan: Scan,
    told: usize,
    left_out: Arc<LeftOut>,
}

impl Telling {
    pub(super) fn new(scan: Scan, left_out: &Arc<LeftOut>) -> Self {
        Self { scan, told: 0, left_out: Arc::clone(left_out) }
    }
}

impl Iterator for Telling {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.scan.next();
        let missing = self.scan.missing();
        if missing.len() > self.told {
            self.told = missing.len();
            self.left_out.note(missing);
        }
        batch
    }
}
