//! Values as CBOR items (RFC 8949), appended to memory.

use num_bigint::{BigInt, Sign};

use crate::logs::Fields;
pub(super) use crate::logs::fields::{write_head as head, write_text as text};
use crate::number;

/// Major types.
const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
pub(super) const LIST: u8 = 4;
pub(super) const MAP: u8 = 5;
const TAG: u8 = 6;
/// Tags of whole numbers of any size.
const POSITIVE_BIGNUM: u64 = 2;
const NEGATIVE_BIGNUM: u64 = 3;

const FALSE: u8 = 0xf4;
const TRUE: u8 = 0xf5;
const NULL: u8 = 0xf6;
const FLOAT: u8 = 0xfb;

/// What [`head`] writes, if it is one byte.
pub(super) fn short_head(major: u8, number: u64) -> Option<u8> {
    (number < 24).then_some(major << 5 | number as u8)
}

/// Adds a text to fields that don't have this name yet.
pub(super) fn add_text(fields: &mut Fields, name: &str, value: &str) {
    fields.add(name, |out| text(out, value));
}

/// Adds a whole number to fields that don't have this name yet.
pub(super) fn add_int(fields: &mut Fields, name: &str, value: i64) {
    fields.add(name, |out| int(out, value));
}

pub(super) fn null(out: &mut Vec<u8>) {
    out.push(NULL);
}

pub(super) fn bool(out: &mut Vec<u8>, value: bool) {
    out.push(if value { TRUE } else { FALSE });
}

pub(super) fn int(out: &mut Vec<u8>, value: i64) {
    match u64::try_from(value) {
        Ok(value) => uint(out, value),
        // They count from -1 on: n stands for -1 - n, which is its complement.
        Err(_) => head(out, NEGATIVE, (!value).unsigned_abs()),
    }
}

pub(super) fn uint(out: &mut Vec<u8>, value: u64) {
    head(out, UNSIGNED, value);
}

pub(super) fn float(out: &mut Vec<u8>, value: f64) {
    out.push(FLOAT);
    out.extend_from_slice(&value.to_bits().to_be_bytes());
}

/// A decimal integer of any size, behind a `-` at most. One that 64 bits don't hold is a bignum, or
/// the negative integer of CBOR if that does. Takes the square of their number: who calls bounds it.
pub(super) fn integer(out: &mut Vec<u8>, digits: &[u8]) {
    if let Some(value) = number::integer(digits) {
        return int(out, value);
    }
    let Some(value) = BigInt::parse_bytes(digits, 10) else { return null(out) };
    // As above for those below zero.
    let (major, tag, value) = match value.sign() {
        Sign::Minus => (NEGATIVE, NEGATIVE_BIGNUM, -value - 1),
        _ => (UNSIGNED, POSITIVE_BIGNUM, value),
    };
    match u64::try_from(&value) {
        Ok(value) => head(out, major, value),
        Err(_) => {
            let (_, bytes) = value.to_bytes_be();
            head(out, TAG, tag);
            head(out, BYTES, bytes.len() as u64);
            out.extend_from_slice(&bytes);
        }
    }
}
