//! CBOR (RFC 8949) from and to Python objects, without a detour over another tree.
//!
//! Tokens are `ciborium-ll`'s; what is here is the meaning: which Python object is which item.
//! Depth is bounded both ways, so neither an object that contains itself nor hostile bytes can
//! exhaust the stack, and no length on disk is believed before the bytes for it are there.

mod decode;
mod encode;

pub(crate) use decode::decode;
pub(crate) use encode::{Keys, encode, encode_as};

/// Levels of lists and dicts inside each other.
const DEPTH_MAX: usize = 256;

/// RFC 3339 date and time, as text.
const TAG_DATETIME_TEXT: u64 = 0;
/// Seconds since 1970, as a number: read, never written (a float of seconds is not exact).
const TAG_DATETIME_EPOCH: u64 = 1;
/// An integer too large for 64 bits: its bytes, and the bytes of -1 - n.
const TAG_BIGNUM_POSITIVE: u64 = 2;
const TAG_BIGNUM_NEGATIVE: u64 = 3;
/// A set, as a list.
const TAG_SET: u64 = 258;
/// "This is CBOR": means nothing by itself.
const TAG_SELF_DESCRIBED: u64 = 55_799;

const SIMPLE_FALSE: u8 = 20;
const SIMPLE_TRUE: u8 = 21;
const SIMPLE_NULL: u8 = 22;
const SIMPLE_UNDEFINED: u8 = 23;
