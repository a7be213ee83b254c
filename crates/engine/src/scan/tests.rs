//! Reading, against a model that sorts everything.

mod fixture;
mod model;
mod promises;
