//! Paths as people write them: a leading `~` is their own folder, as in a shell.

use std::path::PathBuf;

use pyo3::prelude::*;

/// A path that a caller has given. `~somebody` is a name as any other.
#[derive(Debug, Clone)]
pub(crate) struct GivenPath(pub(crate) PathBuf);

impl FromPyObject<'_, '_> for GivenPath {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let path: PathBuf = given.extract()?;
        if !path.starts_with("~") {
            return Ok(Self(path));
        }
        // Python knows where home is where the environment doesn't say it, too.
        let expanded = given.py().import("os.path")?.call_method1("expanduser", (path,))?;
        expanded.extract().map(Self)
    }
}
