//! Times, numbers, names, ranges and lines, as every model reads and writes them.
//!
//! What two models would otherwise each have a copy of: the one reader of times ([`Instant`],
//! [`time`]; [`time_format`] where it is said how they are written, [`people_time`] where that has to be told) and of numbers ([`number`]), the rules for names ([`name`]), ranges of times ([`range`]),
//! how options are spelled in messages ([`spelling`]), text as numbered lines ([`lines`]), moments of a store ([`moment_of_text`]), and which types of columns can be brought to which others without loss ([`convert`], [`normalize`]).
//! Values of log entries and of graphs are CBOR items, which [`cbor`] appends to memory.
//! Nothing here keeps state, and but for what deletes a range or looks a stream up by its name
//! nothing touches a store.
#![forbid(unsafe_code)]

pub mod cbor;
pub mod convert;
pub mod instant;
pub mod lines;
mod moment;
pub mod name;
mod normalize;
pub mod number;
pub mod people_time;
pub mod range;
pub mod spelling;
pub mod time;
pub mod time_format;

pub use convert::fit;
pub use instant::Instant;
pub use moment::moment_of_text;
pub use normalize::{normalize, plain_columns, plain_fields};
