//! Small files that somebody else keeps: certificates, keys, formats.

use std::path::Path;

use timestrata_engine::{Error, ErrorKind, Io, OpenMode, Result};

/// More than any of them has: a chain of certificates with the longest keys is less.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// All bytes of a file; `what` it is says an error.
///
/// # Errors
/// `Io` if it can't be read, and `InvalidArgument` if it is too long.
pub(crate) fn read(io: &Io, path: &Path, what: &str) -> Result<Vec<u8>> {
    let bytes = || {
        let file = io.disk.open(path, OpenMode::Read)?;
        let length = file.len()?;
        if length > FILE_BYTES_MAX {
            let why = format!("{length} bytes are too long for {what}");
            return Ok(Err(Error::new(ErrorKind::InvalidArgument, why).at(path)));
        }
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
        file.read_at(0, &mut bytes)?;
        Ok(Ok(bytes))
    };
    bytes().unwrap_or_else(|error| Err(Error::io(&format!("read {what}"), path, error)))
}
