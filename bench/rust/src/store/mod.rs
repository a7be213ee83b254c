//! The suite of the store as a whole: what several models do together, and what a server makes of it. What is measured through
//! Python is in `bench/python/store`.

mod topics;
mod views;

use timestrata_bench::Group;

/// All groups, in the order of the report.
pub(crate) const GROUPS: [Group; 2] = [
    Group { name: "views", run: views::run },
    Group { name: "topics over HTTP", run: topics::run },
];
