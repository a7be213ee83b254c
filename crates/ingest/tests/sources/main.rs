//! Files and bodies as record batches.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of a test fail as it does"
)]

mod csv;
mod dialects;
mod forms;
mod hostile;
mod loads;
mod reading;
mod real;
mod written;
