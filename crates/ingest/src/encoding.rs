//! Text in other encodings than UTF-8, as UTF-8 while it is read.

use std::fmt;
use std::io::{self, Chain, Cursor, Read};
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
/// use timestrata_ingest::Encoding;
/// use timestrata_ingest::rows::{ReadOptions, open_bytes};
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
    pub fn by_mark(start: &[u8]) -> Option<Self> {
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

/// Text of an encoding, as UTF-8.
pub(crate) struct Decoded<R> {
    reader: R,
    encoding: Encoding,
    decoder: Decoder,
    /// What is put in the place of bytes that are none of it; without it they are an error.
    in_place: Option<char>,
    /// Read, and not yet decoded.
    input: Vec<u8>,
    taken: usize,
    /// Decoded, and not yet given out.
    output: Vec<u8>,
    given: usize,
    is_at_end: bool,
}

impl<R> fmt::Debug for Decoded<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoded").field("encoding", &self.encoding).finish_non_exhaustive()
    }
}

impl<R: Read> Decoded<R> {
    /// Of bytes that all are text: others are an error.
    pub(crate) fn strict(reader: R, encoding: Encoding) -> Self {
        Self::new(reader, encoding, None)
    }

    /// In the place of what is no text there is U+FFFD.
    pub(crate) fn lossy(reader: R, encoding: Encoding) -> Self {
        Self::new(reader, encoding, Some(char::REPLACEMENT_CHARACTER))
    }

    fn new(reader: R, encoding: Encoding, in_place: Option<char>) -> Self {
        Self {
            reader,
            encoding,
            // A mark of this encoding at the beginning is no text.
            decoder: encoding.0.new_decoder_with_bom_removal(),
            in_place,
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
            let read = self.reader.read(&mut self.input);
            // What was not read is no input, whoever asks again.
            self.input.truncate(*read.as_ref().unwrap_or(&0));
            let read = read?;
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
        match (result, self.in_place) {
            (DecoderResult::Malformed(..), Some(c)) => {
                self.output.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                Ok(())
            }
            (DecoderResult::Malformed(..), None) => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("it holds bytes that are no text in {}", self.encoding),
            )),
            (DecoderResult::InputEmpty | DecoderResult::OutputFull, _) => Ok(()),
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

/// Text as UTF-8: of an encoding that is named, or that its first bytes say; else it is as it comes.
#[derive(Debug)]
pub(crate) struct Utf8<R>(Source<R>);

#[derive(Debug)]
enum Source<R> {
    /// Of which nothing was read.
    Unknown(R, Option<Encoding>),
    AsItIs(R),
    Decoded(Box<Decoded<Chain<Cursor<Vec<u8>>, R>>>),
    /// While it becomes another one.
    Nothing,
}

impl<R: Read> Utf8<R> {
    pub(crate) fn new(reader: R, encoding: Option<Encoding>) -> Self {
        Self(Source::Unknown(reader, encoding))
    }

    /// The first read: as many bytes as a mark has, unless there are no more.
    fn begin(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Source::Unknown(reader, named) = &mut self.0 else { return Ok(0) };
        let mut read = reader.read(buffer)?;
        while let Some((start, room @ [_, ..])) = buffer.split_at_mut_checked(read)
            && matches!(start, [0xfe | 0xff])
        {
            match reader.read(room) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // It will say so again.
                Err(_) => break,
            }
        }
        let start = buffer.get(..read).unwrap_or_default();
        let encoding = named.or_else(|| Encoding::by_mark(start));
        let Source::Unknown(reader, _) = std::mem::replace(&mut self.0, Source::Nothing) else {
            return Ok(0);
        };
        let Some(encoding) = encoding else {
            self.0 = Source::AsItIs(reader);
            return Ok(read);
        };
        let whole = Cursor::new(start.to_vec()).chain(reader);
        self.0 = Source::Decoded(Box::new(Decoded::lossy(whole, encoding)));
        self.read(buffer)
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Source::AsItIs(reader) => reader.read(buffer),
            Source::Decoded(reader) => reader.read(buffer),
            Source::Unknown(..) if buffer.is_empty() => Ok(0),
            Source::Unknown(..) => self.begin(buffer),
            Source::Nothing => Ok(0),
        }
    }
}

/// Lines that end with a carriage return alone, as those that end with a line feed.
pub(crate) struct Lines<R>(pub(crate) R);

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        for byte in buffer.iter_mut().take(read).filter(|byte| **byte == b'\r') {
            *byte = b'\n';
        }
        Ok(read)
    }
}
