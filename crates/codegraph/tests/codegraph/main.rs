//! What files say, how they refer to each other, and that nothing in them does harm.

mod bad_input;
mod facts;
mod python;
mod sources;
mod standard_library;
mod told;
