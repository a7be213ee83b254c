//! The user's own files, which are no part of a store: opened, unpacked, bounded.

use std::cell::Cell;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::rc::Rc;

use flate2::read::MultiGzDecoder;
use indicatif::ProgressBar;

use crate::failure::{Failure, Result};

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// The largest window of Zstandard that is unpacked: 128 MiB, as its own tools do.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;
/// How other packed files begin, what packed them, and what unpacks them.
const OTHERS: [(&[u8], &str, &str); 4] = [
    (&[0xfd, b'7', b'z', b'X'], "xz", "xz -dc"),
    (b"BZh", "bzip2", "bzip2 -dc"),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4", "lz4 -dc"),
    (b"PK\x03\x04", "zip", "unzip -p"),
];
/// A byte order mark and the byte behind it.
const START_BYTES_MIN: usize = 4;
/// What those who guess a format by the first lines look at.
const START_BYTES_MAX: usize = 64 << 10;

/// What a user's file turned out to be, ready to be read.
pub(crate) struct UnpackedInput {
    /// What to call it in messages.
    pub(crate) name: String,
    /// Its bytes, unpacked.
    pub(crate) reader: Box<dyn Read>,
}

/// What to call a file in messages.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() }
}

/// Opens a file, or stdin for `-`. What is read counts on `bar`.
#[expect(clippy::disallowed_types, reason = "a user's file, not a file of a store")]
pub(crate) fn open(path: &Path, bar: &ProgressBar) -> Result<UnpackedInput> {
    if path == Path::new("-") {
        return unpack(name(path), bar.wrap_read(io::stdin().lock()));
    }
    let name = name(path);
    let file = std::fs::File::open(path).map_err(|cause| could_not_read(&name, &cause))?;
    unpack(name, bar.wrap_read(file))
}

/// The whole of a small file of text; `what` it is says an error.
#[expect(clippy::disallowed_methods, reason = "a user's file, not a file of a store")]
pub(crate) fn read_text(path: &Path, what: &str) -> Result<String> {
    std::fs::read_to_string(path).map_err(could_not_read_text(path, what))
}

/// Says of a small file that it could not be read, and why.
pub(crate) fn could_not_read_text(path: &Path, what: &str) -> impl Fn(io::Error) -> Failure {
    move |cause| {
        Failure::failed(
            format!("could not read {what}: {cause} [{}]", path.display()),
            "check its name and its rights",
        )
    }
}

/// Bytes of the files together, if all are regular files: what the progress bar runs to.
pub(crate) fn total_bytes(paths: &[impl AsRef<Path>]) -> Option<u64> {
    paths.iter().try_fold(0u64, |total, path| {
        let metadata = path.as_ref().metadata().ok().filter(|metadata| metadata.is_file())?;
        total.checked_add(metadata.len())
    })
}

/// Looks at the first bytes, and unpacks gzip and Zstandard.
fn unpack(name: String, mut reader: impl Read + 'static) -> Result<UnpackedInput> {
    let start = read_start(&mut reader).map_err(|cause| could_not_read(&name, &cause))?;
    let other = OTHERS.iter().find(|(magic, ..)| start.starts_with(magic));
    if let Some((_, packer, unpacker)) = other {
        return Err(Failure::failed(
            format!("the input is packed with {packer}, which isn't unpacked here [{name}]"),
            format!("unpack it on the way: {unpacker} FILE | timestrata ingest DIR NAME - ..."),
        ));
    }
    let (is_gzip, is_zstd) = (start.starts_with(GZIP_MAGIC), start.starts_with(ZSTD_MAGIC));
    let whole = Cursor::new(start).chain(reader);
    let reader: Box<dyn Read> = if is_gzip {
        Box::new(MultiGzDecoder::new(whole))
    } else if is_zstd {
        let decoder = zstd::Decoder::new(whole).and_then(|mut decoder| {
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Ok(decoder)
        });
        Box::new(decoder.map_err(|cause| could_not_read(&name, &cause))?)
    } else {
        Box::new(whole)
    };
    Ok(UnpackedInput { name, reader })
}

/// What the first reads give: enough to know the file by, and no more than must be waited for.
fn read_start(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = vec![0; START_BYTES_MAX];
    let mut length = 0;
    while length < START_BYTES_MIN {
        match reader.read(start.get_mut(length..).unwrap_or_default()) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    start.truncate(length);
    Ok(start)
}

/// A failed read of a user's file.
pub(crate) fn could_not_read(name: &str, cause: &io::Error) -> Failure {
    Failure::failed(
        format!("could not read the input: {cause} [{name}]"),
        "check the file's name, its rights, and that it is whole",
    )
}

/// Refuses to read more than a bound between two calls of [`Allowance::renew`], so that one
/// endless row can't fill the memory.
pub(crate) struct Bounded<R> {
    reader: R,
    allowance: Allowance,
}

/// How much a [`Bounded`] reader may still read.
#[derive(Clone)]
pub(crate) struct Allowance {
    left: Rc<Cell<usize>>,
    bytes_max: usize,
}

impl Allowance {
    /// A row has been read whole: the next may be as long again.
    pub(crate) fn renew(&self) {
        self.left.set(self.bytes_max);
    }
}

impl<R: Read> Bounded<R> {
    pub(crate) fn new(reader: R, bytes_max: usize) -> (Self, Allowance) {
        let allowance = Allowance { left: Rc::new(Cell::new(bytes_max)), bytes_max };
        (Self { reader, allowance: allowance.clone() }, allowance)
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        match self.allowance.left.get().checked_sub(read) {
            Some(left) => self.allowance.left.set(left),
            None => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!(
                        "a row is longer than {} bytes (a quote that is never closed?)",
                        self.allowance.bytes_max
                    ),
                ));
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn gzip_is_known_by_its_first_bytes() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), Default::default());
        packed.write_all(b"a,b\n1,2\n").unwrap();
        let packed = packed.finish().unwrap();
        let mut text = String::new();
        let mut input = unpack("x".to_owned(), Cursor::new(packed)).unwrap();
        input.reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "a,b\n1,2\n");
    }

    #[test]
    fn zstandard_is_known_by_its_first_bytes_and_others_are_named() {
        let packed = zstd::encode_all(&b"a,b\n1,2\n"[..], 1).unwrap();
        let mut text = String::new();
        let mut input = unpack("x".to_owned(), Cursor::new(packed)).unwrap();
        input.reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "a,b\n1,2\n");
        for (magic, packer, _) in OTHERS {
            let bytes = [magic, b" and more"].concat();
            let refused = unpack("x.log".to_owned(), Cursor::new(bytes)).err();
            let Some(Failure::Failed { message, .. }) = refused else { panic!("{packer}") };
            assert!(message.contains(packer) && message.contains("x.log"), "{message}");
        }
    }

    #[test]
    fn shorter_files_than_the_magic_are_read_as_they_are() {
        for bytes in [&b""[..], b"\x1f", b"ab"] {
            let mut input = unpack("x".to_owned(), Cursor::new(bytes.to_vec())).unwrap();
            let mut read = Vec::new();
            input.reader.read_to_end(&mut read).unwrap();
            assert_eq!(read, bytes);
        }
    }

    #[test]
    fn a_row_without_end_is_refused_and_a_renewed_allowance_reads_on() {
        let (mut reader, allowance) = Bounded::new(Cursor::new(vec![b'x'; 30]), 10);
        let mut buffer = [0; 8];
        assert_eq!(reader.read(&mut buffer).unwrap(), 8);
        allowance.renew();
        assert_eq!(reader.read(&mut buffer).unwrap(), 8);
        let error = reader.read(&mut buffer).unwrap_err();
        assert!(error.to_string().contains("longer than 10 bytes"), "{error}");
    }
}
