//! What files say, how they refer to each other, and that nothing in them does harm.
#![expect(clippy::unwrap_used, reason = "a test fails so")]

mod bad_input;
mod c;
mod facts;
mod go;
mod order;
mod python;
mod rust;
mod script;
mod sources;
mod standard_library;
mod told;
mod zig;
