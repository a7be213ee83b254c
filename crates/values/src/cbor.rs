//! Values as CBOR items (RFC 8949), appended to memory; and such items as JSON text.

mod json;
mod tags;

pub use json::{
    comma, element, goes_on, member, tagged_whole, write_float, write_json, write_text,
};
use num_bigint::{BigInt, Sign};

use crate::number;

/// Major types.
const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
/// The major type of a list.
pub const LIST: u8 = 4;
/// The major type of a map.
pub const MAP: u8 = 5;
const TAG: u8 = 6;
/// Tags of whole numbers of any size.
const POSITIVE_BIGNUM: u64 = 2;
const NEGATIVE_BIGNUM: u64 = 3;

const FALSE: u8 = 0xf4;
const TRUE: u8 = 0xf5;
const NULL: u8 = 0xf6;
const FLOAT: u8 = 0xfb;

/// What [`head`] writes, if it is one byte.
pub fn short_head(major: u8, number: u64) -> Option<u8> {
    (number < 24).then_some(major << 5 | number as u8)
}

/// Appends a text as a CBOR item.
pub fn text(out: &mut Vec<u8>, text: &str) {
    head(out, TEXT, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Appends what a CBOR item begins with: its major type and a number (RFC 8949, 3), in the fewest
/// bytes. An encoder does the same through a writer that may fail, at twice the cost of a short item.
#[expect(clippy::cast_possible_truncation, reason = "the ranges bound it")]
pub fn head(out: &mut Vec<u8>, major: u8, number: u64) {
    let major = major << 5;
    match number {
        0..24 => out.push(major | number as u8),
        24..0x100 => out.extend_from_slice(&[major | 24, number as u8]),
        0x100..0x1_0000 => {
            let [a, b] = (number as u16).to_be_bytes();
            out.extend_from_slice(&[major | 25, a, b]);
        }
        0x1_0000..0x1_0000_0000 => {
            out.push(major | 26);
            out.extend_from_slice(&(number as u32).to_be_bytes());
        }
        _ => {
            out.push(major | 27);
            out.extend_from_slice(&number.to_be_bytes());
        }
    }
}

/// Appends null.
pub fn null(out: &mut Vec<u8>) {
    out.push(NULL);
}

/// Appends a truth value.
pub fn bool(out: &mut Vec<u8>, value: bool) {
    out.push(if value { TRUE } else { FALSE });
}

/// Appends a whole number.
pub fn int(out: &mut Vec<u8>, value: i64) {
    match u64::try_from(value) {
        Ok(value) => uint(out, value),
        // They count from -1 on: n stands for -1 - n, which is its complement.
        Err(_) => head(out, NEGATIVE, (!value).unsigned_abs()),
    }
}

/// Appends a whole number that may be beyond `i64`.
pub fn uint(out: &mut Vec<u8>, value: u64) {
    head(out, UNSIGNED, value);
}

/// Appends a number with a fraction, of 64 bits.
pub fn float(out: &mut Vec<u8>, value: f64) {
    out.push(FLOAT);
    out.extend_from_slice(&value.to_bits().to_be_bytes());
}

/// A decimal integer of any size, behind a `-` at most. One that 64 bits don't hold is a bignum, or
/// the negative integer of CBOR if that does. Takes the square of their number: who calls bounds it.
pub fn integer(out: &mut Vec<u8>, digits: &[u8]) {
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
