//! `--at`: the store as it was.

use std::path::Path;

use clap::Args;
use timestrata::{Access, Moment, SeqNo, Store};

use super::open;
use crate::failure::Result;

/// Which moment of a store is read: now, unless another one is asked for.
#[derive(Debug, Args)]
pub(super) struct At {
    /// Read the store as it was: behind a commit, by its number, or as a pin has it, 'pin=NAME'.
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    at: Option<Moment>,
}

fn moment(text: &str) -> std::result::Result<Moment, String> {
    match text.strip_prefix("pin=") {
        Some(name) => Ok(Moment::Pin(name.to_owned())),
        None => text
            .parse()
            .map(|seq| Moment::Commit(SeqNo(seq)))
            .map_err(|_| "the number of a commit, or 'pin=' and the name of a pin".to_owned()),
    }
}

impl At {
    /// Opens the store in a directory for reading.
    pub(super) fn open(&self, dir: &Path) -> Result<Store> {
        let store = open(dir, Access::Read)?;
        match &self.at {
            None => Ok(store),
            Some(moment) => Ok(store.at(moment)?),
        }
    }
}
