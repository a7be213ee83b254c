//! Plain streams of the engine: one that keeps every row, one that keeps the latest of a key.

mod model;
mod session;
mod step;

pub(crate) use model::{ModelChange, Row, StreamsModel};
pub(crate) use session::{STREAMS, Streams, add, engine_changes, scan_stream, shown, specs};
pub use step::StreamStep;
pub(crate) use step::{EVENTS, STATE};
