//! The first 16 bytes of the manifest and of each WAL segment: fixed for every version to
//! come, so that a newer file is told from a damaged one.
//!
//! `magic (8), u32 format version, u32 CRC-32C of these 12 bytes`.

use std::fmt;

use crate::checksum::crc32c;
use crate::input::Input;
use crate::{DecodeError, FORMAT_VERSION};

/// Why a file's header is not to be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderError {
    /// It is whole, but of a version that this build does not know.
    NewerVersion {
        /// The file's format version.
        found: u32,
    },
    /// It is not what was written, or not such a file at all.
    Damaged(DecodeError),
}

impl From<DecodeError> for HeaderError {
    fn from(error: DecodeError) -> Self {
        Self::Damaged(error)
    }
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewerVersion { found } => write!(
                f,
                "format version {found}, newer than version {FORMAT_VERSION} of this build"
            ),
            Self::Damaged(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for HeaderError {}

/// The first 16 bytes of a file that this build writes.
pub(crate) fn encode_preamble(magic: [u8; 8], version: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&magic);
    bytes[8..12].copy_from_slice(&version.to_le_bytes());
    let crc = crc32c(&bytes[..12]);
    bytes[12..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Checks magic and version; gives the version, which this build knows.
pub(crate) fn decode_preamble(input: &mut Input<'_>, magic: [u8; 8]) -> Result<u32, HeaderError> {
    let start = input.clone().bytes(12, "file header")?;
    let offset = input.offset();
    let found = input.array::<8>("file magic")?;
    if found != magic {
        return Err(DecodeError::new(
            offset,
            "file magic",
            magic.escape_ascii(),
            found.escape_ascii(),
        )
        .into());
    }
    let version = input.u32("format version")?;
    let crc_offset = input.offset();
    let crc = input.u32("checksum of magic and version")?;
    let expected = crc32c(start);
    if crc != expected {
        return Err(DecodeError::new(
            crc_offset,
            "checksum of magic and version",
            format_args!("{expected:08x}"),
            format_args!("{crc:08x}"),
        )
        .into());
    }
    if version > FORMAT_VERSION {
        return Err(HeaderError::NewerVersion { found: version });
    }
    if version == 0 {
        return Err(DecodeError::new(8, "format version", "1 or more", 0).into());
    }
    Ok(version)
}

/// Writes the CRC-32C of all before the last four bytes into them.
pub(crate) fn seal<const N: usize>(bytes: &mut [u8; N]) {
    if let Some((covered, crc)) = bytes.split_last_chunk_mut::<4>() {
        *crc = crc32c(covered).to_le_bytes();
    }
}

/// Ends a structure of any length with the CRC-32C of all of it.
pub(crate) fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let crc = crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes
}

/// Checks what [`sealed`] wrote; gives the version that the structure begins with, which this build knows,
/// and what is behind it.
pub(crate) fn open_sealed<'a>(
    bytes: &'a [u8],
    checksum: &'static str,
    version: &'static str,
) -> Result<(u32, Input<'a>), HeaderError> {
    let mut input = Input::new(check_seal(bytes, checksum)?);
    let format_version = input.u32(version)?;
    match format_version > FORMAT_VERSION {
        true => Err(HeaderError::NewerVersion { found: format_version }),
        false => Ok((format_version, input)),
    }
}

/// Checks what [`seal`] or [`sealed`] wrote; gives what it covers.
pub(crate) fn check_seal<'a>(bytes: &'a [u8], what: &'static str) -> Result<&'a [u8], DecodeError> {
    let Some((covered, crc)) = bytes.split_last_chunk::<4>() else {
        return Err(DecodeError::new(0, what, "4 bytes or more", bytes.len()));
    };
    let (expected, found) = (crc32c(covered), u32::from_le_bytes(*crc));
    if expected == found {
        return Ok(covered);
    }
    Err(DecodeError::new(
        covered.len() as u64,
        what,
        format_args!("{expected:08x}"),
        format_args!("{found:08x}"),
    ))
}
