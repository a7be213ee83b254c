//! `Finding`: one thing that `check` found.

use pyo3::prelude::*;

use super::shown;

/// One thing that is wrong in a store's files.
///
/// Examples
/// --------
/// >>> import pathlib, tempfile, timestrata
/// >>> folder = tempfile.TemporaryDirectory()
/// >>> timestrata.open(folder.name).close()
/// >>> pathlib.Path(folder.name, "stray").touch()
/// >>> with timestrata.open(folder.name, mode="r") as store:
/// ...     [finding] = store.check().findings
/// >>> finding.is_damage
/// False
/// >>> folder.cleanup()
#[pyclass(frozen, get_all, module = "timestrata")]
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    /// The file.
    path: String,
    /// The byte in it, if known.
    offset: Option<u64>,
    /// What is wrong.
    message: String,
    /// Whether data may be lost or wrong; False for a stray file or a torn tail.
    is_damage: bool,
}

impl From<timestrata_engine::Finding> for Finding {
    fn from(finding: timestrata_engine::Finding) -> Self {
        Self {
            path: shown(&finding.path),
            offset: finding.offset,
            message: finding.message,
            is_damage: finding.is_damage,
        }
    }
}

#[pymethods]
impl Finding {
    fn __repr__(&self) -> String {
        let place = self.offset.map(|offset| format!(" byte {offset}")).unwrap_or_default();
        let kind = if self.is_damage { "damage" } else { "harmless" };
        format!("<Finding {kind} {:?}{place}: {}>", self.path, self.message)
    }
}
