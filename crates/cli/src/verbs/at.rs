//! `--at`: the store as it was.

use std::path::Path;

use clap::Args;
use timestrata::values::moment_of_text;
use timestrata::{Access, Moment, Store};

use super::open;
use crate::failure::Result;

/// Which moment of a store is read: now, unless another one is asked for.
#[derive(Debug, Args)]
pub(super) struct At {
    /// Read the store as it was: behind a commit, by its number; as a pin has it, 'pin=NAME'; or at a time, such as
    /// '2026-05-01T09:30:00Z'.
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    at: Option<Moment>,
}

fn moment(text: &str) -> std::result::Result<Moment, String> {
    moment_of_text(text).map_err(|error| error.to_string())
}

impl At {
    /// The moment, if it isn't now.
    #[cfg(feature = "sql")]
    pub(super) fn moment(&self) -> Option<Moment> {
        self.at.clone()
    }

    /// Opens the store in a directory for reading.
    pub(super) fn open(&self, dir: &Path) -> Result<Store> {
        let store = open(dir, Access::Read)?;
        match &self.at {
            None => Ok(store),
            Some(moment) => Ok(store.at(moment)?),
        }
    }
}
