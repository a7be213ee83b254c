//! Whether a commit can still be added to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use timestrata_engine::ErrorKind;

use crate::error::refused;

/// Shared by a commit and what its models are to change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Staging(Arc<AtomicBool>);

impl Staging {
    /// An error once the commit has ended, or before its block has begun.
    pub(crate) fn check(&self) -> PyResult<()> {
        match self.0.load(Ordering::Acquire) {
            true => Ok(()),
            false => Err(refused(
                ErrorKind::Closed,
                "a commit takes changes within its block: with store.commit() as commit: ...",
            )),
        }
    }

    pub(crate) fn begin(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it was open until now.
    pub(crate) fn end(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }
}
