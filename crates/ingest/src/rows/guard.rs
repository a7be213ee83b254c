//! A guard around decoders that others wrote: a panic in one, which hostile bytes may cause, becomes an error.

use std::panic::{AssertUnwindSafe, catch_unwind};

use timestrata_engine::Result;

use super::report::invalid;

/// Runs a decoder over bytes of an input. What is wrong with these is an error, also where the
/// decoder finds it out too late to say so. It must not be used again behind an error.
pub(super) fn decode<T, E: std::fmt::Display>(
    input: &str,
    what: &str,
    decoder: impl FnOnce() -> std::result::Result<T, E>,
) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(decoder)) {
        Ok(Ok(decoded)) => Ok(decoded),
        Ok(Err(cause)) => Err(invalid(input, format!("bad {what}: {cause}"))),
        Err(_) => Err(invalid(input, format!("bad {what}: it contradicts itself"))),
    }
}
