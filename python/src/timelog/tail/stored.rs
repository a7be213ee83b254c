//! Following a log that a store keeps.

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use timestrata_engine::{ErrorKind, Result};
use timestrata_timelog::{EntryBlock, Tail, TailBlock, TailCursor, TailOptions};

use super::super::stored::Stored;
use crate::codec::Decoder;
use crate::error::{invalid, to_python};
use crate::interrupt::detached;
use crate::lock::{Kept, Lock};
use crate::typed::Typed;

/// Follows a log of a store, maybe by a name under which the store keeps how far it has come.
#[derive(Debug)]
pub(super) struct StoredTail {
    stored: Arc<Stored>,
    /// Held while waiting. Who wants what is there already need not wait for it.
    tail: Lock<Tail>,
    ready: Lock<Ready>,
    /// In place of the log's own, of one that has got columns since.
    decoder: Kept<Decoder>,
    name: Option<String>,
}

#[derive(Debug)]
struct Ready {
    /// Entries that were read, and the next one to be given.
    block: Option<(TailBlock, usize)>,
    /// Behind the last one that was given.
    cursor: TailCursor,
}

impl StoredTail {
    /// # Errors
    /// As `Timelog::tail` of the model; a name whose place is lost as `Store::follow`.
    pub(super) fn begin(
        py: Python<'_>,
        stored: Arc<Stored>,
        mut options: TailOptions,
        name: Option<String>,
    ) -> PyResult<Self> {
        let tail = stored.ask(py, |log| {
            let Some(name) = &name else { return log.tail(&options) };
            let store = log.store();
            match store.followers()?.get(name) {
                Some(saved) => {
                    options.since = None;
                    options.after = Some(TailCursor::behind(*saved));
                }
                // Of what is there at first nothing is noted: one that breaks off in it begins anew.
                None if options.since.is_some() => {}
                None => {
                    let feed = store.follow(name, None)?;
                    options.after = Some(TailCursor::behind(feed.last_seq()));
                }
            }
            log.tail(&options)
        })?;
        let ready = Ready { block: None, cursor: tail.cursor() };
        let (tail, ready) = (Lock::new(tail), Lock::new(ready));
        Ok(Self { stored, tail, ready, decoder: Kept::new(None), name })
    }

    pub(super) fn cursor(&self) -> String {
        self.ready.lock().cursor.to_string()
    }

    /// Notes that all is done that was given, as far as it was whole commits.
    ///
    /// # Errors
    /// `InvalidArgumentError` without a name, `ReadOnlyError` beside the writer.
    pub(super) fn save(&self, py: Python<'_>) -> PyResult<()> {
        let Some(name) = &self.name else {
            return Err(invalid("only a tail with a name notes how far it has come"));
        };
        let cursor = {
            let ready = self.ready.lock();
            match &ready.block {
                Some((found, next)) if *next >= found.block.len() => found.end,
                _ => ready.cursor,
            }
        };
        // Of what is there at first nothing is noted.
        let Some(seq) = cursor.commit() else { return Ok(()) };
        let log = self.stored.log()?;
        detached(py, || {
            let store = log.store();
            match store.followers()?.contains_key(name) {
                true => store.save_follower(name, seq).map(drop),
                false => store.follow(name, Some(seq)).map(drop),
            }
        })
    }

    /// The next entry that is there.
    pub(super) fn take<'py>(&self, py: Python<'py>) -> PyResult<Option<(i64, Bound<'py, PyAny>)>> {
        let (block, row, time) = {
            let mut ready = self.ready.lock();
            let Ready { block, cursor } = &mut *ready;
            let Some((found, next)) = block else { return Ok(None) };
            let Some(time) = found.block.times().get(*next).copied() else { return Ok(None) };
            if *next == 0 {
                *cursor = found.begin;
            }
            cursor.advance(time);
            let row = *next;
            *next += 1;
            (found.block.clone(), row, time)
        };
        // Without the lock: decoding may run Python code, which may come back here.
        let decoder = self.decoder_of(py, &block)?;
        let value = decoder.object(py, &block, row).inspect_err(|error| {
            let note = format!("it is the value at timestamp {time}; the tail goes on behind it");
            let _ = error.value(py).call_method1("add_note", (note,));
        })?;
        Ok(value.map(|value| (time, value)))
    }

    /// What decodes a block: of a log that has got columns since, another one than before.
    fn decoder_of(&self, py: Python<'_>, block: &EntryBlock) -> PyResult<Decoder> {
        let decoder = self.decoder.get().unwrap_or_else(|| self.stored.decoder.clone());
        let columns = |typed: &Arc<Typed>| typed.columns.fields().len();
        if decoder.typed().is_none_or(|typed| columns(typed) == block.columns().len()) {
            return Ok(decoder);
        }
        let log = self.stored.log()?.current().map_err(to_python)?;
        let renewed = Decoder::of(py, &log)?;
        drop(self.decoder.replace(Some(renewed.clone())));
        Ok(renewed)
    }

    /// Reads what comes next, and waits for it; Python isn't asked for anything meanwhile.
    fn read(&self, timeout: Duration) -> Result<bool> {
        let mut tail = self.tail.lock();
        if self.has_some() {
            return Ok(true);
        }
        let found = tail.next(timeout)?;
        let mut ready = self.ready.lock();
        match found {
            Some(found) => ready.block = Some((found, 0)),
            // What was looked at and not wanted need not be looked at again.
            None => (ready.block, ready.cursor) = (None, tail.cursor()),
        }
        Ok(ready.block.is_some())
    }

    fn has_some(&self) -> bool {
        let ready = self.ready.lock();
        ready.block.as_ref().is_some_and(|(found, next)| *next < found.block.len())
    }

    /// Reads what comes next, and waits for it up to `timeout`; `None` where none will come.
    pub(super) fn fill(&self, py: Python<'_>, timeout: Duration) -> PyResult<Option<bool>> {
        self.stored.handle.store_even_closed()?;
        if self.stored.handle.is_closed() {
            return Ok(None);
        }
        match py.detach(|| self.read(timeout)) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == ErrorKind::Closed => Ok(None),
            Err(error) => Err(self.stored.explained(to_python(error))),
        }
    }
}
