//! Sources of bytes: counted, decompressed, and recognized by their first bytes.

use std::fmt;
use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;
use timestrata_engine::{DiskFile, Error, ErrorKind, Result};
use timestrata_values::lines::BYTE_ORDER_MARK;

use super::options::{Compression, Format};
use super::report::invalid;
use crate::Encoding;
use crate::encoding::{Decoded, Lines};

/// Bytes that are looked at to know an input by.
pub(super) const START_BYTES: usize = 64 << 10;
const READ_BYTES: usize = 256 << 10;
const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// How inputs begin that others pack and nobody unpacks here: the name, and what does it.
const OTHERS_MAGIC: [(&[u8], &str, &str); 4] = [
    (b"PK\x03\x04", "a zip archive", "unzip"),
    (b"BZh", "packed by bzip2", "bunzip2"),
    (b"\xfd7zXZ\0", "packed by xz", "unxz"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x"),
];
/// The largest window of Zstandard that is unpacked: 128 MiB, as its own tools do.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// What can be read from.
pub enum Input {
    /// Bytes as they come: a pipe, a body.
    Reader(Box<dyn Read + Send>),
    /// A file, read at any place.
    File(Arc<dyn DiskFile>),
    /// Bytes in memory.
    Bytes(Bytes),
}

impl Input {
    /// The same once more, where that can be.
    pub(super) fn again(&self) -> Option<Self> {
        match self {
            Self::Reader(_) => None,
            Self::File(file) => Some(Self::File(Arc::clone(file))),
            Self::Bytes(bytes) => Some(Self::Bytes(bytes.clone())),
        }
    }

    /// The same, to be read as often as needed: taken into memory if need be.
    pub(super) fn repeatable(self, name: &str, bytes_max: usize) -> Result<Self> {
        let Self::Reader(mut reader) = self else { return Ok(self) };
        let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
        let bytes = up_to(&mut reader, limit, name)?;
        if bytes.len() > bytes_max {
            let message = format!(
                "what comes as a stream is looked at as a whole in memory, of which more than \
                 {bytes_max} bytes are not taken: give it as a file, or look at fewer rows"
            );
            return Err(Error::new(ErrorKind::TooLarge, message).at(name));
        }
        Ok(Self::Bytes(bytes.into()))
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reader(_) => f.write_str("Reader"),
            Self::File(file) => f.debug_tuple("File").field(file).finish(),
            Self::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
        }
    }
}

/// Bytes of known number, read at any place.
#[derive(Debug, Clone)]
pub(super) enum Random {
    File { file: Arc<dyn DiskFile>, bytes: u64, read: Arc<AtomicU64> },
    Bytes(Bytes),
}

impl Random {
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::File { bytes, .. } => *bytes,
            Self::Bytes(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
        }
    }

    /// These bytes; an error, before memory is taken for them, if the input ends earlier.
    pub(super) fn get(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let ends_early = || io::Error::new(io::ErrorKind::UnexpectedEof, "it ends too early");
        let end = u64::try_from(length).ok().and_then(|length| offset.checked_add(length));
        if end.is_none_or(|end| end > self.len()) {
            return Err(ends_early());
        }
        match self {
            Self::File { file, read, .. } => {
                let mut buffer = vec![0; length];
                file.read_at(offset, &mut buffer)?;
                read.fetch_add(u64::try_from(length).unwrap_or(0), Ordering::Relaxed);
                Ok(buffer.into())
            }
            Self::Bytes(bytes) => {
                let start = usize::try_from(offset).map_err(|_| ends_early())?;
                Ok(bytes.slice(start..start + length))
            }
        }
    }
}

/// An input that has been looked at.
pub(super) struct Opened {
    pub(super) name: String,
    /// The bytes, unpacked, without a byte order mark.
    pub(super) reader: Box<dyn Read + Send>,
    /// The same, if they can be read at any place.
    pub(super) random: Option<Random>,
    pub(super) start: Vec<u8>,
    /// Bytes of the input that were read, packed as they are.
    pub(super) bytes_read: Arc<AtomicU64>,
}

impl Opened {
    pub(super) fn new(
        input: Input,
        name: &str,
        compression: Option<Compression>,
        encoding: Option<Encoding>,
    ) -> Result<Self> {
        let bytes_read = Arc::new(AtomicU64::new(0));
        let (reader, random): (Box<dyn Read + Send>, _) = match input {
            Input::Reader(reader) => (reader, None),
            Input::Bytes(bytes) => {
                (Box::new(Cursor::new(bytes.clone())), Some(Random::Bytes(bytes)))
            }
            Input::File(file) => {
                let bytes = file.len().map_err(|cause| could_not_read(name, cause))?;
                let read = Arc::clone(&bytes_read);
                let random = Random::File { file: Arc::clone(&file), bytes, read };
                (Box::new(InOrder { file, bytes, offset: 0 }), Some(random))
            }
        };
        let mut reader = Counted { reader, bytes: Arc::clone(&bytes_read) };
        let packed_start = up_to(&mut reader, START_BYTES as u64, name)?;
        let compression = compression.unwrap_or_else(|| by_magic(&packed_start));
        let is_packed = compression != Compression::None;
        let random = random.filter(|_| !is_packed);
        let whole = Cursor::new(packed_start.clone()).chain(reader);
        if !is_packed {
            let whole = Box::new(whole);
            return Self::of_text(name, whole, random, packed_start, bytes_read, encoding);
        }
        let mut reader = unpack(whole, compression, name)?;
        let start = up_to(&mut reader, START_BYTES as u64, name)?;
        let reader = Box::new(Cursor::new(start.clone()).chain(reader));
        Self::of_text(name, reader, random, start, bytes_read, encoding)
    }

    fn of_text(
        name: &str,
        mut reader: Box<dyn Read + Send>,
        random: Option<Random>,
        mut start: Vec<u8>,
        bytes_read: Arc<AtomicU64>,
        encoding: Option<Encoding>,
    ) -> Result<Self> {
        if let Some((_, what, tool)) =
            OTHERS_MAGIC.iter().find(|(magic, ..)| start.starts_with(magic))
        {
            let message =
                format!("this is {what}: unpack it first ({tool}), or pack it by gzip or zstd");
            return Err(invalid(name, message));
        }
        if let Some(encoding) = encoding.or_else(|| Encoding::by_mark(&start)) {
            let mut decoded = Decoded::strict(reader, encoding);
            start = up_to(&mut decoded, START_BYTES as u64, name)?;
            reader = Box::new(Cursor::new(start.clone()).chain(decoded));
        }
        if start.contains(&b'\r') && !start.contains(&b'\n') && !is_binary(&start) {
            start.iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
            reader = Box::new(Lines(reader));
        }
        if start.starts_with(BYTE_ORDER_MARK) {
            let mut mark = [0; BYTE_ORDER_MARK.len()];
            reader.read_exact(&mut mark).map_err(|cause| could_not_read(name, cause))?;
            start.drain(..mark.len());
        }
        Ok(Self { name: name.to_owned(), reader, random, start, bytes_read })
    }

    /// Leaves out so many lines at the beginning.
    pub(super) fn skip_lines(&mut self, lines: u64) -> Result<()> {
        let (mut left, mut byte) = (lines, [0]);
        let reader = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        let mut reader = io::BufReader::with_capacity(READ_BYTES, reader);
        while left > 0 {
            let read = reader.read(&mut byte).map_err(|cause| could_not_read(&self.name, cause))?;
            if read == 0 {
                break;
            }
            left -= u64::from(byte == *b"\n");
        }
        self.start = up_to(&mut reader, START_BYTES as u64, &self.name)?;
        self.reader = Box::new(Cursor::new(self.start.clone()).chain(reader));
        Ok(())
    }

    /// The form of the input: as its first bytes tell beyond doubt, else as asked for, as its
    /// name says, or as text that begins like this.
    pub(super) fn format(&self, asked: Option<Format>) -> Format {
        let by_magic = format_by_magic(&self.start);
        let is_arrow = |format| matches!(format, Format::ArrowFile | Format::ArrowStream);
        match (asked, by_magic) {
            // Both go by the name of Arrow, and by `.arrow` and `.feather`.
            (Some(asked), Some(found)) if is_arrow(asked) && is_arrow(found) => found,
            (Some(asked), _) => asked,
            (None, Some(found)) => found,
            (None, None) => Format::of_path(&self.name).unwrap_or_else(|| {
                match self.start.trim_ascii_start().first() {
                    Some(b'{' | b'[') => Format::JsonLines,
                    _ => Format::Csv,
                }
            }),
        }
    }

    /// The whole, to be read at any place: in memory, unless it is a file.
    pub(super) fn into_random(mut self, bytes_max: usize) -> Result<Random> {
        if let Some(random) = self.random {
            return Ok(random);
        }
        let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
        let bytes = up_to(&mut self.reader, limit, &self.name)?;
        if bytes.len() > bytes_max {
            let message = format!(
                "this form is read from its end, and more than {bytes_max} bytes are not taken \
                 into memory for that: give it as a file that is not packed"
            );
            return Err(Error::new(ErrorKind::TooLarge, message).at(self.name));
        }
        Ok(Random::Bytes(bytes.into()))
    }
}

fn format_by_magic(start: &[u8]) -> Option<Format> {
    match start {
        [b'P', b'A', b'R', b'1' | b'E', ..] => Some(Format::Parquet),
        [0xff, 0xff, 0xff, 0xff, ..] => Some(Format::ArrowStream),
        _ if start.starts_with(b"ARROW1") => Some(Format::ArrowFile),
        _ => None,
    }
}

/// Whether it is no text: of a form that is told by its beginning, or with bytes that text has not.
fn is_binary(start: &[u8]) -> bool {
    format_by_magic(start).is_some() || start.contains(&0)
}

fn by_magic(start: &[u8]) -> Compression {
    if start.starts_with(GZIP_MAGIC) {
        Compression::Gzip
    } else if start.starts_with(ZSTD_MAGIC) {
        Compression::Zstd
    } else {
        Compression::None
    }
}

fn unpack(
    reader: impl Read + Send + 'static,
    compression: Compression,
    name: &str,
) -> Result<Box<dyn Read + Send>> {
    let reader = io::BufReader::with_capacity(READ_BYTES, reader);
    Ok(match compression {
        Compression::None => Box::new(reader),
        Compression::Gzip => Box::new(MultiGzDecoder::new(reader)),
        Compression::Zstd => {
            let failed = |cause| could_not_read(name, cause);
            let mut decoder = zstd::stream::read::Decoder::with_buffer(reader).map_err(failed)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(failed)?;
            Box::new(decoder)
        }
    })
}

/// So many bytes, or those that are left; memory is taken as they come.
pub(super) fn up_to(reader: &mut impl Read, length: u64, name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = reader.take(length).read_to_end(&mut bytes);
    read.map_err(|cause| could_not_read(name, cause))?;
    Ok(bytes)
}

/// A read that failed: of the bytes as they are, or of what they are packed into.
pub(super) fn could_not_read(name: &str, cause: io::Error) -> Error {
    let (kind, what) = match cause.kind() {
        io::ErrorKind::UnexpectedEof => (ErrorKind::InvalidData, "the input ends in the middle"),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
            (ErrorKind::InvalidData, "the input could not be unpacked")
        }
        _ => (ErrorKind::Io, "could not read the input"),
    };
    Error::new(kind, format!("{what}: {cause}")).at(name).caused_by(cause)
}

/// Counts what is read.
struct Counted {
    reader: Box<dyn Read + Send>,
    bytes: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.bytes.fetch_add(u64::try_from(read).unwrap_or(0), Ordering::Relaxed);
        Ok(read)
    }
}

/// A file from its start to the end that it had when it was opened.
struct InOrder {
    file: Arc<dyn DiskFile>,
    bytes: u64,
    offset: u64,
}

impl Read for InOrder {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.bytes - self.offset).unwrap_or(usize::MAX);
        let length = left.min(buffer.len());
        let buffer = buffer.get_mut(..length).unwrap_or_default();
        self.file.read_at(self.offset, buffer)?;
        self.offset += u64::try_from(length).unwrap_or(0);
        Ok(length)
    }
}
