//! `--at`: the store as it was.

use clap::Args;
use timestrata::values::moment_of_text;
use timestrata::{Moment, Store};

use crate::failure::Result;

/// Which moment of a store is read: now, unless another one is asked for.
#[derive(Debug, Args)]
pub(crate) struct At {
    /// Read the store as it was: behind a commit, by its number; as a pin has it, 'pin=NAME'; or at a time, such as
    /// '2026-05-01T09:30:00Z'.
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    at: Option<NamedMoment>,
}

/// A moment, and how it was asked for.
#[derive(Debug, Clone)]
struct NamedMoment {
    text: String,
    moment: Moment,
}

fn moment(text: &str) -> std::result::Result<NamedMoment, String> {
    let moment = moment_of_text(text).map_err(|error| error.to_string())?;
    Ok(NamedMoment { text: text.to_owned(), moment })
}

impl At {
    /// The moment, if it isn't now.
    #[cfg(feature = "sql")]
    pub(crate) fn moment(&self) -> Option<Moment> {
        self.at.as_ref().map(|named| named.moment.clone())
    }

    /// The moment as it was asked for, if it isn't now.
    pub(crate) fn text(&self) -> Option<String> {
        self.at.as_ref().map(|named| named.text.clone())
    }

    /// A store as it was then.
    pub(crate) fn of(&self, store: Store) -> Result<Store> {
        match &self.at {
            None => Ok(store),
            Some(named) => Ok(store.at(&named.moment)?),
        }
    }
}
