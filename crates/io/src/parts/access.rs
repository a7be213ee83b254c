//! What may be done with an open file.

use std::io;

use crate::OpenMode;

/// What an open file allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads.
    Read,
    /// Reads and writes.
    Write,
    /// Reads and writes within a fixed length.
    Log,
}

impl From<OpenMode> for Access {
    fn from(mode: OpenMode) -> Self {
        match mode {
            OpenMode::Read => Self::Read,
            OpenMode::ReadWrite | OpenMode::CreateNew | OpenMode::CreatePrivate => Self::Write,
        }
    }
}

/// The refusal to change the length of a log file.
pub(crate) fn fixed_length(what: &str) -> io::Error {
    let message = format!("a log file has a fixed length and can't be {what}");
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

impl Access {
    /// Refuses a write of `count` bytes at `offset`, which may not go beyond the `length` of a
    /// log file.
    pub fn check_write(self, offset: u64, count: usize, length: u64) -> io::Result<()> {
        self.check_writable()?;
        if self == Self::Log && offset.saturating_add(count as u64) > length {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("a log file of {length} bytes can't take {count} bytes at byte {offset}"),
            ));
        }
        Ok(())
    }

    /// Refuses a change of the length; `what` would be done to the file.
    pub fn check_resize(self, what: &str) -> io::Result<()> {
        self.check_writable()?;
        if self == Self::Log {
            return Err(fixed_length(what));
        }
        Ok(())
    }

    /// Refuses writes where there are only reads.
    pub(crate) fn check_writable(self) -> io::Result<()> {
        if self == Self::Read {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the file was opened for reading",
            ));
        }
        Ok(())
    }
}

/// Fills `buffer` from `offset` of a file's bytes.
pub fn read_at(content: &[u8], offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    let found = usize::try_from(offset).ok().and_then(|start| {
        let end = start.checked_add(buffer.len())?;
        content.get(start..end)
    });
    match found {
        Some(found) => {
            buffer.copy_from_slice(found);
            Ok(())
        }
        None => Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("{} bytes at byte {offset} of a file of {} bytes", buffer.len(), content.len()),
        )),
    }
}
