//! Bytes that have to be UTF-8, checked as they are read.

use std::io::{self, Read};

use axum::http::StatusCode;

use crate::fault::Fault;

/// Bytes of a character.
const CHARACTER_BYTES_MAX: usize = 4;

/// Hands on what it reads, and ends with a [`Fault`] of `400` where that is not UTF-8.
pub(crate) struct Utf8Only<R> {
    reader: R,
    /// The beginning of a character whose rest is still to come.
    begun: Vec<u8>,
    /// Bytes before that.
    read: u64,
}

impl<R> Utf8Only<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, begun: Vec::with_capacity(CHARACTER_BYTES_MAX), read: 0 }
    }

    fn refused(&self, at: usize) -> io::Error {
        let at = self.read + at as u64;
        let why =
            format!("the body is no UTF-8, from byte {at} on (the first is 0); send it as UTF-8");
        Fault(StatusCode::BAD_REQUEST, why).io(io::ErrorKind::InvalidData)
    }

    /// Looks at what comes behind what was begun.
    fn check(&mut self, piece: &[u8]) -> io::Result<()> {
        let mut rest = piece;
        // The few bytes of a character that is cut are put together first.
        while !self.begun.is_empty() {
            let Some((first, behind)) = rest.split_first() else { return Ok(()) };
            self.begun.push(*first);
            rest = behind;
            match std::str::from_utf8(&self.begun) {
                Ok(_) => {
                    self.read += self.begun.len() as u64;
                    self.begun.clear();
                }
                Err(error) if error.error_len().is_some() => return Err(self.refused(0)),
                Err(_) => {}
            }
        }
        match std::str::from_utf8(rest) {
            Ok(_) => self.read += rest.len() as u64,
            Err(error) if error.error_len().is_some() => {
                return Err(self.refused(error.valid_up_to()));
            }
            Err(error) => {
                let (whole, begun) = rest.split_at(error.valid_up_to());
                self.read += whole.len() as u64;
                self.begun.extend_from_slice(begun);
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Utf8Only<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        if count == 0 && !buffer.is_empty() && !self.begun.is_empty() {
            return Err(self.refused(0));
        }
        self.check(buffer.get(..count).unwrap_or_default())?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time.
    struct Drops<'a>(&'a [u8]);

    impl Read for Drops<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = buffer.len().min(1);
            self.0.read(&mut buffer[..count])
        }
    }

    fn read(bytes: &[u8]) -> [io::Result<Vec<u8>>; 2] {
        let whole = |mut reader: Box<dyn Read + '_>| {
            let mut out = Vec::new();
            reader.read_to_end(&mut out).map(|_| out)
        };
        [whole(Box::new(Utf8Only::new(bytes))), whole(Box::new(Utf8Only::new(Drops(bytes))))]
    }

    #[test]
    fn text_goes_through_and_other_bytes_are_refused_by_their_place() {
        for text in ["", "a", "a,b\né,世界 🚀\n"] {
            for out in read(text.as_bytes()) {
                assert_eq!(out.unwrap(), text.as_bytes());
            }
        }
        for (bytes, at) in
            [(&b"ab\xff"[..], 2), (b"a\xe4,1\n", 1), ("a🚀".as_bytes()[..4].as_ref(), 1)]
        {
            for out in read(bytes) {
                let error = out.unwrap_err().to_string();
                assert!(error.contains(&format!("byte {at} ")), "{error}");
            }
        }
    }
}
