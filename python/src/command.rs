//! The `timestrata` command within this process, so that what installs the package installs it too.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with the words of a command line, and gives its exit code. `timestrata/__main__.py`
/// makes the process what the command takes it for before.
#[pyfunction]
#[pyo3(name = "_run_command")]
pub(crate) fn run_command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| timestrata_cli::run(words))
}
