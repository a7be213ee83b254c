//! What holds for the whole repository.

mod code;
mod crates;
mod documents;
mod examples;
mod modules;
mod sizes;
