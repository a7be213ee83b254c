//! Numbers for all names of a tree, so that they are compared and looked up as numbers.

use hashbrown::HashMap;

use crate::{Facts, Name};

/// A name without dots, by a number that all files of the tree share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Word(u32);

/// The name that isn't there, as in `.strip`.
pub(super) const NO_WORD: Word = Word(0);

#[derive(Debug)]
pub(super) struct Words<'a> {
    numbers: HashMap<&'a str, Word>,
    texts: Vec<&'a str>,
}

impl Default for Words<'_> {
    fn default() -> Self {
        Self { numbers: HashMap::from([("", NO_WORD)]), texts: vec![""] }
    }
}

impl<'a> Words<'a> {
    pub(super) fn number(&mut self, text: &'a str) -> Word {
        let next = Word(u32::try_from(self.texts.len()).unwrap_or(0));
        let word = *self.numbers.entry(text).or_insert(next);
        if word == next && word != NO_WORD {
            self.texts.push(text);
        }
        word
    }

    /// The number of a text that is a name somewhere in the tree.
    pub(super) fn known(&self, text: &str) -> Option<Word> {
        self.numbers.get(text).copied()
    }

    pub(super) fn text(&self, word: Word) -> &'a str {
        usize::try_from(word.0).ok().and_then(|at| self.texts.get(at)).copied().unwrap_or("")
    }
}

/// The words of each name of a file.
#[derive(Debug, Default)]
pub(super) struct FileWords {
    words: Vec<Word>,
    ends: Vec<usize>,
}

impl FileWords {
    pub(super) fn new<'a>(facts: &'a Facts, words: &mut Words<'a>) -> Self {
        let mut all = Self::default();
        for name in &facts.names {
            all.words.extend(name.split('.').map(|part| words.number(part)));
            all.ends.push(all.words.len());
        }
        all
    }

    /// The words of a path; none if the file has no such name.
    pub(super) fn of(&self, name: Name) -> &[Word] {
        let Ok(at) = usize::try_from(name.0) else { return &[] };
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let end = self.ends.get(at).copied().unwrap_or(0);
        self.words.get(start.unwrap_or(0)..end).unwrap_or_default()
    }

    /// The word of a name that has one; that which isn't there otherwise.
    pub(super) fn only(&self, name: Name) -> Word {
        match self.of(name) {
            [only] => *only,
            _ => NO_WORD,
        }
    }
}
