//! Streams that are made for one commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::Store;
use crate::Result;
use crate::state::Maker;

static NEXT: AtomicU64 = AtomicU64::new(1);

/// What streams are being made for.
#[derive(Debug)]
pub(super) struct Making {
    maker: Maker,
    has_ended: AtomicBool,
}

/// Streams that are made for one commit: they are there once it is, and not before.
///
/// What is made through [`ProvisionalStreams::store`] is seen by nobody else. If the commit is made, [`ProvisionalStreams::keep`] shows
/// it; if it is not, or the process dies, or power fails and takes the commit, it has never been. Whoever makes, or opens by its name,
/// what is being made here has it from then on, whatever becomes of the commit.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let spec = |name: &str| {
///     let columns = vec![Field::new("time", DataType::Int64, false)];
///     StreamSpec::new(name, Arc::new(Schema::new(columns)))
/// };
///
/// let given_up = store.provisional();
/// given_up.store().create_stream(spec("kitchen"))?;
/// assert!(store.streams().is_empty());
/// drop(given_up);
///
/// let made = store.provisional();
/// let hall = made.store().create_stream(spec("hall"))?;
/// let mut appender = made.store().appender(hall)?;
/// appender.append(&[Cell::Int(1_000)], Durability::Written)?;
/// made.keep()?;
/// assert_eq!(store.streams().len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ProvisionalStreams {
    store: Store,
    making: Arc<Making>,
}

impl Store {
    /// Begins to make streams for one commit.
    #[must_use]
    pub fn provisional(&self) -> ProvisionalStreams {
        let maker = NEXT.fetch_add(1, Ordering::Relaxed);
        let making = Arc::new(Making { maker, has_ended: AtomicBool::new(false) });
        let store = Self { handle: Arc::clone(&self.handle), making: Some(Arc::clone(&making)) };
        ProvisionalStreams { store, making }
    }

    /// Makes a stream as durable as one that was not made for a commit, if it is there: as that of a model which is told that what it
    /// is to make is there already.
    ///
    /// # Errors
    /// As [`Store::create_stream`].
    pub fn settle_stream(&self, name: &str) -> Result<()> {
        self.engine().telling(self.engine().settle_stream(name, self.maker()))
    }

    /// For whom streams are made through this.
    pub(super) fn maker(&self) -> Option<Maker> {
        let making = self.making.as_ref()?;
        (!making.has_ended.load(Ordering::Acquire)).then_some(making.maker)
    }
}

impl ProvisionalStreams {
    /// The store, by which they are made and opened. When all has ended it is like any other handle of it.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Keeps the streams: the commit is made. Those that it has not changed are made durable by themselves.
    ///
    /// # Errors
    /// As [`Store::create_stream`]: the commit is there, but streams that it has not changed may not outlive a crash.
    pub fn keep(self) -> Result<()> {
        self.making.has_ended.store(true, Ordering::Release);
        let engine = self.store.engine();
        engine.telling(engine.keep_provisional(self.making.maker))
    }
}

impl Drop for ProvisionalStreams {
    fn drop(&mut self) {
        if !self.making.has_ended.swap(true, Ordering::AcqRel) {
            // What can't be taken out now is hidden, and the next opening takes it out.
            let _ = self.store.engine().discard_provisional(self.making.maker);
        }
    }
}
