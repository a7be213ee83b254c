//! Time logs, through their public face.

mod limits;
mod model;
mod promises;
mod typed;
