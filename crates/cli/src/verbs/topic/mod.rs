//! Topics: `topic create|list|describe|set|retain|delete`, and the verbs that read, write and prove.

mod admin;
pub(crate) mod checkpoint;
pub(crate) mod consume;
pub(crate) mod groups;
pub(crate) mod keygen;
pub(crate) mod produce;
pub(crate) mod prove;
pub(crate) mod verify_proof;

pub(crate) use admin::{Arguments, run};

use std::io::{self, Write};

use serde_json::Value;

use crate::failure::{Failure, Result};

/// Prints one line of JSON.
fn print_line(value: &Value) -> Result<()> {
    writeln!(io::stdout(), "{value}").map_err(|cause| Failure::output(&cause))
}
