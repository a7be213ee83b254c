//! The kinds of edges, numbered.

use std::sync::Arc;

use hashbrown::HashMap;
use timestrata_engine::{Error, ErrorKind, Result};

/// Kinds of a graph at most: what numbers of two bytes can tell apart, but for one that says none.
pub const KINDS_MAX: usize = 65_535;

/// Names of kinds and their numbers, which are given in the order in which the names come.
///
/// Only ever grows: whoever holds a copy can name every kind of the edges that were there with it.
#[derive(Debug, Clone, Default)]
pub struct Kinds {
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u16>,
}

impl Kinds {
    /// The number of a name, which it is given if it has none.
    ///
    /// # Errors
    /// `TooLarge` if [`KINDS_MAX`] other names have one.
    pub fn intern(&mut self, name: &str) -> Result<u16> {
        if let Some(number) = self.number(name) {
            return Ok(number);
        }
        let number = u16::try_from(self.names.len()).ok().filter(|_| self.len() < KINDS_MAX);
        let Some(number) = number else {
            let message = format!("no kind '{name}' more: a graph has at most {KINDS_MAX} of them");
            return Err(Error::new(ErrorKind::TooLarge, message));
        };
        let name: Arc<str> = name.into();
        self.names.push(Arc::clone(&name));
        self.numbers.insert(name, number);
        Ok(number)
    }

    /// The number of a name, if there is an edge of that kind or was one.
    pub fn number(&self, name: &str) -> Option<u16> {
        self.numbers.get(name).copied()
    }

    /// The name of a number.
    pub fn name(&self, number: u16) -> Option<&str> {
        self.names.get(usize::from(number)).map(AsRef::as_ref)
    }

    /// The same, to be kept.
    pub(crate) fn shared_name(&self, number: u16) -> Option<&Arc<str>> {
        self.names.get(usize::from(number))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// All names, in order of their numbers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }
}
