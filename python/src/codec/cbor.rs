//! CBOR (RFC 8949) from and to Python objects, without a detour over another tree.
//!
//! Tokens are `ciborium-ll`'s; what is here is the meaning: which Python object is which item.
//! Depth is bounded both ways, so neither an object that contains itself nor hostile bytes can
//! exhaust the stack, and no length on disk is believed before the bytes for it are there.

mod decode;
mod encode;
mod kinds;

pub(crate) use decode::decode;
pub(crate) use encode::{Keys, encode, encode_as};

/// Levels of lists and dicts inside each other.
const DEPTH_MAX: usize = 256;

/// RFC 3339 date and time, as text.
const TAG_DATETIME_TEXT: u64 = 0;
/// Seconds since 1970, as a number: read, never written (a float of seconds is not exact).
const TAG_DATETIME_EPOCH: u64 = 1;
/// A set, as a list.
const TAG_SET: u64 = 258;
/// An object of a name: a list of the name, what the object is made of, and what else it takes.
const TAG_OBJECT: u64 = 27;
/// Names of objects that are read and written here; all others are `timestrata.kinds`'.
const TUPLE: &str = "tuple";
const FROZENSET: &str = "frozenset";
/// "This is CBOR": means nothing by itself.
const TAG_SELF_DESCRIBED: u64 = 55_799;
