//! Workloads: words over a small alphabet of steps.

use std::fmt;
use std::marker::PhantomData;

use timestrata_io::{Rng, SeededRng};

use crate::letter::{actions, alphabet};
use crate::subject::{ActionOf, Subject};

/// Steps, one after the other, on a new store. Crash points are taken in the last
/// `explored` of them: those of earlier ones are the business of shorter workloads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Workload<S> {
    letters: Vec<char>,
    explored: usize,
    subject: PhantomData<S>,
}

impl<S: Subject> Workload<S> {
    fn new(letters: Vec<char>, explored: usize) -> Self {
        Self { letters, explored, subject: PhantomData }
    }

    /// A workload by its letters, the kind's own ([`Subject::ALPHABET`]) and those of all kinds, explored
    /// in its last step; `None` if a letter has no meaning.
    pub fn parse(letters: &str) -> Option<Self> {
        let alphabet = alphabet::<S>();
        let is_known = letters.chars().all(|letter| alphabet.contains(&letter));
        is_known.then(|| Self::new(letters.chars().collect(), letters.len().min(1)))
    }

    /// The same, explored from the first step on, and the making of the store too.
    #[must_use]
    pub fn explored_whole(mut self) -> Self {
        self.explored = self.letters.len() + 1;
        self
    }

    /// `prefix` followed by every word of `length` letters, explored in its last letter.
    pub fn all(prefix: &str, length: u32) -> Vec<Self> {
        let alphabet = alphabet::<S>();
        let count = alphabet.len();
        let start = Self::parse(prefix).map(|workload| workload.letters).unwrap_or_default();
        let word = |number: usize| {
            let mut letters = start.clone();
            let digits = (0..length).rev().map(|place| number / count.pow(place) % count);
            letters.extend(digits.map(|digit| alphabet[digit]));
            Self::new(letters, 1)
        };
        (0..count.pow(length)).map(word).collect()
    }

    /// Every workload of up to `length` steps, the making of the store alone included.
    pub fn short(length: u32) -> Vec<Self> {
        let empty = Self::new(Vec::new(), 1);
        std::iter::once(empty)
            .chain((1..=length).flat_map(|length| Self::all("", length)))
            .collect()
    }

    /// Longer ones, each with a reason, explored in every step.
    pub fn chosen() -> Vec<Self> {
        let chosen = S::CHOSEN.iter().copied().filter_map(Self::parse);
        chosen.map(Self::explored_whole).collect()
    }

    /// Words of `length` letters drawn by a seed, explored in every step.
    pub fn drawn(seed: u64, count: usize, length: usize) -> Vec<Self> {
        let rng = SeededRng::new(seed);
        let alphabet = alphabet::<S>();
        let letter = || alphabet[rng.next_u64() as usize % alphabet.len()];
        (0..count).map(|_| Self::new((0..length).map(|_| letter()).collect(), length + 1)).collect()
    }

    /// The letters of its steps.
    pub fn letters(&self) -> &[char] {
        &self.letters
    }

    /// What all of its steps do, one after the other.
    pub(crate) fn actions(&self) -> impl Iterator<Item = ActionOf<S>> {
        self.letters.iter().enumerate().flat_map(|(turn, letter)| actions::<S>(*letter, turn))
    }

    /// A number of its own, so that it gives the same wherever it is run.
    pub(crate) fn number(&self) -> u64 {
        let alphabet = alphabet::<S>();
        let place = |letter: &char| alphabet.iter().position(|known| known == letter);
        self.letters.iter().filter_map(place).fold(0, |number, place| mix(number, &[place as u64]))
    }

    /// The first step whose crash points are taken; `None`: from the making of the store on.
    pub(crate) fn explored_from(&self) -> Option<usize> {
        self.letters.len().checked_sub(self.explored)
    }
}

impl<S> fmt::Display for Workload<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.letters.iter().try_for_each(|letter| write!(f, "{letter}"))
    }
}

/// A number that depends on all of the numbers (FNV-1a over 64-bit words, then a finish).
pub(crate) fn mix(seed: u64, numbers: &[u64]) -> u64 {
    let mut hash = seed ^ 0xCBF2_9CE4_8422_2325;
    for number in numbers {
        hash = (hash ^ number).wrapping_mul(0x0000_0100_0000_01B3);
        hash ^= hash >> 29;
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::letter::alphabet;
    use crate::{
        Graphs, LogEntries, Models, StreamWorkload, Streams, Subject, Tables, Timelogs, Topics,
        Workload,
    };

    fn check_letters<S: Subject>() {
        let letters: String = alphabet::<S>().into_iter().collect();
        let workload = Workload::<S>::parse(&letters).unwrap();
        assert_eq!(workload.to_string(), letters);
        let steps: BTreeSet<char> = letters.chars().collect();
        assert_eq!(workload.letters().len(), steps.len());
        assert_eq!(Workload::<S>::parse("a?"), None);
        assert_eq!(Workload::<S>::chosen().len(), S::CHOSEN.len());
    }

    #[test]
    fn letters_name_a_workload() {
        check_letters::<Streams>();
        check_letters::<Tables>();
        check_letters::<Topics>();
        check_letters::<Graphs>();
        check_letters::<LogEntries>();
        check_letters::<Timelogs>();
        check_letters::<Models>();
    }

    #[test]
    fn all_words_of_a_length_are_there_once() {
        let words = StreamWorkload::all("af", 2);
        let names: BTreeSet<String> = words.iter().map(ToString::to_string).collect();
        assert_eq!((words.len(), names.len()), (324, 324));
        assert!(names.contains("afdc"));
    }
}
