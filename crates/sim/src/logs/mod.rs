//! Logs: entries in the order of their arrival, with fields that get columns of their own.

mod read;
mod session;
mod step;

pub use session::LogEntries;
