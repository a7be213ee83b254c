//! A time log: values by timestamp, late ones too, and ranges of times that are deleted.

mod session;
mod step;

pub use session::Timelogs;
