//! Time logs, through their public face.

mod model;
mod promises;
mod typed;
