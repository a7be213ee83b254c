//! Files and bodies as record batches.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of a test fail as it does"
)]

mod csv;
mod forms;
mod hostile;
mod reading;
mod real;
mod written;
