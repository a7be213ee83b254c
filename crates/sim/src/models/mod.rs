//! One of each model in a store, changed by commits that span them: all of a commit is there, or nothing of it.

mod model;
mod read;
mod session;
mod step;

pub use session::Models;
