//! Bytes of a client as lines. A line that is too long is told once, and what comes of it up to its
//! end is not kept.

use memchr::memchr;

/// Longest line, without its end.
pub(super) const LINE_BYTES_MAX: usize = 1_050_624;
/// Room for what is read at once: at first, and at most.
const ROOM_BYTES_MIN: usize = 16 << 10;
const ROOM_BYTES_MAX: usize = 256 << 10;

/// What has arrived and was not handed out yet.
#[derive(Debug)]
pub(super) struct Lines {
    bytes: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// No line ends between its beginning and here.
    searched: usize,
    /// Whether what comes next belongs to a line that was too long.
    skips: bool,
    /// Room for what is read next.
    room: usize,
}

/// One of them.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Without its end.
    Whole(&'a [u8]),
    /// Longer than is taken.
    TooLong,
}

impl Default for Lines {
    fn default() -> Self {
        Self { bytes: Vec::new(), start: 0, searched: 0, skips: false, room: ROOM_BYTES_MIN }
    }
}

impl Lines {
    /// Where to append what arrives, with room for it.
    pub(super) fn room(&mut self) -> &mut Vec<u8> {
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.bytes.is_empty() && self.bytes.capacity() > ROOM_BYTES_MAX {
            self.bytes = Vec::new();
        }
        self.bytes.reserve(self.room);
        &mut self.bytes
    }

    /// Notes that so many bytes arrived: who sends much gets more room, who sends little gives it back.
    pub(super) fn arrived(&mut self, bytes: usize) {
        self.room = match bytes {
            _ if bytes >= self.room => (self.room * 2).min(ROOM_BYTES_MAX),
            _ if bytes < self.room / 4 => (self.room / 2).max(ROOM_BYTES_MIN),
            _ => self.room,
        };
    }

    /// Whether what arrived begins as a request of HTTP does.
    pub(super) fn are_http(&self) -> bool {
        let methods =
            ["GET ", "POST ", "PUT ", "HEAD ", "DELETE ", "OPTIONS ", "PATCH ", "CONNECT "];
        let bytes = self.bytes.get(self.start..).unwrap_or_default();
        methods.iter().any(|method| bytes.starts_with(method.as_bytes()))
    }

    /// Whether nothing of what arrived is left.
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    /// Whether [`next`](Self::next) has a line.
    pub(super) fn has_next(&mut self) -> bool {
        self.pass_skipped();
        self.end().is_some() || self.is_too_long()
    }

    /// The next line, if all of it has arrived or it is too long already.
    pub(super) fn next(&mut self) -> Option<Line<'_>> {
        self.pass_skipped();
        let Some(end) = self.end() else {
            if !self.is_too_long() {
                return None;
            }
            self.bytes.clear();
            (self.start, self.searched, self.skips) = (0, 0, true);
            return Some(Line::TooLong);
        };
        let line = self.bytes.get(self.start..end).unwrap_or_default();
        (self.start, self.searched) = (end + 1, end + 1);
        Some(if line.len() > LINE_BYTES_MAX { Line::TooLong } else { Line::Whole(line) })
    }

    /// What arrived behind the last line's end, once nothing more comes: a line that has none.
    pub(super) fn rest(&mut self) -> Option<Line<'_>> {
        self.pass_skipped();
        let rest = self.bytes.get(self.start..).unwrap_or_default();
        (self.start, self.searched) = (self.bytes.len(), self.bytes.len());
        (!rest.is_empty()).then_some(Line::Whole(rest))
    }

    /// Forgets what arrived of a line that was too long, up to its end.
    fn pass_skipped(&mut self) {
        if !self.skips {
            return;
        }
        match self.end() {
            Some(end) => (self.start, self.searched, self.skips) = (end + 1, end + 1, false),
            None => {
                self.bytes.clear();
                (self.start, self.searched) = (0, 0);
            }
        }
    }

    fn is_too_long(&self) -> bool {
        self.bytes.len() - self.start > LINE_BYTES_MAX
    }

    /// Where the next line ends.
    fn end(&mut self) -> Option<usize> {
        match memchr(b'\n', self.bytes.get(self.searched..).unwrap_or_default()) {
            Some(at) => {
                self.searched += at;
                Some(self.searched)
            }
            None => {
                self.searched = self.bytes.len();
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn arrive(lines: &mut Lines, bytes: &[u8]) {
        lines.room().extend_from_slice(bytes);
        lines.arrived(bytes.len());
    }

    fn all(lines: &mut Lines) -> Vec<Option<usize>> {
        let mut found = Vec::new();
        while lines.has_next() {
            found.push(match lines.next().unwrap() {
                Line::Whole(line) => Some(line.len()),
                Line::TooLong => None,
            });
        }
        assert_eq!(lines.next(), None);
        found
    }

    #[test]
    fn a_line_that_is_too_long_is_told_once_and_not_kept() {
        let mut lines = Lines::default();
        arrive(&mut lines, b"one\n");
        arrive(&mut lines, &vec![b'x'; LINE_BYTES_MAX]);
        assert_eq!(all(&mut lines), [Some(3)]);
        for _ in 0..10 {
            arrive(&mut lines, &vec![b'x'; ROOM_BYTES_MAX]);
            let is_first = lines.has_next();
            assert_eq!(all(&mut lines), vec![None; usize::from(is_first)]);
            assert!(lines.bytes.capacity() <= 2 * (LINE_BYTES_MAX + ROOM_BYTES_MAX));
        }
        arrive(&mut lines, b"x\ntwo\nthr");
        assert_eq!(all(&mut lines), [Some(3)]);
        assert_eq!(lines.rest(), Some(Line::Whole(b"thr")));
        assert_eq!(lines.rest(), None);
    }

    #[test]
    fn the_longest_line_fits_and_one_byte_more_does_not() {
        let mut lines = Lines::default();
        let mut bytes = vec![b'x'; LINE_BYTES_MAX];
        bytes.push(b'\n');
        arrive(&mut lines, &bytes);
        bytes.insert(0, b'x');
        arrive(&mut lines, &bytes);
        arrive(&mut lines, b"\n");
        assert_eq!(all(&mut lines), [Some(LINE_BYTES_MAX), None, Some(0)]);
        assert_eq!(lines.rest(), None);
    }

    #[test]
    fn room_grows_for_who_sends_much_and_shrinks_again() {
        let mut lines = Lines::default();
        for _ in 0..10 {
            let room = lines.room;
            lines.arrived(room);
        }
        assert_eq!(lines.room, ROOM_BYTES_MAX);
        for _ in 0..10 {
            lines.arrived(1);
        }
        assert_eq!(lines.room, ROOM_BYTES_MIN);
    }

    proptest! {
        #[test]
        fn lines_are_the_same_however_the_bytes_arrive(
            bytes in prop::collection::vec(prop::sample::select(b"ab\n".to_vec()), 0..200),
            cuts in prop::collection::vec(1_usize..20, 1..40),
        ) {
            let mut lines = Lines::default();
            let (mut rest, mut found) = (bytes.as_slice(), Vec::new());
            for cut in cuts.iter().cycle().take(200) {
                let (piece, later) = rest.split_at(rest.len().min(*cut));
                rest = later;
                arrive(&mut lines, piece);
                while let Some(Line::Whole(line)) = lines.next() {
                    found.push(line.to_vec());
                }
            }
            if let Some(Line::Whole(line)) = lines.rest() {
                found.push(line.to_vec());
            }
            let mut expected: Vec<_> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            expected.pop_if(|last| last.is_empty());
            prop_assert_eq!(found, expected);
        }
    }
}
