//! A file that grows: its whole lines, as they are written, and where each of them ends.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::places::HEAD_BYTES;

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;
/// A line that has no end for so long is handed on in parts.
const LINE_BYTES_MAX: usize = 16 << 20;
/// How long who has come to a file's end waits before the next look.
const LOOK: Duration = Duration::from_millis(100);

/// What the thread that reads a file and the one that stores its entries tell each other.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Nothing more is wanted.
    pub(super) is_over: AtomicBool,
    /// Nobody writes to it any more: what its last line has is all of it.
    pub(super) is_finished: AtomicBool,
    /// It has become shorter than what was read of it.
    pub(super) is_truncated: AtomicBool,
    /// Another file had its name, and perhaps its number, when it was opened.
    pub(super) is_replaced: AtomicBool,
    /// It was read to an end that stays one, not until nothing more was wanted.
    pub(super) is_read_whole: AtomicBool,
    /// Bytes that were read of it, from its beginning.
    pub(super) read: AtomicU64,
    ends: Mutex<LineEnds>,
}

/// Where the lines end that were handed on, of which the first may be forgotten.
#[derive(Debug, Default)]
struct LineEnds {
    /// Lines whose ends are forgotten, and where the last of them ends.
    lines: u64,
    end: u64,
    ends: VecDeque<u64>,
    /// Where what was handed on ends.
    given: u64,
    /// What the file begins with, as far as that is wanted.
    head: Vec<u8>,
}

impl Shared {
    /// Begins behind so many bytes of a file whose first ones are known.
    pub(super) fn behind(offset: u64, head: &[u8]) -> Arc<Self> {
        let head = head.to_vec();
        let ends = LineEnds { end: offset, given: offset, head, ..LineEnds::default() };
        Arc::new(Self { ends: Mutex::new(ends), read: offset.into(), ..Self::default() })
    }

    fn ends(&self) -> MutexGuard<'_, LineEnds> {
        // Numbers are left in no disorder by a thread that panics.
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the line ends that is so many behind where reading began.
    pub(super) fn end_of(&self, lines: u64) -> u64 {
        let mut ends = self.ends();
        while ends.lines < lines {
            match ends.ends.pop_front() {
                Some(end) => (ends.lines, ends.end) = (ends.lines + 1, end),
                // The last one has no end of its own.
                None => return ends.given,
            }
        }
        ends.end
    }

    /// What the file begins with: it is known again by that.
    pub(super) fn head(&self) -> Vec<u8> {
        self.ends().head.clone()
    }

    fn note(&self, given: &[u8]) {
        let mut ends = self.ends();
        let begin = ends.given;
        if let Some(known) = (ends.head.len() as u64).checked_sub(begin) {
            let wanted = HEAD_BYTES.saturating_sub(ends.head.len());
            let fresh = given.iter().skip(usize::try_from(known).unwrap_or(usize::MAX));
            ends.head.extend(fresh.take(wanted));
        }
        let newlines = given.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let found = newlines.map(|(place, _)| begin + place as u64 + 1);
        ends.ends.extend(found);
        ends.given = begin + given.len() as u64;
    }
}

/// Notes where the lines of what is read end.
pub(super) struct Noted<R> {
    pub(super) reader: R,
    pub(super) shared: Arc<Shared>,
}

impl<R: Read> Read for Noted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        self.shared.note(buffer.get(..length).unwrap_or_default());
        if length == 0 && !buffer.is_empty() {
            let is = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
            let is_whole = is(&self.shared.is_finished)
                && !is(&self.shared.is_over)
                && !is(&self.shared.is_truncated);
            self.shared.is_read_whole.store(is_whole, Ordering::Relaxed);
        }
        Ok(length)
    }
}

/// The lines of a file from some place on. Who reads waits for more at its end.
pub(super) struct Growing<F> {
    file: F,
    /// How long it is now.
    length: fn(&F) -> io::Result<u64>,
    /// Read and not handed on: up to `ready` whole lines, of which those before `given` were.
    held: Vec<u8>,
    ready: usize,
    given: usize,
    shared: Arc<Shared>,
}

impl<F: Read> Growing<F> {
    /// A file that stands where reading is to begin.
    pub(super) fn new(file: F, length: fn(&F) -> io::Result<u64>, shared: Arc<Shared>) -> Self {
        Self { file, length, held: Vec::new(), ready: 0, given: 0, shared }
    }

    /// Reads on until there are whole lines; `false` at an end that stays one.
    fn fill(&mut self) -> io::Result<bool> {
        self.held.drain(..self.given.min(self.held.len()));
        (self.ready, self.given) = (0, 0);
        loop {
            if self.shared.is_over.load(Ordering::Relaxed) {
                return Ok(false);
            }
            // Asked before the file is: what was written until then is read still.
            let is_finished = self.shared.is_finished.load(Ordering::Relaxed);
            let before = self.held.len();
            self.held.resize(before + READ_BYTES, 0);
            let read = self.file.read(self.held.get_mut(before..).unwrap_or_default());
            self.held.truncate(before + *read.as_ref().unwrap_or(&0));
            let read = match read {
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            let all = self.shared.read.fetch_add(read as u64, Ordering::Relaxed) + read as u64;
            if read > 0 {
                let fresh = self.held.get(before..).unwrap_or_default();
                self.ready = match fresh.iter().rposition(|byte| *byte == b'\n') {
                    Some(place) => before + place + 1,
                    None if self.held.len() >= LINE_BYTES_MAX => self.held.len(),
                    None => continue,
                };
                return Ok(true);
            }
            if (self.length)(&self.file)? < all {
                self.shared.is_truncated.store(true, Ordering::Relaxed);
                return Ok(false);
            }
            if is_finished {
                self.ready = self.held.len();
                return Ok(self.ready > 0);
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl<F: Read> Read for Growing<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given >= self.ready && !self.fill()? {
            return Ok(0);
        }
        let ready = self.held.get(self.given..self.ready).unwrap_or_default();
        let length = ready.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..length), ready.get(..length)) {
            to.copy_from_slice(from);
        }
        self.given += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn growing(text: &str, shared: &Arc<Shared>) -> Noted<Growing<Cursor<Vec<u8>>>> {
        let length = |file: &Cursor<Vec<u8>>| Ok(file.get_ref().len() as u64);
        let file = Cursor::new(text.as_bytes().to_vec());
        let reader = Growing::new(file, length, Arc::clone(shared));
        Noted { reader, shared: Arc::clone(shared) }
    }

    #[test]
    fn a_line_without_an_end_waits_for_it_unless_nobody_writes_any_more() {
        let shared = Shared::behind(0, b"");
        let mut reader = growing("one\ntwo\nthr", &shared);
        let mut buffer = [0; 100];
        assert_eq!(reader.read(&mut buffer).unwrap(), 8);
        assert_eq!((shared.end_of(1), shared.end_of(2)), (4, 8));
        shared.is_finished.store(true, Ordering::Relaxed);
        assert_eq!(reader.read(&mut buffer).unwrap(), 3);
        assert_eq!(shared.end_of(3), 11);
        assert!(!shared.is_read_whole.load(Ordering::Relaxed));
        assert_eq!(reader.read(&mut buffer).unwrap(), 0);
        assert!(shared.is_read_whole.load(Ordering::Relaxed));
    }

    #[test]
    fn what_is_left_when_nothing_more_is_wanted_was_not_read_whole() {
        let shared = Shared::behind(0, b"");
        shared.is_finished.store(true, Ordering::Relaxed);
        let mut reader = growing("one\ntwo\n", &shared);
        shared.is_over.store(true, Ordering::Relaxed);
        assert_eq!(reader.read(&mut [0; 100]).unwrap(), 0);
        assert!(!shared.is_read_whole.load(Ordering::Relaxed));
    }

    #[test]
    fn ends_of_lines_are_counted_from_where_reading_began() {
        let shared = Shared::behind(100, b"");
        let mut reader = growing("a\n\nbc\n", &shared);
        shared.is_finished.store(true, Ordering::Relaxed);
        let mut buffer = [0; 2];
        while reader.read(&mut buffer).unwrap() > 0 {}
        let ends: Vec<u64> = (0..4).map(|lines| shared.end_of(lines)).collect();
        assert_eq!(ends, [100, 102, 103, 106]);
    }

    #[test]
    fn what_a_file_begins_with_grows_with_what_is_read() {
        // Known up to the middle of a line that is read once more.
        let shared = Shared::behind(4, b"one\ntw");
        let mut reader = growing("two\nthree\n", &shared);
        let mut buffer = [0; HEAD_BYTES];
        assert_eq!(reader.read(&mut buffer).unwrap(), 10);
        assert_eq!(shared.head(), b"one\ntwo\nthree\n");
        let shared = Shared::behind(0, b"");
        let mut reader = growing(&"a line\n".repeat(HEAD_BYTES), &shared);
        while shared.end_of(HEAD_BYTES as u64) < 7 * HEAD_BYTES as u64 {
            assert!(reader.read(&mut buffer).unwrap() > 0);
        }
        assert_eq!(shared.head().len(), HEAD_BYTES);
        // Of one that is read from further on nothing is known.
        let shared = Shared::behind(100, b"one");
        assert_eq!(growing("x\n", &shared).read(&mut buffer).unwrap(), 2);
        assert_eq!(shared.head(), b"one");
    }

    #[test]
    fn a_file_that_became_shorter_ends() {
        let shared = Shared::behind(0, b"");
        let mut reader = growing("one\n", &shared);
        reader.reader.length = |_| Ok(0);
        let mut buffer = [0; 100];
        assert_eq!(reader.read(&mut buffer).unwrap(), 4);
        assert_eq!(reader.read(&mut buffer).unwrap(), 0);
        assert!(shared.is_truncated.load(Ordering::Relaxed));
    }
}
