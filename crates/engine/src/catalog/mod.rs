//! The catalog: streams and pins are made, changed and dropped through the manifest alone.

mod alter;
mod followers;
mod pins;
mod provisional;
mod streams;

pub(crate) use pins::no_pin;
pub(crate) use streams::no_stream_named;
