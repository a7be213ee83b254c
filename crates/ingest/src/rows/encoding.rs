//! Text in other encodings than UTF-8, as UTF-8 while it is read.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use encoding_rs::{Decoder, DecoderResult};
use timestrata_engine::{Error, ErrorKind};

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;
/// What a byte can become at most, in UTF-8.
const GROWTH: usize = 4;

/// How text is written in bytes.
///
/// ```
/// use timestrata_ingest::rows::{Encoding, ReadOptions, open_bytes};
///
/// let encoding = Some("windows-1252".parse::<Encoding>()?);
/// let options = ReadOptions { encoding, ..ReadOptions::default() };
/// let rows = open_bytes(b"time,city\n2024-01-01,Z\xfcrich\n".to_vec(), "in.csv", &options)?;
/// assert_eq!(rows.count(), 1);
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding(&'static encoding_rs::Encoding);

impl Encoding {
    /// What the first bytes say, which are a mark that only text of this encoding begins with.
    pub(super) fn by_mark(start: &[u8]) -> Option<Self> {
        match start {
            // An Arrow stream begins with four of these.
            [0xff, 0xff, ..] => None,
            [0xff, 0xfe, ..] => Some(Self(encoding_rs::UTF_16LE)),
            [0xfe, 0xff, ..] => Some(Self(encoding_rs::UTF_16BE)),
            _ => None,
        }
    }
}

impl FromStr for Encoding {
    type Err = Error;

    /// By the names that the web has for it: `utf-16le`, `windows-1252` (also `cp1252`, `latin1`), `shift_jis`.
    fn from_str(name: &str) -> Result<Self, Error> {
        let encoding = encoding_rs::Encoding::for_label(name.trim().as_bytes());
        let encoding = encoding.or_else(|| {
            let number = name.trim().to_ascii_lowercase();
            let number = number.strip_prefix("cp")?;
            encoding_rs::Encoding::for_label(format!("windows-{number}").as_bytes())
        });
        encoding.map(Self).ok_or_else(|| {
            let message = format!(
                "encoding '{name}' is not known: it is one of those of the web, such as utf-8, utf-16le, \
                 windows-1252, iso-8859-15 or shift_jis"
            );
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

/// Text of an encoding, as UTF-8. A byte that is none of it is an error: nothing is put in its place.
pub(super) struct Decoded<R> {
    reader: R,
    encoding: Encoding,
    decoder: Decoder,
    /// Read, and not yet decoded.
    input: Vec<u8>,
    taken: usize,
    /// Decoded, and not yet given out.
    output: Vec<u8>,
    given: usize,
    is_at_end: bool,
}

impl<R: Read> Decoded<R> {
    pub(super) fn new(reader: R, encoding: Encoding) -> Self {
        Self {
            reader,
            encoding,
            // A mark of this encoding at the beginning is no text.
            decoder: encoding.0.new_decoder_with_bom_removal(),
            input: Vec::new(),
            taken: 0,
            output: Vec::new(),
            given: 0,
            is_at_end: false,
        }
    }

    /// Decodes what is there, and reads more where that is nothing.
    fn fill(&mut self) -> io::Result<()> {
        if self.taken >= self.input.len() {
            self.input.resize(READ_BYTES, 0);
            let read = self.reader.read(&mut self.input)?;
            self.input.truncate(read);
            self.taken = 0;
            self.is_at_end = read == 0;
        }
        self.output.resize(READ_BYTES * GROWTH, 0);
        let input = self.input.get(self.taken..).unwrap_or_default();
        let (result, read, written) = self.decoder.decode_to_utf8_without_replacement(
            input,
            &mut self.output,
            self.is_at_end,
        );
        self.output.truncate(written);
        self.given = 0;
        self.taken += read;
        match result {
            DecoderResult::Malformed(..) => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("it holds bytes that are no text in {}", self.encoding),
            )),
            DecoderResult::InputEmpty | DecoderResult::OutputFull => Ok(()),
        }
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = self.output.get(self.given..).unwrap_or_default();
            if !left.is_empty() || buffer.is_empty() {
                let length = left.len().min(buffer.len());
                let (Some(to), Some(from)) = (buffer.get_mut(..length), left.get(..length)) else {
                    return Ok(0);
                };
                to.copy_from_slice(from);
                self.given += length;
                return Ok(length);
            }
            if self.is_at_end {
                return Ok(0);
            }
            self.fill()?;
        }
    }
}

/// Lines that end with a carriage return alone, as those that end with a line feed.
pub(super) struct Lines<R>(pub(super) R);

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        for byte in buffer.iter_mut().take(read).filter(|byte| **byte == b'\r') {
            *byte = b'\n';
        }
        Ok(read)
    }
}
