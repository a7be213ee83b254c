//! `Pin`: a named snapshot, as listed.

use pyo3::prelude::*;
use timestrata_engine::PinInfo;

/// A named, durable snapshot, as listed.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> store = timestrata.open()
/// >>> commit = store.pin("monday")
/// >>> [pin] = store.pins()
/// >>> pin.name, pin.seq == commit
/// ('monday', True)
#[pyclass(frozen, get_all, module = "timestrata")]
#[derive(Debug)]
pub(crate) struct Pin {
    /// Its name.
    name: String,
    /// The commit it sees.
    seq: u64,
    /// Wall clock when it was made, in nanoseconds since 1970.
    created_ns: i64,
}

impl From<PinInfo> for Pin {
    fn from(pin: PinInfo) -> Self {
        Self { name: pin.name, seq: pin.seq.0, created_ns: pin.created_wall_ns }
    }
}

#[pymethods]
impl Pin {
    fn __repr__(&self) -> String {
        format!("<Pin {:?} seq={}>", self.name, self.seq)
    }
}
