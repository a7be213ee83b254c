//! Reading and writing the little-endian primitives that all layouts are made of.
//!
//! Every length is checked against what remains before anything is taken or reserved, so
//! hostile bytes can neither panic nor make a decoder allocate more than a small multiple
//! of the input.

use crate::{DecodeError, KeyRange, LeadKey};

/// Bytes that are being decoded: untrusted, read from front to back.
#[derive(Debug, Clone)]
pub struct Input<'a> {
    rest: &'a [u8],
    offset: u64,
}

impl<'a> Input<'a> {
    /// Begins at the first of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, offset: 0 }
    }

    /// How many bytes have been taken.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How many bytes are left.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next `length` bytes.
    #[inline]
    pub fn bytes(&mut self, length: usize, what: &'static str) -> Result<&'a [u8], DecodeError> {
        match self.rest.split_at_checked(length) {
            Some((taken, rest)) => {
                self.rest = rest;
                self.offset += length as u64;
                Ok(taken)
            }
            None => Err(self.ends_before(length, what)),
        }
    }

    /// Apart from what reads records by the million.
    #[cold]
    fn ends_before(&self, length: usize, what: &'static str) -> DecodeError {
        DecodeError::new(
            self.offset,
            what,
            format_args!("{length} bytes"),
            format_args!("{} bytes before the end", self.rest.len()),
        )
    }

    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        match self.rest.split_first_chunk::<N>() {
            Some((taken, rest)) => {
                self.rest = rest;
                self.offset += N as u64;
                Ok(*taken)
            }
            None => Err(self.ends_before(N, what)),
        }
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    /// A 32-bit number.
    #[inline]
    pub fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        self.array(what).map(u32::from_le_bytes)
    }

    /// A 64-bit number.
    #[inline]
    pub fn u64(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A signed 64-bit number.
    #[inline]
    pub fn i64(&mut self, what: &'static str) -> Result<i64, DecodeError> {
        self.array(what).map(i64::from_le_bytes)
    }

    /// Bytes behind their 32-bit length.
    #[inline]
    pub fn prefixed(&mut self, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let length = self.u32(what)?;
        self.bytes(length as usize, what)
    }

    /// UTF-8 behind its 32-bit length.
    pub fn string(&mut self, what: &'static str) -> Result<String, DecodeError> {
        let offset = self.offset;
        let bytes = self.prefixed(what)?;
        match str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(error) => Err(DecodeError::new(offset, what, "UTF-8", error)),
        }
    }

    /// Items behind their 32-bit count, each of at least `item_bytes_min` bytes.
    pub fn list<T>(
        &mut self,
        item_bytes_min: usize,
        what: &'static str,
        mut item: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let offset = self.offset;
        let count = self.u32(what)? as usize;
        if count.saturating_mul(item_bytes_min.max(1)) > self.rest.len() {
            return Err(DecodeError::new(
                offset,
                what,
                format_args!("at most {}", self.rest.len() / item_bytes_min.max(1)),
                count,
            ));
        }
        (0..count).map(|_| item(self)).collect()
    }

    /// A truth value: 0 or 1.
    #[inline]
    pub fn flag(&mut self, what: &'static str) -> Result<bool, DecodeError> {
        let offset = self.offset;
        match self.u8(what)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(DecodeError::new(offset, what, "0 or 1", other)),
        }
    }

    /// What [`put_lead_key`] wrote.
    pub fn lead_key(&mut self, what: &'static str) -> Result<LeadKey, DecodeError> {
        let offset = self.offset;
        match self.u8(what)? {
            1 => self.i64(what).map(LeadKey::Time),
            2 => self.u64(what).map(LeadKey::Offset),
            3 => self.array(what).map(LeadKey::Id16),
            4 => self.array(what).map(LeadKey::Id32),
            tag => Err(DecodeError::new(offset, what, "a key tag of 1 to 4", tag)),
        }
    }

    /// What [`put_key_range`] wrote.
    pub fn key_range(&mut self, what: &'static str) -> Result<KeyRange, DecodeError> {
        let offset = self.offset;
        let ends = self.u8(what)?;
        if ends > 3 {
            return Err(DecodeError::new(offset, what, "range ends of 0 to 3", ends));
        }
        let lo = if ends & 1 != 0 { Some(self.lead_key(what)?) } else { None };
        let hi = if ends & 2 != 0 { Some(self.lead_key(what)?) } else { None };
        Ok(KeyRange { lo, hi })
    }

    /// Refuses bytes that are left over.
    pub fn finish(&self, what: &'static str) -> Result<(), DecodeError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(DecodeError::new(
            self.offset,
            what,
            "the end",
            format_args!("{} more bytes", self.rest.len()),
        ))
    }
}

/// Bytes behind their 32-bit length.
///
/// # Panics
/// If there are 4 GiB or more.
pub fn put_prefixed(out: &mut Vec<u8>, bytes: &[u8]) {
    assert!(u32::try_from(bytes.len()).is_ok(), "a field of {} bytes", bytes.len());
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// A tag byte (1 time, 2 offset, 3 and 4 ids of 16 and 32 bytes), then the value.
pub fn put_lead_key(out: &mut Vec<u8>, key: LeadKey) {
    match key {
        LeadKey::Time(time) => {
            out.push(1);
            out.extend_from_slice(&time.to_le_bytes());
        }
        LeadKey::Offset(offset) => {
            out.push(2);
            out.extend_from_slice(&offset.to_le_bytes());
        }
        LeadKey::Id16(id) => {
            out.push(3);
            out.extend_from_slice(&id);
        }
        LeadKey::Id32(id) => {
            out.push(4);
            out.extend_from_slice(&id);
        }
    }
}

/// A byte of flags (1: has `lo`, 2: has `hi`), then those ends.
pub fn put_key_range(out: &mut Vec<u8>, range: &KeyRange) {
    out.push(u8::from(range.lo.is_some()) | (u8::from(range.hi.is_some()) << 1));
    for end in [range.lo, range.hi].into_iter().flatten() {
        put_lead_key(out, end);
    }
}
