//! The bulk commits that are open, so that closing the store can give them up: their files may
//! not be in the way of whoever opens it next.

use std::fmt;
use std::sync::{Arc, Weak};

use timestrata_io::sync::Mutex;

/// What closing the store ends.
pub(crate) trait GiveUp: fmt::Debug + Send + Sync {
    /// Removes its files; waits where it is being committed.
    fn give_up(&self);
}

/// All that are open.
#[derive(Debug, Default)]
pub(crate) struct OpenBulks(Mutex<Vec<Weak<dyn GiveUp>>>);

impl OpenBulks {
    pub(crate) fn add(&self, bulk: &Arc<dyn GiveUp>) {
        let mut list = self.0.lock();
        list.retain(|other| other.strong_count() > 0);
        list.push(Arc::downgrade(bulk));
    }

    /// Removes the files of all, and waits for those that are being committed.
    pub(crate) fn give_up(&self) {
        let list = std::mem::take(&mut *self.0.lock());
        for bulk in list.iter().filter_map(Weak::upgrade) {
            bulk.give_up();
        }
    }
}
