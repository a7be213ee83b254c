//! Text as it comes, a line at a time, with the number that messages call it by.
//!
//! For readers that take each line as it is, in order: rows of a time log, records of a topic, blocks and edges of a
//! graph. Files whose rows are shared among workers, and logs whose lines may be too long, are cut by `timestrata_ingest`.

use std::io::{self, BufRead};

/// What some programs put before text in UTF-8.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A reader's lines, of which one is held.
///
/// ```
/// use timestrata_values::lines::NumberedLines;
///
/// let mut lines = NumberedLines::new(&b"{\"a\": 1}\n\n{\"a\": 2}"[..]);
/// let mut rows = Vec::new();
/// while lines.advance()? {
///     rows.extend(lines.row().map(|row| (lines.number(), row.len())));
/// }
/// assert_eq!(rows, [(1, 8), (3, 8)]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct NumberedLines<R> {
    reader: R,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> NumberedLines<R> {
    /// Stands before the first line.
    pub fn new(reader: R) -> Self {
        Self { reader, line: Vec::new(), number: 0 }
    }

    /// Reads the next line; false at the end. A line may be as long as the reader lets it.
    ///
    /// # Errors
    /// The reader's, with [`number`](Self::number) that of the line that it would have been.
    pub fn advance(&mut self) -> io::Result<bool> {
        self.line.clear();
        self.number += 1;
        let read = self.reader.read_until(b'\n', &mut self.line)?;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        }
        Ok(read > 0)
    }

    /// The number of the line, from 1; blank ones count.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The line as it is, but for its line feed.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// What the line says where a row is a line, as in JSON lines: without a byte order mark before the first and without
    /// spaces behind it. `None` of a blank line.
    pub fn row(&self) -> Option<&[u8]> {
        let line = self.line.as_slice();
        let line = match self.number {
            1 => line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line),
            _ => line,
        };
        Some(line.trim_ascii_end()).filter(|row| !row.is_empty())
    }

    /// The reader, for who goes on by other bounds than lines.
    pub fn reader_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// The reader, whose next byte is that behind the line.
    pub fn reader(&self) -> &R {
        &self.reader
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use super::*;

    #[test]
    fn blank_lines_are_no_rows_but_count() {
        let mut lines = NumberedLines::new(&b"\n 1 \r\n \t\r\n\n2"[..]);
        let mut rows = Vec::new();
        while lines.advance().unwrap() {
            rows.extend(lines.row().map(|row| (lines.number(), row.to_vec())));
        }
        assert_eq!(rows, [(2, b" 1".to_vec()), (5, b"2".to_vec())]);
        assert!(!lines.advance().unwrap());
    }

    #[test]
    fn a_byte_order_mark_is_part_of_the_line_and_of_no_row() {
        let text = [BYTE_ORDER_MARK, b"1\n", BYTE_ORDER_MARK, b"2"].concat();
        let mut lines = NumberedLines::new(&text[..]);
        assert!(lines.advance().unwrap());
        assert_eq!((lines.row(), lines.line().len()), (Some(&b"1"[..]), 4));
        assert!(lines.advance().unwrap());
        assert_eq!(lines.row().map(<[u8]>::len), Some(4), "only the text may begin with one");

        let mut lines = NumberedLines::new(BYTE_ORDER_MARK);
        assert!(lines.advance().unwrap());
        assert_eq!(lines.row(), None);
    }

    #[test]
    fn a_line_keeps_all_but_its_line_feed() {
        let mut lines = NumberedLines::new(&b" a\r\n\nb"[..]);
        let mut found = Vec::new();
        while lines.advance().unwrap() {
            found.push(lines.line().to_vec());
        }
        assert_eq!(found, [b" a\r".to_vec(), b"".to_vec(), b"b".to_vec()]);
    }

    #[test]
    fn the_line_that_could_not_be_read_has_its_number() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        let mut lines = NumberedLines::new(BufReader::new(Read::chain(&b"1\n"[..], Broken)));
        assert!(lines.advance().unwrap());
        assert!(lines.advance().is_err());
        assert_eq!(lines.number(), 2);
    }
}
