use std::io::{Cursor, Read};
use std::thread::ThreadId;

use super::super::pieces::Boundary;
use super::*;

struct Lines;

impl Boundary for Lines {
    fn last_end(&self, bytes: &[u8]) -> Option<usize> {
        bytes.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1)
    }
}

/// Notes who parses, and how much.
#[derive(Default)]
struct Noting(Mutex<Vec<(ThreadId, usize)>>);

impl ParsePiece for Noting {
    fn parse(&self, piece: Piece) -> Result<Parsed> {
        self.0.lock().push((thread::current().id(), piece.bytes.len()));
        Ok(Parsed::default())
    }
}

/// Gives its bytes, and then an error.
struct Broken(Cursor<Vec<u8>>);

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(std::io::Error::other("torn")),
            read => Ok(read),
        }
    }
}

fn played(
    reader: impl Read + Send + 'static,
    threads: usize,
) -> (Result<()>, Vec<(ThreadId, usize)>) {
    let cutter = Cutter::new("in", Box::new(reader), Box::new(Lines), 1 << 20);
    let noting = Arc::new(Noting::default());
    let mut pieces = Pieces::new(cutter, Arc::clone(&noting) as Arc<dyn ParsePiece>, threads);
    let outcome = pieces.next(&mut ReadReport::default()).map(|batch| assert!(batch.is_none()));
    let again = pieces.next(&mut ReadReport::default());
    assert!(again.is_ok_and(|batch| batch.is_none()), "it has ended");
    let parsed = noting.0.lock().clone();
    (outcome, parsed)
}

#[test]
fn one_piece_is_parsed_by_who_asks_and_more_by_workers() {
    let text = |lines: usize| Cursor::new(b"0123456789abcde\n".repeat(lines));
    let ours = thread::current().id();
    for (lines, threads) in [(0, 3), (1, 3), (8_000, 3), (8_000, 1), (100_000, 1)] {
        let (outcome, parsed) = played(text(lines), threads);
        outcome.unwrap();
        assert!(parsed.iter().all(|(thread, _)| *thread == ours), "{lines} by {threads}");
        assert_eq!(parsed.iter().map(|(_, bytes)| bytes).sum::<usize>(), lines * 16);
    }
    let (outcome, parsed) = played(text(100_000), 3);
    outcome.unwrap();
    assert!(parsed.len() > 1 && parsed.iter().all(|(thread, _)| *thread != ours));
    assert_eq!(parsed.iter().map(|(_, bytes)| bytes).sum::<usize>(), 1_600_000);
}

#[test]
fn an_input_that_breaks_off_is_an_error_behind_its_whole_pieces() {
    for (lines, whole) in [(0, 0), (100, 0), (10_000, 1), (100_000, 2)] {
        let broken = Broken(Cursor::new(b"0123456789abcde\n".repeat(lines)));
        let (outcome, parsed) = played(broken, 3);
        assert!(outcome.unwrap_err().to_string().contains("torn"), "{lines} lines");
        assert!(parsed.len() >= whole, "{lines} lines: {}", parsed.len());
    }
}
