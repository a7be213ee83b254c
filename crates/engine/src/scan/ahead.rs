//! Reading ahead: several threads read the pieces of a large range, and the batches come in order
//! all the same.
//!
//! Pieces are taken in order, so that the one wanted next is always being read. A thread that has
//! read enough of what nobody has taken yet waits; one that has nothing to do ends.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use timestrata_format::KeyRange;
use timestrata_io::Arena;
use timestrata_io::sync::{Condvar, Mutex};

use super::merge::Batches;
use super::threads::Begun;
use super::{ScanSpec, StreamView};
use crate::{Error, ErrorKind, Result, RunningQuery};

/// Threads wait while so much has been read and not taken.
const BYTES_AHEAD_MAX: usize = 64 << 20;
/// And where so many pieces have, whatever their size.
const PIECES_AHEAD_A_THREAD: usize = 4;

/// What is read: `pieces` follow each other in the order of reading.
struct SharedScan {
    view: Arc<StreamView>,
    spec: ScanSpec,
    query: Option<RunningQuery>,
    pieces: Vec<KeyRange>,
    /// Rows of all pieces.
    scan_rows: u64,
    pieces_ahead_max: usize,
    state: Mutex<ReadAhead>,
    /// A piece has been read, or taken, or nobody wants more.
    changed: Condvar,
}

#[derive(Default)]
struct ReadAhead {
    /// The piece that will be read next.
    next: usize,
    /// The piece that will be taken next.
    wanted: usize,
    read: BTreeMap<usize, Result<Vec<RecordBatch>>>,
    bytes: usize,
    is_over: bool,
}

/// The batches of a range that threads of its own read.
pub(super) struct Ahead {
    work: Arc<SharedScan>,
    threads: Vec<Begun>,
    ready: VecDeque<RecordBatch>,
}

impl Ahead {
    /// Starts up to `spec.threads` threads; `None` where there is too little for them or the
    /// system has none.
    pub(super) fn start(
        view: &Arc<StreamView>,
        spec: &ScanSpec,
        query: Option<&RunningQuery>,
        scan_rows: u64,
    ) -> Result<Option<Self>> {
        let mut pieces = view.pieces_to_hold(&spec.range)?;
        let threads = spec.threads.min(pieces.len());
        if threads <= 1 {
            return Ok(None);
        }
        if spec.reverse {
            pieces.reverse();
        }
        let work = Arc::new(SharedScan {
            view: Arc::clone(view),
            spec: ScanSpec { threads: 1, limit: None, ..spec.clone() },
            query: query.cloned(),
            scan_rows,
            pieces,
            pieces_ahead_max: threads * PIECES_AHEAD_A_THREAD,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let started = (0..threads).map_while(|_| {
            let work = Arc::clone(&work);
            view.threads.begin(move || work.read_pieces()).ok()
        });
        let threads: Vec<_> = started.collect();
        if threads.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { work, threads, ready: VecDeque::new() }))
    }

    /// The batches of the next piece; `None` at the end.
    fn next_piece(&mut self) -> Option<Result<Vec<RecordBatch>>> {
        let mut state = self.work.state.lock();
        let wanted = state.wanted;
        if wanted >= self.work.pieces.len() {
            return None;
        }
        let piece = loop {
            match state.read.remove(&wanted) {
                Some(piece) => break piece,
                None => self.work.changed.wait(&mut state),
            }
        };
        state.wanted += 1;
        state.bytes -= piece.as_ref().map_or(0, |batches| bytes_of(batches));
        if piece.is_err() {
            state.wanted = self.work.pieces.len();
            state.is_over = true;
        }
        drop(state);
        self.work.changed.notify_all();
        Some(piece)
    }
}

impl Batches for Ahead {
    fn next_batch(&mut self, _: usize) -> Option<Result<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Some(Ok(batch));
            }
            match self.next_piece()? {
                Ok(batches) => self.ready = batches.into(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.work.state.lock().is_over = true;
        self.work.changed.notify_all();
        for thread in self.threads.drain(..) {
            thread.join();
        }
    }
}

impl SharedScan {
    /// What each thread does.
    fn read_pieces(&self) {
        let arena = Arena::default();
        while let Some(index) = self.take_piece() {
            let mut promise = Promise { work: self, index, outcome: None };
            promise.outcome = Some(self.read_piece(index, &arena));
        }
    }

    /// The next piece that is to be read, once there is room for it.
    fn take_piece(&self) -> Option<usize> {
        let mut state = self.state.lock();
        loop {
            if state.is_over || state.next >= self.pieces.len() {
                return None;
            }
            let ahead = state.next - state.wanted;
            let is_much = state.bytes >= BYTES_AHEAD_MAX || ahead >= self.pieces_ahead_max;
            if ahead == 0 || !is_much {
                state.next += 1;
                return Some(state.next - 1);
            }
            self.changed.wait(&mut state);
        }
    }

    fn read_piece(&self, index: usize, arena: &Arena) -> Result<Vec<RecordBatch>> {
        let Some(range) = self.pieces.get(index) else { return Ok(Vec::new()) };
        let mut batches = Vec::new();
        let spec = ScanSpec { range: *range, ..self.spec.clone() };
        let (query, rows) = (self.query.as_ref(), Some(self.scan_rows));
        for batch in self.view.scan_part(&spec, query, rows, arena)? {
            batches.push(batch?);
            if self.state.lock().is_over {
                break;
            }
        }
        Ok(batches)
    }
}

/// Whoever waits for a piece gets an answer, even where reading it panics.
struct Promise<'a> {
    work: &'a SharedScan,
    index: usize,
    outcome: Option<Result<Vec<RecordBatch>>>,
}

impl Drop for Promise<'_> {
    fn drop(&mut self) {
        let outcome = self.outcome.take().unwrap_or_else(|| {
            let message = "a thread that read ahead has failed; its panic says why";
            Err(Error::new(ErrorKind::Io, message))
        });
        let mut state = self.work.state.lock();
        state.bytes += outcome.as_ref().map_or(0, |batches| bytes_of(batches));
        state.read.insert(self.index, outcome);
        drop(state);
        self.work.changed.notify_all();
    }
}

fn bytes_of(batches: &[RecordBatch]) -> usize {
    let columns = batches.iter().flat_map(RecordBatch::columns);
    columns.map(|column| column.to_data().get_slice_memory_size().unwrap_or(0)).sum()
}
