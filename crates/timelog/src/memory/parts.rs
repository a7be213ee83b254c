//! The parts of a log, and a list of them that its readers share.

use std::ops::{Deref, Range};
use std::sync::Arc;

use super::slice::Part;

/// A slice over more parts than this shares the list of all: a reference instead of one a part. Below it a slice holds nothing
/// but the leaves that it reads, so that others may change where they lie.
const OWN_MAX: usize = 8;

/// The parts of a log, in order. Reading shares one list of them until they change, so that a slice of a whole log costs the
/// same however long the log is.
#[derive(Debug)]
pub(super) struct Parts<T> {
    own: Vec<Part<T>>,
    shared: Option<Arc<[Part<T>]>>,
}

impl<T> Default for Parts<T> {
    fn default() -> Self {
        Self { own: Vec::new(), shared: None }
    }
}

impl<T> Deref for Parts<T> {
    type Target = [Part<T>];

    fn deref(&self) -> &[Part<T>] {
        &self.own
    }
}

impl<T> Parts<T> {
    /// The parts, to be changed. The list goes first: a leaf that only it shared can be changed in its place. What it holds, the
    /// log holds as well: no value goes with it.
    pub(super) fn change(&mut self) -> &mut Vec<Part<T>> {
        self.shared = None;
        &mut self.own
    }

    /// The parts, which are given up.
    pub(super) fn into_own(self) -> Vec<Part<T>> {
        self.own
    }

    /// Some of them, for a reader.
    pub(super) fn some(&mut self, places: Range<usize>) -> Run<T> {
        let some = self.own.get(places.clone()).unwrap_or_default();
        if some.is_empty() {
            return Run::default();
        }
        if some.len() <= OWN_MAX {
            return some.iter().cloned().collect();
        }
        let all = self.shared.get_or_insert_with(|| self.own.iter().cloned().collect());
        Run { list: Some(Arc::clone(all)), places }
    }
}

/// Parts that lie side by side in a list, which others may share, read from both ends.
#[derive(Debug)]
pub(super) struct Run<T> {
    list: Option<Arc<[Part<T>]>>,
    places: Range<usize>,
}

impl<T> Default for Run<T> {
    fn default() -> Self {
        Self { list: None, places: 0..0 }
    }
}

impl<T> FromIterator<Part<T>> for Run<T> {
    fn from_iter<I: IntoIterator<Item = Part<T>>>(parts: I) -> Self {
        let list: Arc<[Part<T>]> = parts.into_iter().collect();
        let places = 0..list.len();
        Self { list: Some(list), places }
    }
}

impl<T> Run<T> {
    /// Those still to be read.
    pub(super) fn as_slice(&self) -> &[Part<T>] {
        let list = self.list.as_deref().unwrap_or_default();
        list.get(self.places.clone()).unwrap_or_default()
    }

    /// All of the list, where nobody else holds it.
    pub(super) fn sole(&self) -> &[Part<T>] {
        match &self.list {
            Some(list) if Arc::strong_count(list) == 1 => list,
            _ => &[],
        }
    }

    /// The next from the front.
    pub(super) fn next(&mut self) -> Option<Part<T>> {
        let place = self.places.next()?;
        self.list.as_ref()?.get(place).cloned()
    }

    /// The next from the back.
    pub(super) fn next_back(&mut self) -> Option<Part<T>> {
        let place = self.places.next_back()?;
        self.list.as_ref()?.get(place).cloned()
    }
}
