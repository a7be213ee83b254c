//! Time logs, through their public face.

mod limits;
mod model;
mod promises;
mod tail;
mod typed;
