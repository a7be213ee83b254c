//! Threads that parse pieces of text, and give the batches back in the order of the pieces.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use arrow_array::RecordBatch;
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_io::sync::Mutex;

use super::BatchReader;
use super::pieces::{Cutter, PIECE_BYTES, Piece};
use super::report::{BadRow, ReadReport};

/// Bytes of the first piece; each is twice the one before, up to those of all others. So a short
/// input is shared among workers too.
const FIRST_PIECE_BYTES: usize = 128 << 10;
/// Pieces that are cut ahead, a worker.
const AHEAD: usize = 2;

/// What turns a piece into batches.
pub(super) trait ParsePiece: Send + Sync {
    /// Parses all of a piece.
    fn parse(&self, piece: Piece) -> Result<Parsed>;
}

/// What a piece held.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) batches: Vec<RecordBatch>,
    pub(super) skipped: Vec<BadRow>,
}

struct Job {
    piece: Piece,
    answer: SyncSender<Result<Parsed>>,
}

/// Who parses.
enum Workers {
    /// So many threads, once there is more than one piece: to start them takes longer than to parse a short one.
    Due(usize),
    Started(Sender<Job>),
    /// Whoever asks for batches.
    None,
}

/// Batches of pieces, parsed by workers or, without any, by who asks for them.
pub(super) struct Pieces {
    cutter: Cutter,
    parser: Arc<dyn ParsePiece>,
    workers: Workers,
    /// Bytes of the next piece.
    piece_bytes: usize,
    in_flight: VecDeque<Receiver<Result<Parsed>>>,
    in_flight_max: usize,
    ready: VecDeque<RecordBatch>,
    is_at_end: bool,
    /// An error of the input, to be given behind all that was cut before.
    failure: Option<Error>,
}

impl Pieces {
    pub(super) fn new(cutter: Cutter, parser: Arc<dyn ParsePiece>, threads: usize) -> Self {
        let workers = if threads > 1 { Workers::Due(threads) } else { Workers::None };
        Self {
            cutter,
            parser,
            workers,
            piece_bytes: FIRST_PIECE_BYTES,
            in_flight: VecDeque::new(),
            in_flight_max: threads.saturating_mul(AHEAD),
            ready: VecDeque::new(),
            is_at_end: false,
            failure: None,
        }
    }

    /// The next piece's batches.
    fn parse_next(&mut self) -> Result<Option<Parsed>> {
        let threads = match &self.workers {
            Workers::Started(jobs) => {
                let jobs = jobs.clone();
                return self.parsed_by(&jobs);
            }
            Workers::Due(threads) => *threads,
            Workers::None => 0,
        };
        if self.is_at_end {
            return self.failure.take().map_or(Ok(None), Err);
        }
        if threads == 0 {
            let piece = self.cutter.next(PIECE_BYTES)?;
            return piece.map(|piece| self.parser.parse(piece)).transpose();
        }
        // Behind an error or the end there is nothing.
        self.is_at_end = true;
        let Some(first) = self.cut()? else { return Ok(None) };
        let second = match self.cut() {
            Ok(Some(second)) => second,
            outcome => {
                self.failure = outcome.err();
                return self.parser.parse(first).map(Some);
            }
        };
        self.is_at_end = false;
        let Some(jobs) = start(&self.parser, threads) else {
            self.workers = Workers::None;
            self.cutter.give_back(second);
            return self.parser.parse(first).map(Some);
        };
        self.send(&jobs, first);
        self.send(&jobs, second);
        self.workers = Workers::Started(jobs.clone());
        self.parsed_by(&jobs)
    }

    /// The next piece for a worker: each is twice as long as the one before, up to a bound.
    fn cut(&mut self) -> Result<Option<Piece>> {
        let piece = self.cutter.next(self.piece_bytes)?;
        self.piece_bytes = (self.piece_bytes * 2).min(PIECE_BYTES);
        Ok(piece)
    }

    fn send(&mut self, jobs: &Sender<Job>, piece: Piece) {
        let (answer, receiver) = sync_channel(1);
        // Workers end only when this sender does; were they gone, waiting says so.
        let _ = jobs.send(Job { piece, answer });
        self.in_flight.push_back(receiver);
    }

    fn parsed_by(&mut self, jobs: &Sender<Job>) -> Result<Option<Parsed>> {
        while !self.is_at_end && self.in_flight.len() < self.in_flight_max {
            match self.cut() {
                Ok(Some(piece)) => self.send(jobs, piece),
                Ok(None) => self.is_at_end = true,
                Err(error) => {
                    self.is_at_end = true;
                    self.failure = Some(error);
                }
            }
        }
        match self.in_flight.pop_front() {
            Some(receiver) => receiver.recv().unwrap_or_else(|_| Err(worker_gone())).map(Some),
            None => self.failure.take().map_or(Ok(None), Err),
        }
    }
}

impl BatchReader for Pieces {
    fn next(&mut self, report: &mut ReadReport) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            let Some(parsed) = self.parse_next()? else { return Ok(None) };
            report.skip(parsed.skipped);
            self.ready.extend(parsed.batches);
        }
    }
}

/// Starts the workers; they end when the sender is dropped. `None` if not one could be started.
fn start(parser: &Arc<dyn ParsePiece>, threads: usize) -> Option<Sender<Job>> {
    let (sender, receiver) = channel::<Job>();
    let receiver = Arc::new(Mutex::new(receiver));
    let mut started = 0;
    for _ in 0..threads {
        let (parser, receiver) = (Arc::clone(parser), Arc::clone(&receiver));
        let worker = move || {
            loop {
                let job = receiver.lock().recv();
                let Ok(Job { piece, answer }) = job else { return };
                // Nobody waits any more where the source has been dropped.
                let _ = answer.send(parser.parse(piece));
            }
        };
        let builder = thread::Builder::new().name("timestrata-parse".to_owned());
        started += usize::from(builder.spawn(worker).is_ok());
    }
    (started > 0).then_some(sender)
}

fn worker_gone() -> Error {
    Error::new(ErrorKind::Io, "a worker that parses the input has ended")
}

#[cfg(test)]
mod tests;
